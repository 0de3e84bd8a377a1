/** The console's API (contract 9). */
import t, { type Test } from 'tap';
import { jsonText } from '../../src/base/json.ts';
import { openHouse, textOf, type Answer, type House } from './house.ts';
import {
  isRated,
  isRefused,
  limitedFor,
  missingField,
  refusals,
  unencryptedUrl,
  unrated,
  wrongField,
  type Refusal,
} from './refusal.ts';

const missing = (field: string): Refusal => unrated(missingField(field));
const wrong = (field: string): Refusal => unrated(wrongField(field));
const nowhere = unrated(refusals.noRoute);
const nobody = (prefix: string) => `${prefix}_${'0'.repeat(26)}`;

t.test('the API of the console keeps its contract', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_LOG: 'debug' } });
  await t.test('workspaces are created, renamed and deleted', (t) => workspaces(t, house));
  await t.test('a workspace that is deleted takes all with it', (t) => deletedWorkspace(t, house));
  await t.test('assistants are listed, changed and deleted', (t) => assistants(t, house));
  await t.test('the moves of an assistant', (t) => moves(t, house));
  await t.test('assistants that are refused', (t) => wrongAssistants(t, house));
  await t.test("an assistant's voice is changed field by field", (t) => voices(t, house));
  await t.test('keys are created once, changed and revoked', (t) => keys(t, house));
  await t.test('credentials are stored, and their secrets are never returned', (t) => credentials(t, house));
  await t.test('where a base URL may not lead', (t) => baseUrls(t, house));
  await t.test('sessions, transcripts and usage', (t) => reading(t, house));
  await t.test('changes reach live sessions at once', (t) => live(t, house));
  await t.test('a secret is nowhere to be found', (t) => secrets(t, house));
});

const patch = (house: House, path: string, body: unknown) => house.console(path, { method: 'PATCH', body });
const post = (house: House, path: string) => house.console(path, { method: 'POST' });
const remove = (house: House, path: string) => house.console(path, { method: 'DELETE' });

/** An answer of the console: its status, a request id, and no rate headers. */
function answers(t: Test, answer: Answer, status: number, name: string): any {
  t.equal(answer.status, status, name);
  t.match(answer.headers.get('x-request-id'), /^req_/, name);
  isRated(t, answer, false, name);
  if (status === 204) t.same([answer.text, answer.headers.get('content-type')], ['', null], name);
  return answer.json;
}

async function workspaces(t: Test, house: House): Promise<void> {
  const created = await house.console('/workspaces', { body: { name: 'Acme' } });
  const made = answers(t, created, 201, 'created');
  const { id, created_at: at, updated_at: _, ...fields } = made;
  t.same(fields, { object: 'workspace', name: 'Acme', retention_days: 30, turns_in_flight_max: 10 });
  t.ok(Math.abs(at - Date.now() / 1000) < 60, 'Unix seconds');
  t.equal(created.headers.get('location'), `/console/api/workspaces/${id}`);
  const path = `/workspaces/${id}`;
  t.same(answers(t, await house.console(path), 200, 'read'), made);
  t.ok((await house.console('/workspaces')).json.data.some((one: { id: string }) => one.id === id));

  const full = answers(
    t,
    await house.console('/workspaces', { body: { name: 'Full', retention_days: 7, turns_in_flight_max: 3 } }),
    201,
    'with all',
  );
  t.same([full.retention_days, full.turns_in_flight_max], [7, 3]);
  const changed = answers(t, await patch(house, path, { retention_days: 90, name: null, unknown: 1 }), 200, 'changed');
  t.same([changed.name, changed.retention_days, changed.turns_in_flight_max], ['Acme', 90, 10], 'the rest stays');
  t.same((await house.console(path)).json, changed);
  t.same(answers(t, await patch(house, path, {}), 200, 'nothing').name, 'Acme');

  const bad: [unknown, Refusal][] = [
    [{}, missing('name')],
    [{ name: null }, missing('name')],
    [{ name: '' }, wrong('name')],
    [{ name: 'x'.repeat(201) }, wrong('name')],
    [{ name: 5 }, wrong('name')],
    [{ name: 'x', retention_days: 0 }, wrong('retention_days')],
    [{ name: 'x', retention_days: 1.5 }, wrong('retention_days')],
    [{ name: 'x', retention_days: '30' }, wrong('retention_days')],
    [{ name: 'x', turns_in_flight_max: 0 }, wrong('turns_in_flight_max')],
    ['[]', unrated(refusals.notAnObject)],
    ['{', unrated(refusals.malformedJson)],
    [`"${'x'.repeat(256 * 1024)}"`, unrated(refusals.tooLarge)],
  ];
  for (const [body, refusal] of bad) {
    isRefused(t, await house.console('/workspaces', { body }), refusal, `POST ${JSON.stringify(body).slice(0, 50)}`);
    if (!refusal.message.includes('required'))
      isRefused(t, await patch(house, path, body), refusal, `PATCH ${JSON.stringify(body).slice(0, 50)}`);
  }
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    isRefused(
      t,
      await house.console(`/workspaces/${nobody('wks')}`, { method, ...(method === 'PATCH' ? { body: {} } : {}) }),
      nowhere,
      method,
    );
  }
}

