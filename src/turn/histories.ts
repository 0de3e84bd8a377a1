/**
 * The newest messages of sessions in use, so that a turn need not read them from the store. An entry is valid only for
 * the version and the mark of the session that it was kept with; any other move of the session makes it invalid.
 */
import { limits } from '../base/limits.ts';
import type { Message, Session, Store, Versioned } from '../store/store.ts';
import { codePoints } from '../base/text.ts';

/** Messages of a history with the default budget of tokens; a larger budget allows as many times more. */
export const historyMessagesMax = 100;
/** Characters of the histories that a process keeps, of all sessions in use. */
export const historiesCharactersMax = 16 * 1024 * 1024;

interface Entry {
  readonly version: number;
  readonly mark: string | undefined;
  /** The budget, in tokens, that the messages were kept for. */
  readonly tokensMax: number;
  /** The newest messages, up to the bound of a model's request. */
  readonly messages: readonly Message[];
  /** The code points of each message. */
  readonly lengths: readonly number[];
  /** The entry's share of `historiesCharactersMax`, in characters. */
  readonly weight: number;
}

/** The weight of a message without its text, in characters. */
const messageWeight = 256;

/** The weight of a message's calls: their results, and fields that a provider put on them. */
const callsWeight = ({ toolCalls = [] }: Message): number =>
  toolCalls.reduce(
    (sum, { output, refusalText, opaque }) =>
      sum +
      messageWeight +
      (output?.length ?? 0) +
      (refusalText?.length ?? 0) +
      (opaque === undefined ? 0 : JSON.stringify(opaque).length),
    0,
  );

/** The code points that may be read for a budget of estimated tokens: a token has at most four. */
export function readFor(tokensMax: number): { charactersMax: number; messagesMax: number } {
  const times = Math.max(1, tokensMax / limits.historyTokensMax);
  return { charactersMax: tokensMax * 4, messagesMax: Math.ceil(historyMessagesMax * times) };
}

export class Histories {
  readonly #store: Store;
  /** Kept histories by session, the least recently kept first. */
  readonly #entries = new Map<string, Entry>();
  #weight = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest messages of a session at a version, oldest first; read from the store if they are not cached. */
  of(
    session: Session,
    version: number,
    tokensMax: number = limits.historyTokensMax,
  ): readonly Message[] | Promise<readonly Message[]> {
    if (session.messageCount === 0) return [];
    const entry = this.#entries.get(session.id);
    if (entry?.version === version && entry.mark === session.mark && entry.tokensMax >= tokensMax)
      return entry.messages;
    const { charactersMax, messagesMax } = readFor(tokensMax);
    return this.#store.sessions.recentMessages(
      session.workspaceId,
      session.id,
      session.messageCount,
      charactersMax,
      messagesMax,
    );
  }

  /** Caches a session's history at a version: `before` as `of` returned it, followed by the messages since. */
  keep(
    { record: { id: sessionId, mark }, version }: Versioned<Session>,
    before: readonly Message[],
    newMessages: readonly Message[],
    tokensMax: number = limits.historyTokensMax,
  ): void {
    const { charactersMax, messagesMax } = readFor(tokensMax);
    const entry = this.#entries.get(sessionId);
    const lengthsBefore = entry?.messages === before ? entry.lengths : before.map(({ content }) => codePoints(content));
    const messages = [...before, ...newMessages];
    const lengths = [...lengthsBefore, ...newMessages.map(({ content }) => codePoints(content))];
    let first = messages.length;
    for (let left = charactersMax; first > 0 && messages.length - first < messagesMax; first--) {
      left -= lengths[first - 1]!;
      if (left < 0) break;
    }
    this.forget(sessionId);
    const keptLengths = first === 0 ? lengths : lengths.slice(first);
    const newest = first === 0 ? messages : messages.slice(first);
    const weight =
      keptLengths.reduce((sum, length) => sum + length + messageWeight, messageWeight) +
      newest.reduce((sum, message) => sum + callsWeight(message), 0);
    this.#entries.set(sessionId, { version, mark, tokensMax, messages: newest, lengths: keptLengths, weight });
    this.#weight += weight;
    if (this.#weight > historiesCharactersMax) this.#makeRoom();
  }

  /** Evicts many entries at a time: to find its first entry a map skips all that were deleted before it. */
  #makeRoom(): void {
    for (const id of this.#entries.keys()) {
      if (this.#weight <= historiesCharactersMax * limits.cacheShareKept) break;
      this.forget(id);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  forget(sessionId: string): void {
    const entry = this.#entries.get(sessionId);
    if (entry === undefined) return;
    this.#weight -= entry.weight;
    this.#entries.delete(sessionId);
  }
}
