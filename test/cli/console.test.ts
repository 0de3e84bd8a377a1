import t from 'tap';
import {
  assistant,
  consoleAssistant,
  empty,
  fail,
  fakeServer,
  id,
  key,
  list,
  operatorToken,
  run,
  session,
  start,
  workspace,
  type Route,
} from './support.ts';

const base = `/console/api/workspaces/${workspace.id}`;
const workspaces: Record<string, Route> = { 'GET /console/api/workspaces': () => list(workspace) };
const assistants: Record<string, Route> = { [`GET ${base}/assistants`]: () => list(consoleAssistant) };

t.test('keys create: the key is shown once, its assistants by id, its time absolute', async (t) => {
  const server = await fakeServer(t, {
    ...workspaces,
    ...assistants,
    [`POST ${base}/keys`]: (request) => ({ ...key, ...(request.body as object), key: 'ak_public_secret' }),
  });
  const done = await run(
    [
      'keys',
      'create',
      'shop',
      '--assistant',
      'demo',
      '--assistant',
      id('asst', 'z'),
      '--expires',
      '2026-06-01',
      '--requests',
      '5',
    ],
    { env: server.env },
  );
  t.strictSame(done, {
    code: 0,
    stdout: `Created the key "shop" (${key.id}):\n\n  ak_public_secret\n\nKeep it now: it is not shown again.\n`,
    stderr: '',
  });
  const sent = server.received.at(-1)!;
  t.strictSame(sent.body, {
    name: 'shop',
    assistant_ids: [assistant.id, id('asst', 'z')],
    expires_at: 1780272000,
    limits: { requests: 5 },
  });
  t.equal(sent.headers.authorization, `Bearer ${operatorToken}`);
});

t.test('lists: a table with the way to the next page, and with --json exactly what the API sent', async (t) => {
  const text = `{"object":"list", "data":[${JSON.stringify(key)}], "has_more":true, "next_cursor":"c2"}`;
  const server = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}/keys`]: (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(text),
  });
  const table = await run(['keys', 'list', '--limit', '1', '--after', 'c1', '--order', 'asc'], { env: server.env });
  t.equal(table.code, 0);
  t.strictSame(table.stdout.split('\n'), [
    `ID${' '.repeat(30)}NAME  STATUS  ASSISTANTS  REQUESTS/MIN  EXPIRES  CREATED`,
    `${key.id}  shop  active  all                   60  never    2026-01-01 00:00:00Z`,
    '',
    'There are more: add --after c2',
    '',
  ]);
  t.strictSame(server.received.at(-1)!.query, { limit: '1', after: 'c1', order: 'asc' });
  t.strictSame(await run(['keys', 'list', '--json', '--workspace', workspace.id], { env: server.env }), {
    code: 0,
    stdout: `${text}\n`,
    stderr: '',
  });
});

t.test('keys revoke, by name over all pages', async (t) => {
  const other = { ...key, id: id('key', 'b'), name: 'other' };
  const server = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}/keys`]: ({ query }) =>
      query.after === 'c2' ? list(key) : { ...list(other), has_more: true, next_cursor: 'c2' },
    [`POST ${base}/keys/${key.id}/revoke`]: () => ({ ...key, status: 'revoked' }),
  });
  t.strictSame(await run(['keys', 'revoke', 'shop'], { env: server.env }), {
    code: 0,
    stdout: `Revoked the key "shop" (${key.id}).\n`,
    stderr: '',
  });
  t.strictSame(await run(['keys', 'revoke', 'none'], { env: server.env }), {
    code: 1,
    stdout: '',
    stderr: 'parley: No key is called "none".\n',
  });
});

