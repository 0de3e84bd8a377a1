/** Time to the first text. */
import { parley, parleyRedis } from '../contenders/parley.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { peers } from '../contenders/peers.ts';
import { pick, type Goal, type Measurement, type Question, type Size } from '../harness/question.ts';
import { quantile } from '../harness/statistics.ts';
import { loadCore, openWindow } from '../harness/window.ts';
import type { TurnTimes } from '../load.ts';
import { seeded } from '../text.ts';

const shape = { tokens: 1, rate: 0 };
const calm = 'one at a time';
/** Events a second of each of the other streams. */
const rate = 100;
/** Number of streams next to the turns. */
const besides: Readonly<Record<string, number>> = { 'beside 25,600 events/s': 256, 'beside 51,200 events/s': 512 };
const [busy, busier] = Object.keys(besides) as [string, string];
/**
 * Turns a second at random times, independent of the turns before (open loop): about half of what parley sustains on
 * Redis, and embedded.
 */
const arrivals: Readonly<Record<string, number>> = { '800 turns/s at random': 800, '1,500 turns/s at random': 1500 };
const [some, more] = Object.keys(arrivals) as [string, string];
const arrivingAbreast = 256;
const arrivingTurnsEach = 10;
const seed = 4_711;
/** Clients that each begin their next turn when the previous one has ended. */
const crowd = { clients: 256, tokens: 50 };
const crowded = '256 clients, 25,600 events/s';
const turnsEach = 5;
/**
 * Turns of each conversation in a warm-up: V8 compiles code of a turn for some ten thousand turns, on the core that is
 * measured.
 */
const warmTurnsEach = 40;
const conversations: Readonly<Record<Size, number>> = { full: 200, quick: 100, smoke: 4 };
/**
 * Seconds for which the other streams last and turns arrive, and maximum of a warm-up; the turns next to streams end a
 * little before.
 */
const lastingSeconds: Readonly<Record<Size, number>> = { full: 7, quick: 4, smoke: 1 };
const marginMs = 500;

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const {
    times: { firstMs },
    loadCore: share,
  } = await asked(measurement);
  return { p50: quantile(firstMs, 0.5), p99: quantile(firstMs, 0.99), [loadCore.name]: share };
}

interface Timed {
  readonly times: TurnTimes;
  readonly loadCore: number;
}

const asked = (measurement: Measurement): Promise<Timed> => {
  const { case: name, size } = measurement;
  if (name === crowded) return together(measurement);
  if (arrivals[name] !== undefined) return atRandom(measurement, size === 'smoke' ? 20 : arrivals[name]);
  return name === calm || size === 'smoke' ? alone(measurement) : beside(measurement);
};

/** Runs it in a separate window, so that the preparation is not timed. */
async function timed(measurement: Measurement, run: () => Promise<TurnTimes>): Promise<Timed> {
  const used = openWindow(measurement);
  const times = await run();
  return { times, loadCore: used().loadCore };
}

/** Each client waits for its own answers alone. */
async function together(measurement: Measurement): Promise<Timed> {
  const {
    instance,
    size,
    surroundings: { load },
  } = measurement;
  const turns = { rate, tokens: size === 'smoke' ? 1 : crowd.tokens };
  const clients = size === 'smoke' ? 4 : crowd.clients;
  const requests = await instance.conversations(turns, clients);
  return timed(measurement, () =>
    load.converse(
      instance,
      requests,
      size === 'smoke' ? 1 : lastingSeconds[size] * (rate / crowd.tokens),
      clients,
      turns,
    ),
  );
}

async function atRandom(measurement: Measurement, perSecond: number): Promise<Timed> {
  const {
    instance,
    size,
    surroundings: { load },
  } = measurement;
  const times = arrivalTimes(perSecond, lastingSeconds[size] * 1000);
  const abreast = Math.min(arrivingAbreast, times.length);
  const requests = await instance.conversations(shape, abreast + Math.ceil(times.length / arrivingTurnsEach));
  return timed(measurement, () => load.arrive(instance, requests, arrivingTurnsEach, abreast, shape, times));
}