async function deletedWorkspace(t: Test, house: House): Promise<void> {
  const { id } = (await house.console('/workspaces', { body: { name: 'gone' } })).json;
  const inside = `/workspaces/${id}`;
  const model = { provider: 'synthetic', name: 'hang_at=1' };
  const assistant = (await house.console(`${inside}/assistants`, { body: { name: 'a', model } })).json;
  await post(house, `${inside}/assistants/${assistant.id}/publish`);
  const { key, id: keyId } = (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json;
  const session = (await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json;
  const stream = await house.stream(`/sessions/${session.id}/chat`, { key, body: { message: 'Hi' } });
  answers(t, await remove(house, inside), 204, 'deleted');
  t.match((await stream.rest()).at(-1)?.event, /^(turn\.aborted|error)$/, 'its turn in flight is over');
  for (const path of [
    '',
    '/assistants',
    `/assistants/${assistant.id}`,
    '/keys',
    `/keys/${keyId}`,
    '/credentials',
    '/sessions',
    `/sessions/${session.id}`,
    '/usage',
  ]) {
    isRefused(t, await house.console(inside + path), nowhere, path);
  }
  isRefused(t, await house.ask(`/sessions/${session.id}`, { key }), refusals.invalidKey);
  isRefused(t, await remove(house, inside), nowhere, 'a second time');
  t.notOk((await house.console('/workspaces?limit=100')).json.data.some((one: { id: string }) => one.id === id));
}

const settings = {
  name: 'Ada',
  description: 'Answers.',
  greeting: 'Hello!',
  channels: { voice: true, link: false, widget: true },
  visitor_fields: [{ name: 'email', label: 'Address', type: 'email', required: true }],
  max_call_seconds: 600,
  model: {
    provider: 'synthetic',
    name: 'tokens=3',
    credential_id: null,
    history_tokens_max: 2000,
    system_prompt: 'Be brief.',
    temperature: 0.5,
    output_tokens_max: 100,
    reasoning: 'shown',
    fallbacks: [],
  },
  voice: { provider: 'openai', name: 'tts', transcription_name: null, voice: 'warm', credential_id: null },
  link: {
    slug: 'ada',
    limits: { minutes_per_day: 60, concurrent_visitors: null },
    origins: ['https://example.com'],
    feedback: false,
    identity: null,
    identity_required: false,
  },
  tool_ids: [],
  tool_rounds_max: 8,
  alias: null,
  version: null,
  candidate: null,
  session_policy: 'pin',
  require_tests: false,
  desk: {
    enabled: false,
    wait_seconds: 120,
    while_waiting: 'assistant',
    texts: { waiting: null, joined: null, left: null, nobody: null },
  },
};

async function assistants(t: Test, house: House): Promise<void> {
  const list = `/workspaces/${house.workspaceId}/assistants`;
  const created = await house.console(list, { body: { ...settings, status: 'published', id: 'asst_x' } });
  const made = answers(t, created, 201, 'created');
  const { id, created_at: _, updated_at: __, draft: ___, ...fields } = made;
  t.same(fields, { object: 'assistant', status: 'draft', ...settings }, 'a draft, with all its settings');
  const path = `${list}/${id}`;
  t.equal(created.headers.get('location'), `/console/api${path}`);
  t.same(answers(t, await house.console(path), 200, 'read'), made);
  t.same(
    (await house.console(list)).json.data.find((one: { id: string }) => one.id === id),
    made,
  );

  const plain = answers(
    t,
    await house.console(list, { body: { name: 'Plain', greeting: null, model: null } }),
    201,
    'with a name alone',
  );
  t.same(
    [plain.model.provider, plain.model.reasoning, plain.voice, plain.link, plain.greeting, plain.status],
    ['scripted', 'hidden', null, null, null, 'draft'],
  );

  t.equal(plain.model.history_tokens_max, 8000);
  t.equal(
    answers(t, await patch(house, `${list}/${plain.id}`, { model: { history_tokens_max: 1 } }), 200, 'least').model
      .history_tokens_max,
    1,
  );
  t.equal(
    answers(t, await patch(house, `${list}/${plain.id}`, { model: { history_tokens_max: null } }), 200, 'null').model
      .history_tokens_max,
    8000,
    'the default again',
  );

  const changed = answers(
    t,
    await patch(house, path, { name: 'Bob', channels: { link: true }, model: { temperature: null } }),
    200,
    'changed',
  );
  t.same(
    changed,
    {
      ...made,
      name: 'Bob',
      channels: { voice: true, link: true, widget: true },
      model: { ...settings.model, temperature: null },
      draft: changed.draft,
      updated_at: changed.updated_at,
    },
    'what is not mentioned stays',
  );
  const cleared = answers(
    t,
    await patch(house, path, {
      description: null,
      greeting: null,
      voice: null,
      link: null,
      model: { system_prompt: null },
    }),
    200,
    'cleared',
  );
  t.same(
    [cleared.description, cleared.greeting, cleared.voice, cleared.link, cleared.model.system_prompt],
    [null, null, null, null, null],
  );
  t.equal(cleared.model.name, 'tokens=3');
  const kept = answers(
    t,
    await patch(house, path, {
      name: null,
      max_call_seconds: null,
      channels: { voice: null },
      model: { provider: null, reasoning: null },
    }),
    200,
    'null where there must be something',
  );
  t.same(kept, { ...cleared, updated_at: kept.updated_at }, 'is the same as absent');

  const session = (await (async () => {
    await post(house, `${path}/publish`);
    return house.session(id, { visitor: { email: 'a@example.com' } });
  })()) as { id: string };
  answers(t, await remove(house, path), 204, 'deleted');
  isRefused(t, await house.console(path), unrated(refusals.noAssistant));
  isRefused(t, await house.ask(`/assistants/${id}`), refusals.noAssistant);
  isRefused(
    t,
    await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'Hi' } }),
    refusals.noAssistant,
    'a turn of a session that outlived it',
  );
  t.equal((await house.ask(`/sessions/${session.id}`)).status, 200, 'which can still be read');
  const unknown = `${list}/${nobody('asst')}`;
  isRefused(t, await patch(house, unknown, {}), unrated(refusals.noAssistant));
  isRefused(t, await remove(house, path), unrated(refusals.noAssistant), 'a second time');
  for (const verb of ['publish', 'unpublish', 'disable', 'enable'])
    isRefused(t, await post(house, `${unknown}/${verb}`), unrated(refusals.noAssistant), verb);
}

