/**
 * What was said last in the sessions that are in use, so that a turn need not read it from the store. An entry is good
 * for the session as it was kept with, its version and its mark, and no other: who moved the session elsewhere made it void.
 */
import { limits } from '../limits.ts';
import type { Message, Session, Store, Versioned } from '../store.ts';
import { codePoints } from '../text.ts';

interface Entry {
  readonly version: number;
  readonly mark: string | undefined;
  /** As many of the newest messages as a model may be given. */
  readonly messages: readonly Message[];
  /** The code points of each. */
  readonly lengths: readonly number[];
  /** What the entry weighs against `historiesCharactersMax`. */
  readonly weight: number;
}

/** What a message weighs beside its text, in characters. */
const messageWeight = 256;

const charactersMax = limits.historyTokensMax * 4;

export class Histories {
  readonly #store: Store;
  /** By session, the one used longest ago first. */
  readonly #entries = new Map<string, Entry>();
  #weight = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest messages of a session at a version, oldest first; from the store if they are not at hand. */
  of(session: Session, version: number): readonly Message[] | Promise<readonly Message[]> {
    if (session.messageCount === 0) return [];
    const entry = this.#entries.get(session.id);
    if (entry?.version === version && entry.mark === session.mark) return entry.messages;
    return this.#store.recentMessages(session.workspaceId, session.id, session.messageCount, charactersMax, limits.historyMessagesMax);
  }

  /** Keeps what a session's history is as of a version: `before` as it was given out, with what was said since. */
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
    const kept = lengths.slice(first);
    const weight = kept.reduce((sum, length) => sum + length + messageWeight, messageWeight);
    this.#entries.set(sessionId, { version, mark, messages: messages.slice(first), lengths: kept, weight });
    this.#weight += weight;
    if (this.#weight > limits.historiesCharactersMax) this.#makeRoom();
  }

  /** For many at a time: a map finds its first entry behind all that were deleted before it. */
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
