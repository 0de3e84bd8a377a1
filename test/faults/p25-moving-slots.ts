/**
 * P25: slots of a Redis Cluster move while clients use their workspaces: every answer is 503 or right, and afterwards
 * all is there.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { houseAt, type Answer, type House } from '../api/house.ts';
import { credentialOf } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import { RedisCluster, type RedisServer } from '../store/redis-server.ts';
import { fix, idOf, SlotMove } from '../store/slot-move.ts';
import { checkRefusal } from './customer.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, several, until } from './ground.ts';
import { Insistent } from './insistent.ts';

const workspacesCount = 3;
const againMs = 50;
/** Between two sessions of a workspace: a large one would only take longer to move. */
const createdMs = 200;
/** Milliseconds after which a server has noticed an open slot, and every step that it sent before has ended. */
const noticedMs = 2_000;
/** A move must not fail over by itself on a busy machine. */
const nodeTimeoutMs = 15_000;

/** A cluster with a primary to spare, to which slots go and from which they come, and two servers. */
interface Scene {
  readonly cluster: RedisCluster;
  readonly spare: RedisServer;
  readonly ground: Ground;
  readonly houses: readonly House[];
  /** The slots that move: the slot of the installation, and of each workspace of this repetition with its keys. */
  readonly moved: ReadonlySet<string>;
}

type Way = (scene: Scene, trial: Trial) => Promise<void>;

const moving = (name: string, does: string, ways: Readonly<Record<string, Way>>): Experiment => ({
  promise: 'P25',
  name,
  does,
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: lackingRedis,
  async open(t) {
    const scene = await openScene(t);
    return async (trial) => {
      const before = await scene.cluster.slots();
      const tenants = await Promise.all(
        Array.from({ length: workspacesCount }, (_, index) => Tenant.open(scene, trial, `s${trial.seed}w${index}`)),
      );
      const after = [...(await scene.cluster.slots()).keys()].filter(
        (slot) => scene.moved.has(slot) || !before.has(slot),
      );
      await move({ ...scene, moved: new Set(after) }, trial, tenants, ways);
    };
  },
});

async function openScene(t: Owner): Promise<Scene> {
  const cluster = await RedisCluster.start(nodeTimeoutMs);
  t.teardown(() => cluster.stop());
  const spare = await cluster.addPrimary();
  const ground = await Ground.onCluster(t, cluster.url);
  const houses = await several(2, () => ground.server());
  return { cluster, spare, ground, houses, moved: new Set((await cluster.slots()).keys()) };
}

async function move(
  scene: Scene,
  trial: Trial,
  tenants: readonly Tenant[],
  ways: Readonly<Record<string, Way>>,
): Promise<void> {
  let stopped = false;
  const lives = Promise.all(tenants.map((tenant) => tenant.live(() => stopped)));
  const way = trial.random.pick(Object.keys(ways));
  trial.count(way);
  try {
    await Promise.race([lives, ways[way]!(scene, trial)]);
    const movedAt = performance.now();
    await Promise.all(tenants.map((tenant) => tenant.served()));
    trial.took('until all are served', performance.now() - movedAt);
  } catch (error) {
    throw new Error(`while slots moved: ${way}`, { cause: error });
  } finally {
    stopped = true;
  }
  await lives;
  for (const tenant of tenants) for (const house of scene.houses) await tenant.check(house);
  await checkPlaces(trial, scene.cluster);
}

/** Every slot's keys are with one primary alone. */
async function checkPlaces(trial: Trial, cluster: RedisCluster): Promise<void> {
  const primaries = await cluster.primaries();
  for (const [slot, owner] of await cluster.slots()) {
    for (const server of primaries) {
      const count = await server.ask('CLUSTER', 'COUNTKEYSINSLOT', slot);
      trial.must(server === owner || count === 0, `slot ${slot}: ${count} keys are left behind`);
    }
  }
}

/** Moves of the slots, each from where it is, to the spare primary or back. */
async function moves({ cluster, spare, moved }: Scene, { random }: Trial): Promise<SlotMove[]> {
  const others = (await cluster.primaries()).filter((server) => server !== spare);
  const places = [...(await cluster.slots())].filter(([slot]) => moved.has(slot));
  return places.map(
    ([slot, source]) => new SlotMove(cluster, slot, source, source === spare ? random.pick(others) : spare),
  );
}