async function moves(t: Test, house: House): Promise<void> {
  const list = `/workspaces/${house.workspaceId}/assistants`;
  const { id } = (await house.console(list, { body: { name: 'moving' } })).json;
  const open = () => house.ask('/sessions', { body: { assistant_id: id } });
  const steps: [verb: string, status: string, refusal: Refusal | null][] = [
    ['publish', 'published', null],
    ['publish', 'published', null],
    ['unpublish', 'draft', refusals.notPublished],
    ['unpublish', 'draft', refusals.notPublished],
    ['publish', 'published', null],
    ['disable', 'disabled', refusals.disabled],
    ['disable', 'disabled', refusals.disabled],
    ['enable', 'published', null],
    ['enable', 'published', null],
    ['disable', 'disabled', refusals.disabled],
    ['unpublish', 'draft', refusals.notPublished],
    ['disable', 'disabled', refusals.disabled],
    ['publish', 'published', null],
    ['unpublish', 'draft', refusals.notPublished],
    ['enable', 'published', null],
  ];
  isRefused(t, await open(), refusals.notPublished, 'a draft');
  for (const [verb, status, refusal] of steps) {
    const moved = answers(t, await post(house, `${list}/${id}/${verb}`), 200, verb);
    t.equal(moved.status, status, verb);
    t.same((await house.console(`${list}/${id}`)).json, moved);
    const answer = await open();
    if (refusal === null) t.equal(answer.status, 201, `after ${verb}`);
    else isRefused(t, answer, refusal, `after ${verb}`);
  }
  t.equal((await house.console(`${list}/${id}/publish`, { body: {} })).status, 200, 'a body does no harm');
}

