/**
 * A careful client: retries unanswered requests under an `Idempotency-Key`, and resumes a cut stream where it was cut.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, House } from '../api/house.ts';
import { Listener, type Place } from '../faults/listener.ts';
import { begins, messageFor, wordsOf, type Said } from '../faults/words.ts';
import { codePoints } from '../../src/base/text.ts';
import { patient } from '../run/speed.mjs';

/** The server as it is now, which has another address after a restart, and the key that stays. */
export interface Reception {
  readonly house: House;
  readonly key: string;
}

/** Counts over all guests: acknowledged work, and retries. */
export class Tally {
  sessions = 0;
  turns = 0;
  aborted = 0;
  resumed = 0;
  repeated = 0;
}

/** A server that is being replaced is back by then. */
const patienceMs = patient(60_000);

export class Guest {
  readonly #reception: Reception;
  readonly #assistantId: string;
  readonly #tally: Tally;
  readonly #name: string;
  #keys = 0;

  constructor(reception: Reception, assistantId: string, tally: Tally, name: string) {
    this.#reception = reception;
    this.#assistantId = assistantId;
    this.#tally = tally;
    this.#name = name;
  }

  /** A session, made twice under one key: there must be one of it. */
  async session(): Promise<string> {
    const idempotencyKey = this.#key();
    const make = () =>
      this.#ask(
        '/sessions',
        { method: 'POST', headers: { 'idempotency-key': idempotencyKey }, body: { assistant_id: this.#assistantId } },
        201,
      );
    const [one, again] = [await make(), await make()];
    if (one.json.id !== again.json.id)
      throw new Error(`${this.#name}: one Idempotency-Key made ${one.json.id} and ${again.json.id}`);
    this.#tally.sessions++;
    return one.json.id;
  }

  /**
   * A whole turn: all of its words, once, also after faults of the stream; with `leaving` the client leaves on the way.
   */
  async turn(sessionId: string, said: Said, leaving: boolean): Promise<string> {
    const listener = await this.#begin(sessionId, said);
    if (leaving && (await listener.reached(600))) listener.leave();
    const { seen, ending } = await this.#followed(sessionId, listener);
    this.#tally.turns++;
    if (ending !== 'turn.completed' || seen !== wordsOf(said.tag, said.words))
      throw new Error(`${said.tag} on ${sessionId}: ended as ${ending} after ${JSON.stringify(seen.slice(-60))}`);
    return seen;
  }

  /** A turn that is aborted on the way, or that ends with its session: the text seen is a prefix of the whole reply. */
  async cut(sessionId: string, said: Said, by: 'abort' | 'end'): Promise<string> {
    const listener = await this.#begin(sessionId, said);
    await listener.heard();
    const path =
      by === 'abort' ? `/sessions/${sessionId}/turns/${listener.turnId}/abort` : `/sessions/${sessionId}/end`;
    await this.#ask(path, { method: 'POST' }, 200);
    const { seen, ending } = await this.#followed(sessionId, listener);
    this.#tally.turns++;
    if (ending === 'turn.aborted') this.#tally.aborted++;
    // The turn may have said its last word before the abort came.
    const whole = ending === 'turn.completed' && seen === wordsOf(said.tag, said.words);
    if (!whole && (ending !== 'turn.aborted' || !begins(said.tag, seen)))
      throw new Error(
        `${said.tag} on ${sessionId}: ${by} ended it as ${ending} after ${JSON.stringify(seen.slice(-60))}`,
      );
    return seen;
  }

  async end(sessionId: string): Promise<void> {
    await this.#ask(`/sessions/${sessionId}/end`, { method: 'POST' }, 200);
  }

  /** Checks that the replies in the transcript equal the text seen. */
  async remembers(sessionId: string, seen: readonly string[]): Promise<void> {
    const { json } = await this.#ask(`/sessions/${sessionId}/transcript?limit=100`, {}, 200);
    const replies: string[] = json.data
      .filter(({ role }: { role: string }) => role === 'assistant')
      .map(({ content }: { content: string }) => content);
    if (JSON.stringify(replies) !== JSON.stringify(seen))
      throw new Error(
        `${sessionId}: ${seen.length} turns were seen, and ${replies.length} are in the transcript: ${JSON.stringify(replies).slice(0, 300)}`,
      );
  }

  /** Reads about, as a dashboard does. */
  async look(): Promise<void> {
    for (const path of ['/sessions?limit=20', '/usage', '/assistants', `/assistants/${this.#assistantId}`])
      await this.#ask(path, {}, 200);
  }

  #key(): string {
    return `${this.#name}-${this.#keys++}`;
  }

  async #begin(sessionId: string, said: Said): Promise<Listener> {
    const headers = { 'idempotency-key': this.#key() };
    return this.#patiently(async () => {
      const listener = new Listener(this.#place, `/sessions/${sessionId}/chat`, { message: messageFor(said) }, headers);
      await listener.answered;
      if (listener.status === 200) return listener;
      await listener.over;
      if (listener.status === 0 || listener.status === 503) return null;
      throw new Error(`${said.tag} on ${sessionId}: ${listener.status} ${listener.text}`);
    });
  }

  /** Reads all output of a turn; after each cut it resumes behind the text seen. */
  async #followed(sessionId: string, first: Listener): Promise<{ seen: string; ending: string }> {
    let seen = '';
    let listener = first;
    const { turnId } = first;
    return this.#patiently(async () => {
      await listener.over;
      seen += listener.seen;
      const { ending } = listener;
      if (ending !== null) return { seen, ending };
      this.#tally.resumed++;
      listener = new Listener(
        this.#place,
        `/sessions/${sessionId}/turns/${turnId}/events?after=${codePoints(seen)}`,
        null,
      );
      await listener.answered;
      if (listener.status !== 200 && listener.status !== 0 && listener.status !== 503) {
        await listener.over;
        throw new Error(`${turnId} of ${sessionId} after ${codePoints(seen)}: ${listener.status} ${listener.text}`);
      }
      return null;
    });
  }

  get #place(): Place {
    return { url: this.#reception.house.url, key: this.#reception.key };
  }

  async #ask(path: string, options: Parameters<House['ask']>[1], status: number): Promise<Answer> {
    return this.#patiently(async () => {
      const { house, key } = this.#reception;
      const answer = await house.ask(path, { key, ...options }).catch((error: Error) => {
        // A failure of the connection, not of a check on an answer.
        if (error instanceof TypeError) return null;
        throw error;
      });
      if (answer === null || answer.status === 503) return null;
      if (answer.status !== status) throw new Error(`${path}: ${answer.status} instead of ${status}: ${answer.text}`);
      return answer;
    });
  }

  async #patiently<T>(attempt: () => Promise<T | null>): Promise<T> {
    for (const until = performance.now() + patienceMs; ;) {
      const answer = await attempt();
      if (answer !== null) return answer;
      if (performance.now() > until) throw new Error(`${this.#name}: nobody has answered for ${patienceMs / 1000} s`);
      this.#tally.repeated++;
      await pause(50);
    }
  }
}
