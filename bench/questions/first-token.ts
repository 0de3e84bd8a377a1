/** How long the first text takes. */
import { parley, parleyRedis } from '../contenders/parley.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { peers } from '../contenders/peers.ts';
import { pick, type Goal, type Measurement, type Question, type Size } from '../harness/question.ts';
import { quantile } from '../harness/statistics.ts';
import { Streams } from '../load/streams.ts';
import { converse, type TurnTimes } from '../load/turns.ts';

const shape = { tokens: 1, rate: 0 };
const [calm, busy] = ['one at a time', 'beside 12,800 events/s'];
const background = { streams: 128, rate: 100 };
const turnsEach = 5;
/** Of a conversation in a warm-up: V8 goes on compiling what a turn runs for some ten thousand of them, on the core that is measured. */
const warmTurnsEach = 40;
const conversations: Readonly<Record<Size, number>> = { full: 200, quick: 100, smoke: 4 };
/** How long the other streams last, and a warm-up at the most; the turns beside them end a little before. */
const besideSeconds: Readonly<Record<Size, number>> = { full: 7, quick: 4, smoke: 1 };
const marginMs = 500;

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, case: name, size } = measurement;
  const requests = await instance.conversations(shape, conversations[size]);
  const { firstMs } = name === calm || size === 'smoke' ? await alone(measurement, requests) : await beside(measurement, requests);
  return { p50: quantile(firstMs, 0.5), p99: quantile(firstMs, 0.99) };
}

const turnsIn = ({ round }: Measurement): number => (round < 0 ? warmTurnsEach : turnsEach);

const alone = (measurement: Measurement, requests: readonly string[]): Promise<TurnTimes> =>
  converse(measurement.instance, requests, turnsIn(measurement), 1, shape, measurement.round < 0 ? performance.now() + besideSeconds[measurement.size] * 1000 : Infinity);

/** The other streams are waited for: parley would go on with a turn whose client has left, into the next measurement. */
async function beside(measurement: Measurement, requests: readonly string[]): Promise<TurnTimes> {
  const { instance, size } = measurement;
  const seconds = besideSeconds[size];
  const others = { rate: background.rate, tokens: background.rate * seconds };
  const streams = new Streams(instance, await instance.conversations(others, background.streams), others);
  await streams.begun();
  const times = await converse(instance, requests, turnsIn(measurement), 1, shape, performance.now() + seconds * 1000 - marginMs);
  await streams.done;
  return times;
}

const obstacle =
  'The slowest turns wait for the core, where V8 compiles and marks on threads of its own and LMDB writes, 3 to 8 ms at a time; few of them meet a collection itself. Beside other streams the events that came with a turn, and the beat that hands theirs over, come first.';

const goal = (name: string, figure: string, most: number): Goal => ({
  text: `${figure} added over F, ${name} ≤ ${most} ms`,
  kind: 'difference',
  of: pick(parley.name, name, figure),
  against: pick(floor.name, name, figure),
  most,
  ...(figure === 'p99' && { obstacle }),
});

export const firstToken: Question = {
  name: 'first-token',
  title: 'The first text',
  method: `From the request to the first text, of a provider that answers at once; one turn after another, alone and beside ${background.streams} streams of ${background.rate} events a second.`,
  figures: [
    { name: 'p50', unit: 'ms' },
    { name: 'p99', unit: 'ms' },
  ],
  contenders: [floor, parley, parleyRedis, nginx, plain, ...peers],
  cases: () => [calm, busy],
  warmUps: 3,
  takes: ({ standing }, name) => standing !== 'peer' || name === calm,
  goals: [goal(calm, 'p50', 1), goal(calm, 'p99', 3), goal(busy, 'p50', 1), goal(busy, 'p99', 3)],
  measure,
};