/** Puts the slots on the spare primary, one whole slot at a time. Resolves with how many are there. */
async function gather(scene: Scene, trial: Trial): Promise<number> {
  for (const each of await moves(scene, trial)) {
    if (each.source === scene.spare) continue;
    await each.open();
    await each.keys();
    await each.finish();
  }
  return [...(await scene.cluster.slots()).values()].filter((server) => server === scene.spare).length;
}

async function reshardArguments(scene: Scene, trial: Trial): Promise<string[]> {
  const count = await gather(scene, trial);
  const others = (await scene.cluster.primaries()).filter((server) => server !== scene.spare);
  const [from, to] = await Promise.all([idOf(scene.spare), idOf(trial.random.pick(others))]);
  return [
    '--cluster-from',
    from,
    '--cluster-to',
    to,
    '--cluster-slots',
    String(count),
    '--cluster-pipeline',
    String(trial.random.pick([1, 10])),
  ];
}

const reshard: Way = async (scene, trial) => scene.cluster.manage('reshard', await reshardArguments(scene, trial));

const rebalance: Way = async (scene, trial) => {
  await gather(scene, trial);
  await scene.cluster.manage('rebalance', [
    '--cluster-weight',
    `${await idOf(scene.spare)}=0`,
    '--cluster-pipeline',
    String(trial.random.pick([1, 10])),
  ]);
};

const byHand: Way = async (scene, trial) => {
  const { random } = trial;
  for (const each of await moves(scene, trial)) {
    await each.open();
    for (let parts = random.between(1, 3); parts > 0; parts--) {
      await pause(random.pick([0, 0, 100, 700]));
      await each.keys(parts === 1 ? Infinity : random.between(1, 20));
    }
    await each.finish();
  }
};

/** Opens the slot of a workspace, as the manager does one slot at a time, and moves a part of its keys. */
async function halfway(scene: Scene, trial: Trial, from: (source: RedisServer) => boolean): Promise<SlotMove> {
  const { random } = trial;
  const all = (await moves(scene, trial)).filter(({ source }) => from(source));
  const counts = await Promise.all(all.map((each) => each.count(each.source)));
  const most = counts.toSorted((a, b) => b - a)[workspacesCount - 1] ?? 0;
  const one = random.pick(all.filter((_, index) => counts[index]! >= most));
  await one.open();
  await one.keys(random.between(1, Math.max(1, (await one.count(one.source)) - 1)));
  return one;
}

/** The manager is killed in the middle of a move. */
const killed: Way = async (scene, trial) => {
  const given = await reshardArguments(scene, trial);
  const aborting = AbortSignal.timeout(trial.random.between(20, 400));
  await scene.cluster.manage('reshard', given, aborting).catch(() => {});
  await pause(trial.random.between(0, 1_500));
  await fix(scene.cluster);
};

/** Assigns the slot to its source, which forgets the move. */
const forgotten: Way = async (scene, trial) => {
  const one = await halfway(scene, trial, () => true);
  await pause(noticedMs + trial.random.between(0, 700));
  await one.stable(one.source);
  await pause(trial.random.between(0, 1_500));
  await fix(scene.cluster);
};

/** A replica, which knows nothing of the move, takes the place of its source; nothing is lost by that itself. */
const replaced: Way = async (scene, trial) => {
  const { cluster, spare } = scene;
  const one = await halfway(scene, trial, (source) => source !== spare);
  const [replica] = await cluster.replicasOf(one.source);
  await until(async () => {
    await replica!.command('CLUSTER', 'FAILOVER');
    return (await replica!.command('ROLE')).startsWith('master');
  });
  await pause(trial.random.between(0, 2_000));
  await fix(cluster);
  await until(() => cluster.settled().catch(() => false));
};

/** A workspace with an assistant for customers who converse, and one for those who list and read. */
class Tenant {
  readonly #trial: Trial;
  readonly #houses: readonly House[];
  readonly #name: string;
  readonly #listed: string;
  readonly #insistent: Insistent;
  /** Sessions whose creation was answered. */
  readonly #sessions: string[] = [];
  #asked = 0;

  private constructor(
    trial: Trial,
    houses: readonly House[],
    name: string,
    [talking, listed]: readonly [string, string],
  ) {
    this.#trial = trial;
    this.#houses = houses;
    this.#name = name;
    this.#listed = listed;
    this.#insistent = new Insistent(houses, trial, name, talking, Infinity);
  }

