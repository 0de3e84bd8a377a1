/** The commands of tools and of their credentials. */
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
  list,
  run,
  workspaceRoutes,
  type Route,
} from './support.ts';

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
  const path = `${inWorkspace}/tools/${tool.id}`;
  let ended: object = { status: 'completed', error: null, output: '{"shipped":true}\u001b[2J' };
  const taken: Route = (_request, response) =>
    fail(response, 422, 'invalid_request', 'invalid_request', 'The field `name` has a value that is taken.');
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    ...assistantRoutes,
    [`GET ${inWorkspace}/tools`]: () => list(tool),
    [`POST ${inWorkspace}/credentials`]: () => ({ id: id('crd', 'a') }),
    [`DELETE ${inWorkspace}/credentials/${id('crd', 'a')}`]: (_request, response) => empty(response),
    [`POST ${inWorkspace}/tools`]: (request, response) =>
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
    [`PATCH ${inWorkspace}/assistants/${assistant.id}`]: () => consoleAssistant,
    [`POST ${inWorkspace}/assistants`]: () => consoleAssistant,
  });
  const said = (args: string[], input?: string) =>
    run(args, { env: server.env, ...(input !== undefined && { input }) });
  const sent = () => server.received.findLast(({ method }) => method !== 'GET')!.body;
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
    { method: 'DELETE', path: `${inWorkspace}/credentials/${id('crd', 'a')}` },
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
  const path = `${inWorkspace}/tools/${tool.id}`;
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    [`GET ${inWorkspace}/assistants`]: () =>
      list(
        { ...consoleAssistant, tool_ids: [tool.id], draft: { digest: 'b', changed: true }, version: 4 },
        { ...consoleAssistant, name: 'same', tool_ids: [tool.id] },
        { ...consoleAssistant, name: 'without', draft: { digest: 'b', changed: true } },
        {
          ...consoleAssistant,
          name: 'new',
          status: 'draft',
          tool_ids: [tool.id],
          draft: { digest: 'b', changed: true },
        },
      ),
    [`GET ${inWorkspace}/tools`]: () => list(tool),
    [`GET ${path}`]: () => tool,
    [`PATCH ${path}`]: ({ body }, response) =>
      (body as { name?: string }).name === 'taken'
        ? fail(response, 422, 'invalid_request', 'invalid_request', 'The field `name` has a value that is taken.')
        : { ...tool, ...(body as object) },
    [`POST ${path}/refresh`]: (_request, response) =>
      fail(response, 503, 'api_error', 'api_error', 'The service is not available.'),
    [`POST ${inWorkspace}/credentials`]: () => ({ id: id('crd', 'a') }),
    [`DELETE ${inWorkspace}/credentials/${id('crd', 'a')}`]: (_request, response) => empty(response),
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
  const written = () => server.received.filter(({ method }) => method !== 'GET');
  t.equal(
    (await said(['update', 'Docs', '--timeout-seconds', '60'])).stdout,
    `Changed the tool "Docs" (${tool.id}).\nPeople still get version 4 of "demo": publish its draft with \`parley assistants publish ${assistant.id}\`.\n`,
  );
  t.equal(
    (await said(['update', 'Docs', '--disabled'])).stdout,
    `Changed the tool "Docs" (${tool.id}). It is disabled in every version at once, without publishing.\n`,
  );
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
      { code: 0, stdout: /^Changed the tool "(Docs|Notes)" \(tool_a+\)\./ },
      args.join(' '),
    );
    t.strictSame(written().at(-1)!.body, body, args.join(' '));
  }
  t.strictSame(
    written().at(-2)!.body,
    { kind: 'tool', base_url: tool.url, api_key: 'secret' },
    "a secret goes to the tool's own origin",
  );
  t.match(await said(['update', 'Docs', '--name', 'taken', '--api-key', 'secret']), { code: 1 });
  t.match(
    server.received.at(-1),
    { method: 'DELETE', path: `${inWorkspace}/credentials/${id('crd', 'a')}` },
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
    written().at(-1)!.body,
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
    ...workspaceRoutes,
    [`POST ${inWorkspace}/credentials`]: () => credential,
    [`GET ${inWorkspace}/credentials`]: () => list(credential),
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
