/**
 * A watched chart never shows a state that was not committed: random commands of several clients on two processes with
 * one store, while somebody watches both; workspaces are full, the store is away, and two who change the same record
 * lose comparisons to each other. In the end every message of the feeds is held to the histories in the store.
 */
import { WebSocket } from 'ws';
import type { RedisServer } from '../store/redis-server.ts';
import { Random } from '../simulate/random.ts';
import { openHouse, type Answer, type House } from './house.ts';
import type { Owner } from '../folders.ts';

interface Actor {
  readonly kind: string;
  readonly id: string;
}

interface Event {
  readonly type: 'event';
  readonly seq: number;
  readonly actor: Actor;
  readonly event: string;
  readonly from: string;
  readonly to: string;
  readonly refused: boolean;
}

type Message =
  | Event
  | { readonly type: 'actors'; readonly actors: readonly (Actor & { readonly state: string })[] }
  | { readonly type: 'activated' | 'passivated'; readonly actor: Actor; readonly state: string }
  | { readonly type: 'dropped' };

class Watcher {
  readonly messages: Message[] = [];
  readonly #socket: WebSocket;
  #look: () => void = () => {};

  constructor(t: Owner, house: House) {
    this.#socket = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect`, {
      headers: { authorization: `Bearer ${house.operatorToken}` },
    });
    t.teardown(async () => this.#socket.terminate());
    this.#socket.on('message', (data) => {
      this.messages.push(JSON.parse(String(data)));
      this.#look();
    });
  }

  /** The live actors as they stand, once the feed has told all that was before. */
  async picture(): Promise<readonly (Actor & { readonly state: string })[]> {
    const before = this.#pictures().length;
    const come = new Promise<void>((resolve) => {
      this.#look = () => this.#pictures().length > before && resolve();
    });
    if (before > 0) this.#socket.send('{"type":"sync"}');
    await come;
    return this.#pictures().at(-1)!.actors;
  }

  #pictures(): (Message & { type: 'actors' })[] {
    return this.messages.filter((message) => message.type === 'actors');
  }
}

export interface Found {
  /** One line each; nothing, if all is well. */
  readonly wrong: readonly string[];
  /** Numbers of events by kind, so that a test can check that enough of them happened. */
  readonly counts: Readonly<Record<string, number>>;
}

class World {
  readonly houses: readonly [House, House];
  readonly #random: Random;
  readonly #assistants: readonly string[];
  readonly #brief: string;
  readonly sessions: string[] = [];
  readonly #streams: Promise<unknown>[] = [];
  readonly counts: Record<string, number> = {};

  constructor(houses: readonly [House, House], random: Random, assistants: readonly string[], brief: string) {
    this.houses = houses;
    this.#random = random;
    this.#assistants = assistants;
    this.#brief = brief;
  }

