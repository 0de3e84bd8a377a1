/** The cost of a turn that calls a tool. */
import { parleyTools, type Model, type ToolHouse } from '../contenders/tools.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { costOfTurns, cpuPerTurn as cpu } from '../harness/turn-cost.ts';
import { loadCore } from '../harness/window.ts';

/** Cases by the model that is asked. */
const models: Readonly<Record<string, Model>> = { 'no call': 'answers', 'one call': 'calls' };
const [plain, calling] = Object.keys(models) as [string, string];
const abreast = 16;
const turnsEach = 10;
const conversations: Readonly<Record<Size, number>> = { full: 300, quick: 150, smoke: 2 };
const shape = { tokens: 1, rate: 0 };

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, case: name, size } = measurement;
  const requests = () => (instance as ToolHouse).talks(models[name]!, conversations[size]);
  return (await costOfTurns(measurement, { requests, turnsEach, abreast, shape })).figures;
}

const obstacle =
  'A call is a second round of the model, a signed request to the tool, and two more steps in the store: three requests go out in place of one.';

export const tools: Question = {
  name: 'tools',
  title: 'A turn that calls a tool',
  method: `${abreast} clients, each with one turn of one token after another and ${turnsEach} turns in a conversation. CPU time of the server for a turn: with a model that answers, and with one that calls a function of an HTTP tool first, so that the turn asks it twice and stores the call and its result.`,
  figures: [{ name: cpu, unit: 'µs' }, loadCore, { name: 'whole turn p50', unit: 'ms' }],
  contenders: [parleyTools],
  cases: () => [plain, calling],
  warmUps: 2,
  goals: [
    {
      text: 'one call ≤ 2 × no call',
      headline: 'CPU time of a turn with one tool call, beside one without',
      kind: 'ratio',
      of: pick(parleyTools.name, calling, cpu),
      against: pick(parleyTools.name, plain, cpu),
      most: 2,
      obstacle,
    },
  ],
  measure,
};
