/** Records of an assistant's public link: its settings, and what its visitors use of its limits (contract 9). */
import type { LinkLimitName } from '../../base/link-limits.ts';
import type { ReplacedSecret } from './tools.ts';

export interface LinkSettings {
  /** Unique: at most one assistant of the installation has it. */
  readonly slug: string | null;
  /** Values as they were given: absent means the default, null means no limit, 0 refuses every request. */
  readonly limits: Readonly<Partial<Record<LinkLimitName, number | null>>>;
  readonly origins: readonly string[];
  /** Whether visitors can rate replies. Absent in rows of versions without feedback: false. */
  readonly feedback?: boolean;
  /** The secret that signs visitors (contract 23). Absent for none. */
  readonly identity?: LinkIdentity;
  /** Whether only signed visitors may begin. Absent: false. */
  readonly identityRequired?: boolean;
}

/** The secret that a site signs its visitors' tokens with. */
export interface LinkIdentity {
  /** Stays the same when the secret is rotated; an identity that is made after a removal has another. */
  readonly id: string;
  readonly sealed: Uint8Array;
  /** Unix seconds: when this secret was made. */
  readonly createdAt: number;
  /** Secrets that rotations replaced, the newest first: each signs until its end. Absent for none. */
  readonly replaced?: readonly ReplacedSecret[];
}

/**
 * A charge to a limit that cannot be refused, because the use has ended, or (with a cost below zero) a refund. It is
 * part of the step that causes it, so that it is applied once, as that step is.
 */
export type SettledLimit =
  /**
   * Charged to the period that began at `sinceMs`. A period that has ended keeps its count: nothing reads it any more.
   */
  | {
      readonly kind: 'counter';
      readonly name: string;
      readonly periodMs: number;
      readonly sinceMs: number;
      readonly cost: number;
    }
  /** A bucket never holds more than its ceiling. */
  | {
      readonly kind: 'bucket';
      readonly name: string;
      readonly ceiling: number;
      readonly periodMs: number;
      readonly cost: number;
    }
  /** The seat lasts until `untilMs` from now on, whether that is sooner or later than before. */
  | {
      readonly kind: 'place';
      readonly name: string;
      readonly holder: string;
      readonly seat: string;
      readonly untilMs: number;
    };

/**
 * Time that a session of the link has counted against the assistant's minutes (contract 9): from a message to a while
 * after its turn.
 */
export interface LinkClock {
  readonly untilMs: number;
  /** The beginning of the UTC day of the last charge, and the milliseconds charged to that day. */
  readonly dayMs: number;
  readonly chargedMs: number;
  /** The turn or the request that moved it last. */
  readonly movedBy: string;
  /**
   * Milliseconds that the end of the session charged (below zero: gave back) while its turn was in flight: the seal
   * charges the turn's address the same.
   */
  readonly endMs?: number;
}

/** A visitor's address on the UTC day that begins at `dayMs`: a digest under a key of that day. */
export interface AddressDay {
  readonly dayMs: number;
  readonly key: string;
}

/** The visitor of a session of the link or the widget, and its clock. */
export interface SessionLink {
  readonly visitorId: string;
  /** Null before the first message. */
  readonly clock: LinkClock | null;
  /** The site has signed who the visitor is. Absent where it has not. */
  readonly signed?: true;
  /** Names of the visitor's fields that the site has signed. Absent where it has signed none. */
  readonly signedFields?: readonly string[];
}

/**
 * The charges of a turn of the link, while it is in flight: the clock before it, and the charges to give back if the
 * turn is withdrawn.
 */
export interface TurnLink {
  readonly before: LinkClock | null;
  readonly taken: readonly SettledLimit[];
  /**
   * The visitor's address on each day that the turn's place may touch. Absent where no limit of an address counts the
   * turn.
   */
  readonly addresses?: readonly AddressDay[];
}

/** The visitor of a session, if the site has signed who that is; else null (contract 23). */
export const signedVisitorId = ({ link }: { readonly link?: SessionLink | undefined }): string | null =>
  link?.signed ? link.visitorId : null;
