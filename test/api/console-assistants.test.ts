/** The console's API: assistants and their voices (contract 9). */
import t, { type Test } from 'tap';
import { type House, openHouse } from './house.ts';
import { type Refusal, isRefused, refusals, unrated } from './refusal.ts';
import { answers, missing, nobody, patch, post, remove, wrong } from './console-requests.ts';

t.test('the console creates, changes and deletes assistants', async (t) => {
  const house = await openHouse(t);
  await t.test('assistants are listed, changed and deleted', (t) => assistants(t, house));
  await t.test('the moves of an assistant', (t) => moves(t, house));
  await t.test('assistants that are refused', (t) => wrongAssistants(t, house));
  await t.test("an assistant's voice is changed field by field", (t) => voices(t, house));
});

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

t.test('without the synthetic provider its models are refused', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '0' } });
  const body = { name: 'a', model: { provider: 'synthetic', name: 'tokens=1' } };
  isRefused(t, await house.console(`/workspaces/${house.workspaceId}/assistants`, { body }), wrong('model.provider'));
});
