/**
 * T3: after any cut of a turn that calls tools, the next turn works. Each way to cut, times the number of tool calls
 * side by side, in the dialects of OpenAI and Anthropic, with tools over HTTP and of an MCP server; the mocks of models
 * and the MCP server were written elsewhere.
 */
import { LLMock } from '@copilotkit/aimock';
import type { House } from '../api/house.ts';
import { credentialOf } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis } from './ground.ts';
import { openGate, type Gate } from './strict-provider.ts';
import {
  calling,
  callsMax,
  cutConversation,
  goOn,
  kinds,
  openTools,
  waysToCut,
  type Case,
  type Tools,
} from './tool-cuts.ts';

const dialects = ['openai', 'anthropic'] as const;
type Dialect = (typeof dialects)[number];

/** A mock of a provider behind its gate, and the tools that its model calls. */
interface Stage {
  readonly gate: Gate;
  readonly tools: Tools;
  readonly credentials: Readonly<Record<Dialect, string>>;
}

export const nextTurnWorks: Experiment = {
  promise: 'T3',
  name: 'next',
  does: 'a turn that calls tools, cut in every way: the next one works',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    let house = await ground.server();
    const stage = await furnished(t, house);
    return async (trial) => {
      const dialect = dialects[trial.seed % 2]!;
      const kind = kinds[Math.floor(trial.seed / 2) % 2]!;
      const count = 1 + (Math.floor(trial.seed / 4) % callsMax);
      const restart = async (): Promise<House> => (house = await ground.server());
      for (const way of waysToCut) await cutAndGoOn(trial, stage, dialect, { kind, count, way, house, restart });
    };
  },
};

async function cutAndGoOn(
  trial: Trial,
  { tools, credentials, gate }: Stage,
  dialect: Dialect,
  one: Case,
): Promise<void> {
  const { kind, count, way } = one;
  const { toolIds } = tools;
  const model = { provider: dialect, name: 'any', credential_id: credentials[dialect] };
  const talk = await cutConversation(trial, tools, gate, one, {
    model,
    tool_ids: [toolIds[kind], ...Object.values(toolIds).filter((id) => id !== toolIds[kind])],
  });
  const about = `${way}, ${count} calls, ${kind}, ${dialect}`;
  // Twice: the second one has the first one in its history.
  await goOn(talk, ['plain', calling(talk), 'plain'], about);
  trial.must(gate.refused.length === 0, `${about}: the provider refused ${gate.refused.splice(0).join('\n')}`);
  trial.count('conversations');
}

async function furnished(t: Owner, house: House): Promise<Stage> {
  const mock = new LLMock({ port: 0, chunkSize: 8 });
  const isCall = /call (\w+) (\d) times( for ever| badly)?/;
  const asked = ({ messages }: any): RegExpExecArray | null =>
    isCall.exec(JSON.stringify(messages.findLast(({ role }: any) => role === 'user')?.content ?? ''));
  const calls = ({ messages }: any): { content: string; toolCalls: { name: string; arguments: string }[] } => {
    const [, name, count, how] = asked({ messages })!;
    return {
      content: 'Let me see. ',
      toolCalls: Array.from({ length: Number(count) }, (_, index) => ({
        name: name!,
        arguments: how === ' badly' ? '[]' : JSON.stringify({ order: `ö${index}` }),
      })),
    };
  };
  mock.on({ predicate: (request) => asked(request)?.[3] === ' for ever' }, calls as never);
  mock.on({ predicate: (request) => asked(request) !== null, hasToolResult: false }, calls as never);
  mock.on({ predicate: () => true }, { content: 'There it is: größer and 😀 in many small pieces.' });
  await mock.start();
  t.teardown(() => mock.stop());
  const gate = await openGate(t, mock.url);
  const credentials = {
    openai: (await credentialOf(house, 'openai', gate.url)).id,
    anthropic: (await credentialOf(house, 'anthropic', gate.url)).id,
  };
  return { gate, tools: await openTools(t, house), credentials };
}
