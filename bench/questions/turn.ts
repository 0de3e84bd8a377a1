/** What a whole turn of one token costs. */
import { setTimeout as pause } from 'node:timers/promises';
import { parley, parleyRedis } from '../contenders/parley.ts';
import { peers } from '../contenders/peers.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { cpuMicroseconds } from '../harness/process.ts';
import { pick, type Goal, type Measurement, type Question, type Size } from '../harness/question.ts';
import { median, quantile } from '../harness/statistics.ts';

const shape = { tokens: 1, rate: 0 };
const abreast = 32;
/** A conversation has so many turns, then the next one begins. */
const turnsEach = 10;
const conversations: Readonly<Record<Size, number>> = { full: 600, quick: 300, smoke: 4 };
/** What is written behind an answer belongs to it. */
const afterwardsMs = 200;

const [one, cpu] = ['one token', 'CPU per turn'];

async function measure({ instance, size, surroundings }: Measurement): Promise<Record<string, number>> {
  const requests = await instance.conversations(shape, conversations[size]);
  const [before, startedAt] = [cpuMicroseconds(instance.processes), performance.now()];
  const { wholeMs } = await surroundings.load.converse(instance, requests, turnsEach, abreast, shape);
  const seconds = (performance.now() - startedAt) / 1000;
  await pause(size === 'smoke' ? 0 : afterwardsMs);
  const spent = cpuMicroseconds(instance.processes) - before;
  return { [cpu]: spent / wholeMs.length, 'turns': wholeMs.length / seconds, 'whole turn p50': median(wholeMs), 'whole turn p99': quantile(wholeMs, 0.99) };
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
  method: `${abreast} clients, each with one turn after another and ${turnsEach} turns in a conversation. CPU time of the server for a turn.`,
  figures: [
    { name: cpu, unit: 'µs' },
    { name: 'turns', unit: '/s' },
    { name: 'whole turn p50', unit: 'ms' },
    { name: 'whole turn p99', unit: 'ms' },
  ],
  contenders: [floor, parley, parleyRedis, nginx, plain, ...peers],
  cases: () => [one],
  warmUps: 2,
  goals: [goal('parley', 2, { obstacle }), goal('parley', 1.6, { stretch: true }), goal('parley, Redis', 3, { obstacle: 'As on the embedded store, and each step is a command that is packed, sent and answered.' })],
  measure,
};