t.test('keys rotate: the new key is shown once, with what becomes of the old one', async (t) => {
  const other = { ...key, id: id('key', 'b') };
  const server = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}/keys`]: () => list(key),
    [`POST ${base}/keys/${key.id}/rotate`]: () => ({ ...other, key: 'ak_public_secret' }),
    [`POST ${base}/keys/${other.id}/rotate`]: (_request, response) =>
      fail(response, 422, 'invalid_request', 'invalid_request', 'The field `id` is wrong.'),
  });
  const { env } = server;
  const shown = (old: string) => ({
    code: 0,
    stdout: `Replaced the key "shop" (${key.id}) by ${other.id}:\n\n  ak_public_secret\n\nKeep it now: it is not shown again. ${old}\n`,
    stderr: '',
  });
  t.strictSame(await run(['keys', 'rotate', key.id], { env }), shown('The old key has ended.'));
  t.strictSame(server.received.at(-1)!.body, {});
  t.strictSame(
    await run(['keys', 'rotate', 'shop', '--overlap', '86400'], { env }),
    shown('The old key works for another 86400 seconds at most.'),
  );
  t.strictSame(server.received.at(-1)!.body, { overlap_seconds: 86400 });
  t.match(await run(['keys', 'rotate', key.id, '--overlap', '2592001'], { env }), {
    code: 2,
    stdout: '',
    stderr: /from 0 to 2592000/,
  });
  t.match(await run(['keys', 'rotate', other.id], { env }), {
    code: 1,
    stdout: '',
    stderr: /`id` is wrong\. A key that is revoked or has expired cannot be rotated: create a new one/,
  });
});

t.test('console: a link to sign in with, for whom it is named', async (t) => {
  const url = 'https://parley.example/console#sign-in=token';
  const server = await fakeServer(t, {
    'POST /console/api/sign-in-links': (request) => ({
      object: 'sign_in_link',
      url,
      role: 'owner',
      workspace_id: null,
      ...(request.body as { name: string }),
      expires_at: 1767225600,
    }),
  });
  const { env } = server;
  t.strictSame(await run(['console'], { env }), {
    code: 0,
    stdout: `${url}\n\nIt signs "operator" in once, as owner of all workspaces, within 10 minutes.\n`,
    stderr: '',
  });
  t.strictSame(server.received.at(-1)!.body, { name: 'operator' });
  t.match(await run(['console', '--name', 'Ada'], { env }), { code: 0, stdout: /"Ada"/ });
  const workspace = id('wks', 'a');
  const role = ['--role', 'attendant', '--workspace', workspace];
  t.match(await run(['console', ...role, '--name', 'Anna'], { env }), {
    code: 0,
    stdout: new RegExp(`"Anna" in once, as attendant of ${workspace}`),
  });
  t.strictSame(server.received.at(-1)!.body, { name: 'Anna', role: 'attendant', workspace_id: workspace });
  t.match(await run(['console', '--role', 'admin'], { env }), { code: 2, stderr: /owner, editor, attendant, viewer/ });
  t.match(JSON.parse((await run(['console', '--json'], { env })).stdout), { object: 'sign_in_link', url });
});

t.test('workspaces and credentials are created, listed and changed', async (t) => {
  const credential = {
    id: id('crd', 'a'),
    object: 'credential',
    kind: 'model',
    provider: 'openai',
    base_url: 'http://127.0.0.1:1/v1',
    created_at: 1767225600,
    updated_at: 1767225600,
  };
  const server = await fakeServer(t, {
    ...workspaces,
    'POST /console/api/workspaces': (request) => ({ ...workspace, ...(request.body as object) }),
    [`GET ${base}/credentials`]: () => list(credential),
    [`POST ${base}/credentials`]: () => credential,
    [`PATCH ${base}/credentials/${credential.id}`]: () => credential,
    [`DELETE ${base}/credentials/${credential.id}`]: (_request, response) => empty(response),
  });
  const { env } = server;
  t.match(
    (await run(['workspaces', 'list'], { env })).stdout,
    `${workspace.id}  default       30 d             10  2026-01-01 00:00:00Z`,
  );
  t.equal(
    (await run(['workspaces', 'create', 'new', '--retention-days', '7'], { env })).stdout,
    `Created the workspace "new": ${workspace.id}\n`,
  );
  t.strictSame(server.received.at(-1)!.body, { name: 'new', retention_days: 7 });
  t.match(
    (await run(['credentials', 'list'], { env })).stdout,
    `${credential.id}  model  openai    http://127.0.0.1:1/v1  2026-01-01 00:00:00Z`,
  );

  const create = ['credentials', 'create', '--provider', 'openai', '--base-url', 'http://127.0.0.1:1/v1'];
  const secretSent = async (args: string[], options: { env: Record<string, string>; input?: string }) => {
    const done = await run([...create, ...args], options);
    t.strictSame(done, {
      code: 0,
      stdout: `Stored the credential ${credential.id} for openai. Its secret is not shown again.\n`,
      stderr: '',
    });
    return (server.received.at(-1)!.body as { api_key: string }).api_key;
  };
  t.equal(
    await secretSent(['--api-key', 'of-the-flag'], { env: { ...env, PARLEY_PROVIDER_API_KEY: 'unused' } }),
    'of-the-flag',
  );
  t.equal(
    await secretSent([], { env: { ...env, PARLEY_PROVIDER_API_KEY: 'of-the-environment' } }),
    'of-the-environment',
  );
  t.equal(await secretSent([], { env, input: 'of-stdin\n' }), 'of-stdin');
  t.match(await run(create, { env, input: '' }), { code: 2, stderr: /^parley: No API key for the provider/ });
  const update = ['credentials', 'update', credential.id, '--base-url', 'https://api.example.com/v1'];
  const updated = `Changed the credential ${credential.id} for openai. Its secret is not shown again.\n`;
  t.strictSame(await start(t, update, { env, input: 'of-stdin\n' }).finished, { code: 0, stdout: updated, stderr: '' });
  t.strictSame(server.received.at(-1)!.body, { base_url: 'https://api.example.com/v1', api_key: 'of-stdin' });
  t.match(await run(update, { env, input: '' }), { code: 2, stderr: /^parley: No API key for the provider/ });
  t.strictSame(await run(['credentials', 'delete', credential.id], { env }), {
    code: 0,
    stdout: `Deleted the credential ${credential.id}.\n`,
    stderr: '',
  });
  t.strictSame(await run(['credentials', 'delete', credential.id, '--json'], { env }), {
    code: 0,
    stdout: '',
    stderr: '',
  });
});

