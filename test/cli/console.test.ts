/** Commands on workspaces, keys, assistants, sessions and usage, against a server of the test's own. */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import {
  assistant,
  assistantRoutes,
  consoleAssistant,
  empty,
  fail,
  fakeServer,
  id,
  inWorkspace,
  key,
  list,
  operatorToken,
  run,
  session,
  start,
  workspace,
  workspaceRoutes,
  type Route,
} from './support.ts';

t.test('keys create: the key is shown once, its assistants by id, its time absolute', async (t) => {
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    ...assistantRoutes,
    [`POST ${inWorkspace}/keys`]: (request) => ({ ...key, ...(request.body as object), key: 'ak_public_secret' }),
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
    ...workspaceRoutes,
    [`GET ${inWorkspace}/keys`]: (_request, response) =>
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
    ...workspaceRoutes,
    [`GET ${inWorkspace}/keys`]: ({ query }) =>
      query.after === 'c2' ? list(key) : { ...list(other), has_more: true, next_cursor: 'c2' },
    [`POST ${inWorkspace}/keys/${key.id}/revoke`]: () => ({ ...key, status: 'revoked' }),
  });
  t.strictSame(await run(['keys', 'revoke', 'shop'], { env: server.env }), {
    code: 0,
    stdout: `Revoked the key "shop" (${key.id}).\n`,
    stderr: '',
  });
  t.strictSame(await run(['keys', 'revoke', 'none'], { env: server.env }), {
    code: 1,
    stdout: '',
    stderr: 'parley: No key is called "none". List them with `parley keys list`.\n',
  });
});

t.test('keys rotate: the new key is shown once, with what becomes of the old one', async (t) => {
  const other = { ...key, id: id('key', 'b') };
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    [`GET ${inWorkspace}/keys`]: () => list(key),
    [`POST ${inWorkspace}/keys/${key.id}/rotate`]: () => ({ ...other, key: 'ak_public_secret' }),
    [`POST ${inWorkspace}/keys/${other.id}/rotate`]: (_request, response) =>
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
  for (const name of ['', 'x'.repeat(81), 'Ada\nLovelace'])
    t.match(await run(['console', '--name', name], { env }), { code: 2, stderr: /one line of 1 to 80 characters\./ });
  t.match(await run(['console', '--role', 'admin'], { env }), { code: 2, stderr: /owner, editor, attendant, viewer/ });
  t.match(JSON.parse((await run(['console', '--json'], { env })).stdout), { object: 'sign_in_link', url });
});