async function wrongAssistants(t: Test, house: House): Promise<void> {
  const list = `/workspaces/${house.workspaceId}/assistants`;
  const { id } = (await house.console(list, { body: { name: 'a' } })).json;
  const model = (fields: object) => ({ model: { provider: 'synthetic', name: 'tokens=1', ...fields } });
  const bad: [object, string][] = [
    [{ name: '' }, 'name'],
    [{ name: 'a', description: 5 }, 'description'],
    [{ name: 'a', channels: { voice: 'yes' } }, 'channels.voice'],
    [{ name: 'a', channels: [] }, 'channels'],
    [{ name: 'a', visitor_fields: {} }, 'visitor_fields'],
    [{ name: 'a', visitor_fields: [{ name: 'a b' }] }, 'visitor_fields.0.name'],
    [{ name: 'a', visitor_fields: [{ name: 'ok' }, { name: 'b', type: 'date' }] }, 'visitor_fields.1.type'],
    [{ name: 'a', visitor_fields: [{ name: 'b' }, { name: 'b' }] }, 'visitor_fields'],
    [{ name: 'a', max_call_seconds: 0 }, 'max_call_seconds'],
    [{ name: 'a', max_call_seconds: '600' }, 'max_call_seconds'],
    [{ name: 'a', ...model({ provider: 'nobody' }) }, 'model.provider'],
    [{ name: 'a', ...model({ provider: 'constructor' }) }, 'model.provider'],
    [{ name: 'a', ...model({ name: 'tokens=many' }) }, 'model.name'],
    [{ name: 'a', ...model({ name: 'tokens' }) }, 'model.name'],
    [{ name: 'a', ...model({ name: 'colour=red' }) }, 'model.name'],
    [{ name: 'a', ...model({ name: 'tokens=1,tokens=2' }) }, 'model.name'],
    [{ name: 'a', ...model({ temperature: 3 }) }, 'model.temperature'],
    [{ name: 'a', ...model({ output_tokens_max: 0 }) }, 'model.output_tokens_max'],
    ...[0, -1, 1.5, 1_000_001, '8000'].map((tokens): [object, string] => [
      { name: 'a', ...model({ history_tokens_max: tokens }) },
      'model.history_tokens_max',
    ]),
    [{ name: 'a', ...model({ system_prompt: 5 }) }, 'model.system_prompt'],
    ...['loud', '', 'Shown', true, ['hidden']].map((reasoning): [object, string] => [
      { name: 'a', ...model({ reasoning }) },
      'model.reasoning',
    ]),
    [{ name: 'a', ...model({ credential_id: nobody('crd') }) }, 'model.credential_id'],
    [{ name: 'a', voice: { provider: 'some' } }, 'voice.provider'],
    [{ name: 'a', voice: { provider: 'embedded', voice: 'nobody' } }, 'voice.voice'],
    [{ name: 'a', voice: { provider: 'synthetic', name: 'nonsense' } }, 'voice.name'],
    [{ name: 'a', voice: { provider: 'synthetic', transcription_name: 'nonsense' } }, 'voice.transcription_name'],
    [{ name: 'a', voice: { provider: 'openai', credential_id: nobody('crd') } }, 'voice.credential_id'],
    [{ name: 'a', link: { slug: 'Not A Slug' } }, 'link.slug'],
    [{ name: 'a', link: { limits: { minutes_per_day: -1 } } }, 'link.limits.minutes_per_day'],
    [{ name: 'a', link: { origins: 'https://example.com' } }, 'link.origins'],
  ];
  for (const [body, field] of bad) {
    isRefused(t, await house.console(list, { body }), wrong(field), `POST ${JSON.stringify(body)}`);
    isRefused(t, await patch(house, `${list}/${id}`, body), wrong(field), `PATCH ${JSON.stringify(body)}`);
  }
  isRefused(t, await house.console(list, { body: {} }), missing('name'));
  isRefused(
    t,
    await house.console(list, { body: { name: 'a', model: { provider: 'synthetic' } } }),
    missing('model.name'),
  );
  isRefused(
    t,
    await house.console(list, { body: { name: 'a', visitor_fields: [{}] } }),
    missing('visitor_fields.0.name'),
  );
  isRefused(t, await house.console(list, { body: { name: 'a', voice: {} } }), missing('voice.provider'));
  t.same((await house.console(`${list}/${id}`)).json.name, 'a', 'nothing of it has come through');
}

async function voices(t: Test, house: House): Promise<void> {
  const inside = `/workspaces/${house.workspaceId}`;
  const credential = async (kind: string, provider: string) =>
    (await house.console(`${inside}/credentials`, { body: { kind, provider, api_key: 'k' } })).json.id;
  const own = await credential('voice', 'openai');
  const path = `${inside}/assistants/${(await house.console(`${inside}/assistants`, { body: { name: 'a' } })).json.id}`;
  for (const voice of [{}, { provider: null }, { voice: 'warm' }])
    isRefused(
      t,
      await patch(house, path, { voice }),
      missing('voice.provider'),
      `no voice before: ${JSON.stringify(voice)}`,
    );
  let expected: object = {
    provider: 'openai',
    name: 'tts-1',
    transcription_name: null,
    voice: 'warm',
    credential_id: own,
  };
  t.same((await patch(house, path, { voice: expected })).json.voice, expected);
  for (const change of [
    {},
    { voice: null },
    { name: 'tts-1-hd' },
    { transcription_name: 'whisper-1' },
    { credential_id: null },
    { credential_id: own },
  ]) {
    expected = { ...expected, ...change };
    t.same(answers(t, await patch(house, path, { voice: change }), 200, JSON.stringify(change)).voice, expected);
  }
  for (const [change, field] of [
    [{ provider: 'synthetic', name: null, transcription_name: null }, 'voice.credential_id'],
    [{ credential_id: await credential('model', 'openai') }, 'voice.credential_id'],
    [{ credential_id: await credential('voice', 'embedded') }, 'voice.credential_id'],
    [{ voice: 'x'.repeat(65) }, 'voice.voice'],
    [{ provider: 'some' }, 'voice.provider'],
    [{ provider: 5 }, 'voice.provider'],
  ] as const)
    isRefused(t, await patch(house, path, { voice: change }), wrong(field), JSON.stringify(change));
  t.same((await house.console(path)).json.voice, expected, 'a refusal changes nothing');
  const embedded = { provider: 'embedded', name: null, transcription_name: null, voice: null, credential_id: null };
  t.same(
    (
      await patch(house, path, {
        voice: { provider: 'embedded', name: null, transcription_name: null, credential_id: null },
      })
    ).json.voice,
    embedded,
    'another provider',
  );
  t.equal((await patch(house, path, { voice: null })).json.voice, null);
  isRefused(t, await patch(house, path, { voice: { name: 'tts-1' } }), missing('voice.provider'), 'no voice any more');
}

