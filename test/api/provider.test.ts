/** Failures of a provider, and the client's answers then (contract 2 and 7). */
import type { ServerResponse } from 'node:http';
import { LLMock } from '@copilotkit/aimock';
import t, { type Test } from 'tap';
import { data, delta, eventStream, type Provider } from '../providers/model/provider.ts';
import { patient } from '../run/speed.mjs';
import { openHouse, openWorkspace, textOf, type Answer, type House, type StreamEvent } from './house.ts';
import {
  abort,
  answered,
  answering,
  begin,
  credentialOf,
  onProvider,
  refused,
  say,
  sayInVain,
  sessionOf,
  synthetic,
  transcriptOf,
} from './talk.ts';

const canary = 'CANARY-text-of-the-provider';
const unavailable = { code: 'assistant_unavailable', message: 'The assistant cannot answer at the moment.' };

t.test("a provider's answers reach the client as the contract says", async (t) => {
  const house = await openHouse(t, {
    env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_TURN_MS_MAX: String(patient(700)) },
  });
  await t.test('a failure before the first output is a status and leaves nothing behind', (t) => before(t, house));
  await t.test('a failure within the stream is its last event, and the partial stays', (t) => within(t, house));
  await t.test('every way to fail is told alike, in both dialects', (t) => everyWay(t, house));
  await t.test('a turn without its credential is refused with 503', (t) => withoutCredential(t, house));
  await t.test('a turn that exceeds its time limit fails with api_error', (t) => timeLimit(t, house));
  await t.test('what a provider has counted counts for a turn that was cut, too', (t) => counted(t, house));
  await t.test('a provider that says nothing has answered', (t) => silent(t, house));
  await t.test('the request to the provider is closed with the turn', (t) => closed(t, house));
  t.notMatch(house.stdout() + house.stderr(), /canary/i, 'nothing of a provider is in the log');
});

t.test('a mock endpoint that was written elsewhere', async (t) => {
  const house = await openWorkspace();
  await mocked(t, house);
});

t.test('private addresses are refused unless they are allowed', async (t) => {
  const house = await openHouse(t);
  const credentials = `/workspaces/${house.workspaceId}/credentials`;
  for (const baseUrl of [
    'http://127.0.0.1:9/v1',
    'http://localhost/v1',
    'http://[::1]/v1',
    'http://10.0.0.1/v1',
    'http://0x7f.1/v1',
    'ftp://example.com',
  ]) {
    const answer = await house.console(credentials, {
      body: { kind: 'model', provider: 'openai', base_url: baseUrl, api_key: 'k' },
    });
    refused(t, answer, 422, 'invalid_request');
    t.match(answer.json.error.message, /`base_url`/, baseUrl);
  }
});

async function before(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=5,fail_at=0', { greeting: 'Hi' });
  const session = await house.session(assistant.id);
  const refusal = await sayInVain(house, session.id);
  refused(t, refusal, 503, 'assistant_unavailable');
  t.same(refusal.json.error, { type: 'service_unavailable', ...unavailable });
  t.equal(refusal.headers.get('retry-after'), null, 'nothing to wait for');
  t.match(await transcriptOf(house, session.id), [{ content: 'Hi' }], 'the greeting alone');
  t.equal((await transcriptOf(house, session.id)).length, 1);
  t.match(await sessionOf(house, session.id), { status: 'open', active_turn_id: null });
  const { totals } = (await house.ask(`/usage?assistant_id=${assistant.id}`)).json;
  t.match(totals, { sessions: 1, turns: 0, failed_turns: 0, input_tokens: 0, output_tokens: 0 });
}

async function within(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=5,fail_at=2,text=half');
  const { id, stream } = await begin(house, assistant.id);
  const events = await stream.rest();
  t.equal(textOf(events), 'half half ');
  t.same(events.at(-1), { event: 'error', id: '10', data: unavailable });
  t.equal(events.filter(({ event }) => event === 'error').length, 1);
  t.match(await transcriptOf(house, id), [
    { role: 'user', content: 'Hello', status: 'completed' },
    { content: 'half half ', status: 'partial', stop_reason: 'error', error_code: 'assistant_unavailable' },
  ]);
  const { json } = await house.ask(`/sessions/${id}/turns/${stream.turnId}/abort`, { method: 'POST' });
  t.match(json, { status: 'failed', stop_reason: 'error', error_code: 'assistant_unavailable' });
  t.match((await house.ask(`/usage?assistant_id=${assistant.id}`)).json.totals, { turns: 1, failed_turns: 1 });
  t.equal((await sessionOf(house, id)).status, 'open');
}

