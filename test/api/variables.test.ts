/** Variables in an assistant's prompt and greeting (contract 19), and texts from before variables existed. */
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { answered, onProvider, refused, say, transcriptOf } from './talk.ts';
import { aboutOf, dataFolder } from '../golden/opened.ts';
import { type House, openHouse, openWorkspace } from './house.ts';

t.test('variables in prompt and greeting are checked and filled', async (t) => {
  const house = await openWorkspace();
  await t.test('a prompt and a greeting are filled for each session', (t) => filled(t, house));
  await t.test('a text whose variable has no value in some session is refused with its field', (t) =>
    checked(t, house),
  );
  await t.test('the greeting outside a session is null if it needs one', (t) => outside(t, house));
  await t.test('a preview fills texts that are not saved', (t) => preview(t, house));
  await t.test('OpenAI clients get defaults, and what they add is literal', (t) => added(t, house));
  await t.test('a trial is filled with what it knows', (t) => trial(t, house));
});

const ok: Parameters<typeof onProvider>[2] = (response) => answered(response, ['ok']);
const fields = [{ name: 'name', required: true }, { name: 'nick' }];
const prompt =
  'You are {{assistant.name}} on {{channel}} for {{visitor.name}} ({{visitor.nick|no nick}}, {{metadata.plan|free}}), {{ date }} {{time}} {{weekday}}, {{session.id}}. \\{{date}}';

const inside = (house: House): string => `/workspaces/${house.workspaceId}`;

/** The system prompt of the newest request. */
const sentPrompt = (provider: { readonly requests: readonly { readonly body: any }[] }): string =>
  provider.requests.at(-1)!.body.messages[0].content;

async function filled(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, ok, {
    name: 'Ada',
    greeting: 'Hello {{visitor.name}}, it is {{weekday}} in {{session.id}}.',
    visitor_fields: fields,
    model: { system_prompt: prompt },
  });
  const visitor = { name: 'Bo{{date}}\nB', nick: '' };
  const { id, created_at: createdAt } = await house.session(assistant.id, { visitor, metadata: { plan: 'gold' } });
  const weekdayOf = (seconds: number) =>
    new Date(seconds * 1000).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  t.equal((await transcriptOf(house, id))[0].content, `Hello Bo{{date}} B, it is ${weekdayOf(createdAt)} in ${id}.`);
  const stream = await say(house, id);
  await stream.rest();
  const turn = (await transcriptOf(house, id)).at(-1);
  const at = new Date(turn.created_at * 1000).toISOString();
  t.equal(
    sentPrompt(provider),
    `You are Ada on api for Bo{{date}} B (no nick, gold), ${at.slice(0, 10)} ${at.slice(11, 16)} ${weekdayOf(turn.created_at)}, ${id}. {{date}}`,
  );
}

async function checked(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant({ visitor_fields: fields, greeting: '{{visitor.name}}' });
  const path = `${inside(house)}/assistants/${assistant.id}`;
  const patch = (body: object) => house.console(path, { method: 'PATCH', body });
  for (const text of ['{{nobody}}', 'a {{date', '{{metadata.plan}}', '{{visitor.nick}}', '{{visitor.other}}']) {
    for (const [body, field] of [
      [{ greeting: text }, 'greeting'],
      [{ model: { system_prompt: text } }, 'model.system_prompt'],
    ] as const) {
      const answer = await patch(body);
      refused(t, answer, 422, 'invalid_request');
      t.match(answer.json.error.message, `\`${field}\``, text);
    }
    refused(
      t,
      await house.console(`${inside(house)}/assistants`, { body: { name: 'x', greeting: text } }),
      422,
      'invalid_request',
    );
  }
  t.match((await patch({ visitor_fields: [] })).json.error.message, '`greeting`', 'a field that a text needs');
  t.equal((await patch({ visitor_fields: [], greeting: '{{visitor.name|you}}' })).status, 200);
  t.equal((await patch({ greeting: null, model: { system_prompt: null } })).status, 200);
}

async function outside(t: Test, house: House): Promise<void> {
  const slug = 'variables';
  const assistant = await house.assistant({
    name: 'Ada',
    channels: { link: true },
    link: { slug },
    greeting: 'I am {{assistant.name}}. \\{{',
  });
  const greetings = async () => [
    (await house.ask(`/assistants/${assistant.id}`)).json.greeting,
    (await house.ask('/assistants')).json.data.find(({ id }: any) => id === assistant.id).greeting,
    (await house.ask(`/p/${slug}/about`, { key: null })).json.greeting,
  ];
  t.same(await greetings(), Array(3).fill('I am Ada. {{'));
  t.equal(
    (await house.console(`${inside(house)}/assistants/${assistant.id}`)).json.greeting,
    'I am {{assistant.name}}. \\{{',
  );
  for (const greeting of [
    '{{visitor.name|you}}',
    '{{date}}',
    '{{channel}}',
    '{{session.id}}',
    '{{metadata.assistant.name|}}',
  ]) {
    await house.revise(assistant.id, { greeting });
    t.same(await greetings(), [null, null, null], greeting);
  }
  const { id } = await house.session(assistant.id);
  t.same(await transcriptOf(house, id), [], 'a greeting that is empty is no message');
}