t.test('credentials test: what the provider says, and exit 1 unless it works', async (t) => {
  const answers = {
    works: 'The provider takes the key.',
    refused: 'The provider refuses the key.',
    unknown: 'The provider does not answer.',
  };
  const test =
    (result: keyof typeof answers): Route =>
    () => ({ object: 'credential_test', result, message: answers[result] });
  const server = await fakeServer(t, {
    ...workspaces,
    ...Object.fromEntries(
      (Object.keys(answers) as (keyof typeof answers)[]).map((result) => [
        `POST ${base}/credentials/${result}/test`,
        test(result),
      ]),
    ),
  });
  for (const [result, message] of Object.entries(answers)) {
    const done = { code: result === 'works' ? 0 : 1, stderr: '' };
    t.strictSame(await run(['credentials', 'test', result], { env: server.env }), {
      ...done,
      stdout: `${result}: ${message}\n`,
    });
    t.match(await run(['credentials', 'test', result, '--json'], { env: server.env }), {
      ...done,
      stdout: `"result":"${result}"`,
    });
  }
});

t.test('a refusal that is the same for all comes with what to do about it', async (t) => {
  const wrong =
    (field: string): Route =>
    (_request, response) =>
      fail(response, 422, 'invalid_request', 'invalid_request', `The field \`${field}\` is wrong.`);
  const server = await fakeServer(t, {
    ...workspaces,
    [`POST ${base}/credentials`]: wrong('base_url'),
    [`POST ${base}/assistants`]: wrong('model.provider'),
    [`PATCH ${base}/credentials/one`]: wrong('api_key'),
    [`POST ${base}/keys`]: wrong('constructor'),
    [`DELETE ${base}/credentials/none`]: (_request, response) =>
      fail(response, 404, 'not_found', 'route_not_found', 'No such path.'),
  });
  const said = async (...args: string[]) => run(args, { env: server.env });
  t.match(
    await said(
      'credentials',
      'create',
      '--provider',
      'openai',
      '--base-url',
      'http://127.0.0.1:1/v1',
      '--api-key',
      'k',
    ),
    {
      code: 1,
      stderr:
        /^parley: The field `base_url` is wrong\. It .*PARLEY_ALLOW_PRIVATE_PROVIDERS=1\. \(invalid_request, request req_test\)\n$/,
    },
  );
  t.match(await said('credentials', 'update', 'one', '--api-key', 'k'), {
    code: 1,
    stderr: /is wrong\. .*base URL or provider changes only together with it.*\. \(/,
  });
  t.match(await said('assistants', 'create', 'a', '--provider', 'synthetic', '--model', 'm'), {
    code: 1,
    stderr: /is wrong\. There are scripted.*PARLEY_SYNTHETIC=1\. \(/,
  });
  t.match(await said('keys', 'create', 'k'), {
    code: 1,
    stderr: 'parley: The field `constructor` is wrong. (invalid_request, request req_test)\n',
  });
  t.match(await said('credentials', 'delete', 'none'), {
    code: 1,
    stderr:
      'parley: No such workspace, key, credential, tool, webhook or delivery. (route_not_found, request req_test)\n',
  });
});

t.test('assistants: create, update, change of state, delete', async (t) => {
  const path = `${base}/assistants/${assistant.id}`;
  const changed = (status: string) => () => ({ ...consoleAssistant, status });
  const server = await fakeServer(t, {
    ...workspaces,
    ...assistants,
    [`GET ${path}`]: () => consoleAssistant,
    [`POST ${base}/assistants`]: changed('draft'),
    [`PATCH ${path}`]: () => ({ ...consoleAssistant, draft: { ...consoleAssistant.draft, changed: true } }),
    [`POST ${path}/publish`]: changed('published'),
    [`POST ${path}/unpublish`]: changed('draft'),
    [`POST ${path}/disable`]: changed('disabled'),
    [`POST ${path}/enable`]: changed('published'),
    [`DELETE ${path}`]: (_request, response) => empty(response),
  });
  const said = async (...args: string[]) => (await run(['assistants', ...args], { env: server.env })).stdout;
  t.equal(await said('create', 'demo'), `Created the assistant "demo" (${assistant.id}). It is a draft.\n`);
  t.strictSame(server.received.at(-1)!.body, { name: 'demo', model: { provider: 'scripted', name: 'scripted' } });
  t.equal(
    await said('create', 'demo', '--publish'),
    `Created the assistant "demo" (${assistant.id}). It is published.\n`,
  );
  t.equal(
    await said('update', 'demo', '--temperature', '0.2', '--no-voice'),
    `Changed the assistant "demo" (${assistant.id}). People still get version 1: publish the change with \`parley assistants publish ${assistant.id}\`.\n`,
  );
  t.strictSame(server.received.at(-1)!.body, { channels: { voice: false }, model: { temperature: 0.2 } });
  await said('update', 'demo', '--voice-id', 'rms');
  t.strictSame(
    server.received.at(-1)!.body,
    { voice: { provider: 'embedded', voice: 'rms' } },
    'an assistant without settings of a voice has the embedded one',
  );
  t.equal(await said('disable', 'demo'), `The assistant "demo" (${assistant.id}) is disabled.\n`);
  t.equal(await said('unpublish', assistant.id), `The assistant "demo" (${assistant.id}) is a draft.\n`);
  t.equal(await said('publish', assistant.id), `The assistant "demo" (${assistant.id}) is published.\n`);
  t.equal(await said('enable', assistant.id), `The assistant "demo" (${assistant.id}) is published.\n`);
  t.match(await said('list'), `${assistant.id}  demo  published  scripted  scripted  2026-01-01 00:00:00Z`);
  t.match(await said('show', 'demo'), /^system prompt   Be kind\.\n {16}Be brief\.$/m);
  t.equal(await said('delete', 'demo'), 'Deleted the assistant demo.\n');
  t.match(await run(['assistants', 'update', 'demo'], { env: server.env }), {
    code: 2,
    stderr: /^parley: Nothing to change/,
  });
});

t.test('sessions: the list with its filters, and one with its whole transcript', async (t) => {
  const message = {
    id: id('msg', 'a'),
    object: 'message',
    turn_id: null,
    role: 'assistant',
    content: 'Hello',
    status: 'completed',
    stop_reason: null,
    error_code: null,
    created_at: 1767225600,
  };
  const cut = {
    ...message,
    content: 'two\nlines\u001b[2J',
    status: 'partial',
    stop_reason: 'error',
    error_code: 'api_error',
    created_at: 1767225601,
  };
  const path = `${base}/sessions/${session.id}`;
  const server = await fakeServer(t, {
    ...workspaces,
    ...assistants,
    [`GET ${base}/sessions`]: () => list({ ...session, active_turn_id: id('turn', 'a') }),
    [`GET ${path}`]: () => session,
    [`GET ${path}/transcript`]: ({ query }) =>
      query.after ? list(cut) : { ...list(message), has_more: true, next_cursor: '1' },
  });
  const { env } = server;
  const listed = await run(['sessions', 'list', '--assistant', 'demo', '--status', 'open'], { env });
  t.match(
    listed.stdout,
    `${session.id}  ${assistant.id}  open, replying  api      ada@example.com  2026-01-01 00:00:00Z`,
  );
  t.strictSame(server.received.at(-1)!.query, { assistant_id: assistant.id, status: 'open' });
  const shown = await run(['sessions', 'show', session.id], { env });
  t.match(shown.stdout, /^visitor {4}email: ada@example\.com$/m);
  t.ok(
    shown.stdout.endsWith(
      '2026-01-01 00:00:00Z  assistant\n  Hello\n\n2026-01-01 00:00:01Z  assistant (partial, error, api_error)\n  two\n  lines[2J\n',
    ),
    shown.stdout,
  );
  const json = await run(['sessions', 'show', session.id, '--json'], { env });
  t.strictSame(JSON.parse(json.stdout), { session, transcript: list(message, cut) });
});

t.test('an erasure prints its receipt', async (t) => {
  const receipt = { object: 'erasure', at: 1767225600, sessions: 1, messages: 2, turns: 3, feedback: 1, tests: 0 };
  const none = { ...receipt, sessions: 0, messages: 0, turns: 0, feedback: 0 };
  const { env } = await fakeServer(t, {
    ...workspaces,
    [`DELETE ${base}/sessions/${session.id}`]: () => receipt,
    [`DELETE ${base}/visitors/vis_1`]: () => ({ ...receipt, sessions: 40, feedback: 0 }),
    [`DELETE ${base}/visitors/vis_2`]: () => none,
  });
  const printed = async (...args: string[]) => (await run(args, { env })).stdout;
  t.equal(
    await printed('sessions', 'erase', session.id),
    `Erased ${session.id}: 1 session, 2 messages, 3 turns, 1 rating.\n`,
  );
  t.equal(await printed('visitors', 'erase', 'vis_1'), 'Erased vis_1: 40 sessions, 2 messages, 3 turns.\n');
  t.equal(await printed('visitors', 'erase', 'vis_2'), 'Nothing of vis_2 is stored.\n');
  t.strictSame(JSON.parse(await printed('visitors', 'erase', 'vis_2', '--json')), none);
});

t.test('usage: what was used, and its window', async (t) => {
  const none = {
    sessions: 0,
    turns: 0,
    failed_turns: 0,
    input_tokens: 0,
    output_tokens: 0,
    speech_characters: 0,
    transcription_seconds: 0,
    tool_calls: 0,
    cached_input_tokens: 0,
    feedback_up: 0,
    feedback_down: 0,
  };
  const some = { ...none, sessions: 1, turns: 12 };
  const start = 1767225600;
  const data = [
    { start, ...some },
    { start: start + 86_400, ...none },
    { start: start + 2 * 86_400, ...none },
  ];
  const server = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}/usage`]: () => ({
      object: 'usage',
      start,
      end: start + 3 * 86_400,
      bucket: 'day',
      data,
      totals: some,
    }),
  });
  const done = await run(['usage', '--start', '2026-01-01', '--end', '2026-01-04', '--bucket', 'day'], {
    env: server.env,
  });
  t.strictSame(server.received.at(-1)!.query, { start: String(start), end: String(start + 3 * 86_400), bucket: 'day' });
  const lines = done.stdout.split('\n');
  t.equal(lines[0], 'From 2026-01-01 00:00:00Z to 2026-01-04 00:00:00Z');
  t.match(lines[3], /^2026-01-01 +1 +12 +0 +0 +0 +0 +0 +0 +0 +0 +0$/);
  t.match(lines[4], /^total +1 +12 +0 +0 +0 +0 +0 +0 +0 +0 +0$/);
  t.equal(lines[6], 'Without use, and left out: 2 days.');
});

const one = `${base}/assistants/${consoleAssistant.id}`;
const linkStatus = {
  object: 'link_status',
  url: 'http://127.0.0.1/p/hello',
  snippet: '<script src="http://127.0.0.1/widget.js" data-slug="hello" async></script>',
  day: '2026-09-21',
  minutes_used: 41.5,
  visitors_present: 3,
  refused: {
    ...{
      minutes_per_day: 0,
      concurrent_visitors: 2,
      messages_per_visitor_per_day: 0,
      messages_per_address_per_hour: 1,
    },
    ...{ places_per_address: 0, minutes_per_address: 0 },
  },
  resets_at: 1_790_035_200,
};
const linkRoutes: Record<string, Route> = {
  ...workspaces,
  ...assistants,
  [`GET ${one}/link`]: () => linkStatus,
  [`PATCH ${one}`]: ({ body }) => ({
    ...consoleAssistant,
    channels: { voice: false, widget: false, ...(body as { channels: object }).channels },
    link: { origins: [], ...(body as { link?: object }).link },
  }),
};

t.test('link create: the slug, what is named of limits and sites, and where the page is', async (t) => {
  const server = await fakeServer(t, linkRoutes);
  const done = await run(['link', 'create', 'demo', '--slug', 'hello'], { env: server.env });
  t.strictSame(done, { code: 0, stdout: `The assistant "demo" is at ${linkStatus.url}\n`, stderr: '' });
  t.strictSame(server.received.find(({ method }) => method === 'PATCH')!.body, {
    channels: { link: true },
    link: { slug: 'hello' },
  });
  const args = [
    'link',
    'create',
    consoleAssistant.id,
    '--slug',
    'hello',
    '--widget',
    '--origin',
    'https://a.example',
    '--origin',
    '*',
    '--minutes-per-day',
    '0',
    '--messages-per-address-per-hour',
    '9',
    '--places-per-address',
    '3',
    '--minutes-per-address',
    '4',
  ];
  const both = await run(args, { env: server.env });
  t.ok(both.stdout.endsWith(`\n\nOn a site of yours:\n\n  ${linkStatus.snippet}\n`));
  const link = {
    slug: 'hello',
    origins: ['https://a.example', '*'],
    limits: { minutes_per_day: 0, messages_per_address_per_hour: 9, places_per_address: 3, minutes_per_address: 4 },
  };
  t.strictSame(server.received.filter(({ method }) => method === 'PATCH').at(-1)!.body, {
    channels: { link: true, widget: true },
    link,
  });
  t.match(
    (await run(['link', 'create', 'demo', '--slug', 'hello', '--widget'], { env: server.env })).stdout,
    /works on no site yet: name one with --origin\.\n$/,
  );
  t.match(await run(['link', 'create', 'demo'], { env: server.env }), { code: 2, stderr: /--slug/ });
});

t.test('link show prints the link and link off turns it off', async (t) => {
  const server = await fakeServer(t, linkRoutes);
  const shown = await run(['link', 'show', 'demo'], { env: server.env });
  t.equal(shown.code, 0);
  for (const line of [
    /address +http:\/\/127\.0\.0\.1\/p\/hello/,
    /day +2026-09-21, until 2026-09-22 00:00:00Z/,
    /minutes used +41\.5/,
    /visitors present +3/,
    /refused by concurrent_visitors +2/,
  ])
    t.match(shown.stdout, line);
  t.strictSame(JSON.parse((await run(['link', 'show', 'demo', '--json'], { env: server.env })).stdout), linkStatus);
  t.strictSame(await run(['link', 'off', 'demo'], { env: server.env }), {
    code: 0,
    stdout: 'The link and the widget of "demo" are off.\n',
    stderr: '',
  });
  t.strictSame(server.received.at(-1)!.body, { channels: { link: false, widget: false } });
});

t.test('a slug that is taken is explained', async (t) => {
  const server = await fakeServer(t, {
    ...linkRoutes,
    [`PATCH ${one}`]: (_request, response) =>
      fail(
        response,
        422,
        'invalid_request',
        'invalid_request',
        'The field `link.slug` has the wrong type or a value that is not allowed.',
      ),
  });
  t.match(await run(['link', 'create', id('asst', 'z'), '--slug', 'hello'], { env: server.env }), { code: 1 });
  t.match(await run(['link', 'create', 'demo', '--slug', 'taken'], { env: server.env }), {
    code: 1,
    stderr: /another may have it/,
  });
});

t.test('tools: create, refresh, what is on, a test call, secrets', async (t) => {
  const parameters = { type: 'object', properties: { order: { type: 'string' } } };
  const tool = {
    id: id('tool', 'a'),
    object: 'tool',
    kind: 'http',
    name: 'Orders',
    url: 'https://orders.example/call',
    functions: [
      { name: 'look_up', description: null, parameters, enabled: true, approval: null, show: null },
      { name: 'cancel', description: null, parameters, enabled: false, approval: null, show: null },
    ],
    updated_at: 1767225600,
  };
  const path = `${base}/tools/${tool.id}`;
  let ended: object = { status: 'completed', error: null, output: '{"shipped":true}\u001b[2J' };
  const taken: Route = (_request, response) =>
    fail(response, 422, 'invalid_request', 'invalid_request', 'The field `name` has a value that is taken.');
  const server = await fakeServer(t, {
    ...workspaces,
    ...assistants,
    [`GET ${base}/tools`]: () => list(tool),
    [`POST ${base}/credentials`]: () => ({ id: id('crd', 'a') }),
    [`DELETE ${base}/credentials/${id('crd', 'a')}`]: (_request, response) => empty(response),
    [`POST ${base}/tools`]: (request, response) =>
      (request.body as { name: string }).name === 'taken'
        ? taken(request, response)
        : {
            ...tool,
            ...(request.body as object),
            ...((request.body as { kind: string }).kind === 'http' && { signing_secret: 'whsec_abc' }),
          },
    [`GET ${path}`]: () => tool,
    [`PATCH ${path}`]: ({ body }) => ({ ...tool, ...(body as object) }),
    [`DELETE ${path}`]: (_request, response) => empty(response),
    [`POST ${path}/refresh`]: () => ({ ...tool, changes: [{ name: 'cancel', change: 'added' }] }),
    [`POST ${path}/rotate-secret`]: () => ({ signing_secret: 'whsec_def' }),
    [`POST ${path}/test`]: () => ({ object: 'tool_test', call_id: id('call', 'a'), ...ended, milliseconds: 12 }),
    [`PATCH ${base}/assistants/${assistant.id}`]: () => consoleAssistant,
    [`POST ${base}/assistants`]: () => consoleAssistant,
  });
  const said = (args: string[], input?: string) =>
    run(args, { env: server.env, ...(input !== undefined && { input }) });
  const sent = () => server.received.at(-1)!.body;
  const created = await said(
    [
      'tools',
      'create',
      'Orders',
      '--tool-url',
      tool.url,
      '--functions',
      '-',
      '--approval',
      'always',
      '--calls-per-minute',
      '6',
    ],
    JSON.stringify(tool.functions),
  );
  t.match(created, { code: 0, stdout: /signed with\n\n {2}whsec_abc\n\nKeep it now/ });
  t.strictSame(sent(), {
    kind: 'http',
    name: 'Orders',
    url: tool.url,
    approval: 'always',
    calls_per_minute: 6,
    functions: tool.functions,
  });
  t.match(await said(['tools', 'create', 'Docs', '--kind', 'mcp', '--tool-url', 'https://docs.example/mcp']), {
    code: 0,
    stdout: /^Created the tool "Docs" \(tool_a+\)\. Read its list with `parley tools refresh /,
  });
  t.match(await said(['tools', 'create', 'x', '--functions', '-'], '{}'), { code: 2, stderr: /list of functions/ });
  t.equal(
    (
      await said([
        'tools',
        'create',
        'Docs',
        '--kind',
        'mcp',
        '--tool-url',
        'https://docs.example/mcp',
        '--api-key',
        'secret',
      ])
    ).code,
    0,
  );
  t.match(
    server.received.slice(-2).map(({ body }) => body),
    [
      { kind: 'tool', base_url: 'https://docs.example/mcp', api_key: 'secret' },
      { kind: 'mcp', credential_id: id('crd', 'a') },
    ],
  );
  t.match(await said(['tools', 'create', 'taken', '--tool-url', 'https://docs.example/mcp', '--api-key', 'secret']), {
    code: 1,
    stderr: /name/,
  });
  t.match(
    server.received.at(-1),
    { method: 'DELETE', path: `${base}/credentials/${id('crd', 'a')}` },
    'a credential of no tool does not stay',
  );
  t.match((await said(['tools', 'list'])).stdout, /Orders +http +look_up, cancel \(off\) +https/);
  t.strictSame(
    (await said(['tools', 'refresh', 'Orders'])).stdout,
    `added    cancel\nThe tool "Orders" (${tool.id}) offers look_up. Off are 1 of 2: turn them on with \`parley tools enable ${tool.id}\`.\n`,
  );
  t.strictSame(
    (await said(['tools', 'refresh', 'Orders', '--enable'])).stdout,
    `added    cancel\nThe tool "Orders" (${tool.id}) offers look_up, cancel.\n`,
  );
  t.strictSame(
    (sent() as any).functions,
    tool.functions.map((one) => ({ ...one, enabled: true })),
  );
  t.match(JSON.parse((await said(['tools', 'refresh', 'Orders', '--enable', '--json'])).stdout), {
    id: tool.id,
    changes: [{ name: 'cancel', change: 'added' }],
    functions: [{ enabled: true }, { enabled: true }],
  });
  t.strictSame(
    (await said(['tools', 'enable', 'Orders', 'cancel'])).stdout,
    `The tool "Orders" (${tool.id}) offers look_up, cancel.\n`,
  );
  t.strictSame(
    (await said(['tools', 'disable', 'Orders'])).stdout,
    `The tool "Orders" (${tool.id}) offers no function. Off are 2 of 2: turn them on with \`parley tools enable ${tool.id}\`.\n`,
  );
  t.strictSame(
    (sent() as any).functions,
    tool.functions.map((one) => ({ ...one, enabled: false })),
  );
  t.match(await said(['tools', 'enable', 'Orders', 'fly']), {
    code: 2,
    stderr: /no function "fly"\. It has look_up, cancel\./,
  });
  t.strictSame(await said(['tools', 'test', 'Orders', 'look_up', '{"order":"7"}']), {
    code: 0,
    stdout: 'completed, 12 ms\n{"shipped":true}[2J\n',
    stderr: '',
  });
  t.strictSame(sent(), { name: 'look_up', arguments: { order: '7' } });
  ended = { status: 'failed', error: 'timeout', output: null };
  t.strictSame(await said(['tools', 'test', tool.id, 'look_up', '-'], '{}'), {
    code: 1,
    stdout: 'failed: timeout, 12 ms\n',
    stderr: '',
  });
  ended = { status: 'failed', error: 'arguments', reason: '`order` is missing.', output: null };
  t.strictSame(await said(['tools', 'test', tool.id, 'look_up', '{}']), {
    code: 1,
    stdout: 'failed: arguments, 12 ms\n`order` is missing.\n',
    stderr: '',
  });
  for (const no of ['[]', '{order:7}'])
    t.match(await said(['tools', 'test', tool.id, 'look_up', no]), { code: 2, stderr: /JSON object/ });
  t.match(
    await said(['tools', 'test', 'Orders', 'fly', '{}']),
    { code: 2, stderr: /no function "fly"/ },
    'before a call of it',
  );
  t.match((await said(['tools', 'rotate-secret', 'Orders'])).stdout, /\n {2}whsec_def\n/);
  t.strictSame((await said(['tools', 'delete', 'Orders'])).stdout, 'Deleted the tool Orders.\n');
  t.equal((await said(['assistants', 'create', 'demo', '--tool', 'Orders', '--tool-rounds-max', '3'])).code, 0);
  t.strictSame(sent(), {
    name: 'demo',
    model: { provider: 'scripted', name: 'scripted' },
    tool_rounds_max: 3,
    tool_ids: [tool.id],
  });
  t.equal((await said(['assistants', 'update', 'demo', '--tool', ''])).code, 0);
  t.strictSame(sent(), { tool_ids: [] });
});