async function keys(t: Test, house: House): Promise<void> {
  const list = `/workspaces/${house.workspaceId}/keys`;
  const created = await house.console(list, { body: { name: 'first' } });
  const { key, budgets, ...made } = answers(t, created, 201, 'created');
  t.match(budgets, {
    requests: { limit: 60, remaining: 60 },
    speech: { limit: 30, remaining: 30 },
    transcription_tokens: { limit: 10, remaining: 10 },
  });
  // Budgets refill while the test runs.
  const still = ({ budgets: _, ...key }: any) => key;
  const { id, created_at: _, hint, ...fields } = made;
  t.match(key, /^ak_/);
  t.ok(hint.length < key.length && !hint.includes(key.slice(-38)), 'the hint is not the key');
  t.equal(created.headers.get('cache-control'), 'no-store');
  t.same(fields, {
    object: 'key',
    name: 'first',
    status: 'active',
    assistant_ids: null,
    limits: { requests: 60, speech: 30, transcription_tokens: 10, tokens_per_day: null },
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
  });
  const path = `${list}/${id}`;
  t.same(still(answers(t, await house.console(path), 200, 'read')), made, 'without the key');
  t.same(
    still((await house.console(list)).json.data.find((one: { id: string }) => one.id === id)),
    made,
    'nor in the list',
  );

  const at = Math.floor(Date.now() / 1000) + 3600;
  const full = answers(
    t,
    await house.console(list, {
      body: {
        name: 'full',
        assistant_ids: ['asst_x'],
        expires_at: at,
        limits: { requests: 7, speech: 8, transcription_tokens: 9 },
      },
    }),
    201,
    'with all',
  );
  t.same(
    [full.assistant_ids, full.expires_at, full.limits],
    [['asst_x'], at, { requests: 7, speech: 8, transcription_tokens: 9, tokens_per_day: null }],
  );
  const changed = answers(
    t,
    await patch(house, path, { name: 'second', limits: { speech: 5 }, assistant_ids: [] }),
    200,
    'changed',
  );
  t.same(still(changed), {
    ...made,
    name: 'second',
    assistant_ids: [],
    limits: { requests: 60, speech: 5, transcription_tokens: 10, tokens_per_day: null },
  });
  t.same(
    answers(t, await patch(house, path, { assistant_ids: null, name: null, limits: { speech: null } }), 200, 'null')
      .assistant_ids,
    null,
    'reaches all again',
  );
  t.same((await house.console(path)).json.limits.speech, 5);
  t.equal((await house.ask('/assistants', { key })).status, 200, 'and it is still the same key');

  t.equal(answers(t, await patch(house, path, { expires_at: 1 }), 200, 'past').status, 'expired');
  const revoked = answers(t, await post(house, `${path}/revoke`), 200, 'revoked');
  t.same([revoked.status, Math.abs(revoked.revoked_at - Date.now() / 1000) < 60], ['revoked', true]);
  t.same(still(answers(t, await post(house, `${path}/revoke`), 200, 'again')), still(revoked), 'changes nothing');
  isRefused(t, await house.ask('/assistants', { key }), refusals.revokedKey);
  isRefused(t, await house.console(path, { method: 'DELETE' }), nowhere, 'a key is never deleted: it stays on record');

  const bad: [object, string][] = [
    [{ name: '' }, 'name'],
    [{ name: 'k', assistant_ids: 'asst_x' }, 'assistant_ids'],
    [{ name: 'k', assistant_ids: [5] }, 'assistant_ids.0'],
    [{ name: 'k', expires_at: '2030-01-01' }, 'expires_at'],
    [{ name: 'k', expires_at: 1.5 }, 'expires_at'],
    [{ name: 'k', limits: { requests: 0 } }, 'limits.requests'],
    [{ name: 'k', limits: { speech: 1.5 } }, 'limits.speech'],
    [{ name: 'k', limits: 60 }, 'limits'],
  ];
  for (const [body, field] of bad) {
    isRefused(t, await house.console(list, { body }), wrong(field), `POST ${JSON.stringify(body)}`);
    isRefused(t, await patch(house, path, body), wrong(field), `PATCH ${JSON.stringify(body)}`);
  }
  isRefused(t, await house.console(list, { body: {} }), missing('name'));
  for (const answer of [
    await house.console(`${list}/${nobody('key')}`),
    await patch(house, `${list}/${nobody('key')}`, {}),
    await post(house, `${list}/${nobody('key')}/revoke`),
  ]) {
    isRefused(t, answer, nowhere, 'an unknown key');
  }
}

