/** The cost of a turn that calls a tool. */
import { setTimeout as pause } from 'node:timers/promises';
import { parleyTools, type Model, type ToolHouse } from '../contenders/tools.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { median } from '../harness/statistics.ts';
import { loadCore, openWindow } from '../harness/window.ts';

/** Cases by the model that is asked. */
const models: Readonly<Record<string, Model>> = { 'no call': 'answers', 'one call': 'calls' };
const [plain, calling] = Object.keys(models) as [string, string];
const abreast = 16;
const turnsEach = 10;
const conversations: Readonly<Record<Size, number>> = { full: 300, quick: 150, smoke: 2 };
/** CPU time is counted in hundredths of a second. */
const leastSeconds: Readonly<Record<Size, number>> = { full: 2, quick: 1, smoke: 0 };
const shape = { tokens: 1, rate: 0 };
/** Waits for writes that follow an answer, or a new session. */
const settled = (size: Size): Promise<void> => pause(size === 'smoke' ? 0 : 200);

const cpu = 'CPU per turn';

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { case: name, size, surroundings } = measurement;
  const instance = measurement.instance as ToolHouse;
  const wholeMs: number[] = [];
  const all = { seconds: 0, microseconds: 0, loadCore: 0 };
  do {
    const requests = await instance.talks(models[name]!, conversations[size]);
    await settled(size);
    const used = openWindow(measurement);
    wholeMs.push(...(await surroundings.load.converse(instance, requests, turnsEach, abreast, shape)).wholeMs);
    const { seconds, loadCore: share } = used();
    await settled(size);
    all.seconds += seconds;
    all.loadCore += share * seconds;
    all.microseconds += used().microseconds;
  } while (all.seconds < leastSeconds[size]);
  return { [cpu]: all.microseconds / wholeMs.length, [loadCore.name]: all.loadCore / all.seconds, 'whole turn p50': median(wholeMs) };
}

const obstacle = 'A call is a second round of the model, a signed request to the tool, and two more steps in the store: three requests go out in place of one.';

export const tools: Question = {
  name: 'tools',
  title: 'A turn that calls a tool',
  method: `${abreast} clients, each with one turn of one token after another and ${turnsEach} turns in a conversation. CPU time of the server for a turn: with a model that answers, and with one that calls a function of an HTTP tool first, so that the turn asks it twice and stores the call and its result.`,
  figures: [{ name: cpu, unit: 'µs' }, loadCore, { name: 'whole turn p50', unit: 'ms' }],
  contenders: [parleyTools],
  cases: () => [plain, calling],
  warmUps: 2,
  goals: [{ text: 'one call ≤ 2 × no call', kind: 'ratio', of: pick(parleyTools.name, calling, cpu), against: pick(parleyTools.name, plain, cpu), most: 2, obstacle }],
  measure,
};
