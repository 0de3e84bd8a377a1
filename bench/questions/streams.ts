/** The memory of open streams. */
import { setTimeout as pause } from 'node:timers/promises';
import { parley, parleyRedis } from '../contenders/parley.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { peers } from '../contenders/peers.ts';
import { residentBytes } from '../harness/process.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';

const open = '2,000 open streams';
const streams: Readonly<Record<Size, number>> = { full: 2000, quick: 2000, smoke: 10 };
/** Slow enough for all of them to be held, not worked on. */
const rate = 2;
/** Streams opened at once. The effect of 2,000 clients at one instant is another question. */
const openedAbreast = 100;
const settleMs: Readonly<Record<Size, number>> = { full: 5000, quick: 3000, smoke: 0 };
const tokens: Readonly<Record<Size, number>> = { full: 24, quick: 16, smoke: 1 };

const obstacle =
  'What is there before the first stream, Node, the libraries and the code, leaves little of it. A stream then holds, beyond what the floor does, its session, its turn, the rows that wait for the database, and what the collector has not taken back yet.';

async function measure({ instance, size, surroundings }: Measurement): Promise<Record<string, number>> {
  const before = residentBytes(instance.processes);
  const shape = { rate, tokens: tokens[size] };
  const under = surroundings.load.stream(
    instance,
    await instance.conversations(shape, streams[size]),
    shape,
    openedAbreast,
  );
  await under.begun();
  await pause(settleMs[size]);
  const resident = residentBytes(instance.processes);
  await under.done;
  return {
    resident: resident / 1e6,
    'a stream': (resident - before) / streams[size] / 1e3,
    'at the start': before / 1e6,
  };
}

export const openStreams: Question = {
  name: 'streams',
  title: 'Open streams',
  method: `Streams of ${rate} events a second, all open at once; the server's resident memory (VmRSS, pages of the store's file that are mapped included), in a server started for it.`,
  figures: [
    { name: 'resident', unit: 'MB' },
    { name: 'a stream', unit: 'KB' },
    { name: 'at the start', unit: 'MB' },
  ],
  contenders: [floor, parley, parleyRedis, nginx, plain, ...peers],
  cases: () => [open],
  fresh: true,
  goals: [
    {
      text: '2,000 open streams ≤ 110 MB resident',
      headline: 'Memory of a server with 2,000 open streams',
      kind: 'value',
      of: pick(parley.name, open, 'resident'),
      most: 110,
      obstacle,
    },
  ],
  measure,
};