  static async open({ houses, ground }: Scene, trial: Trial, name: string): Promise<Tenant> {
    const [first, ...others] = houses as [House, ...House[]];
    const house = await houseAt(first, { workspace: 'new' });
    const credential = await credentialOf(house, 'openai', ground.speaker.baseUrl);
    const fields = { model: { provider: 'openai', name: 'speaker', credential_id: credential.id } };
    const assistants = await several(2, async () => (await house.assistant(fields)).id as string);
    return new Tenant(trial, [house, ...others], name, assistants as [string, string]);
  }

  async live(stopped: () => boolean): Promise<void> {
    await Promise.all([this.#insistent.live(Infinity, stopped), this.#create(stopped), this.#read(stopped)]);
  }

  /** Resolves once the workspace is served. */
  async served(): Promise<void> {
    await until(async () => (await this.#ask('/sessions?limit=1')) !== null);
  }

  async #create(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      const headers = { 'idempotency-key': `${this.#name}l${this.#asked++}` };
      const made = await until(() => this.#ask('/sessions', { body: { assistant_id: this.#listed }, headers }, 201));
      this.#sessions.push(made.json.id);
      await pause(createdMs);
    }
  }

  async #read(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      await this.#checkReads();
      await pause(againMs);
    }
  }

  /** Everything that was answered before is in what is answered now. */
  async #checkReads(): Promise<boolean> {
    const known = [...this.#sessions];
    const listed = await this.#list();
    if (listed !== null) {
      const missing = known.filter((id) => !listed.includes(id));
      this.#trial.must(
        missing.length === 0,
        `${this.#name}: of ${known.length} sessions ${missing.join(', ')} are in no list`,
      );
      this.#trial.must(new Set(listed).size === listed.length, `${this.#name}: sessions are listed twice`);
    }
    const id = known.length === 0 ? null : this.#trial.random.pick(known);
    const read = id === null ? null : await this.#ask(`/sessions/${id}`);
    this.#trial.must(read === null || read.json.id === id, `${this.#name}: ${id} is answered ${read?.text}`);
    const assistants = await this.#ask('/assistants');
    const names = assistants?.json.data.map((assistant: { id: string }) => assistant.id);
    this.#trial.must(assistants === null || names.includes(this.#listed), `${this.#name}: the assistants are ${names}`);
    if (listed !== null) this.#trial.count('lists that were right');
    return listed !== null && assistants !== null;
  }

  /** The sessions of the list; null if a page of it was refused. */
  async #list(): Promise<string[] | null> {
    const ids: string[] = [];
    for (let after: string | null = ''; after !== null;) {
      const page: Answer | null = await this.#ask(
        `/sessions?assistant_id=${this.#listed}&limit=100${after && `&after=${after}`}`,
      );
      if (page === null) return null;
      ids.push(...page.json.data.map((session: { id: string }) => session.id));
      after = page.json.next_cursor;
    }
    return ids;
  }

  /** Asks any of the servers; null if it refuses as it may. */
  async #ask(path: string, options: Parameters<House['ask']>[1] = {}, due = 200): Promise<Answer | null> {
    const [{ key }] = this.#houses as [House];
    const answer = await this.#trial.random.pick(this.#houses).ask(path, { key, ...options });
    if (answer.status === due) return answer;
    checkRefusal(answer.status, answer.text, answer.headers.get('x-request-id') ?? '');
    this.#trial.count('refused');
    return null;
  }

  /** Everything that was answered is there, and nothing else. */
  async check(house: House): Promise<void> {
    const [{ key }] = this.#houses as [House];
    await this.#insistent.check({ ...house, ask: (path, options = {}) => house.ask(path, { key, ...options }) });
    await until(() => this.#checkReads());
    const listed = await until(() => this.#list());
    this.#trial.must(
      listed.length === this.#sessions.length,
      `${this.#name}: ${listed.length} sessions are listed, and ${this.#sessions.length} were made`,
    );
    this.#trial.count('sessions', this.#sessions.length);
  }
}

export const movesSlots: readonly Experiment[] = [
  moving('reshard', 'redis-cli --cluster reshard or rebalance, under load', { reshard, rebalance }),
  moving('hand', 'CLUSTER SETSLOT and MIGRATE by hand, under load', { byHand }),
  moving(
    'broken-off',
    'a move that is killed, forgotten by its source or left by a failover, and redis-cli --cluster fix, under load',
    { killed, forgotten, replaced },
  ),
];
