/** `GET /assistants/{id}`: fields shown, fields hidden, and its caching (contract 6). */
import t, { type Test } from 'tap';
import { openWorkspace } from './house.ts';
import { isRated, isRefused, refusals } from './refusal.ts';

t.test('an assistant is created, changed, published and disabled', async (t) => {
  const world = await openWorld();
  await t.test('an assistant shows its public fields only', (t) => shown(t, world));
  await t.test('an unset field is null', (t) => unset(t, world));
  await t.test('is cached until it changes', (t) => cached(t, world));
  await t.test('drafts and disabled ones are listed and readable, with their status', (t) => drafts(t, world));
  await t.test('a failure is not cached, and a tag is no way around permission', (t) => failures(t, world));
});

type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld() {
  const house = await openWorkspace();
  const inside = `/workspaces/${house.workspaceId}`;
  const secret = 'a prompt that nobody is to read';
  const credential = (
    await house.console(`${inside}/credentials`, { body: { kind: 'model', provider: 'openai', api_key: 'sk-secret' } })
  ).json;
  const settings = {
    name: 'Ada',
    description: 'Answers.',
    greeting: 'Hello!',
    channels: { voice: true, link: true },
    visitor_fields: [{ name: 'email', label: 'Your address', type: 'email', required: true }, { name: 'nick' }],
    max_call_seconds: 600,
    model: {
      provider: 'openai',
      name: 'some-model-5',
      credential_id: credential.id,
      system_prompt: secret,
      temperature: 0.5,
      output_tokens_max: 100,
    },
    voice: { provider: 'synthetic', name: 'audio_ms=17', voice: 'tone' },
    link: { slug: 'ada', limits: { minutes_per_day: 60 }, origins: ['https://example.com'] },
  };
  const published = await house.assistant(settings);
  const path = `/assistants/${published.id}`;
  const patch = (body: object) => house.console(`${inside}${path}`, { method: 'PATCH', body });
  return { house, inside, secret, credential, published, path, patch };
}

async function shown(t: Test, { house, secret, credential, published, path }: World): Promise<void> {
  const { status, json, text } = await house.ask(path);
  t.equal(status, 200);
  const { created_at, updated_at, ...fields } = json;
  t.same(fields, {
    id: published.id,
    object: 'assistant',
    name: 'Ada',
    description: 'Answers.',
    status: 'published',
    greeting: 'Hello!',
    channels: { voice: true, link: true, widget: false },
    visitor_fields: [
      { name: 'email', label: 'Your address', type: 'email', required: true },
      { name: 'nick', label: 'nick', type: 'text', required: false },
    ],
    max_call_seconds: 600,
    version: 1,
  });
  t.ok(Number.isInteger(created_at) && Number.isInteger(updated_at) && updated_at >= created_at);
  const hidden = [
    secret,
    'some-model',
    'openai',
    'audio_ms=17',
    'tone',
    credential.id,
    'sk-secret',
    'example.com',
    house.workspaceId,
  ];
  const listed = (await house.ask('/assistants')).text;
  for (const word of hidden) t.notOk(text.includes(word) || listed.includes(word), word);
  t.same(
    (await house.ask('/assistants')).json.data.find(({ id }: { id: string }) => id === published.id),
    json,
    'the same in the list',
  );
}

async function unset(t: Test, { house }: World): Promise<void> {
  const plain = (await house.ask(`/assistants/${(await house.assistant()).id}`)).json;
  t.same([plain.description, plain.greeting, plain.visitor_fields], [null, null, []]);
  t.same(plain.channels, { voice: false, link: false, widget: false });
}

async function cached(t: Test, { house, inside, published, path, patch }: World): Promise<void> {
  const first = await house.ask(path);
  const etag = first.headers.get('etag')!;
  t.match(etag, /^"[\x21\x23-\x7e]+"$/);
  t.equal(first.headers.get('cache-control'), 'private, max-age=60');
  const current = [etag, `W/${etag}`, `"x", ${etag}`, '*', `W/"x",${etag} , "y"`];
  for (const tags of current) {
    const answer = await house.ask(path, { headers: { 'if-none-match': tags } });
    t.same([answer.status, answer.text], [304, ''], tags);
    t.equal(answer.headers.get('etag'), etag);
    t.equal(answer.headers.get('cache-control'), 'private, max-age=60');
    t.match(answer.headers.get('x-request-id'), /^req_/);
    isRated(t, answer, true, tags);
  }
  for (const tags of ['"x"', etag.slice(1, -1), '""', 'W/"x"'])
    t.equal((await house.ask(path, { headers: { 'if-none-match': tags } })).status, 200, tags);
  t.equal((await house.ask(path)).headers.get('etag'), etag, 'the same as long as nothing changes');
  const changes: (() => Promise<unknown>)[] = [
    () => patch({ name: 'Ada II' }),
    () => house.revise(published.id, { greeting: null }),
    () => patch({ channels: { widget: true } }),
    () => house.console(`${inside}${path}/disable`, { method: 'POST' }),
    () => house.console(`${inside}${path}/enable`, { method: 'POST' }),
  ];
  let before = etag;
  for (const change of changes) {
    await change();
    const answer = await house.ask(path, { headers: { 'if-none-match': before } });
    t.equal(answer.status, 200, `${change}`);
    t.not(answer.headers.get('etag'), before, `${change}`);
    before = answer.headers.get('etag')!;
  }
}

async function drafts(t: Test, { house, inside, published, path }: World): Promise<void> {
  for (const [verb, status] of [
    ['unpublish', 'draft'],
    ['publish', 'published'],
    ['disable', 'disabled'],
    ['enable', 'published'],
  ]) {
    await house.console(`${inside}${path}/${verb}`, { method: 'POST' });
    t.equal((await house.ask(path)).json.status, status);
    t.equal(
      (await house.ask('/assistants')).json.data.find(({ id }: { id: string }) => id === published.id).status,
      status,
    );
  }
}

async function failures(t: Test, { house, path }: World): Promise<void> {
  const etag = (await house.ask(path)).headers.get('etag')!;
  const { key } = await house.newKey({ assistant_ids: [] });
  const answer = await house.ask(path, { key, headers: { 'if-none-match': etag } });
  isRefused(t, answer, refusals.notPermitted);
  t.same([answer.headers.get('etag'), answer.headers.get('cache-control')], [null, null]);
  isRefused(t, await house.ask('/assistants/asst_none', { headers: { 'if-none-match': '*' } }), refusals.noAssistant);
}
