/** The console's API: keys and credentials (contract 9). */
import t, { type Test } from 'tap';
import { jsonText } from '../../src/base/json.ts';
import { type House, openHouse } from './house.ts';
import { type Refusal, isRefused, refusals, unencryptedUrl, unrated } from './refusal.ts';
import { answers, missing, nobody, nowhere, patch, post, remove, wrong } from './console-requests.ts';

t.test('the console creates, changes and removes keys and credentials', async (t) => {
  const house = await openHouse(t);
  await t.test('keys are created once, changed and revoked', (t) => keys(t, house));
  await t.test('credentials are stored, and their secrets are never returned', (t) => credentials(t, house));
  await t.test('where a base URL may not lead', (t) => baseUrls(t, house));
});

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
  t.same((await house.ask(`/sessions/${session.id}/transcript`)).json.data, [], 'and nothing of it stays');

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
