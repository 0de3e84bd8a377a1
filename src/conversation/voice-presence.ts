/**
 * The presence of a visitor on a voice socket (contract 9): while somebody speaks there, and for `linkSilenceMs` after
 * that, the session's clock runs and the visitor has a place. In a longer silence both end; the next speech takes them
 * again.
 */
import { limits } from '../base/limits.ts';
import { LinkRefused } from '../host/visitors.ts';
import type { Session } from '../store/store.ts';
import { presenceMs } from '../host/link-budget.ts';
import { useOf } from './link.ts';
import { causeByPrincipal, type Principal } from './principal.ts';
import type { Services } from './services.ts';

export interface VoicePresenceOptions {
  readonly services: Services;
  readonly principal: Principal;
  /** Null for a socket that belongs to no session. */
  readonly session: Session | null;
  readonly requestId: string;
  /** Whether somebody speaks now. */
  speaks(): boolean;
  /** A limit of the link does not let the visitor be present. */
  refused(): void;
}

export class VoicePresence {
  readonly #options: VoicePresenceOptions;
  /** The time of the last speech, in monotonic milliseconds; the opening counts as speech. */
  #spokeAt: number;
  #chargedAt = -Infinity;
  /** The end of the time that is charged already, in monotonic milliseconds. */
  #until = -Infinity;
  /** Whether a limit has refused since speech began last. */
  #refused = false;
  #closed = false;

  constructor(options: VoicePresenceOptions) {
    this.#options = options;
    this.#spokeAt = options.services.clock.monotonic();
  }

  close(): void {
    this.#closed = true;
  }

  /** Charges the time since the last charge, if one is due. */
  look(): void {
    const now = this.#now;
    if (this.#options.speaks()) this.#spokeAt = now;
    if (now - this.#chargedAt >= limits.linkSocketMs && !this.#refused) void this.#charge(now);
  }

  /** Somebody begins to speak: resolves once the visitor is present, or with false if a limit refuses. */
  begins(): boolean | Promise<boolean> {
    const now = this.#now;
    this.#spokeAt = now;
    this.#refused = false;
    return !this.#isCharged || this.#until - now > limits.linkSocketMs || this.#charge(now).then(() => !this.#refused);
  }

  get #now(): number {
    return this.#options.services.clock.monotonic();
  }

  /** Whether the socket is a visitor's. */
  get #isCharged(): boolean {
    const { principal, session } = this.#options;
    return principal.visitor !== undefined && session?.link !== undefined;
  }

  /** A charge that the store rejects now is repeated with the next one. */
  async #charge(now: number): Promise<void> {
    const { services, principal, session, requestId } = this.#options;
    const ms = presenceMs(now - this.#spokeAt);
    const untilMs = services.clock.now() + ms;
    this.#chargedAt = now;
    if (!this.#isCharged || ms === 0) return;
    try {
      const { assistants, sessions } = services.host;
      const assistant = await assistants.of(principal.workspaceId, session!.assistantId);
      const actor = await sessions.of(principal.workspaceId, session!.id);
      if (assistant === null || actor === null || this.#closed) return;
      await sessions.keepPresent(
        actor,
        useOf(principal, assistant, services)!,
        untilMs,
        causeByPrincipal(principal, requestId),
      );
      this.#until = now + ms;
    } catch (error) {
      if (error instanceof LinkRefused) return this.#refuse(error);
      services.log.warn(
        { request_id: requestId, err: error },
        "a visitor's socket could not be charged; the next look retries",
      );
    }
  }

  #refuse({ limiters }: LinkRefused): void {
    this.#refused = true;
    for (const limiter of limiters) this.#options.services.metrics.limited.inc(limiter);
    if (!this.#closed) this.#options.refused();
  }
}
