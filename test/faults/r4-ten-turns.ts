/**
 * R4: a session with tools takes its next ten turns at every strict provider, after any cut of the turn before them.
 * The providers refuse as the real ones do (`test/providers/strict/`): each way to cut, times the number of tool calls
 * side by side, with tools over HTTP and of an MCP server.
 */
import type { House } from '../api/house.ts';
import { credentialOf } from '../api/talk.ts';
import { strictNames } from '../providers/strict/names.mjs';
import { strictProvider, type StrictProvider } from '../providers/strict/provider.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis } from './ground.ts';
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

const turns = 10;

interface Stage {
  readonly tools: Tools;
  readonly provider: StrictProvider;
  readonly credentialId: string;
}

export const tenTurnsWork: Experiment = {
  promise: 'R4',
  name: 'turns',
  does: 'a turn that calls tools, cut in every way: ten more at a strict provider',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    let house = await ground.server();
    const tools = await openTools(t, house);
    const restart = async (): Promise<House> => (house = await ground.server());
    return async (trial) => {
      const provider = await strictProvider(t, strictNames[trial.seed % strictNames.length]!);
      const stage = { tools, provider, credentialId: (await credentialOf(house, provider.kind, provider.baseUrl)).id };
      const kind = kinds[Math.floor(trial.seed / strictNames.length) % 2]!;
      const count = trial.random.between(1, callsMax);
      for (const way of waysToCut) await cutAndGoOn(trial, stage, { kind, count, way, house, restart });
    };
  },
};

async function cutAndGoOn(trial: Trial, { tools, provider, credentialId }: Stage, one: Case): Promise<void> {
  const model = {
    provider: provider.kind,
    name: 'any',
    credential_id: credentialId,
    temperature: 0.7,
    output_tokens_max: 500,
    system_prompt: 'Be kind.',
  };
  const talk = await cutConversation(trial, tools, provider, one, { model, tool_ids: Object.values(tools.toolIds) });
  const messages = Array.from({ length: turns }, () => trial.random.pick(['plain', calling(talk)]));
  await goOn(
    talk,
    messages,
    `${one.way}, ${one.count} calls, ${one.kind}, ${provider.name}; it refused ${provider.refused.at(-1) ?? 'nothing'}`,
  );
  trial.count('conversations');
  trial.count('turns', turns);
}
