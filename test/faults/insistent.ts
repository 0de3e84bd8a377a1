/** A customer who retries every 503, and knows from the answers alone which rows must be stored. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, House } from '../api/house.ts';
import { sessionOf, transcriptOf } from '../api/talk.ts';
import type { Random } from '../simulate/random.ts';
import { checkRefusal } from './customer.ts';
import type { Trial } from './experiment.ts';
import { until } from './ground.ts';
import { talk, type Listener } from './listener.ts';
import { begins, wordsOf } from './words.ts';
import { patient } from '../run/speed.mjs';

interface Told {
  readonly tag: string;
  readonly words: number;
  readonly listener: Listener;
}

interface KnownSession {
  readonly id: string;
  /** The turns whose chat was answered 200, in order. */
  readonly turns: Told[];
  ended: boolean;
}

const againMs = 50;

export class Insistent {
  readonly #houses: readonly House[];
  readonly #random: Random;
  readonly #trial: Trial;
  readonly #name: string;
  readonly #assistantId: string;
  readonly #sessions: KnownSession[] = [];
  readonly #revoked: { readonly id: string; readonly key: string }[] = [];
  /** Milliseconds for which a request may be refused while its store fails again and again. */
  readonly #refusedMsMax: number;
  #asked = 0;

  /** Each request goes to any of the houses, and so does each of its repeats. */
  constructor(
    houses: readonly House[],
    trial: Trial,
    name: string,
    assistantId: string,
    refusedMsMax = patient(60_000),
  ) {
    this.#refusedMsMax = refusedMsMax;
    this.#houses = houses;
    this.#trial = trial;
    this.#random = trial.random;
    this.#name = name;
    this.#assistantId = assistantId;
  }

