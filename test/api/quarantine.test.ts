/**
 * A function whose definition a provider refuses keeps no other from being offered, and the operator gets the reason
 * (contract 13).
 */
import t, { type Test } from 'tap';
import { delta, done, eventStream } from '../providers/model/provider.ts';
import { strictProvider } from '../providers/strict/provider.ts';
import { edge, openHouse, type House } from './house.ts';
import { countingTool } from './counting-tool.ts';
import { credentialOf, onProvider, say, transcriptOf, until } from './talk.ts';

const good = {
  name: 'look_up',
  description: null,
  parameters: { type: 'object', properties: { order: { type: 'string' } } },
};
const bare = {
  name: 'list_all',
  description: null,
  parameters: { type: 'object', properties: { ids: { type: 'array' } } },
};
const either = {
  name: 'book',
  description: null,
  parameters: { type: 'object', properties: { a: { type: 'string' } }, anyOf: [{ required: ['a'] }] },
};
/** A schema that OpenAI accepts. */
const mended = {
  ...bare,
  parameters: { type: 'object', properties: { ids: { type: 'array', items: { type: 'string' } } } },
};

const settled = async (house: House, id: string, message: string): Promise<string> =>
  (await (await say(house, id, message)).rest()).at(-1)!.event;
const namesIn = (body: any): string[] => (body.tools ?? []).map((tool: any) => tool.name ?? tool.function.name);

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_LOG: 'warn' } });
  const toolPath = (id: string): string => `/workspaces/${house.workspaceId}/tools/${id}`;
  const quarantinedOf = async (id: string): Promise<any> =>
    Object.fromEntries(
      (await house.console(toolPath(id))).json.functions.map(({ name, quarantined }: any) => [name, quarantined]),
    );

  for (const [name, refused] of [
    ['OpenAI', ['list_all', 'book']],
    ['Anthropic', ['book']],
    ['Kimi', ['book']],
  ] as const) {
    await t.test(
      `${name}: the others are offered, the tool says which is not and why, and a changed definition is offered again`,
      async (t) => {
        const provider = await strictProvider(t, name);
        const tool = await countingTool(t, house, { functions: [bare, good, either] });
        const credential = await credentialOf(house, provider.kind, provider.baseUrl);
        const assistant = await house.assistant({
          model: { provider: provider.kind, name: 'any', credential_id: credential.id },
          tool_ids: [tool.id],
        });
        const { id } = await house.session(assistant.id);
        const refusals = (): number => provider.refused.filter((said) => /schema/.test(said)).length;
        t.equal(await settled(house, id, 'call look_up 1 times'), 'turn.completed');
        t.equal(tool.reached.length, 1);
        t.equal(refusals(), refused.length, 'refused once for each');
        const kept = [bare, good, either]
          .map((one) => one.name)
          .filter((one) => !(refused as readonly string[]).includes(one));
        t.same(namesIn(provider.requests.at(-1)), kept);
        const at = await until(async () => {
          const marks = await quarantinedOf(tool.id);
          return refused.every((one) => marks[one] !== null) && marks;
        });
        t.match(at, Object.fromEntries(refused.map((one) => [one, { at: Number, provider: provider.kind }])));
        t.equal(at['look_up'], null);
        const linesOf = (one: string): string[] =>
          house
            .stdout()
            .split('\n')
            .filter(
              (line) =>
                line.includes(tool.id) &&
                line.includes(`"function":"${one}"`) &&
                line.includes('refuses the definition'),
            );
        await until(() => refused.every((one) => linesOf(one).length > 0));

        t.equal(await settled(house, id, 'call book 1 times'), 'turn.completed', 'a call of what is not offered');
        t.match((await transcriptOf(house, id)).at(-1).tool_calls, [
          { name: 'book', status: 'failed', error: 'unknown_tool' },
        ]);
        t.equal(refusals(), refused.length, 'and it is remembered');

        await house.console(toolPath(tool.id), {
          method: 'PATCH',
          body: { functions: [{ ...mended, approval: 'never' }, good, { ...either, show: 'full' }] },
        });
        t.match(
          await quarantinedOf(tool.id),
          { list_all: null, book: { provider: provider.kind } },
          'as long as the definition stays',
        );
        await house.revise(assistant.id);
        const next = await house.session(assistant.id);
        await until(async () => {
          await settled(house, next.id, 'plain');
          return namesIn(provider.requests.at(-1)).includes('list_all');
        });
        t.equal(refusals(), refused.length, 'what was changed is taken');
        for (const one of refused) t.equal(linesOf(one).length, 1, `one line for ${one}`);
      },
    );
  }

  await t.test('a refusal that has nothing to do with a definition puts nothing aside', async (t) => {
    const sayings = [
      '{"error":{"message":"Failed to call a function. Please adjust your prompt.","code":"tool_use_failed","failed_generation":"<function=look_up>"}}',
      '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}',
      '{"error":{"message":"messages.2.tool_calls.0.function.name: unknown function \'look_up\'"}}',
      '{}',
    ];
    for (const said of sayings) await unrelated(t, house, said);
  });
});

async function unrelated(t: Test, house: House, said: string): Promise<void> {
  const tool = await countingTool(t, house, { functions: [good] });
  let refuses = true;
  const { provider, assistant } = await onProvider(
    t,
    house,
    (response) => {
      if (refuses) response.writeHead(400, { 'content-type': 'application/json' }).end(said);
      else response.writeHead(200, eventStream).end(delta('ok', 'stop') + done);
    },
    { tool_ids: [tool.id] },
  );
  const { id } = await house.session(assistant.id);
  t.equal((await house.ask(`/sessions/${id}/chat`, { key: house.key, body: { message: 'Hello' } })).status, 503, said);
  t.ok(
    provider.requests.every(({ body }) => namesIn(body).includes('look_up')),
    `${said}: it is offered in each request`,
  );
  refuses = false;
  t.equal(await settled(house, id, 'Hello'), 'turn.completed', said);
  const { json } = await house.console(`/workspaces/${house.workspaceId}/tools/${tool.id}`);
  t.equal(json.functions[0].quarantined, null, said);
}
