/** A customer does what customers do, and remembers the acknowledged steps. */
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import type { Random } from '../simulate/random.ts';
import type { Trial } from './experiment.ts';
import type { Ground } from './ground.ts';
import { talk } from './listener.ts';
import { wordsOf } from './words.ts';

interface KnownSession {
  readonly id: string;
  /** Texts of the turns that were reported as complete, in order. */
  readonly turns: string[];
  ended: boolean;
  /** A step was begun on it and never answered. */
  uncertain: boolean;
}

interface KnownKey {
  readonly id: string;
  readonly key: string;
  revoked: boolean;
  uncertain: boolean;
}

/** Before a patient customer asks again. */
const refusedMs = 20;

/** The connection was lost, or the server refused as it may. */
export class Refused extends Error {}

export class Customer {
  readonly #ground: Ground;
  readonly #house: House;
  readonly #random: Random;
  readonly #name: string;
  readonly #sessions: KnownSession[] = [];
  readonly #keys: KnownKey[] = [];
  #said = 0;
  /** Answers that said something is done. */
  acknowledged = 0;
  /** Answers of 503, in the one shape. */
  refused = 0;

  constructor(ground: Ground, house: House, random: Random, name: string) {
    this.#ground = ground;
    this.#house = house;
    this.#random = random;
    this.#name = name;
  }

  /** One thing after the other until told to stop, or, unless it is `patient`, until something is refused. */
  async live(stopped: () => boolean, patient = false): Promise<void> {
    while (!stopped()) {
      try {
        await this.#act();
        this.acknowledged++;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!patient) return;
        await pause(refusedMs);
      }
    }
  }

  async #act(): Promise<void> {
    const session = this.#sessions.findLast(({ ended, uncertain }) => !ended && !uncertain);
    const key = this.#keys.find(({ revoked, uncertain }) => !revoked && !uncertain);
    const what = this.#random.between(0, 9);
    if (session === undefined || what === 0) return this.#create();
    if (what === 1) return this.#end(session);
    if (what === 2) return key === undefined ? this.#makeKey() : this.#revoke(key);
    return this.#talk(session);
  }

  async #create(): Promise<void> {
    const { json } = await this.#ask('/sessions', {
      assistant_id: this.#ground.assistantId,
      metadata: { customer: this.#name },
    });
    this.#sessions.push({ id: json.id, turns: [], ended: false, uncertain: false });
  }

  async #end(session: KnownSession): Promise<void> {
    session.uncertain = true;
    await this.#ask(`/sessions/${session.id}/end`, {});
    Object.assign(session, { ended: true, uncertain: false });
  }

  async #talk(session: KnownSession): Promise<void> {
    const tag = `${this.#name}n${this.#said++}`;
    const words = this.#random.between(1, 40);
    session.uncertain = true;
    const listener = talk(this.#house, session.id, { tag, words, delayMs: this.#random.pick([0, 0, 2]) });
    await listener.over;
    if (listener.status !== 200 && listener.status !== 0)
      return this.#refuse(listener.status, listener.text, listener.requestId);
    if (listener.ending !== 'turn.completed') throw new Refused();
    if (listener.seen !== wordsOf(tag, words))
      throw new Error(`${tag}: ${words} words were told to be complete, and these came: ${listener.seen}`);
    session.turns.push(listener.seen);
    session.uncertain = false;
  }

  async #makeKey(): Promise<void> {
    const { json } = await this.#ask(
      `/console/api/workspaces/${this.#house.workspaceId}/keys`,
      { name: this.#name, limits: { requests: 1000 } },
      this.#house.operatorToken,
    );
    this.#keys.push({ id: json.id, key: json.key, revoked: false, uncertain: false });
  }

  async #revoke(key: KnownKey): Promise<void> {
    key.uncertain = true;
    await this.#ask(
      `/console/api/workspaces/${this.#house.workspaceId}/keys/${key.id}/revoke`,
      {},
      this.#house.operatorToken,
    );
    Object.assign(key, { revoked: true, uncertain: false });
  }

  async #ask(path: string, body: object, key?: string): Promise<{ json: any }> {
    const answer = await this.#house.ask(path, { body, ...(key && { key }) }).catch((error: Error) => {
      // A failure of the connection, not of a check on an answer.
      if (error instanceof TypeError) throw new Refused();
      throw error;
    });
    if (answer.status >= 400) this.#refuse(answer.status, answer.text, answer.headers.get('x-request-id') ?? '');
    return answer;
  }

  #refuse(status: number, text: string, requestId: string): never {
    checkRefusal(status, text, requestId);
    this.refused++;
    throw new Refused();
  }

  /** Checks that all acknowledged steps stand. */
  async check(trial: Trial, house: House): Promise<void> {
    for (const session of this.#sessions) await checkSession(trial, house, session, this.#name);
    for (const { id, key, revoked, uncertain } of this.#keys) {
      const { status, json } = await house.ask('/assistants', { key });
      const found = status === 401 ? json.error.code : status;
      const due = revoked ? 'revoked_api_key' : 200;
      trial.must(
        found === due || (uncertain && found === 'revoked_api_key'),
        `${this.#name}: key ${id} is answered ${found} instead of ${due}`,
      );
    }
  }
}

/** A refusal that a fault may cause: 503 `api_error` in the one shape, and nothing else. */
export function checkRefusal(status: number, text: string, requestId: string): void {
  const body = JSON.parse(text);
  const shape =
    Object.keys(body).sort().join() === 'error,request_id' &&
    Object.keys(body.error).sort().join() === 'code,message,type';
  const fits =
    status === 503 &&
    body.error?.code === 'api_error' &&
    body.error?.type === 'service_unavailable' &&
    body.request_id === requestId;
  if (!shape || !fits) throw new Error(`a refusal is not 503 api_error in the one shape: ${status} ${text}`);
}

async function checkSession(
  trial: Trial,
  house: House,
  { id, turns, ended, uncertain }: KnownSession,
  name: string,
): Promise<void> {
  const { status, json } = await house.ask(`/sessions/${id}`);
  if (status !== 200) return trial.must(false, `${name}: session ${id} was acknowledged and is answered ${status}`);
  trial.must(json.metadata.customer === name, `${id}: its metadata is ${JSON.stringify(json.metadata)}`);
  if (ended) trial.must(json.status === 'ended', `${id} was ended and is ${json.status}`);
  const messages: any[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: any = (await house.ask(`/sessions/${id}/transcript?limit=100${after && `&after=${after}`}`)).json;
    messages.push(...page.data);
    after = page.next_cursor;
  }
  const replies = messages.filter(({ role }) => role === 'assistant');
  turns.forEach((text, index) =>
    trial.must(
      replies[index]?.content === text && replies[index].status === 'completed',
      `${id}: of ${turns.length} acknowledged turns, number ${index} is ${JSON.stringify(replies[index] ?? null)}`,
    ),
  );
  const most = turns.length + (uncertain ? 1 : 0);
  trial.must(
    replies.length <= most && messages.length === 2 * replies.length,
    `${id}: ${messages.length} messages after ${turns.length} turns${uncertain ? ' and one that nobody was told of' : ''}`,
  );
}