t.test('a tool is shown with all of its settings, and changed one by one', async (t) => {
  const parameters = { type: 'object', properties: {} };
  const functions = [
    {
      name: 'look_up',
      description: 'Looks an order up.',
      parameters,
      enabled: true,
      approval: 'always',
      show: null,
      quarantined: null,
    },
    { name: 'cancel', description: null, parameters, enabled: false, approval: null, show: null, quarantined: null },
  ];
  const settings = {
    credential_id: null,
    timeout_seconds: 20,
    repeatable: false,
    disabled: false,
    approval: 'never',
    show: 'name',
    calls_per_minute: null,
    refreshed_at: 1767225600,
    created_at: 1767225600,
    updated_at: 1767225600,
  };
  const tool = {
    id: id('tool', 'a'),
    object: 'tool',
    kind: 'mcp',
    name: 'Docs',
    url: 'https://docs.example/mcp',
    functions,
    ...settings,
    refresh_error: { at: 1767225600, step: 'initialize', error: 'timeout' },
  };
  const path = `${base}/tools/${tool.id}`;
  const server = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}/tools`]: () => list(tool),
    [`GET ${path}`]: () => tool,
    [`PATCH ${path}`]: ({ body }, response) =>
      (body as { name?: string }).name === 'taken'
        ? fail(response, 422, 'invalid_request', 'invalid_request', 'The field `name` has a value that is taken.')
        : { ...tool, ...(body as object) },
    [`POST ${path}/refresh`]: (_request, response) =>
      fail(response, 503, 'api_error', 'api_error', 'The service is not available.'),
    [`POST ${base}/credentials`]: () => ({ id: id('crd', 'a') }),
    [`DELETE ${base}/credentials/${id('crd', 'a')}`]: (_request, response) => empty(response),
  });
  const said = (args: string[], input?: string) =>
    run(['tools', ...args], { env: server.env, ...(input !== undefined && { input }) });
  const shown = (await said(['show', 'Docs'])).stdout;
  for (const line of [
    /^tool +tool_a+$/m,
    /^kind +mcp$/m,
    /^timeout +20 s$/m,
    /^calls a minute +no limit$/m,
    /look_up \(approval always\): Looks an order up\.$/m,
    /cancel \(off\)$/m,
    /^refresh error .*There was no whole answer within the tool's time at the handshake \(initialize\) \(initialize: timeout\)\.$/m,
  ])
    t.match(shown, line);
  t.strictSame(JSON.parse((await said(['show', tool.id, '--json'])).stdout), tool);
  const changes: readonly (readonly [string[], object])[] = [
    [['--name', 'Notes'], { name: 'Notes' }],
    [
      ['--timeout-seconds', '60', '--approval', 'always', '--show', 'full', '--repeatable'],
      { approval: 'always', show: 'full', timeout_seconds: 60, repeatable: true },
    ],
    [
      ['--no-repeatable', '--no-calls-per-minute', '--no-credential'],
      { calls_per_minute: null, repeatable: false, credential_id: null },
    ],
    [
      ['--calls-per-minute', '6', '--credential', id('crd', 'b'), '--tool-url', 'https://docs.example/v2'],
      { url: 'https://docs.example/v2', calls_per_minute: 6, credential_id: id('crd', 'b') },
    ],
    [['--disabled'], { disabled: true }],
    [['--no-disabled'], { disabled: false }],
    [['--functions', '-'], { functions: [{ name: 'find' }] }],
    [['--api-key', 'secret'], { credential_id: id('crd', 'a') }],
  ];
  for (const [args, body] of changes) {
    t.match(
      await said(['update', 'Docs', ...args], '[{"name":"find"}]'),
      { code: 0, stdout: /^Changed the tool "(Docs|Notes)" \(tool_a+\)\.$/m },
      args.join(' '),
    );
    t.strictSame(server.received.at(-1)!.body, body, args.join(' '));
  }
  t.strictSame(
    server.received.at(-2)!.body,
    { kind: 'tool', base_url: tool.url, api_key: 'secret' },
    "a secret goes to the tool's own origin",
  );
  t.match(await said(['update', 'Docs', '--name', 'taken', '--api-key', 'secret']), { code: 1 });
  t.match(
    server.received.at(-1),
    { method: 'DELETE', path: `${base}/credentials/${id('crd', 'a')}` },
    'a credential of no tool does not stay',
  );
  t.match(await said(['update', 'Docs']), { code: 2, stderr: /Name a setting to change/ });
  for (const wrong of [
    ['--timeout-seconds', '121'],
    ['--approval', 'sometimes'],
    ['--api-key', 'a', '--credential', 'b'],
  ])
    t.equal((await said(['update', 'Docs', ...wrong])).code, 2, wrong.join(' '));
  t.match(await said(['refresh', 'Docs']), {
    code: 1,
    stderr:
      /The list was not read\. There was no whole answer within the tool's time at the handshake \(initialize\) \(initialize: timeout\)\. \(api_error/,
  });
  t.equal((await said(['enable', 'Docs', 'cancel'])).code, 0);
  t.strictSame(
    server.received.at(-1)!.body,
    { functions: [{ name: 'cancel', enabled: true }] },
    "an MCP server's functions are named alone",
  );
});

t.test('credentials of tools have no provider, and may have a header', async (t) => {
  const credential = {
    id: id('crd', 'a'),
    object: 'credential',
    kind: 'tool',
    provider: 'tool',
    base_url: 'https://orders.example',
    header: 'X-Api-Key',
    created_at: 1767225600,
    updated_at: 1767225600,
  };
  const server = await fakeServer(t, {
    ...workspaces,
    [`POST ${base}/credentials`]: () => credential,
    [`GET ${base}/credentials`]: () => list(credential),
  });
  const made = await run(
    [
      'credentials',
      'create',
      '--kind',
      'tool',
      '--base-url',
      'https://orders.example',
      '--header',
      'X-Api-Key',
      '--api-key',
      'k',
    ],
    { env: server.env },
  );
  t.match(made, { code: 0, stdout: 'for the tools at https://orders.example.' });
  t.strictSame(server.received.at(-1)!.body, {
    kind: 'tool',
    base_url: 'https://orders.example',
    header: 'X-Api-Key',
    api_key: 'k',
  });
  t.match((await run(['credentials', 'list'], { env: server.env })).stdout, /tool +tool +https:/);
  t.match(await run(['credentials', 'create', '--api-key', 'k'], { env: server.env }), {
    code: 2,
    stderr: /--provider/,
  });
});