/** Scans all that a client got. */
const clean = (t: Test, got: Answer | StreamEvent[], way: string): void => {
  const all = Array.isArray(got) ? JSON.stringify(got) : got.text + [...got.headers].join('\n');
  t.notMatch(all, /canary|openai|anthropic|127\.0\.0\.1|ECONN|undici|at \w+ \(/i, `${way}: nothing of the provider`);
};

async function everyWay(t: Test, house: House): Promise<void> {
  const failing = { error: { message: canary, type: canary, code: canary }, type: 'error' };
  const json = (status: number) => (response: ServerResponse) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', 'x-canary': canary, 'retry-after': '9' })
      .end(JSON.stringify(failing));
  const ways: Record<string, Provider['answer']> = {
    401: json(401),
    403: json(403),
    404: json(404),
    429: json(429),
    500: json(500),
    503: json(503),
    redirect: (response) => void response.writeHead(307, { location: `http://example.com/${canary}` }).end(),
    'an error event': (response) => void response.writeHead(200, eventStream).end(`event: error\n${data(failing)}`),
    html: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(`<h1>${canary}</h1>`),
    garbage: (response) => void response.writeHead(200, eventStream).end(`data: ${canary}\n\n`),
    'a hang-up': (response) => void response.socket!.destroy(),
    'nothing at all': (response) => void response.writeHead(200, eventStream).end(),
  };
  for (const kind of ['openai', 'anthropic'] as const) {
    const { provider, assistant } = await onProvider(t, house, () => {}, { kind });
    const { id } = await house.session(assistant.id);
    for (const [way, answer] of Object.entries(ways)) {
      provider.answer = answer;
      const refusal = await sayInVain(house, id);
      t.same([refusal.status, refusal.json.error.code], [503, 'assistant_unavailable'], `${kind}: ${way}`);
      clean(t, refusal, `${kind}: ${way}`);
    }
    t.equal((await transcriptOf(house, id)).length, 0);
  }
  const { provider, assistant } = await onProvider(t, house, () => {});
  const cuts: Provider['answer'][] = [
    (response) => (answering(response, 'So'), response.end(data(failing))),
    (response) => (answering(response, 'So'), response.end()),
    (response) => (answering(response, 'So'), void response.write(delta(' far'), () => response.socket!.destroy())),
    (response) => (answering(response, 'So'), response.end(`data: ${canary}\n\n`)),
  ];
  for (const [index, cut] of cuts.entries()) {
    provider.answer = cut;
    const events = await (await begin(house, assistant.id)).stream.rest();
    t.same(events.at(-1)!.data, unavailable, `cut ${index}`);
    clean(t, events, `cut ${index}`);
  }
}

async function withoutCredential(t: Test, house: House): Promise<void> {
  const { assistant, credential, provider } = await onProvider(t, house, (response) => answered(response, ['ok']));
  const { id } = await house.session(assistant.id);
  t.equal(textOf(await (await say(house, id)).rest()), 'ok');
  const path = `/workspaces/${house.workspaceId}/credentials/${credential.id}`;
  t.equal((await house.console(path, { method: 'DELETE' })).status, 204);
  refused(t, await sayInVain(house, id), 503, 'assistant_unavailable');
  t.equal(provider.requests.length, 1);
  const none = await house.assistant({ model: { provider: 'openai', name: 'm' } });
  refused(t, await sayInVain(house, (await house.session(none.id)).id), 503, 'assistant_unavailable');
  const away = await credentialOf(house, 'openai', 'http://127.0.0.1:9/v1');
  const nobody = await house.assistant({ model: { provider: 'openai', name: 'm', credential_id: away.id } });
  const refusal = await sayInVain(house, (await house.session(nobody.id)).id);
  refused(t, refusal, 503, 'assistant_unavailable');
  clean(t, refusal, 'nobody listens');
}

async function timeLimit(t: Test, house: House): Promise<void> {
  const { id, stream } = await begin(house, (await synthetic(house, 'tokens=5,hang_at=1')).id);
  const events = await stream.rest();
  t.same(events.at(-1)!.data, { code: 'api_error', message: 'Something went wrong on our side.' });
  t.match(await transcriptOf(house, id), [
    {},
    { content: 'word ', status: 'partial', stop_reason: 'error', error_code: 'api_error' },
  ]);
  const slow = await house.session((await synthetic(house, 'tokens=5,first_ms=600000')).id);
  refused(t, await sayInVain(house, slow.id), 500, 'api_error');
  t.equal((await transcriptOf(house, slow.id)).length, 0);
}

async function counted(t: Test, house: House): Promise<void> {
  const usage = data({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 1 } });
  const begun =
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":1}}}\n\n';
  const said =
    'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"So far so good"}}\n\n';
  const answers = { openai: usage + delta('So far so good'), anthropic: begun + said };
  for (const kind of ['openai', 'anthropic'] as const) {
    for (const end of ['an abort', 'an error']) {
      const { assistant } = await onProvider(
        t,
        house,
        (response) => {
          response.writeHead(200, eventStream).write(answers[kind]);
          if (end === 'an error') response.write('event: error\ndata: {"type":"error"}\n\n');
        },
        { kind },
      );
      const { id, stream } = await begin(house, assistant.id);
      if (end === 'an abort') await abort(house, id, stream.turnId);
      await stream.rest();
      const { totals } = (await house.ask(`/usage?assistant_id=${assistant.id}`)).json;
      t.match(
        totals,
        { turns: 1, input_tokens: 100, output_tokens: 4 },
        `${kind}, ${end}: of what it had not counted yet the estimate stands in`,
      );
    }
  }
}