async function credentials(t: Test, house: House): Promise<void> {
  const list = `/workspaces/${house.workspaceId}/credentials`;
  const body = { kind: 'model', provider: 'openai', base_url: 'https://api.example.com/v1', api_key: 'sk-first' };
  const made = answers(t, await house.console(list, { body }), 201, 'created');
  const { id, created_at: _, updated_at: __, ...fields } = made;
  t.same(
    fields,
    { object: 'credential', name: null, kind: 'model', provider: 'openai', base_url: 'https://api.example.com/v1' },
    'without its secret',
  );
  const path = `${list}/${id}`;
  t.same(
    (await house.console(list)).json.data.find((one: { id: string }) => one.id === id),
    made,
  );
  const changed = answers(
    t,
    await patch(house, path, { api_key: 'sk-second', base_url: null, kind: 'voice' }),
    200,
    'changed',
  );
  t.same(changed, { ...made, base_url: null, updated_at: changed.updated_at }, 'its kind does not change');
  t.same(answers(t, await patch(house, path, { api_key: null }), 200, 'null').base_url, null);
  const voice = answers(
    t,
    await house.console(list, { body: { kind: 'voice', provider: 'embedded', api_key: 'sk-voice' } }),
    201,
    'for a voice',
  );
  t.same([voice.kind, voice.base_url], ['voice', null]);

  const named = answers(t, await patch(house, path, { name: 'main' }), 200, 'a name needs no secret');
  t.equal(named.name, 'main');
  isRefused(t, await house.console(list, { body: { ...body, name: 'main' } }), wrong('name'), 'its name is taken');
  isRefused(t, await patch(house, `${list}/${voice.id}`, { name: 'main' }), wrong('name'), 'of every kind');
  for (const name of ['', 'x'.repeat(201), 5])
    isRefused(t, await patch(house, path, { name }), wrong('name'), JSON.stringify(name));
  t.equal(answers(t, await patch(house, path, { api_key: 'sk-third' }), 200, 'kept').name, 'main');
  t.equal(answers(t, await patch(house, path, { name: null }), 200, 'removed').name, null);
  t.equal(answers(t, await patch(house, `${list}/${voice.id}`, { name: 'main' }), 200, 'free').name, 'main');

  const atOnce = await Promise.all(
    Array.from({ length: 12 }, (_, turn) => patch(house, path, { api_key: `sk-${turn}` })),
  );
  t.ok(
    atOnce.every(({ status }) => status === 200),
    'changes at once wait for each other',
  );
  for (const [credential, provider] of [
    [voice.id, 'openai'],
    [id, 'anthropic'],
  ] as const) {
    const model = { provider, name: 'm', credential_id: credential };
    isRefused(
      t,
      await house.console(`/workspaces/${house.workspaceId}/assistants`, { body: { name: 'x', model } }),
      wrong('model.credential_id'),
      'of another kind or provider',
    );
  }

  const assistant = await house.assistant({ model: { provider: 'openai', name: 'm', credential_id: id } });
  const session = await house.session(assistant.id);
  answers(t, await remove(house, path), 204, 'deleted');
  t.notOk((await house.console(list)).json.data.some((one: { id: string }) => one.id === id));
  isRefused(
    t,
    await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'Hi' } }),
    refusals.unavailable,
    'an assistant without its credential',
  );
  t.same((await house.ask(`/sessions/${session.id}/transcript`)).json.data, [], 'of which nothing stays');

  const bad: [object, Refusal][] = [
    [{ ...body, kind: 'other' }, wrong('kind')],
    [{ ...body, provider: '' }, wrong('provider')],
    ...['some', 'OpenAI', ' openai', 'synthetics'].map((provider): [object, Refusal] => [
      { ...body, provider },
      wrong('provider'),
    ]),
    [{ ...body, api_key: '' }, wrong('api_key')],
    [{ ...body, api_key: 5 }, wrong('api_key')],
    ...[
      'k\nk',
      'k\r\nX-Other: y',
      'k\tk',
      'k\0',
      ' \n',
      'Bearer k',
      ' bearer\tk',
      'Bearer',
      'BEARER: k',
      'k\u2028k',
      'k\u007f',
      'k\u20ac',
    ].map((api_key): [object, Refusal] => [{ ...body, api_key }, wrong('api_key')]),
    [{ ...body, base_url: 5 }, wrong('base_url')],
    [{ kind: 'model', provider: 'openai' }, missing('api_key')],
    [{ kind: 'model', api_key: 'k' }, missing('provider')],
    [{ provider: 'openai', api_key: 'k' }, missing('kind')],
  ];
  // A reader of test results takes U+2028 for a line's end.
  for (const [body, refusal] of bad) isRefused(t, await house.console(list, { body }), refusal, jsonText(body));
  isRefused(
    t,
    await patch(house, `${list}/${voice.id}`, { api_key: 'k\nk' }),
    wrong('api_key'),
    'a secret that no header can carry',
  );
  isRefused(
    t,
    await patch(house, `${list}/${voice.id}`, { provider: 'some', api_key: 'k' }),
    wrong('provider'),
    'a provider that is not offered',
  );
  isRefused(
    t,
    await patch(house, `${list}/${voice.id}`, { api_key: 'Bearer k' }),
    wrong('api_key'),
    'with the word before it',
  );
  for (const api_key of ['bearer-k', 'a b', ' k ', '\ufeffk\u2028', '\tk\r\n'])
    answers(t, await patch(house, `${list}/${voice.id}`, { api_key }), 200, jsonText(api_key));
  isRefused(t, await patch(house, path, { api_key: 'k' }), nowhere, 'an unknown one');
  isRefused(t, await remove(house, path), nowhere, 'a second time');
}

