/**
 * P11: the store hangs, is stalled one way, cut off or dead: refusals in the one shape and in time, a quick return,
 * bounded memory.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import { appendOnly, RedisServer } from '../store/redis-server.ts';
import { checkRefusal } from './customer.ts';
import type { Experiment, Trial } from './experiment.ts';
import { checkPartial, checkUsable, Ground, lackingNetworkOfRedis, lackingRedis, sealed, until } from './ground.ts';
import { begun, Listener } from './listener.ts';
import { directions } from './way.ts';

const refusedMs = 2000;
const backMs = 3000;
/**
 * Milliseconds of absence that a turn survives, and that it does not survive. A lease lasts five seconds; its last
 * fifth is a reserve.
 */
const keptMs = 2500;
const lostMs = 5500;
/**
 * Extra memory that a server may use while a store is away: as many calls as may wait, with room for the garbage of
 * refusals.
 */
const grownMegabytesMax = 200;
const clientsCount = 30;

export const awayAndBack: Experiment = {
  promise: 'P11',
  name: 'away',
  does: 'Redis hung, stalled one way, cut off, killed, under load',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const { way, house } = await ground.member();
    const redis = ground.redis!;
    /** Faults of the store; each resolves with the function that undoes it. */
    const faults: Faults = {
      hung: async () => (redis.signal('SIGSTOP'), async () => redis.signal('SIGCONT')),
      stalled: async ({ random }) => (way.stall(random.pick(directions)), async () => way.mend()),
      cut: async () => (way.close(), async () => way.mend()),
      killed: async () => (await redis.kill(), () => redis.run()),
    };
    return (trial) => outage(trial, ground, house, faults);
  },
};

/** The same with silent loss: no reset, no end. */
export const awayUnheard: Experiment = {
  promise: 'P11',
  name: 'network',
  does: 'packets to or from Redis lost in silence, one way or both, under load',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingNetworkOfRedis,
  async open(t) {
    const ground = await Ground.apart(t);
    const { way, house } = await ground.wired();
    const faults: Faults = { unheard: ({ random }) => way.loseFor(random.pick(directions)) };
    return (trial) => outage(trial, ground, house, faults);
  },
};

/**
 * A failover that loses nothing and ends no connection: what is refused meanwhile is refused by a replica. The address
 * leads to the new primary only at the end.
 */
export const awayDemoted: Experiment = {
  promise: 'P11',
  name: 'demoted',
  does: 'a failover of Redis that keeps its connections, under load',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const other = await RedisServer.start(...appendOnly);
    t.teardown(() => other.stop());
    let [primary, replica] = [ground.redis!, other];
    await replica.command('REPLICAOF', '127.0.0.1', String(primary.port));
    const { way, house } = await ground.member();
    const faults: Faults = {
      demoted: async () => {
        await until(async () => (await replica.command('INFO', 'replication')).includes('master_link_status:up'));
        await primary.command('FAILOVER', 'TO', '127.0.0.1', String(replica.port));
        await until(async () => (await primary.command('ROLE')).startsWith('slave'));
        [primary, replica] = [replica, primary];
        return async () => way.lead(primary.port);
      },
    };
    return (trial) => outage(trial, ground, house, faults);
  },
};

type Faults = Readonly<Record<string, (trial: Trial) => Promise<() => Promise<unknown>>>>;

async function outage(trial: Trial, ground: Ground, house: House, faults: Faults): Promise<void> {
  const { random, seed } = trial;
  const ids = await Promise.all(Array.from({ length: 3 }, () => ground.session(house)));
  const begin = async (id: string, tag: string) => ({
    id,
    tag,
    listener: await begun(house, id, { tag, words: 1_000_000, delayMs: 5 }),
  });
  const talks = await Promise.all(ids.map((id, index) => begin(id, `s${seed}t${index}`)));
  await Promise.all(talks.map(({ listener }) => listener.heard()));
  const before = residentMegabytes(house);
  const what = random.pick(Object.keys(faults));
  const beginsAt = performance.now();
  const undo = await faults[what]!(trial);
  const begunAt = performance.now();
  let over = false;
  const clients = Array.from({ length: clientsCount }, async (_, index) => {
    while (!over) await askOne(trial, house, ids[index % ids.length]!, index, () => over);
  });
  await pause(random.between(1000, 7500));
  const grown = residentMegabytes(house) - before;
  over = true;
  const awayMsMin = performance.now() - begunAt;
  await undo();
  const undoneAt = performance.now();
  const awayMsMax = undoneAt - beginsAt;
  await until(async () => (await askOne(trial, house, ids[0]!, 0, () => true)) === 200);
  trial.took('until it is back', performance.now() - undoneAt, backMs);
  trial.must(grown < grownMegabytesMax, `${what}: the server grew by ${grown} MB`);
  trial.measured('MB grown', grown);
  await Promise.all(clients);
  await Promise.all(talks.map((each) => stopped(house, each)));
  for (const { id, tag, listener } of talks) {
    // A turn that writes waits as long as its lease allows, and then learns how much the store has.
    const goesOn = listener.ending === 'turn.aborted';
    const failed = listener.ending === 'error' && listener.code === 'api_error';
    trial.count(goesOn ? 'turns that went on' : 'turns that failed');
    const due = awayMsMax < keptMs ? goesOn : awayMsMin > lostMs ? failed : goesOn || failed;
    trial.must(due, `${what} for ${Math.round(awayMsMax)} ms: ${tag} ended as ${listener.ending} ${listener.code}`);
    await sealed(house, id);
    await checkPartial(trial, house, id, { tag, seen: listener.seen }, goesOn ? 'partial aborted null' : undefined);
    await checkUsable(trial, house, id, `${tag}next`);
  }
}

/** Aborts a running turn once the store accepts that; resolves when its stream has ended. */
async function stopped(
  house: House,
  { id, listener }: { readonly id: string; readonly listener: Listener },
): Promise<void> {
  let over = false;
  void listener.over.then(() => (over = true));
  await until(
    async () =>
      over || (await house.ask(`/sessions/${id}/turns/${listener.turnId}/abort`, { method: 'POST' })).status === 200,
  );
  await listener.over;
}

/** One request of several kinds: served, or refused in the one shape and in time. Resolves with the status. */
async function askOne(trial: Trial, house: House, id: string, kind: number, over: () => boolean): Promise<number> {
  const askedAt = performance.now();
  const paths = [`/sessions/${id}`, `/sessions/${id}/transcript`, '/assistants', `/sessions/${id}/end`, '/sessions'];
  const path = paths[kind % paths.length]!;
  // The ends and the creations are sent only while the store is away: none of them is wanted.
  const body = kind % paths.length < 3 ? null : { assistant_id: 'asst_none' };
  const listener = new Listener(house, path.replace(id, body === null ? id : 'ses_none'), body);
  await listener.over;
  if (listener.status === 503) {
    trial.count('refused');
    if (!over()) trial.took('until refused', performance.now() - askedAt, refusedMs);
    checkRefusal(503, listener.text, listener.requestId);
  } else
    trial.must([200, 404].includes(listener.status), `${path}: ${listener.status} ${listener.error ?? listener.text}`);
  return listener.status;
}

/** Returns the resident memory as the system reports it; 0 if it reports none. */
function residentMegabytes({ child }: House): number {
  try {
    return Math.round(
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024,
    );
  } catch {
    return 0;
  }
}
