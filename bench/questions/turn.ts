/** The cost of a whole turn of one token. */
import { parley, parleyRedis } from '../contenders/parley.ts';
import { peers } from '../contenders/peers.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { pick, type Goal, type Measurement, type Question, type Size } from '../harness/question.ts';
import { quantile } from '../harness/statistics.ts';
import { costOfTurns, cpuPerTurn as cpu } from '../harness/turn-cost.ts';
import { loadCore } from '../harness/window.ts';
import type { Writes } from '../text.ts';

/** Cases by how the provider cuts its answer. */
const writes: Readonly<Record<string, Writes>> = { 'one token': 'one', 'one token in many writes': 'many' };
const [one, many] = Object.keys(writes) as [string, string];
const abreast = 32;
/** A conversation has so many turns, then the next one begins. */
const turnsEach = 10;
const conversations: Readonly<Record<Size, number>> = { full: 600, quick: 300, smoke: 4 };

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, case: name, size } = measurement;
  const shape = { tokens: 1, rate: 0, writes: writes[name]! };
  const requests = () => instance.conversations(shape, conversations[size]);
  const { figures, wholeMs, seconds } = await costOfTurns(measurement, { requests, turnsEach, abreast, shape });
  return { ...figures, turns: wholeMs.length / seconds, 'whole turn p99': quantile(wholeMs, 0.99) };
}

const obstacle =
  'The floor keeps nothing. A turn here is also rows in two durable steps, two events of a machine, a key and its budgets, a request to the provider that is built and an answer that is read, usage, metrics, a log line, and the collecting of what all of that leaves behind (docs/performance-notes.md).';

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
    goal('parley', 7, {
      obstacle,
      headline: 'CPU time of a whole turn, LMDB, beside F',
      inWords: [
        'A whole turn, with API key, limits, stored messages and a log line, takes',
        'the CPU time of the same answer relayed by F',
      ],
    }),
    goal('parley', 4, { stretch: true }),
    goal('parley, Redis', 8, {
      obstacle: 'As on the embedded store, and its three calls to Redis are packed, sent and answered.',
      headline: 'CPU time of a whole turn, Redis, beside F',
    }),
    {
      text: `parley ≤ 0.35 × ${plain.name}`,
      kind: 'ratio',
      of: pick('parley', one, cpu),
      against: pick(plain.name, one, cpu),
      most: 0.35,
      inWords: ['The same turn takes', `that of ${plain.name}, which keeps nothing either`],
    },
  ],
  measure,
};
