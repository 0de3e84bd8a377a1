/**
 * Identities in conversations of the public link (contract 13): a tool gets what a visitor says as a claim, and the
 * visitor alone approves what the visitor was asked.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { linked, Visit } from '../pages/link/visits.ts';
import { openWorkspace, type Answer, type House } from './house.ts';
import { openServer } from './mcp-server.ts';
import { refused, transcriptOf } from './talk.ts';

const said = { visitor: { email: 'alice@example.com', vip: true }, metadata: { user_id: 'alice', role: 'admin' } };
const lookUp = { name: 'look_up', parameters: { type: 'object', properties: { order: { type: 'string' } } } };

/** An HTTP tool that remembers the bodies of its requests. */
async function openTool(t: Test): Promise<{ url: string; got: any[] }> {
  const got: any[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      got.push(JSON.parse(text));
      response.setHeader('content-type', 'text/plain').end('done');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`, got };
}

async function newTool(house: House, fields: object): Promise<any> {
  const { status, json, text } = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: { name: 'Orders', ...fields },
  });
  if (status !== 201) throw new Error(text);
  return json;
}

let slugs = 0;

/** An assistant with a link, which calls the tool at each message. */
async function withTool(house: House, toolId: string): Promise<{ assistant: any; slug: string }> {
  const slug = `claims-${(slugs += 1)}`;
  const assistant = await linked(house, slug, { name: 'call=look_up,tokens=1', tool_ids: [toolId] });
  return { assistant, slug };
}

const visitOn = (house: House, slug: string, channel: string): Promise<Visit> =>
  Visit.to(house, slug, { body: channel === 'link' ? { channel } : { channel, host: 'https://shop.example' } });

for (const channel of ['link', 'widget'] as const) {
  t.test(`an HTTP tool gets what a visitor says on the channel ${channel} as claimed alone`, async (t) => {
    const house = await openWorkspace();
    const tool = await openTool(t);
    const { assistant, slug } = await withTool(
      house,
      (await newTool(house, { kind: 'http', url: tool.url, functions: [lookUp] })).id,
    );
    const visit = await visitOn(house, slug, channel);
    const session = await visit.session(said);
    t.match(session, said, 'the visitor sees what they said');
    await visit.say(session);
    t.match(tool.got.at(-1).data, { channel, session_id: session.id, visitor: {}, metadata: {}, claimed: said });
    t.same([tool.got.at(-1).data.visitor, tool.got.at(-1).data.metadata], [{}, {}]);

    await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
    t.equal(tool.got.length, 2);
    const { visitor, metadata, claimed } = tool.got.at(-1).data;
    t.same([visitor, metadata, claimed], [{}, {}, said], 'a turn of an API key in that session proves nothing either');

    const own = await house.session(assistant.id, said);
    await house.ask(`/sessions/${own.id}/chat`, { body: { message: 'Hello' } });
    const { data } = tool.got.at(-1);
    t.same([data.channel, data.visitor, data.metadata], ['api', said.visitor, said.metadata]);
    t.notOk('claimed' in data, 'what a backend says is no claim');
  });
}

t.test('a visitor who says nothing has claims without content', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const { slug } = await withTool(
    house,
    (await newTool(house, { kind: 'http', url: tool.url, functions: [lookUp] })).id,
  );
  const visit = await visitOn(house, slug, 'link');
  await visit.say(await visit.session());
  t.same(tool.got.at(-1).data.claimed, { visitor: {}, metadata: {} });
});

for (const era of ['modern', 'legacy'] as const) {
  t.test(`an MCP server of the ${era} era gets what a visitor says as parley/claimed alone`, async (t) => {
    const house = await openWorkspace();
    const server = await openServer(t, era, {});
    const { id } = await newTool(house, { kind: 'mcp', url: server.url });
    const path = `/workspaces/${house.workspaceId}/tools/${id}`;
    await house.console(`${path}/refresh`, { method: 'POST' });
    await house.console(path, { method: 'PATCH', body: { functions: [{ name: 'look_up', enabled: true }] } });
    const { assistant, slug } = await withTool(house, id);
    const lastMeta = (): any => server.got.findLast(({ method }) => method === 'tools/call')!.params._meta;
    for (const channel of ['link', 'widget']) {
      const visit = await visitOn(house, slug, channel);
      const session = await visit.session(said);
      await visit.say(session);
      t.equal(lastMeta()['parley/session_id'], session.id);
      t.same([lastMeta()['parley/visitor'], lastMeta()['parley/claimed']], [{}, said], channel);
    }
    const own = await house.session(assistant.id, said);
    await house.ask(`/sessions/${own.id}/chat`, { body: { message: 'Hello' } });
    t.same([lastMeta()['parley/visitor'], 'parley/claimed' in lastMeta()], [said.visitor, false]);
  });
}

/** A visitor's session whose calls wait for approval: their ids. */
async function asked(
  house: House,
  toolUrl: string,
  channel: string,
  calls = 1,
): Promise<{ visit: Visit; id: string; pending: string[] }> {
  const { id: toolId } = await newTool(house, { kind: 'http', url: toolUrl, approval: 'always', functions: [lookUp] });
  const slug = `claims-${(slugs += 1)}`;
  await linked(house, slug, { name: `call=look_up,calls=${calls},tokens=1`, tool_ids: [toolId] });
  const visit = await visitOn(house, slug, channel);
  const session = await visit.session();
  await visit.say(session);
  const { pending_tool_calls: waiting } = (await visit.ask(`/sessions/${session.id}`)).json;
  return { visit, id: session.id, pending: waiting.map(({ call_id }: { call_id: string }) => call_id) };
}

for (const channel of ['link', 'widget'] as const) {
  t.test(
    `an API key that approves what a visitor was asked on the channel ${channel} is refused, and the visitor may approve`,
    async (t) => {
      const house = await openWorkspace();
      const tool = await openTool(t);
      const { visit, id, pending } = await asked(house, tool.url, channel, 2);
      const byKey = (results: readonly object[], headers = {}): Promise<Answer> =>
        house.ask(`/sessions/${id}/chat`, { body: { tool_results: results }, headers });
      const answers = (...approved: readonly boolean[]) =>
        approved.map((one, index) => ({ call_id: pending[index], approved: one }));
      for (const results of [answers(true, true), answers(false, true)]) {
        for (const headers of [{}, { 'idempotency-key': 'again' }]) {
          const answer = await byKey(results, headers);
          refused(t, answer, 422, 'invalid_request');
          t.match(answer.json.error.message, '`tool_results`');
        }
      }
      t.equal((await house.ask(`/sessions/${id}`)).json.pending_tool_calls.length, 2, 'the calls still wait');
      t.equal(tool.got.length, 0);
      const approvedByVisitor = await visit.ask(`/sessions/${id}/chat`, {
        body: { tool_results: answers(true, true) },
      });
      t.equal(approvedByVisitor.status, 200);
      t.equal(tool.got.length, 2);
    },
  );
}

t.test('an API key may decline what a visitor was asked, by answering and by a message', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  for (const bodyOf of [
    (callId: string) => ({ tool_results: [{ call_id: callId, approved: false }] }),
    () => ({ message: 'Hello' }),
  ]) {
    const { id, pending } = await asked(house, tool.url, 'link');
    t.equal((await house.ask(`/sessions/${id}/chat`, { body: bodyOf(pending[0]!) })).status, 200);
    const [call] = (await transcriptOf(house, id)).flatMap(({ tool_calls: calls }) => calls);
    t.match(call, { id: pending[0], status: 'declined' });
  }
  t.equal(tool.got.length, 0);
});

t.test('an API key approves what its own session asks', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const { id: toolId } = await newTool(house, { kind: 'http', url: tool.url, approval: 'always', functions: [lookUp] });
  const assistant = await house.assistant({
    model: { provider: 'synthetic', name: 'call=look_up,tokens=1' },
    tool_ids: [toolId],
  });
  const { id } = await house.session(assistant.id);
  await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  const [waiting] = (await house.ask(`/sessions/${id}`)).json.pending_tool_calls;
  t.equal(
    (
      await house.ask(`/sessions/${id}/chat`, {
        body: { tool_results: [{ call_id: waiting.call_id, approved: true }] },
      })
    ).status,
    200,
  );
  t.equal(tool.got.length, 1);
});

t.test('a visitor gives no result in place of an API client: 422', async (t) => {
  const house = await openWorkspace();
  const slug = `claims-${(slugs += 1)}`;
  const assistant = await linked(house, slug, { name: 'call=mine,tokens=1' });
  const visit = await visitOn(house, slug, 'link');
  const session = await visit.session();
  const respond = (body: object): Promise<Answer> =>
    house.ask('/v1/responses', { body: { model: assistant.id, ...body } });
  const mine = { type: 'function', name: 'mine', parameters: lookUp.parameters };
  const made = await respond({ conversation: session.id, input: 'Go', tools: [mine] });
  t.equal(made.status, 200);
  const callId = made.json.output.find(({ type }: { type: string }) => type === 'function_call').call_id;
  const answer = (body: object): Promise<Answer> => visit.ask(`/sessions/${session.id}/chat`, { body });
  refused(t, await answer({ tool_results: [{ call_id: callId, output: 'I am alice' }] }), 422, 'invalid_request');
  const output = { type: 'function_call_output', call_id: callId, output: 'done' };
  t.equal(
    (await respond({ previous_response_id: made.json.id, input: [output] })).status,
    200,
    'the client of the API does',
  );
});
