/** Helpers for the tests of several processes under one supervisor. */
import { Agent, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { Test } from 'tap';
import { openHouse, type House, type HouseOptions } from './house.ts';
import { chatPath, synthetic, until } from './talk.ts';

export const secret = 'a-secret-of-the-tests-that-is-long-enough';

export async function openSupervised(
  t: Test,
  url: string,
  processes: number,
  { env, ...options }: HouseOptions = {},
): Promise<House> {
  const house = await openHouse(t, {
    ...options,
    env: { PARLEY_STORE: url, PARLEY_SECRET: secret, PARLEY_PROCESSES: String(processes), PARLEY_LOG: 'info', ...env },
  });
  // Many listeners wait for its output.
  house.child.stdout!.setMaxListeners(0);
  return house;
}

/** The lines of the log, whichever process wrote them. */
export const linesOf = (house: { stdout(): string }): any[] =>
  house
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

export const told = (house: { stdout(): string }, message: string): any[] =>
  linesOf(house).filter(({ msg }) => msg === message);

/** The process ids of workers that listen and have not died, by their number. */
export function workersOf(house: House): Map<number, number> {
  const gone = new Set([...told(house, 'worker died'), ...told(house, 'ended')].map(({ worker }) => worker));
  const listening = new Set(told(house, 'listening').map(({ worker }) => worker));
  const started = told(house, 'worker starts').filter(({ worker }) => listening.has(worker) && !gone.has(worker));
  return new Map(started.map(({ worker, pid }) => [worker, pid]));
}

/** Resolves once so many workers listen; every step waits for the next output. */
export async function workersUp(house: House, count: number): Promise<Map<number, number>> {
  for (;;) {
    const workers = workersOf(house);
    if (workers.size === count) return workers;
    await once(house.child.stdout!, 'data');
  }
}

/** Resolves with the line once it is there. */
export async function lineOf(house: House, found: (line: any) => boolean): Promise<any> {
  for (;;) {
    const line = linesOf(house).find(found);
    if (line !== undefined) return line;
    await once(house.child.stdout!, 'data');
  }
}

export interface Asked {
  readonly status: number;
  readonly text: string;
  readonly requestId: string;
}

/** A client with one connection, and so at one worker. */
export class Client {
  readonly #house: House;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(t: Test, house: House) {
    this.#house = house;
    t.teardown(async () => this.#agent.destroy());
  }

  /** Resolves with the head of the answer. */
  async open(path: string, body?: object): Promise<IncomingMessage> {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { authorization: `Bearer ${this.#house.key}`, 'content-type': 'application/json' };
    const sent = request(this.#house.url + path, { method, headers, agent: this.#agent });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response.setEncoding('utf8');
  }

  async ask(path: string, body?: object): Promise<Asked> {
    const response = await this.open(path, body);
    let text = '';
    for await (const piece of response) text += piece;
    return { status: response.statusCode!, text, requestId: String(response.headers['x-request-id']) };
  }

  /** The number of the worker that it is connected to. */
  async worker(): Promise<number> {
    const { requestId } = await this.ask('/healthz');
    return (await lineOf(this.#house, ({ request_id }) => request_id === requestId)).worker;
  }
}

/**
 * Opens a client of each of so many workers. They connect in crowds, since an idle worker may take every connection
 * that comes alone.
 */
export async function clientsOf(t: Test, house: House, count: number): Promise<Map<number, Client>> {
  const clients = new Map<number, Client>();
  await until(async () => {
    const crowd = Array.from({ length: 4 * count }, () => new Client(t, house));
    await Promise.all(crowd.map(async (client) => clients.set(await client.worker(), client)));
    return clients.size === count;
  });
  return clients;
}

/** A stream read as text: the text so far, and all of it in the end. */
export class TextStream {
  readonly #response: IncomingMessage;
  text = '';
  /** Resolves with whether it came to its end, and was not cut. */
  readonly over: Promise<boolean>;

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.on('data', (piece: string) => (this.text += piece));
    response.on('error', () => {});
    this.over = once(response, 'close').then(
      () => response.complete,
      () => false,
    );
  }

  get turnId(): string {
    return String(this.#response.headers['x-turn-id']);
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) await once(this.#response, 'data');
  }
}

export const portOf = (house: House): number => Number(new URL(house.url).port);

/** A turn that streams on the worker that the client is connected to. */
export async function streaming(
  t: Test,
  house: House,
  model: string,
  client = new Client(t, house),
): Promise<{ id: string; stream: TextStream }> {
  const { id } = await house.session((await synthetic(house, model)).id);
  const stream = new TextStream(await client.open(chatPath(id), { message: 'Hello' }));
  await stream.until(/message\.delta/);
  return { id, stream };
}
