/** The cost of a whole turn of one token. */
import { setTimeout as pause } from 'node:timers/promises';
import { parley, parleyRedis } from '../contenders/parley.ts';
import { peers } from '../contenders/peers.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { pick, type Goal, type Measurement, type Question, type Size } from '../harness/question.ts';
import { median, quantile } from '../harness/statistics.ts';
import { loadCore, openWindow } from '../harness/window.ts';
import type { Writes } from '../text.ts';

/** Cases by how the provider cuts its answer. */
const writes: Readonly<Record<string, Writes>> = { 'one token': 'one', 'one token in many writes': 'many' };
const [one, many] = Object.keys(writes) as [string, string];
const abreast = 32;
/** A conversation has so many turns, then the next one begins. */
const turnsEach = 10;
const conversations: Readonly<Record<Size, number>> = { full: 600, quick: 300, smoke: 4 };
/** CPU time is counted in hundredths of a second: a contender that is done with all conversations sooner begins again. */
const leastSeconds: Readonly<Record<Size, number>> = { full: 2, quick: 1, smoke: 0 };
/** Waits for writes that follow an answer, which count for the turn, and for writes that follow a new session, which count for none. */
const settled = (size: Size): Promise<void> => pause(size === 'smoke' ? 0 : 200);

const cpu = 'CPU per turn';

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, case: name, size, surroundings } = measurement;
  const shape = { tokens: 1, rate: 0, writes: writes[name]! };
  const wholeMs: number[] = [];
  const all = { seconds: 0, microseconds: 0, loadCore: 0 };
  do {
    // New ones each time: in longer conversations a turn sends the provider more than it does here.
    const requests = await instance.conversations(shape, conversations[size]);
    await settled(size);
    const used = openWindow(measurement);
    wholeMs.push(...(await surroundings.load.converse(instance, requests, turnsEach, abreast, shape)).wholeMs);
    const { seconds, loadCore: share } = used();
    await settled(size);
    all.seconds += seconds;
    all.loadCore += share * seconds;
    all.microseconds += used().microseconds;
  } while (all.seconds < leastSeconds[size]);
  return { [cpu]: all.microseconds / wholeMs.length, turns: wholeMs.length / all.seconds, [loadCore.name]: all.loadCore / all.seconds, 'whole turn p50': median(wholeMs), 'whole turn p99': quantile(wholeMs, 0.99) };
}

const obstacle =
  'The floor keeps nothing. A turn here is also rows in two durable steps, two events of a machine, a key and its budgets, a request to the provider that is built and an answer that is read, usage, metrics, a log line, and the collecting of what all of that leaves behind (docs/decisions.md, "Where a turn\'s time goes").';

const goal = (contender: string, most: number, more: Partial<Goal> = {}): Goal => ({
  text: `${contender} ≤ ${most.toFixed(1)} F`,
  kind: 'ratio',
  of: pick(contender, one, cpu),
  against: pick(floor.name, one, cpu),
  most,
  ...more,
});

export const turn: Question = {
  name: 'turn',
  title: 'A turn of one token',
  method: `${abreast} clients, each with one turn after another and ${turnsEach} turns in a conversation. CPU time of the server for a turn. The provider sends its answer in one write, or each of its events in one, as providers in Node do.`,
  figures: [
    { name: cpu, unit: 'µs' },
    { name: 'turns', unit: '/s' },
    loadCore,
    { name: 'whole turn p50', unit: 'ms' },
    { name: 'whole turn p99', unit: 'ms' },
  ],
  contenders: [floor, parley, parleyRedis, nginx, plain, ...peers],
  yardstick: { contender: floor.name, figure: cpu },
  // The heaviest comes last, and warms what the other uses as well.
  cases: () => [one, many],
  warmUps: 2,
  goals: [
    goal('parley', 7, { obstacle }),
    goal('parley', 4, { stretch: true }),
    goal('parley, Redis', 8, { obstacle: 'As on the embedded store, and its three calls to Redis are packed, sent and answered.' }),
    { text: `parley ≤ 0.35 × ${plain.name}`, kind: 'ratio', of: pick('parley', one, cpu), against: pick(plain.name, one, cpu), most: 0.35 },
  ],
  measure,
};
