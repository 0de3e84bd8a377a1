/** The cost of a step in each store, without a server around it. */
import { storeFolder } from '../contenders/parley.ts';
import { startRedis, whyNoRedis } from '../contenders/redis.ts';
import type { Contender, Instance } from '../harness/contender.ts';
import { built } from '../harness/built.ts';
import { cpuMicroseconds, Process } from '../harness/process.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { parleyFormat } from '../load/stream.ts';

const turns: Readonly<Record<Size, number>> = { full: 10_000, quick: 5_000, smoke: 20 };

async function startStore(where: string, remove: () => Promise<void>): Promise<Instance> {
  const program = await built(new URL('../store.ts', import.meta.url));
  const store = new Process({ place: 'server', program: process.execPath, args: [program, where], node: true });
  await store.told();
  return {
    processes: [store],
    ports: [],
    format: parleyFormat,
    conversations: async () => [],
    stop: () => store.stop().then(remove),
  };
}

const memory: Contender = {
  name: 'memory',
  note: 'Keeps nothing.',
  standing: 'always',
  start: () => startStore('memory:', async () => {}),
};

const lmdb: Contender = {
  name: 'lmdb',
  note: 'Answers when committed.',
  standing: 'always',
  async start() {
    const { folder, remove } = await storeFolder();
    return startStore(`lmdb:${folder}`, remove);
  },
};

const redis: Contender = {
  name: 'redis',
  note: 'One script a step; the CPU time of Redis itself is a figure of its own.',
  standing: 'always',
  absent: whyNoRedis,
  async start() {
    const server = await startRedis();
    return { ...(await startStore(server.url, server.stop)), beside: [server.process] };
  },
};

const [step, bare, told] = ['a step', 'a turn without its history', 'a turn with its history'];
const [perStep, perTurn] = ['CPU per step', 'CPU per turn'];

async function measure({ instance, case: name, size }: Measurement): Promise<Record<string, number>> {
  const [store] = instance.processes as [Process];
  const [database] = instance.beside ?? [];
  const cpu = (): number[] => [cpuMicroseconds([store]), database === undefined ? 0 : cpuMicroseconds([database])];
  const before = cpu();
  const answer = store.told<{ steps: number; seconds: number }>();
  store.child.send({ turns: turns[size], pieces: name === step ? 8 : 0, history: name === told });
  const { steps, seconds } = await answer;
  const [own, databases] = cpu().map(
    (after, index) => (after - before[index]!) / (name === step ? steps : turns[size]),
  );
  return {
    ...(name === step && { steps: steps / seconds }),
    [name === step ? perStep : perTurn]: own!,
    ...(database !== undefined && { "the database's": databases! }),
  };
}

export const store: Question = {
  name: 'store',
  title: 'Steps of the store',
  method:
    'Sessions created, turns begun, given eight pieces and finished, 64 at a time; CPU time of the process that uses the store. A turn: as much, without pieces, and with its two steps in the history of its session or without.',
  figures: [
    { name: 'steps', unit: '/s' },
    { name: perStep, unit: 'µs' },
    { name: perTurn, unit: 'µs' },
    { name: "the database's", unit: 'µs' },
  ],
  contenders: [memory, lmdb, redis],
  yardstick: { contender: memory.name, figure: perTurn },
  cases: () => [step, bare, told],
  // 5 % of what a whole turn takes on the machine on which the goal was set.
  goals: [
    {
      text: "a turn's history on LMDB ≤ 13 µs",
      kind: 'difference',
      of: pick(lmdb.name, told, perTurn),
      against: pick(lmdb.name, bare, perTurn),
      most: 13,
    },
  ],
  measure,
};