  /** One of the houses, asked with the same API key. */
  get #place(): { readonly url: string; readonly key: string; ask: House['ask'] } {
    const [{ key }] = this.#houses as [House];
    const { url, ask } = this.#random.pick(this.#houses);
    return { url, key, ask: (path, options = {}) => ask(path, { key, ...options }) };
  }

  /** Does that many things, and no more once it is stopped. */
  async live(acts: number, stopped: () => boolean = () => false): Promise<void> {
    for (let act = 0; act < acts && !stopped(); act++) {
      const session = this.#sessions.findLast(({ ended }) => !ended) ?? (await this.#create());
      const what = this.#random.between(0, 9);
      if (what === 0) await this.#end(session);
      else if (what === 1) await this.#revoke();
      else await this.#talk(session, what);
    }
    this.#trial.count('sessions', this.#sessions.length);
    this.#trial.count('revocations', this.#revoked.length);
    for (const { listener } of this.#sessions.flatMap(({ turns }) => turns))
      this.#trial.count(`turns ended by ${listener.ending ?? 'a cut'}`);
  }

  async #create(): Promise<KnownSession> {
    const headers = { 'idempotency-key': `${this.#name}-${this.#asked++}` };
    const made = await this.#insist('a session', () =>
      this.#place.ask('/sessions', { body: { assistant_id: this.#assistantId }, headers }),
    );
    const session: KnownSession = { id: made.json.id, turns: [], ended: false };
    this.#sessions.push(session);
    return session;
  }

  async #end(session: KnownSession): Promise<void> {
    await this.#insist('an end', () => this.#place.ask(`/sessions/${session.id}/end`, { method: 'POST' }));
    session.ended = true;
  }

  async #revoke(): Promise<void> {
    const [{ workspaceId, operatorToken: key }] = this.#houses as [House];
    const path = `/console/api/workspaces/${workspaceId}/keys`;
    const made = await this.#insist('a key', () => this.#place.ask(path, { key, body: { name: this.#name } }));
    await this.#insist('a revocation', () =>
      this.#place.ask(`${path}/${made.json.id}/revoke`, { key, method: 'POST' }),
    );
    this.#revoked.push({ id: made.json.id, key: made.json.key });
  }

  /** Some are heard to their end, some are aborted, and some end with their session. */
  async #talk(session: KnownSession, what: number): Promise<void> {
    const tag = `${this.#name}n${this.#asked++}`;
    const cut = what <= 4;
    const words = cut ? 1_000_000 : this.#random.between(1, 60);
    const listener = await this.#insistOnTurn(session.id, {
      tag,
      words,
      delayMs: cut ? 5 : this.#random.pick([0, 2, 20]),
    });
    session.turns.push({ tag, words, listener });
    if (cut) {
      await listener.heard();
      if (what === 4) await this.#end(session);
      else
        await this.#insist('an abort', () =>
          this.#place.ask(`/sessions/${session.id}/turns/${listener.turnId}/abort`, { method: 'POST' }),
        );
    }
    await listener.over;
    // A turn that ended in an error may be sealed only once its store is back; until then it is in progress.
    for (let busy = true; busy;)
      busy =
        (await this.#insist('a session', () => this.#place.ask(`/sessions/${session.id}`))).json.active_turn_id !==
        null;
  }

  /** Retries the chat under its key until it is answered 200; a 503 must have left nothing, so that the retry runs. */
  async #insistOnTurn(id: string, said: { tag: string; words: number; delayMs: number }): Promise<Listener> {
    const headers = { 'idempotency-key': said.tag };
    for (const since = performance.now(); ; await pause(againMs)) {
      const listener = talk(this.#place, id, said, headers);
      await listener.answered;
      if (listener.status === 200) return listener;
      await listener.over;
      this.#refused(`a chat on ${id}`, listener.status, listener.text, listener.requestId, since);
    }
  }

  async #insist(what: string, ask: () => Promise<Answer>): Promise<Answer> {
    for (const since = performance.now(); ; await pause(againMs)) {
      const answer = await ask();
      if (answer.status < 300) return answer;
      this.#refused(what, answer.status, answer.text, answer.headers.get('x-request-id') ?? '', since);
    }
  }

  #refused(what: string, status: number, text: string, requestId: string, since: number): void {
    checkRefusal(status, text, requestId);
    this.#trial.count('refused');
    if (performance.now() - since > this.#refusedMsMax)
      throw new Error(`${what} is refused for ${this.#refusedMsMax} ms`);
  }

  /** Checks that the stored rows are exactly the answered ones, whichever process is asked. */
  async check(house: House): Promise<void> {
    for (const session of this.#sessions) await this.#checkSession(house, session);
    const turns = this.#sessions.reduce((sum, session) => sum + session.turns.length, 0);
    const { totals } = (await house.ask(`/usage?assistant_id=${this.#assistantId}`)).json;
    this.#trial.must(
      totals.turns === turns,
      `${this.#name}: usage counts ${totals.turns} turns, and ${turns} were begun`,
    );
    this.#trial.must(
      totals.sessions === this.#sessions.length,
      `${this.#name}: usage counts ${totals.sessions} sessions, and ${this.#sessions.length} were made`,
    );
    for (const { id, key } of this.#revoked) {
      const { status, json } = await house.ask('/assistants', { key });
      this.#trial.must(
        status === 401 && json.error.code === 'revoked_api_key',
        `${this.#name}: the revoked key ${id} is answered ${status}`,
      );
    }
  }

  async #checkSession(house: House, { id, turns, ended }: KnownSession): Promise<void> {
    await until(async () => (await sessionOf(house, id)).active_turn_id === null);
    const { status } = await sessionOf(house, id);
    this.#trial.must(status === (ended ? 'ended' : 'open'), `${id} is ${status}${ended ? ' and was ended' : ''}`);
    const messages = await transcriptOf(house, id);
    const replies = messages.filter(({ role }) => role === 'assistant');
    const tags = messages.filter(({ role }) => role === 'user').map(({ content }) => content.split(' ')[1]);
    const due = turns.map(({ tag }) => tag);
    if (tags.join() !== due.join() || replies.length !== due.length)
      return this.#trial.must(
        false,
        `${id}: the transcript holds ${tags.join()} with ${replies.length} replies, and these were begun: ${turns.map(({ tag, listener }) => `${tag} (${listener.requestId}, ${listener.turnId}: ${listener.ending} ${listener.code}, ${listener.seen.length} seen)`).join(', ')}`,
      );
    turns.forEach((turn, index) => this.#checkReply(id, turn, replies[index]));
  }

  #checkReply(id: string, { tag, words, listener }: Told, reply: any): void {
    const { ending, seen, code } = listener;
    const stored = `${reply.status} ${reply.stop_reason} ${reply.error_code}`;
    const told = {
      'turn.completed': 'completed end null',
      'turn.aborted': 'partial aborted null',
      error: `partial error ${code}`,
    }[ending ?? ''];
    this.#trial.must(
      told === undefined || told === stored,
      `${id}: ${tag} was told to end by ${ending} and is stored as ${stored}`,
    );
    this.#trial.must(
      reply.content.startsWith(seen) && begins(tag, reply.content),
      `${id}: of ${tag} ${seen.length} characters were seen, and ${reply.content.length} are stored`,
    );
    this.#trial.must(
      ending !== 'turn.completed' || reply.content === wordsOf(tag, words),
      `${id}: ${tag} was told to be complete, and is not`,
    );
    this.#trial.must(
      reply.content !== '' || reply.stop_reason === 'aborted',
      `${id}: ${tag} was answered 200 and said nothing: ${stored}`,
    );
  }
}
