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
const turnsEach = 10;
const conversations: Readonly<Record<Size, number>> = { full: 100, quick: 50, smoke: 2 };
/** The other streams last longer than the turns do: what is left of them is cut. */
const backgroundSeconds = 20;

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, case: name, size } = measurement;
  const requests = await instance.conversations(shape, conversations[size]);
  const ask = (): Promise<TurnTimes> => converse(instance, requests, turnsEach, 1, shape);
  const { firstMs } = name === calm || size === 'smoke' ? await ask() : await beside(measurement, ask);
  return { p50: quantile(firstMs, 0.5), p99: quantile(firstMs, 0.99) };
}

async function beside<T>({ instance }: Measurement, run: () => Promise<T>): Promise<T> {
  const others = { rate: background.rate, tokens: background.rate * backgroundSeconds };
  const streams = new Streams(instance, await instance.conversations(others, background.streams), others);
  await streams.begun();
  try {
    return await run();
  } finally {
    await streams.cut();
  }
}

const goal = (name: string, figure: string, most: number): Goal => ({
  text: `${figure} added over F, ${name} ≤ ${most} ms`,
  kind: 'difference',
  of: pick(parley.name, name, figure),
  against: pick(floor.name, name, figure),
  most,
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
  takes: ({ standing }, name) => standing !== 'peer' || name === calm,
  goals: [goal(calm, 'p50', 1), goal(calm, 'p99', 3), goal(busy, 'p50', 1), goal(busy, 'p99', 3)],
  measure,
};