  get #inside(): string {
    return `/workspaces/${this.houses[0].workspaceId}`;
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }

  /** A client's next command, on whichever process. */
  async command(): Promise<void> {
    const random = this.#random;
    const house = random.pick(this.houses);
    const id = this.sessions.length === 0 ? null : random.pick(this.sessions.slice(-6));
    const ask = async (answer: Promise<Answer>): Promise<Answer> => {
      const got = await answer;
      this.#count(String(got.status));
      if (got.json?.error !== undefined) this.#count(got.json.error.code);
      return got;
    };
    const asOperator = (path: string, options: object = { method: 'POST' }) =>
      ask(house.console(`${this.#inside}${path}`, options));
    const key = this.houses[0].key;
    const commands: Readonly<Record<string, () => Promise<unknown>>> = {
      create: async () => {
        const made = await ask(
          house.ask('/sessions', {
            key,
            body: { assistant_id: random.pick([...this.#assistants, ...this.#assistants, this.#brief]) },
          }),
        );
        if (made.status === 201) this.sessions.push(made.json.id);
      },
      chat: async () => id && this.#chat(house, id),
      abort: async () => {
        const turn = id && (await house.ask(`/sessions/${id}`, { key })).json?.active_turn_id;
        if (turn) await ask(house.ask(`/sessions/${id}/turns/${turn}/abort`, { key, method: 'POST' }));
      },
      end: async () => id && ask(house.ask(`/sessions/${id}/end`, { key, method: 'POST' })),
      move: async () =>
        asOperator(
          `/assistants/${random.pick(this.#assistants)}/${random.pick(['publish', 'publish', 'unpublish', 'disable', 'enable'])}`,
        ),
      voice: async () =>
        asOperator(`/assistants/${random.pick(this.#assistants)}`, {
          method: 'PATCH',
          body: { channels: { voice: random.chance(0.5) } },
        }),
    };
    await commands[random.pick(['create', 'chat', 'chat', 'chat', 'abort', 'end', 'move', 'voice'])]!();
  }

  /** Waits for the answer's head; its stream runs on by itself. */
  async #chat(house: House, id: string): Promise<void> {
    try {
      const stream = await house.stream(`/sessions/${id}/chat`, {
        key: this.houses[0].key,
        body: { message: 'Hello' },
      });
      this.#count('200');
      this.#streams.push(stream.rest().catch(() => {}));
    } catch (error) {
      const [, status, text] = /got (\d+): (.*)$/s.exec((error as Error).message) ?? [];
      if (status === undefined) throw error;
      this.#count(status);
      this.#count(JSON.parse(text!).error.code);
    }
  }

  /** More turns at once than the workspace has slots. */
  async fill(): Promise<void> {
    const made = [];
    for (let count = 0; count < 4; count++) made.push((await this.houses[0].session(this.#brief)).id as string);
    this.sessions.push(...made);
    await Promise.all(made.map((id, index) => this.#chat(this.houses[index % 2]!, id)));
  }

  /** Ends all sessions, and so all their turns. */
  async end(): Promise<void> {
    const [house] = this.houses;
    for (const id of this.sessions) await house.ask(`/sessions/${id}/end`, { method: 'POST' });
    await Promise.all(this.#streams);
  }
}

/** The store hangs until a request has been refused for it, and is there again when one is answered. */
async function storeAway(redis: RedisServer, { houses: [house] }: World): Promise<void> {
  redis.signal('SIGSTOP');
  while ((await house.ask('/sessions?limit=1')).status !== 503);
  redis.signal('SIGCONT');
  while ((await house.ask('/sessions?limit=1')).status !== 200);
}

interface Row {
  readonly seq: number;
  readonly refused: boolean;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}

async function committed(house: House, { kind, id }: Actor): Promise<ReadonlyMap<number, Row>> {
  const rows = new Map<number, Row>();
  for (let after: string | null = '', first = true; first || after !== null; first = false) {
    const { json } = await house.console(
      `/workspaces/${house.workspaceId}/${kind}s/${id}/history?order=asc&limit=100${after === '' ? '' : `&after=${after}`}`,
    );
    // A step that refuses and moves the actor all the same, as an expiry does, was committed; other refusals bear the
    // number of the step before.
    for (const row of json.data as Row[]) if (!row.refused || row.from !== row.to) rows.set(row.seq, row);
    after = json.next_cursor;
  }
  return rows;
}

/** Returns the fault of an event; null if the store has it. */
function faultOf({ seq, event, from, to }: Event, rows: ReadonlyMap<number, Row>): string | null {
  const row = rows.get(seq);
  if (row === undefined) return 'no such step was committed';
  if (from === to) return row.to === to ? null : `it was ${row.to}`;
  return row.event === event && row.from === from && row.to === to
    ? null
    : `what was committed is ${row.event} ${row.from} → ${row.to}`;
}

const isKept = ({ kind }: Actor): boolean => kind === 'session' || kind === 'assistant';

async function held(watchers: readonly Watcher[], house: House, counts: Record<string, number>): Promise<string[]> {
  const wrong: string[] = [];
  const histories = new Map<string, Promise<ReadonlyMap<number, Row>>>();
  const historyOf = (actor: Actor): Promise<ReadonlyMap<number, Row>> => {
    const found = histories.get(actor.id) ?? committed(house, actor);
    histories.set(actor.id, found);
    return found;
  };
  for (const message of watchers.flatMap(({ messages }) => messages)) {
    if (message.type === 'dropped') wrong.push('the feed dropped something');
    else if (message.type === 'actors') {
      for (const actor of message.actors.filter(isKept)) {
        if (![...(await historyOf(actor)).values()].some(({ to }) => to === actor.state))
          wrong.push(`${actor.id} is shown in ${actor.state}, where it never was`);
      }
    } else if (message.type === 'event' && isKept(message.actor)) {
      counts['shown'] = (counts['shown'] ?? 0) + 1;
      const fault = faultOf(message, await historyOf(message.actor));
      if (fault !== null)
        wrong.push(
          `${message.actor.id} ${message.seq}: ${message.event} ${message.from} → ${message.to} is shown, and ${fault}`,
        );
    }
  }
  return wrong;
}

/** Checks each watcher's last state against the API. */
async function last(watchers: readonly Watcher[], house: House): Promise<string[]> {
  const wrong: string[] = [];
  for (const watcher of watchers) {
    for (const { kind, id, state } of (await watcher.picture()).filter(isKept)) {
      const { status } = (await house.console(`/workspaces/${house.workspaceId}/${kind}s/${id}`)).json;
      if (status !== state) wrong.push(`${id} is ${status}, and its chart shows ${state} in the end`);
    }
  }
  return wrong;
}

/** `commands`: of each of four clients. */
export async function runTruth(
  t: Owner,
  redis: RedisServer,
  { seed, commands, outages }: { seed: number; commands: number; outages: number },
): Promise<Found> {
  const env = {
    PARLEY_STORE: redis.url,
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
    PARLEY_LOG: 'silent',
  };
  const one = await openHouse(t, { env });
  const houses = [one, await openHouse(t, { env })] as const;
  await one.console(`/workspaces/${one.workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: 2 } });
  const synthetic = (name: string, fields = {}) => one.assistant({ model: { provider: 'synthetic', name }, ...fields });
  const assistants = [
    await synthetic('tokens=20,delay_ms=10'),
    await synthetic('tokens=3'),
    await synthetic('fail_at=2,delay_ms=5'),
  ].map(({ id }) => id);
  const world = new World(
    houses,
    new Random(seed),
    assistants,
    (await synthetic('tokens=400,delay_ms=10', { max_call_seconds: 2 })).id,
  );
  const watchers = houses.map((house) => new Watcher(t, house));
  for (const watcher of watchers) await watcher.picture();
  await world.fill();
  const client = async (): Promise<void> => {
    for (let done = 0; done < commands; done++) await world.command();
  };
  const clients = Promise.all([client(), client(), client(), client()]);
  for (let times = 0; times < outages; times++) await storeAway(redis, world);
  await clients;
  await world.end();
  const wrong = [...(await last(watchers, one)), ...(await held(watchers, one, world.counts))];
  return { wrong: [...new Set(wrong)], counts: world.counts };
}
