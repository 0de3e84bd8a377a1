/** How long the first text takes. */
import { parley, parleyRedis } from '../contenders/parley.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { peers } from '../contenders/peers.ts';
import { pick, type Goal, type Measurement, type Question, type Size } from '../harness/question.ts';
import { quantile } from '../harness/statistics.ts';
import type { TurnTimes } from '../load.ts';

const shape = { tokens: 1, rate: 0 };
const calm = 'one at a time';
/** Events a second of each of the other streams. */
const rate = 100;
/** How many streams are beside the turns. */
const besides: Readonly<Record<string, number>> = { 'beside 12,800 events/s': 128, 'beside 25,600 events/s': 256 };
const [busy, busier] = Object.keys(besides) as [string, string];
/** Clients each of which begins its next turn when the one before has ended. */
const crowd = { clients: 256, tokens: 50 };
const crowded = '256 clients, 25,600 events/s';
const turnsEach = 5;
/** Of a conversation in a warm-up: V8 goes on compiling what a turn runs for some ten thousand of them, on the core that is measured. */
const warmTurnsEach = 40;
const conversations: Readonly<Record<Size, number>> = { full: 200, quick: 100, smoke: 4 };
/** How long the other streams last, and a warm-up at the most; the turns beside them end a little before. */
const besideSeconds: Readonly<Record<Size, number>> = { full: 7, quick: 4, smoke: 1 };
const marginMs = 500;

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, case: name, size } = measurement;
  const { firstMs } = name === crowded ? await together(measurement) : await besideOthers(measurement, await instance.conversations(shape, conversations[size]));
  return { p50: quantile(firstMs, 0.5), p99: quantile(firstMs, 0.99) };
}

const besideOthers = (measurement: Measurement, requests: readonly string[]): Promise<TurnTimes> =>
  measurement.case === calm || measurement.size === 'smoke' ? alone(measurement, requests) : beside(measurement, requests);

/** Each client waits for its own answers alone. */
async function together({ instance, size, surroundings: { load } }: Measurement): Promise<TurnTimes> {
  const turns = { rate, tokens: size === 'smoke' ? 1 : crowd.tokens };
  const clients = size === 'smoke' ? 4 : crowd.clients;
  return load.converse(instance, await instance.conversations(turns, clients), size === 'smoke' ? 1 : besideSeconds[size] * (rate / crowd.tokens), clients, turns);
}

const turnsIn = ({ round }: Measurement): number => (round < 0 ? warmTurnsEach : turnsEach);

const alone = (measurement: Measurement, requests: readonly string[]): Promise<TurnTimes> =>
  measurement.surroundings.load.converse(measurement.instance, requests, turnsIn(measurement), 1, shape, measurement.round < 0 ? performance.now() + besideSeconds[measurement.size] * 1000 : Infinity);

/** The other streams are waited for: parley would go on with a turn whose client has left, into the next measurement. */
async function beside(measurement: Measurement, requests: readonly string[]): Promise<TurnTimes> {
  const { instance, case: name, size, surroundings: { load } } = measurement;
  const seconds = besideSeconds[size];
  const others = { rate, tokens: rate * seconds };
  const streams = load.stream(instance, await instance.conversations(others, besides[name]!), others);
  await streams.begun();
  const times = await load.converse(instance, requests, turnsIn(measurement), 1, shape, performance.now() + seconds * 1000 - marginMs);
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
  method: `From the request to the first text, of a provider that answers at once; one turn after another, alone and beside 128 and 256 streams of ${rate} events a second; and of ${crowd.clients} clients, each of which begins its next turn of ${crowd.tokens} such events when the one before has ended.`,
  figures: [
    { name: 'p50', unit: 'ms' },
    { name: 'p99', unit: 'ms' },
  ],
  contenders: [floor, parley, parleyRedis, nginx, plain, ...peers],
  cases: () => [calm, busy, busier, crowded],
  warmUps: 3,
  takes: ({ standing }, name) => standing !== 'peer' || name === calm,
  goals: [
    goal(calm, 'p50', 1),
    goal(calm, 'p99', 3),
    goal(busy, 'p50', 1),
    goal(busy, 'p99', 3),
    goal(busier, 'p50', 1.5),
    goal(busier, 'p99', 6),
    { text: `p50, ${crowded} ≤ 15 ms`, kind: 'value', of: pick(parley.name, crowded, 'p50'), most: 15 },
  ],
  measure,
};