async function silent(t: Test, house: House): Promise<void> {
  const { id, stream } = await begin(house, (await synthetic(house, 'tokens=0')).id);
  t.same(
    (await stream.rest()).map(({ event, id }) => [event, id]),
    [
      ['turn.started', '0'],
      ['turn.completed', '0'],
    ],
  );
  t.match(await transcriptOf(house, id), [{}, { content: '', status: 'completed', stop_reason: 'end' }]);
}

async function closed(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, (response) => answering(response, 'So'));
  const { id, stream } = await begin(house, assistant.id);
  const gone = new Promise<void>((resolve) => provider.sockets.at(-1)!.once('close', () => resolve()));
  await house.ask(`/sessions/${id}/turns/${stream.turnId}/abort`, { method: 'POST' });
  await gone;
  t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted');
}

async function mocked(t: Test, house: House): Promise<void> {
  const mock = new LLMock({ port: 0, chunkSize: 4 });
  const long = 'The answer comes in pieces — größer als ASCII, 日本語, 😀 — and ends.';
  mock.onMessage('hello', {
    content: long,
    usage: { prompt_tokens: 11, completion_tokens: 22, input_tokens: 11, output_tokens: 22 },
  });
  mock.onMessage('broken', { content: long }, { truncateAfterChunks: 8, latency: 5 });
  await mock.start();
  t.teardown(() => mock.stop());
  for (const provider of ['openai', 'anthropic']) {
    const credential = await credentialOf(house, provider, `${mock.url}/v1`);
    const assistant = await house.assistant({
      model: { provider, name: 'any', credential_id: credential.id },
      greeting: 'Welcome',
    });
    const { id } = await house.session(assistant.id);
    const events = await (await say(house, id, 'hello')).rest();
    t.equal(textOf(events), long, provider);
    t.same(events.at(-1)!.data.usage, { input_tokens: 11, cached_input_tokens: 0, output_tokens: 22 });
    t.match(await transcriptOf(house, id), [
      { content: 'Welcome' },
      { content: 'hello' },
      { content: long, status: 'completed' },
    ]);
    const cut = await (await say(house, id, 'broken')).rest();
    t.same(cut.at(-1)!.data, unavailable);
    t.ok(long.startsWith(textOf(cut)) && textOf(cut) !== '');
    mock.nextRequestError(429, { message: canary, type: canary });
    const refusal = await sayInVain(house, id, 'hello');
    refused(t, refusal, 503, 'assistant_unavailable');
    clean(t, refusal, provider);
  }
}