async function baseUrls(t: Test, house: House): Promise<void> {
  const list = `/workspaces/${house.workspaceId}/credentials`;
  const create = (base_url: string) =>
    house.console(list, { body: { kind: 'model', provider: 'openai', base_url, api_key: 'k' } });
  const { id } = (await create('https://api.example.com/v1')).json;
  const refused = [
    'http://127.0.0.1/v1',
    'http://127.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0.0.0.0/',
    'http://localhost:8080/',
    'http://LOCALHOST/',
    'http://a.localhost/',
    'http://localhost./',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest',
    'http://100.64.0.1/',
    'http://[::1]/',
    'http://[::]/',
    'http://[fe80::1]/',
    'http://[fc00::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://224.0.0.1/',
    'http://api.example.com/v1',
    'http://8.8.8.8/v1',
    'HTTP://api.example.com:443/',
    'https://127.0.0.1/v1',
    'https://localhost/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://user:pass@api.example.com/',
    'https://user@api.example.com/',
    'https://api.example.com/?x=1',
    'https://api.example.com/#x',
    'ftp://api.example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'api.example.com',
    '/v1',
    'http://',
    'x',
    ...[
      'chat/completions',
      'chat/completions/',
      'Chat/Completions',
      'chat//completions//',
      'completions',
      'messages',
      'responses',
      'audio/speech',
      'audio/transcriptions',
      'embeddings',
      'audio/speech?',
      'messages#',
    ].map((end) => `https://api.example.com/v1/${end}`),
    'https://api.example.com/v1/chat/completions?api-version=1',
  ];
  for (const url of refused) {
    const refusal = /^http:/i.test(url) && URL.canParse(url) ? unrated(unencryptedUrl('base_url')) : wrong('base_url');
    isRefused(t, await create(url), refusal, url);
    isRefused(t, await patch(house, `${list}/${id}`, { base_url: url }), refusal, `PATCH ${url}`);
  }
  for (const url of [
    'https://api.example.com',
    'https://api.example.com:8443/v1/',
    'https://8.8.8.8/v1',
    'https://api.example.com/models',
    'https://api.example.com/messages/v1',
    'https://completions.example.com/v1',
    'https://api.example.com/v1/my-completions',
    'https://[2606:4700::1111]/v1',
  ])
    t.equal((await create(url)).status, 201, url);
}