t.test('workspaces and credentials are created, listed and changed', async (t) => {
  const credential = {
    id: id('crd', 'a'),
    object: 'credential',
    name: 'main',
    kind: 'model',
    provider: 'openai',
    base_url: 'http://127.0.0.1:1/v1',
    created_at: 1767225600,
    updated_at: 1767225600,
  };
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    'POST /console/api/workspaces': (request) => ({ ...workspace, ...(request.body as object) }),
    [`GET ${inWorkspace}/credentials`]: () => list(credential),
    [`POST ${inWorkspace}/credentials`]: () => credential,
    [`PATCH ${inWorkspace}/credentials/${credential.id}`]: () => credential,
    [`DELETE ${inWorkspace}/credentials/${credential.id}`]: (_request, response) => empty(response),
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
    `${credential.id}  main  model  openai    http://127.0.0.1:1/v1  2026-01-01 00:00:00Z`,
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
  const nameSent = () => (server.received.at(-1)!.body as { name?: string }).name;
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
  t.equal((await secretSent(['--name', 'main', '--api-key', 'k'], { env })) && nameSent(), 'main');
  const rename = ['credentials', 'update', credential.id, '--name'];
  t.match(await run([...rename, 'second'], { env }), {
    code: 0,
    stdout: /^Changed the credential \S+ for openai\.\n$/,
  });
  t.strictSame(server.received.at(-1)!.body, { name: 'second' }, 'without a secret');
  t.equal((await run([...rename, ''], { env })).code, 0);
  t.strictSame(server.received.at(-1)!.body, { name: null }, 'an empty name removes it');
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
    ...workspaceRoutes,
    ...Object.fromEntries(
      (Object.keys(answers) as (keyof typeof answers)[]).map((result) => [
        `POST ${inWorkspace}/credentials/${result}/test`,
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
    ...workspaceRoutes,
    [`POST ${inWorkspace}/credentials`]: wrong('base_url'),
    [`POST ${inWorkspace}/assistants`]: wrong('model.provider'),
    [`PATCH ${inWorkspace}/credentials/one`]: wrong('api_key'),
    [`POST ${inWorkspace}/keys`]: wrong('constructor'),
    [`DELETE ${inWorkspace}/credentials/none`]: (_request, response) =>
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
});

t.test('an id that does not exist is named with its kind and the command that lists the others', async (t) => {
  const gone = (code: string) => (_: unknown, response: ServerResponse) =>
    fail(response, 404, 'not_found', code, 'No.');
  const one = `${inWorkspace}/assistants/${id('asst', 'z')}`;
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    [`GET ${inWorkspace}/assistants`]: () => list(),
    [`GET ${inWorkspace}/sessions/ses_x`]: gone('session_not_found'),
    [`GET ${one}`]: gone('assistant_not_found'),
    [`GET ${one}/test-runs/run_x`]: gone('assistant_not_found'),
  });
  const asst = id('asst', 'z');
  const sentences: Readonly<Record<string, string>> = {
    'credentials delete crd_x': 'There is no credential crd_x. List them with `parley credentials list`.',
    'credentials test crd_x': 'There is no credential crd_x. List them with `parley credentials list`.',
    'keys revoke key_x': 'There is no key key_x. List them with `parley keys list`.',
    'tools show tool_x': 'There is no tool tool_x. List them with `parley tools list`.',
    'webhooks deliveries whk_x': 'There is no webhook whk_x. List them with `parley webhooks list`.',
    'webhooks retry whk_x dlv_x': 'There is no delivery dlv_x. List them with `parley webhooks deliveries WEBHOOK`.',
    'sessions show ses_x': 'There is no session ses_x. List them with `parley sessions list`.',
    'sessions follow ses_x': 'There is no session ses_x. List them with `parley sessions list`.',
    'keys list --workspace wks_x': 'There is no workspace wks_x. List them with `parley workspaces list`.',
    [`assistants show ${asst}`]: `There is no assistant ${asst}. List them with \`parley assistants list\`.`,
    [`tests show ${asst} run_x`]: `There is no assistant ${asst}. List them with \`parley assistants list\`.`,
    [`tests cancel ${asst} run_x`]: 'There is no run run_x. List them with `parley tests runs ASSISTANT`.',
    [`tests show ${asst} tst_x`]: 'There is no test tst_x. List them with `parley tests list ASSISTANT`.',
    'assistants show nobody': 'No assistant is called "nobody". List them with `parley assistants list`.',
    'keys list --workspace nobody': 'No workspace is called "nobody". List them with `parley workspaces list`.',
  };
  for (const [line, sentence] of Object.entries(sentences)) {
    const { code, stderr } = await run(line.split(' '), { env: server.env });
    t.equal(code, 1, line);
    t.equal(stderr.replace(/ \(.*\)\n$/, '').trim(), `parley: ${sentence}`, line);
  }
});

t.test('assistants: create, update, change of state, delete', async (t) => {
  const path = `${inWorkspace}/assistants/${assistant.id}`;
  const changed = (status: string) => () => ({ ...consoleAssistant, status });
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    ...assistantRoutes,
    [`GET ${path}`]: () => consoleAssistant,
    [`POST ${inWorkspace}/assistants`]: changed('draft'),
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
    `Changed the assistant "demo" (${assistant.id}). The draft differs from version 1, which people get: publish it with \`parley assistants publish ${assistant.id}\`.\n`,
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
  const published = `The assistant "demo" (${assistant.id}) is published: new sessions get version 1.\n`;
  t.equal(await said('publish', assistant.id), published);
  t.strictSame(server.received.at(-1)!.body, null);
  t.equal(await said('publish', assistant.id, '--note', 'Kinder.'), published);
  t.strictSame(server.received.at(-1)!.body, { note: 'Kinder.' });
  t.equal(
    (await run(['assistants', 'publish', 'demo', '--note', 'Kinder.'], { env: server.env })).stderr,
    'The note is not stored: the draft equals version 1, so no version was made.\n',
  );
  t.match(await run(['assistants', 'publish', 'demo', '--note', 'x'.repeat(501)], { env: server.env }), {
    code: 2,
    stderr: /500 characters/,
  });
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
  const path = `${inWorkspace}/sessions/${session.id}`;
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    ...assistantRoutes,
    [`GET ${inWorkspace}/sessions`]: () => list({ ...session, active_turn_id: id('turn', 'a') }),
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

t.test('sessions follow prints the events of a session until it ends, over a cut', async (t) => {
  const stream = (...events: readonly [number, string, object][]) =>
    events.map(([number, name, data]) => `event: ${name}\nid: ${number}\ndata: ${JSON.stringify(data)}\n\n`).join('');
  const message = { role: 'user', content: 'Hello', status: 'completed', created_at: 1767225600 };
  const turn_id = id('turn', 'a');
  let status = 'open';
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    [`GET ${inWorkspace}/sessions/${session.id}`]: () => ({ ...session, status }),
    [`GET ${inWorkspace}/sessions/${session.id}/events`]: ({ query }, response) =>
      void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(
          query['after'] === '0'
            ? stream([1, 'message.created', message], [2, 'turn.started', { turn_id, message_id: id('msg', 'a') }])
            : stream([3, 'turn.ended', { turn_id, status: 'completed' }], [4, 'session.ended', { status: 'ended' }]),
        ),
  });
  const { env } = server;
  const followed = await run(['sessions', 'follow', session.id, '--after', '0'], { env });
  t.equal(followed.stderr, '');
  t.equal(
    followed.stdout,
    `2026-01-01 00:00:00Z  user\n  Hello\nturn ${turn_id} started\nturn ${turn_id} completed\nsession ended\n`,
  );
  t.equal(server.received.at(-1)!.query['after'], '2');
  const json = await run(['sessions', 'follow', session.id, '--after', '2', '--json'], { env });
  t.strictSame(
    json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    [
      { number: 3, type: 'turn.ended', turn_id, status: 'completed' },
      { number: 4, type: 'session.ended', status: 'ended' },
    ],
  );
  t.equal(json.stderr, '');
  const noted = async (): Promise<string> => (await run(['sessions', 'follow', session.id], { env })).stderr;
  const advice = 'Add --after 0 to print all events from the first.\n';
  t.equal(await noted(), `Session ${session.id}: Waiting for its next event. ${advice}`);
  status = 'expired';
  t.equal(await noted(), `Session ${session.id}: It has expired. ${advice}`);
});

t.test('an erasure prints its receipt', async (t) => {
  const receipt = { object: 'erasure', at: 1767225600, sessions: 1, messages: 2, turns: 3, feedback: 1, tests: 0 };
  const none = { ...receipt, sessions: 0, messages: 0, turns: 0, feedback: 0 };
  const { env } = await fakeServer(t, {
    ...workspaceRoutes,
    [`DELETE ${inWorkspace}/sessions/${session.id}`]: () => receipt,
    [`DELETE ${inWorkspace}/visitors/vis_1`]: () => ({ ...receipt, sessions: 40, feedback: 0 }),
    [`DELETE ${inWorkspace}/visitors/vis_2`]: () => none,
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
    person_messages: 0,
    handovers: 0,
  };
  const some = { ...none, sessions: 1, turns: 12 };
  const start = 1767225600;
  const data = [
    { start, ...some },
    { start: start + 86_400, ...none },
    { start: start + 2 * 86_400, ...none },
  ];
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    [`GET ${inWorkspace}/usage`]: () => ({
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
  t.match(lines[3], /^2026-01-01 +1 +12 +0 +0 +0 +0 +0 +0 +0 +0 +0 +0 +0$/);
  t.match(lines[4], /^total +1 +12 +0 +0 +0 +0 +0 +0 +0 +0 +0 +0 +0$/);
  t.equal(lines[6], 'Without use, and left out: 2 days.');
});
