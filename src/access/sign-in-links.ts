/**
 * Links that sign a person in to the console once (contract 9). An expired link is removed when another is made, at most
 * once a minute.
 */
import { secondsOf, type Clock } from '../base/clock.ts';
import { randomToken, type Ids } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { mayDo, ownerOfAll, reaches, type Grant } from '../base/roles.ts';
import { recordsOf } from '../store/parts/catalog.ts';
import { installation, type AuditEntry, type SignInLink } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { digestOf } from './keys.ts';
import { grantOfPerson, operatorPerson, type People } from './people.ts';

/** Seconds between two removals of expired links. */
export const signInLinkSweepSeconds = 60;

/** Random bytes in the secret of a link or a cookie. */
export const signInSecretBytes = 32;

const linkId = (token: string): string => Buffer.from(digestOf(token)).toString('base64url');

export interface SignInLinksOptions {
  readonly store: Pick<Store, 'catalog'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly people: People;
  /** Identifies the operator token under which a link is made. */
  readonly operator: string;
}

export class SignInLinks {
  readonly #options: SignInLinksOptions;
  /** The Unix second from which a new link sweeps the expired ones. */
  #nextSweepAt = 0;

  constructor(options: SignInLinksOptions) {
    this.#options = options;
  }

  /** Makes a link for a person of this name: its token, and the Unix second at which it ends. */
  async make(
    name: string,
    grant: Grant = ownerOfAll,
    madeBy: string = operatorPerson.id,
    audit?: (id: string) => AuditEntry,
  ): Promise<{ readonly token: string; readonly expiresAt: number }> {
    const { store, clock, ids, operator } = this.#options;
    const now = secondsOf(clock.now());
    await this.#sweep(now);
    const token = randomToken(ids, signInSecretBytes);
    const expiresAt = now + limits.signInLinkSeconds;
    const id = linkId(token);
    const link: SignInLink = {
      id,
      workspaceId: installation,
      operator,
      name,
      grant,
      ...(madeBy !== operatorPerson.id && { madeBy }),
      expiresAt,
    };
    await store.catalog.create('sign_in_link', link, undefined, audit?.(id));
    return { token, expiresAt };
  }

  /** Removes expired links. A sweep reads every link, so a new link begins one only at intervals. */
  async #sweep(now: number): Promise<void> {
    if (now < this.#nextSweepAt) return;
    this.#nextSweepAt = now + signInLinkSweepSeconds;
    const { catalog } = this.#options.store;
    for await (const link of recordsOf(catalog, 'sign_in_link', installation))
      if (link.expiresAt <= now) await catalog.remove('sign_in_link', installation, link.id);
  }

  /**
   * Consumes a link and returns it; null if it does not exist. If several processes consume it at once, one gets it.
   */
  async take(token: string): Promise<SignInLink | null> {
    const { store, clock, operator } = this.#options;
    const id = linkId(token);
    const link = (await store.catalog.read('sign_in_link', installation, id))?.record ?? null;
    if (link === null || !(await store.catalog.remove('sign_in_link', installation, id))) return null;
    const isLive = link.operator === operator && secondsOf(clock.now()) < link.expiresAt;
    return isLive && (await this.#mayInvite(link)) ? link : null;
  }

  /** Whether the person who made a link could still make it. */
  async #mayInvite({ madeBy, grant = ownerOfAll }: SignInLink): Promise<boolean> {
    if (madeBy === undefined) return true;
    const maker = await this.#options.people.find(madeBy);
    if (maker === null || maker.blocked) return false;
    const granted = grantOfPerson(maker);
    return mayDo(granted, 'people.write') && reaches(granted, grant.workspaceId);
  }
}
