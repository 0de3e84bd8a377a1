/** Whether a turn costs more the longer the conversation has been. */
import { setTimeout as pause } from 'node:timers/promises';
import { parley, parleyRedis } from '../contenders/parley.ts';
import type { Instance } from '../harness/contender.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { loadCore, openWindow } from '../harness/window.ts';
import type { Load } from '../load.ts';

const shape = { tokens: 1, rate: 0 };
const abreast = 16;
const [first, hundredth, last] = ['1st to 10th turn', '101st to 110th turn', '951st to 1,000th turn'];
const turnsEach = 10;
/** The turns that each conversation has had before the warm-up, which adds ten, as each of five rounds does. */
const turnsBefore: Readonly<Record<string, number>> = { [first]: 0, [hundredth]: 100, [last]: 940 };
const conversations: Readonly<Record<Size, number>> = { full: 100, quick: 50, smoke: 2 };
const cpu = 'CPU per turn';

/** The obstacle of the comparison with the first turns. */
const obstacle =
  'The first turns send a message or two to the provider, the last a hundred each: so much more is built and sent. After the hundredth it grows no more.';

/** Long conversations, grown once and continued round by round. */
const grown = new WeakMap<Instance, Map<string, Promise<string[]>>>();

async function requestsOf({ instance, case: name, size, surroundings: { load } }: Measurement): Promise<string[]> {
  if (name === first) return instance.conversations(shape, conversations[size]);
  const cases = grown.get(instance) ?? new Map<string, Promise<string[]>>();
  grown.set(instance, cases);
  let requests = cases.get(name);
  if (requests === undefined)
    cases.set(name, (requests = grow(load, instance, size === 'smoke' ? 2 : turnsBefore[name]!, conversations[size])));
  return requests;
}

async function grow(load: Load, instance: Instance, turns: number, count: number): Promise<string[]> {
  const requests = await instance.conversations(shape, count);
  await load.converse(instance, requests, turns, abreast, shape);
  return requests;
}

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const requests = await requestsOf(measurement);
  const { instance, size, surroundings } = measurement;
  const used = openWindow(measurement);
  const { wholeMs } = await surroundings.load.converse(instance, requests, turnsEach, abreast, shape);
  const { loadCore: share } = used();
  await pause(size === 'smoke' ? 0 : 200);
  return { [cpu]: used().microseconds / wholeMs.length, [loadCore.name]: share };
}

export const transcripts: Question = {
  name: 'transcripts',
  title: 'Long transcripts',
  method: `CPU time of the server for a turn of one token, by how many turns the conversation has had. What the provider is sent is bounded, at 100 messages here; ten of them a round.`,
  figures: [{ name: cpu, unit: 'µs' }, loadCore],
  contenders: [parley, parleyRedis],
  cases: (size) => (size === 'quick' ? [first, hundredth] : [first, hundredth, last]),
  goals: [
    {
      text: 'the 1,000th turn ≤ 1.2 × the 1st',
      kind: 'ratio',
      of: pick(parley.name, last, cpu),
      against: pick(parley.name, first, cpu),
      most: 1.2,
      obstacle,
    },
    {
      text: 'the 1,000th turn ≤ 1.2 × the 100th',
      kind: 'ratio',
      of: pick(parley.name, last, cpu),
      against: pick(parley.name, hundredth, cpu),
      most: 1.2,
    },
  ],
  measure,
};
