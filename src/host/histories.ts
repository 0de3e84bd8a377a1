/**
 * The newest messages of sessions in use, so that a turn need not read them from the store. An entry is valid only for the version
 * and the mark of the session that it was kept with; any other move of the session makes it invalid.
 */
import { limits } from '../limits.ts';
import type { Message, Session, Store, Versioned } from '../store.ts';
import { codePoints } from '../text.ts';

interface Entry {
  readonly version: number;
  readonly mark: string | undefined;
  /** The newest messages, as many as a model may be given. */
  readonly messages: readonly Message[];
  /** The code points of each message. */
  readonly lengths: readonly number[];
  /** The entry's share of `historiesCharactersMax`, in characters. */
  readonly weight: number;
}

/** What a message costs beside its text, in characters. */
const messageWeight = 256;

const charactersMax = limits.historyTokensMax * 4;

export class Histories {
  readonly #store: Store;
  /** By session, least recently kept first. */
  readonly #entries = new Map<string, Entry>();
  #weight = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest messages of a session at a version, oldest first; read from the store if they are not cached. */
  of(session: Session, version: number): readonly Message[] | Promise<readonly Message[]> {
    if (session.messageCount === 0) return [];
    const entry = this.#entries.get(session.id);
    if (entry?.version === version && entry.mark === session.mark) return entry.messages;
    return this.#store.sessions.recentMessages(session.workspaceId, session.id, session.messageCount, charactersMax, limits.historyMessagesMax);
  }

  /** Caches a session's history at a version: `before` as `of` returned it, followed by the messages since. */
  keep({ record: { id: sessionId, mark }, version }: Versioned<Session>, before: readonly Message[], said: readonly Message[]): void {
    const known = this.#entries.get(sessionId);
    const lengthsBefore = known?.messages === before ? known.lengths : before.map(({ content }) => codePoints(content));
    const messages = [...before, ...said];
    const lengths = [...lengthsBefore, ...said.map(({ content }) => codePoints(content))];
    let first = messages.length;
    for (let left = charactersMax; first > 0 && messages.length - first < limits.historyMessagesMax; first--) {
      left -= lengths[first - 1]!;
      if (left < 0) break;
    }
    this.forget(sessionId);
    const kept = first === 0 ? lengths : lengths.slice(first);
    const weight = kept.reduce((sum, length) => sum + length + messageWeight, messageWeight);
    this.#entries.set(sessionId, { version, mark, messages: first === 0 ? messages : messages.slice(first), lengths: kept, weight });
    this.#weight += weight;
    if (this.#weight > limits.historiesCharactersMax) this.#makeRoom();
  }

  /** Evicts many entries at a time: to find its first entry a map skips all that were deleted before it. */
  #makeRoom(): void {
    for (const id of this.#entries.keys()) {
      if (this.#weight <= limits.historiesCharactersMax * limits.cacheShareKept) break;
      this.forget(id);
    }
  }

  forget(sessionId: string): void {
    const entry = this.#entries.get(sessionId);
    if (entry === undefined) return;
    this.#weight -= entry.weight;
    this.#entries.delete(sessionId);
  }
}