async function reading(t: Test, house: House): Promise<void> {
  const { id: workspaceId } = (await house.console('/workspaces', { body: { name: 'read' } })).json;
  const inside = `/workspaces/${workspaceId}`;
  const { key } = (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json;
  const assistant = (await house.console(`${inside}/assistants`, { body: { name: 'a', greeting: 'Hello.' } })).json;
  await post(house, `${inside}/assistants/${assistant.id}/publish`);
  const session = (await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json;
  await (await house.stream(`/sessions/${session.id}/chat`, { key, body: { message: 'Hi' } })).rest();
  const ended = (await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json;
  await house.ask(`/sessions/${ended.id}/end`, { key, method: 'POST' });

  for (const path of [
    '/sessions',
    `/sessions?status=ended`,
    `/sessions?assistant_id=${assistant.id}&limit=1`,
    `/sessions/${session.id}`,
    `/sessions/${session.id}/transcript`,
  ]) {
    const seen = answers(t, await house.console(inside + path), 200, path);
    t.same(seen, (await house.ask(path, { key })).json, `${path} as its key sees it`);
  }
  const now = Math.floor(Date.now() / 1000);
  for (const query of [
    `?start=${now - 3600}&end=${now + 3600}&bucket=hour`,
    `?start=${now - 3600}&end=${now + 3600}&assistant_id=${assistant.id}`,
  ]) {
    const seen = answers(t, await house.console(`${inside}/usage${query}`), 200, query);
    t.same(seen, (await house.ask(`/usage${query}`, { key })).json);
    t.same([seen.totals.sessions, seen.totals.turns], [2, 1]);
  }
  isRefused(t, await house.console(`${inside}/sessions/${nobody('ses')}`), unrated(refusals.noSession));
  isRefused(t, await house.console(`${inside}/sessions/${nobody('ses')}/transcript`), unrated(refusals.noSession));
  isRefused(t, await house.console(`${inside}/sessions?assistant_id=${nobody('asst')}`), unrated(refusals.noAssistant));
  isRefused(t, await house.console(`${inside}/usage?assistant_id=${nobody('asst')}`), unrated(refusals.noAssistant));
  isRefused(t, await house.console(`${inside}/usage?start=2&end=1`), unrated(refusals.invalidRange));
  isRefused(t, await house.console(`${inside}/sessions?limit=0`), wrong('limit'));
}

async function live(t: Test, house: House): Promise<void> {
  const workspace = `/workspaces/${house.workspaceId}`;
  const assistant = await house.assistant({
    greeting: 'One.',
    model: { provider: 'synthetic', name: 'tokens=1,text=before' },
  });
  const path = `${workspace}/assistants/${assistant.id}`;
  const session = await house.session(assistant.id);
  const say = async () =>
    textOf(await (await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hi' } })).rest());
  t.equal(await say(), 'before ');
  await house.revise(assistant.id, {
    model: { name: 'tokens=1,text=after' },
    greeting: 'Two.',
    max_call_seconds: 7,
    visitor_fields: [{ name: 'email', required: true }],
  });
  t.equal(await say(), 'before ', 'an open session keeps its version');
  const open = (visitor: object) => house.ask('/sessions', { body: { assistant_id: assistant.id, visitor } });
  isRefused(t, await open({}), {
    ...wrongField(''),
    code: 'missing_visitor_fields',
    message: 'Required visitor fields are missing: `visitor.email`.',
  });
  const later = (await open({ email: 'x' })).json;
  t.equal(later.expires_at, later.created_at + 7);
  t.equal((await house.ask(`/sessions/${later.id}/transcript`)).json.data[0].content, 'Two.');
  t.equal(
    (await house.ask(`/sessions/${session.id}`)).json.expires_at,
    session.expires_at,
    'a session keeps the seconds that it began with',
  );

  await post(house, `${path}/disable`);
  isRefused(t, await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'Hi' } }), refusals.disabled);
  await post(house, `${path}/enable`);
  t.equal(await say(), 'before ');

  await house.revise(assistant.id, { model: { name: 'hang_at=1' }, max_call_seconds: 3600 });
  const hanging = await house.session(assistant.id, { visitor: { email: 'x' } });
  const stream = await house.stream(`/sessions/${hanging.id}/chat`, { body: { message: 'Hi' } });
  const other = await house.session(assistant.id, { visitor: { email: 'x' } });
  await patch(house, workspace, { turns_in_flight_max: 1 });
  isRefused(
    t,
    await house.ask(`/sessions/${other.id}/chat`, { body: { message: 'Hi' } }),
    limitedFor(1),
    'a lower ceiling of turns',
  );
  await patch(house, workspace, { turns_in_flight_max: 10 });
  const second = await house.stream(`/sessions/${other.id}/chat`, { body: { message: 'Hi' } });
  for (const [id, open] of [
    [hanging.id, stream],
    [other.id, second],
  ] as const) {
    await house.ask(`/sessions/${id}/end`, { method: 'POST' });
    await open.rest();
  }
}

async function secrets(t: Test, house: House): Promise<void> {
  const inside = `/workspaces/${house.workspaceId}`;
  const secret = 'sk-this-must-never-be-seen-again';
  const later = 'sk-nor-must-this';
  const seen: string[] = [];
  const look = async (answer: Promise<Answer>): Promise<any> => {
    const { text, headers, json } = await answer;
    seen.push(text, ...headers.values());
    return json;
  };
  const credential = await look(
    house.console(`${inside}/credentials`, { body: { kind: 'model', provider: 'openai', api_key: secret } }),
  );
  await look(patch(house, `${inside}/credentials/${credential.id}`, { api_key: later }));
  await look(
    house.console(`${inside}/credentials`, {
      body: { kind: 'model', provider: 'openai', base_url: 'x', api_key: secret },
    }),
  );
  const { id, key } = (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json;
  await look(patch(house, `${inside}/keys/${id}`, { name: 'l' }));
  for (const path of ['/credentials', '/assistants', '/keys', `/keys/${id}`, '/sessions', ''])
    await look(house.console(inside + path));
  for (const path of ['/assistants', '/sessions', '/usage', '/metrics']) await look(house.ask(path, { key }));
  await house.console('/workspaces', { key: 'operator-token-that-is-wrong' });
  const said = 'something between the two of us';
  const session = await house.session((await house.assistant()).id);
  await (await house.stream(`/sessions/${session.id}/chat`, { body: { message: said } })).rest();
  const { code } = await house.stop();
  t.equal(code, 0);
  const text = [...seen, house.stdout(), house.stderr()].join('\n');
  t.match(house.stdout(), /"request_id":"req_/, 'requests are logged');
  for (const word of [secret, later, key, key.slice(-38), 'operator-token-that-is-wrong', 'sk-first', said])
    t.notOk(text.includes(word), `${word.slice(0, 12)}…`);
}

t.test('without the synthetic provider there is none', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '0' } });
  const body = { name: 'a', model: { provider: 'synthetic', name: 'tokens=1' } };
  isRefused(t, await house.console(`/workspaces/${house.workspaceId}/assistants`, { body }), wrong('model.provider'));
});