/** Times in milliseconds of a Poisson process with so many events a second. */
function arrivalTimes(perSecond: number, untilMs: number): number[] {
  const random = seeded(seed);
  const gap = (): number => (-Math.log(1 - random()) * 1000) / perSecond;
  const times: number[] = [];
  for (let at = gap(); at < untilMs; at += gap()) times.push(at);
  return times;
}

const turnsIn = ({ round }: Measurement): number => (round < 0 ? warmTurnsEach : turnsEach);

async function alone(measurement: Measurement): Promise<Timed> {
  const {
    instance,
    size,
    round,
    surroundings: { load },
  } = measurement;
  const requests = await instance.conversations(shape, conversations[size]);
  const until = round < 0 ? performance.now() + lastingSeconds[size] * 1000 : Infinity;
  return timed(measurement, () => load.converse(instance, requests, turnsIn(measurement), 1, shape, until));
}

/** Waits for the other streams: parley would continue a turn whose client has left, into the next measurement. */
async function beside(measurement: Measurement): Promise<Timed> {
  const {
    instance,
    case: name,
    size,
    surroundings: { load },
  } = measurement;
  const seconds = lastingSeconds[size];
  const others = { rate, tokens: rate * seconds };
  const requests = await instance.conversations(shape, conversations[size]);
  const streams = load.stream(instance, await instance.conversations(others, besides[name]!), others);
  await streams.begun();
  const found = await timed(measurement, () =>
    load.converse(instance, requests, turnsIn(measurement), 1, shape, performance.now() + seconds * 1000 - marginMs),
  );
  await streams.done;
  return found;
}

const obstacle =
  'V8 collects its young generation 2 ms at a time, and one turn in some eighty meets that; besides, on the one core of the server the threads of V8 and LMDB run between two events of the loop, for some milliseconds, at a lower priority too. Beside other streams the events that came with a turn, and the beat that hands theirs over, come first.';

const goal = (contender: string, name: string, figure: string, most: number, more: Partial<Goal> = {}): Goal => ({
  text: `${contender}: ${figure} added over F, ${name} ≤ ${most} ms`,
  kind: 'difference',
  of: pick(contender, name, figure),
  against: pick(floor.name, name, figure),
  most,
  ...(figure === 'p99' && { obstacle }),
  ...more,
});

const timeGoal = (name: string, figure: string, most: number, more: Partial<Goal> = {}): Goal => ({
  text: `${figure}, ${name} ≤ ${most} ms`,
  kind: 'value',
  of: pick(parley.name, name, figure),
  most,
  ...more,
});

export const firstToken: Question = {
  name: 'first-token',
  title: 'The first text',
  method: `From the request to the first text, of a provider that answers at once: one turn after another, alone and beside 256 and 512 streams of ${rate} events a second; turns that arrive at random (Poisson), counted from when they were due; and ${crowd.clients} clients, each of which begins its next turn of ${crowd.tokens} such events when the one before has ended.`,
  figures: [{ name: 'p50', unit: 'ms' }, { name: 'p99', unit: 'ms' }, loadCore],
  contenders: [floor, parley, parleyRedis, nginx, plain, ...peers],
  yardstick: { contender: floor.name, figure: 'p50' },
  cases: () => [calm, some, more, busy, busier, crowded],
  // A crowd runs other code than turns one at a time.
  warmedBy: [crowded, busy, calm],
  warmUps: 3,
  // Other contenders reach their limit sooner, and would only measure their own queue.
  takes: ({ standing, name: contender }, name) =>
    standing === 'peer' ? name === calm : name === more ? contender === floor.name || contender === parley.name : true,
  goals: [
    goal(parley.name, calm, 'p50', 1, { headline: 'Wait that parley adds before the first text, p50' }),
    goal(parley.name, calm, 'p99', 3, { headline: 'The same, p99' }),
    goal(parley.name, busy, 'p50', 0.3),
    goal(parley.name, busy, 'p99', 2),
    goal(parleyRedis.name, busy, 'p50', 5),
    goal(parleyRedis.name, busy, 'p99', 20),
    timeGoal(some, 'p99', 5),
    timeGoal(crowded, 'p50', 15),
    timeGoal(crowded, 'p50', 5, { stretch: true }),
    timeGoal(crowded, 'p99', 25),
  ],
  measure,
};
