/** A rollback gives the model the bytes that it was sent before, over each front of the server (contract 20) [A2]. */
import t, { type Test } from 'tap';
import { Visit } from '../pages/link/visits.ts';
import { callOn, clipOf } from './caller.ts';
import { countingTool } from './counting-tool.ts';
import { changedProgram } from '../secrets/changed-program.ts';
import { openHouse, type House } from './house.ts';
import { answered, assistantPath, onProvider, operate, say } from './talk.ts';

const alias = 'fronts';
const message = 'What is the weather?';

/** One new conversation over each front. */
const fronts: Readonly<Record<string, (house: House, assistantId: string) => Promise<unknown>>> = {
  'the HTTP API': async (house, id) => (await say(house, (await house.session(id)).id, message)).rest(),
  '/v1/chat/completions': (house) =>
    house.ask('/v1/chat/completions', { body: { model: alias, messages: [{ role: 'user', content: message }] } }),
  '/v1/responses': (house) => house.ask('/v1/responses', { body: { model: alias, input: message } }),
  'the link': async (house) => {
    const visit = await Visit.to(house, alias);
    await (await visit.stream(await visit.session(), message)).rest();
  },
  MCP: async (house) => {
    const { status, text } = await house.ask('/mcp', {
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: `ask_${alias}`, arguments: { message } } },
    });
    if (status !== 200 || !text.includes('ok')) throw new Error(text);
  },
  'a call': async (house, id) => {
    const caller = await callOn(house, await house.session(id));
    caller.say(await clipOf(house));
    await caller.plays();
    caller.socket.close();
    await caller.closed;
  },
};

/** The request bodies over each front, under version 1, under version 2, after a rollback to 1 and after one to 2. */
async function requests(t: Test, command: object = {}): Promise<readonly (readonly [string, readonly string[]])[]> {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' }, ...command });
  const tool = await countingTool(t, house, { functions: [{ name: 'look_up', parameters: { type: 'object' } }] });
  const { provider, assistant } = await onProvider(t, house, (response) => answered(response, ['ok']), {
    alias,
    channels: { link: true, voice: true },
    link: { slug: alias },
    model: { system_prompt: 'As one.', temperature: 0.1 },
    voice: { provider: 'synthetic', name: 'character_ms=5', transcription_name: `texts=${message}` },
    tool_ids: [tool.id],
  });
  const bodies = new Map<string, string[]>();
  const converse = async (): Promise<void> => {
    for (const [front, begin] of Object.entries(fronts)) {
      const before = provider.requests.length;
      await begin(house, assistant.id);
      const sent = JSON.stringify(provider.requests.slice(before).map(({ body }) => body));
      bodies.set(front, [...(bodies.get(front) ?? []), sent]);
    }
  };
  await converse();
  await operate(house, 'PATCH', `/workspaces/${house.workspaceId}/tools/${tool.id}`, {
    functions: [{ name: 'other', parameters: { type: 'object' } }],
  });
  await house.revise(assistant.id, { model: { system_prompt: 'As two.', temperature: 0.9 } });
  await converse();
  await operate(house, 'PATCH', assistantPath(house, assistant.id), { model: { system_prompt: 'As a draft.' } });
  await operate(house, 'POST', assistantPath(house, assistant.id, '/rollback'));
  await converse();
  await operate(house, 'POST', assistantPath(house, assistant.id, '/rollback'), { version: 2 });
  await converse();
  return [...bodies];
}

t.test('a model is sent the bytes of the version that is rolled back to', async (t) => {
  for (const [front, [one, two, again, back]] of await requests(t)) {
    t.match(one, /look_up.*As one/, `${front} gives the prompt and the tool of version 1`);
    t.match(two, /other.*As two/, `${front} gives those of version 2`);
    t.equal(again, one, `${front}, after the rollback`);
    t.equal(back, two, `${front}, after the way back`);
  }
});

t.test('a rollback that leaves the tools as they are is found over each front', async (t) => {
  const change = [/(version\w*: \{ number(?:: \w+)?, tools): tools\w* \} \};/, '$1: null } };'] as const;
  for (const [front, [one, , again]] of await requests(t, { command: await changedProgram(t, change) }))
    t.not(again, one, front);
});
