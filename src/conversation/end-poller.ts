/** Polls whether a socket's workspace or session has ended: in this process at once, in another one within a second. */
import { limits } from '../base/limits.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { Session } from '../store/store.ts';
import type { Services } from './services.ts';
import { sessionView } from './views.ts';

export interface EndPollerOptions {
  readonly services: Services;
  readonly assistant: AssistantActor;
  /** Null for a socket without a session. */
  readonly session: Session | null;
  /** The workspace was removed, which the process that removes it notices itself. */
  removed(): void;
}

export class EndPoller {
  readonly #options: EndPollerOptions;
  #workspaceReadAt = -Infinity;
  #sessionReadAt: number;

  constructor(options: EndPollerOptions) {
    this.#options = options;
    this.#sessionReadAt = options.services.clock.monotonic();
  }

  /** Returns false while the store is away, which cannot report an end. `now`: the monotonic milliseconds of the poll. */
  async hasEnded(now: number): Promise<boolean> {
    try {
      return (await this.#isRemoved(now)) || (await this.#isSessionOver(now));
    } catch {
      return false;
    }
  }

  async #isRemoved(now: number): Promise<boolean> {
    const { assistant, services, removed } = this.#options;
    if (now - this.#workspaceReadAt < limits.catalogFreshMs) return false;
    this.#workspaceReadAt = now;
    if ((await services.host.workspaces.of(assistant.record.workspaceId)) !== null) return false;
    removed();
    return true;
  }

  async #isSessionOver(now: number): Promise<boolean> {
    const { session, services } = this.#options;
    const { host, store, clock } = services;
    if (session === null || (store.leaseMs !== null && now - this.#sessionReadAt < limits.catalogFreshMs)) return false;
    this.#sessionReadAt = now;
    const stored = await host.sessions.read(session.workspaceId, session.id);
    return stored === null || sessionView(stored, clock.now()).status === 'ended';
  }
}