async function preview(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant({
    greeting: 'Hello',
    model: { provider: 'scripted', name: 'scripted', system_prompt: 'Stored {{channel}}' },
  });
  const { id } = await house.session(assistant.id, { metadata: { plan: 'gold' } });
  const path = `${inside(house)}/assistants/${assistant.id}/preview`;
  const shown = async (body: object) => {
    const { status, json } = await house.console(path, { body: { session_id: id, ...body } });
    t.equal(status, 200);
    return [json.object, json.session_id, json.system_prompt, json.greeting];
  };
  t.same(await shown({}), ['assistant_preview', id, 'Stored api', 'Hello']);
  t.same(await shown({ greeting: 'Hi {{visitor.name|you}}', model: { system_prompt: '{{metadata.plan|}}' } }), [
    'assistant_preview',
    id,
    'gold',
    'Hi you',
  ]);
  t.equal((await house.console(`${inside(house)}/assistants/${assistant.id}`)).json.greeting, 'Hello');
  const wrong = await house.console(path, { body: { session_id: id, model: { system_prompt: '{{x}}' } } });
  t.match(wrong.json.error.message, '`model.system_prompt`');
  const other = await house.session((await house.assistant()).id);
  refused(t, await house.console(path, { body: { session_id: other.id } }), 404, 'session_not_found');
  refused(t, await house.console(path, { body: {} }), 422, 'invalid_request');
}

async function added(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, ok, {
    model: { system_prompt: 'Plan {{metadata.plan|none}} on {{channel}}.' },
  });
  const messages = [
    { role: 'system', content: 'As {{date}} says.' },
    { role: 'user', content: '{{time}}' },
  ];
  await house.ask('/v1/chat/completions', { body: { model: assistant.id, messages } });
  const sent = provider.requests.at(-1)!.body.messages.map(({ content }: any) => content);
  t.same(sent, ['Plan none on api.\n\nAs {{date}} says.', '{{time}}']);
}

async function trial(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, ok, {
    greeting: 'Hello {{visitor.nick|you}} on {{channel}}{{visitor.name}}.',
    visitor_fields: fields,
    model: { system_prompt: 'On {{channel}}.' },
  });
  const { json } = await house.console(`${inside(house)}/assistants/${assistant.id}/trials`, { method: 'POST' });
  const path = `${inside(house)}/sessions/${json.id}`;
  t.equal((await house.console(`${path}/transcript`)).json.data[0].content, 'Hello you on console.');
  await house.console(`${path}/chat`, { body: { message: 'Hi' } });
  t.equal(sentPrompt(provider), 'On console.');
}

t.test('texts of an earlier version mean the same', async (t) => {
  const folder = new URL('../golden/0.1', import.meta.url).pathname;
  const about = aboutOf(folder, 'lmdb');
  const data = await dataFolder(t, folder);
  const old = 'Hi {{visitor.name}} \\{{ {{{{ }}';
  const store = lmdbStore(data);
  await store.open(Date.now());
  const page = { limit: 100, after: null, order: 'asc' } as const;
  const { items } = await store.catalog.list('assistant', about.workspaceId, page);
  const { id } = items.find(({ greeting }) => greeting === 'Hello 👋')!;
  const { record, version } = (await store.catalog.read('assistant', about.workspaceId, id))!;
  t.notOk('hasVariables' in record);
  await store.catalog.replace(
    'assistant',
    { ...record, greeting: old, model: { ...record.model, systemPrompt: old } },
    version,
  );
  await store.close();

  const house = await openHouse(t, {
    folder: dirname(data),
    embedded: true,
    env: { PARLEY_STORE: 'lmdb:./data', PARLEY_SECRET: about.secret, PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' },
  });
  const path = `/workspaces/${about.workspaceId}/assistants/${id}`;
  const greets = async () => (await transcriptOf(house, (await house.session(id)).id))[0].content;
  t.equal(await greets(), old);
  t.equal((await house.ask(`/assistants/${id}`)).json.greeting, old);
  const escaped = 'Hi \\{{visitor.name}} \\\\{{ \\{{\\{{ }}';
  const stored = (await house.console(path)).json;
  t.same([stored.greeting, stored.model.system_prompt], [escaped, escaped]);
  const session = await house.session(id);
  const preview = async () => (await house.console(`${path}/preview`, { body: { session_id: session.id } })).json;
  t.equal((await preview()).system_prompt, old);
  t.equal((await house.console(path, { method: 'PATCH', body: { name: 'Renamed' } })).status, 200);
  t.match(await preview(), { system_prompt: old, greeting: old });
  t.equal(await greets(), old, 'after an unrelated change');
  await house.console(path, { method: 'PATCH', body: { greeting: `${escaped} {{channel}}` } });
  t.equal(await greets(), old, 'until the change is published');
  await house.console(`${path}/publish`, { method: 'POST' });
  t.equal(await greets(), `${old} api`);
  t.equal((await preview()).system_prompt, old);
});
