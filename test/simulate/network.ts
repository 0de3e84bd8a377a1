/** A client's connection to a process: a request and its answer, each byte in order, broken off at any time. */
import { createParser } from 'eventsource-parser';
import type { Body, Exchange, Outlet, ResponseHeaders } from '../../src/base/edge.ts';
import type { Gate } from './clock.ts';
import type { Asked, Stream } from './history.ts';
import type { SimulatedHost } from './host.ts';
import type { World } from './world.ts';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export class Connection implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress = '192.0.2.1';
  /** The client's side of it. */
  readonly asked: Asked;
  gone = false;
  /** The gate of the process that has taken it. */
  gate: Gate | null = null;
  readonly #world: World;
  readonly #host: SimulatedHost;
  readonly #request: Request;
  readonly #changed: () => void;
  readonly #toClient: (() => void)[] = [];
  #arrivesMs = 0;
  #onGone: (() => void)[] = [];

  /** `changed` is called when the client has heard something. */
  constructor(world: World, host: SimulatedHost, request: Request, asked: Asked, changed: () => void) {
    this.#world = world;
    this.#host = host;
    this.#request = request;
    this.#changed = changed;
    this.asked = asked;
    this.method = request.method;
    this.path = request.path;
    const query = request.query ?? '';
    this.query = world.bug?.query?.(query) ?? query;
  }

  headers(name: string): readonly string[] {
    const value = this.#request.headers?.[name];
    return value === undefined ? [] : [value];
  }

  onGone(callback: () => void): void {
    if (this.gone) callback();
    else this.#onGone.push(callback);
  }

  body(): Promise<Body> {
    const { body } = this.#request;
    return Promise.resolve({ kind: 'bytes', bytes: Buffer.from(body === undefined ? '' : JSON.stringify(body)) });
  }

  respond(status: number, headers: ResponseHeaders, body?: string | Uint8Array): void {
    this.#send(() => {
      this.#head(status, headers);
      const text = body === undefined ? '' : Buffer.from(body).toString();
      this.asked.json = text === '' ? null : JSON.parse(text);
      this.#end();
    });
  }

  stream(status: number, headers: ResponseHeaders): Outlet {
    const { scheduler, weather } = this.#world;
    let headed = false;
    let drained = (): void => {};
    const parser = createParser({ onEvent: ({ event, id, data }) => this.#event(event, id, data) });
    const write = (piece: string): void =>
      this.#send(() => {
        if (!headed) this.#head(status, headers);
        headed = true;
        this.asked.stream ??= {
          turnId: headers['x-turn-id'] as string,
          cursor: this.#cursor(),
          events: [],
          over: null,
        };
        parser.feed(piece);
        this.#changed();
      });
    return {
      write: (piece) => {
        write(Buffer.from(piece).toString());
        if (!scheduler.random.chance(weather.slowReaders)) return true;
        scheduler.after(scheduler.random.delay(300, 5000), () => this.gate?.enter(() => drained()));
        return false;
      },
      onDrain: (callback) => (drained = callback),
      end: (piece) => {
        write(piece ?? '');
        this.#send(() => this.#end());
      },
      cut: () => this.cut(),
    };
  }

  /** The connection is gone: the client knows at once, the process in its time. */
  cut(by: 'cut' | 'left' = 'cut'): void {
    if (this.asked.over) return;
    this.asked.over = true;
    if (this.asked.stream !== null) this.asked.stream.over = by;
    this.#world.history.note(`${this.asked.client} ${by} ${this.method} ${this.path}`);
    this.#world.scheduler.after(this.#world.scheduler.random.delay(100, 20_000), () =>
      this.gate?.enter(() => this.#leave()),
    );
    this.#changed();
  }

  #leave(): void {
    if (this.gone) return;
    this.gone = true;
    this.#host.left(this);
    for (const callback of this.#onGone.splice(0)) callback();
  }

  #cursor(): number | null {
    const after = /after=(\d+)/.exec(this.#request.query ?? '')?.[1] ?? this.#request.headers?.['last-event-id'];
    return after === undefined ? null : Number(after);
  }

  #head(status: number, headers: ResponseHeaders): void {
    const { asked } = this;
    if (asked.status !== null) this.#world.history.wrong.push(`${asked.method} ${asked.path} was answered twice`);
    asked.status = status;
    asked.headers = headers;
    asked.answeredMs = this.#world.scheduler.now;
  }

  #event(event: string | undefined, id: string | undefined, data: string): void {
    const stream = this.asked.stream as Stream;
    stream.events.push({ event: event ?? '', id: Number(id), data: JSON.parse(data), atMs: this.#world.scheduler.now });
    this.#world.history.note(`${this.asked.client} hears ${stream.turnId} ${event} ${id} ${data}`);
  }

  #end(): void {
    const { asked } = this;
    asked.over = true;
    if (asked.stream !== null) asked.stream.over = 'ended';
    this.#host.left(this);
    this.#world.history.note(
      `${asked.client} ${asked.method} ${asked.path} → ${asked.status} ${JSON.stringify(asked.json)}`,
    );
    this.#changed();
  }

  /** Delivers in order, with any delay of each. */
  #send(arrive: () => void): void {
    if (this.gone || this.asked.over) return;
    const { scheduler, weather, bug } = this.#world;
    if (scheduler.random.chance(weather.cuts / 10)) return this.cut();
    const arrivesMs = scheduler.now + scheduler.random.delay(weather.netMs, 3000);
    if (bug?.overtakes) return void scheduler.after(arrivesMs - scheduler.now, () => this.asked.over || arrive());
    this.#arrivesMs = Math.max(this.#arrivesMs, arrivesMs);
    this.#toClient.push(arrive);
    scheduler.after(this.#arrivesMs - scheduler.now, () => {
      const next = this.#toClient.shift()!;
      if (!this.asked.over) next();
    });
  }
}

/**
 * Sends a request: the connection, and a promise that nothing more will come. `leaves` says when the client has heard
 * enough, `leavesAfterMs` how long it waits for that.
 */
export function ask(
  world: World,
  client: { name: string; keyId: string | null },
  host: SimulatedHost,
  request: Request,
  leaves: (asked: Asked) => boolean = () => false,
  leavesAfterMs = Infinity,
): { asked: Asked; over: Promise<Asked> } {
  const { scheduler, weather, history } = world;
  const asked: Asked = {
    client: client.name,
    host: host.name,
    keyId: client.keyId,
    method: request.method,
    path: request.path,
    body: request.body ?? null,
    idempotencyKey: request.headers?.['idempotency-key'] ?? null,
    sentMs: scheduler.now,
    answeredMs: null,
    status: null,
    headers: {},
    json: null,
    stream: null,
    over: false,
    arrived: false,
  };
  history.asked.push(asked);
  history.note(
    `${client.name} asks ${host.name} ${request.method} ${request.path}?${request.query ?? ''} ${JSON.stringify(request.body ?? null)}`,
  );
  const over = new Promise<Asked>((resolve) => {
    const connection = new Connection(world, host, request, asked, () => {
      if (asked.over) resolve(asked);
      else if (leaves(asked)) connection.cut('left');
    });
    if (leavesAfterMs !== Infinity) scheduler.after(leavesAfterMs, () => connection.cut('left'));
    if (scheduler.random.chance(weather.cuts / 4))
      scheduler.after(scheduler.random.between(0, 3000), () => connection.cut());
    scheduler.after(scheduler.random.delay(weather.netMs, 1000), () => {
      if (!asked.over) host.take(connection);
    });
  });
  return { asked, over };
}
