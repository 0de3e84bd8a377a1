/** Two workspaces on one server: another's id is answered like an unknown id, on every path (contract 4). */
import t, { type Test } from 'tap';
import { openWorkspace, type Answer, type Ask, type House } from './house.ts';
import { isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { withoutUse } from './talk.ts';

interface Tenant {
  readonly workspace: string;
  readonly assistant: string;
  readonly session: string;
  readonly turn: string;
  readonly keyId: string;
  readonly key: string;
  readonly credential: string;
  readonly tool: string;
  readonly webhook: string;
  readonly delivery: string;
}

async function tenant(house: House, name: string): Promise<Tenant> {
  const must = async (path: string, body?: object): Promise<any> =>
    (await house.console(path, { method: 'POST', body: body ?? {} })).json;
  const workspace = (await must('/workspaces', { name })).id;
  const inside = `/workspaces/${workspace}`;
  const assistant = (await must(`${inside}/assistants`, { name })).id;
  await must(`${inside}/assistants/${assistant}/publish`);
  const { id: keyId, key } = await must(`${inside}/keys`, { name, limits: { requests: 100_000 } });
  const credential = (
    await must(`${inside}/credentials`, { kind: 'model', provider: 'openai', api_key: `secret of ${name}` })
  ).id;
  const tool = (
    await must(`${inside}/tools`, {
      kind: 'client',
      name: `tool of ${name}`,
      functions: [{ name: 'look', description: null, parameters: { type: 'object' } }],
    })
  ).id;
  const hook = { url: 'https://hooks.example', events: ['session.ended'] };
  const webhook = (await must(`${inside}/webhooks`, hook)).id;
  const session = (await house.ask('/sessions', { key, body: { assistant_id: assistant, metadata: { of: name } } }))
    .json.id;
  const stream = await house.stream(`/sessions/${session}/chat`, { key, body: { message: `I am ${name}` } });
  await stream.rest();
  const delivery = nobody.delivery.replace('0', '1');
  return { workspace, assistant, session, turn: stream.turnId, keyId, key, credential, tool, webhook, delivery };
}

/** Ids that look like any other. */
const nobody = (() => {
  const id = (prefix: string) => `${prefix}_${'0'.repeat(26)}`;
  return {
    workspace: id('wks'),
    assistant: id('asst'),
    session: id('ses'),
    turn: id('turn'),
    keyId: id('key'),
    credential: id('crd'),
    tool: id('tool'),
    webhook: id('whk'),
    delivery: id('dlv'),
  };
})();

type Ids = typeof nobody;

/** All that can be read of a tenant. */
async function everything(house: House, { workspace, session, key }: Tenant): Promise<unknown[]> {
  const inside = `/workspaces/${workspace}`;
  const paths = [
    '',
    '/assistants',
    '/keys',
    '/credentials',
    '/tools',
    '/webhooks',
    '/sessions',
    `/sessions/${session}/transcript`,
    '/usage?start=0&end=0',
  ];
  const read = await Promise.all(paths.map(async (path) => withoutUse((await house.console(inside + path)).json)));
  return [...read, (await house.ask('/assistants', { key })).json, (await house.ask('/sessions', { key })).json];
}

/** Removes the parts that may differ between two answers to the same request. */
const comparable = ({ status, text, json }: Answer): unknown => [
  status,
  text.replace(json?.request_id ?? '', '').replace(/"at":\d+/, ''),
];

const erasure = 'DELETE /console/api/workspaces/{w}/sessions/{id}';

t.test('a tenant reads and changes its own data alone', async (t) => {
  const house = await openWorkspace();
  const [ours, theirs] = [await tenant(house, 'ours'), await tenant(house, 'theirs')];
  const before = await everything(house, theirs);
  await t.test('every path of the API', (t) => everyPath(t, house, ours, theirs));
  await t.test("every path of the console's API", (t) => everyConsolePath(t, house, ours, theirs));
  await t.test('bodies and queries that name what is foreign', (t) => named(t, house, ours, theirs));
  await t.test('lists hold what is ours', (t) => lists(t, house, ours));
  await t.test('remembered requests are kept apart', (t) => memories(t, house, ours));
  await t.test('a key without permission, on every path', (t) => permissions(t, house, ours));
  t.same(await everything(house, theirs), before, 'nothing of theirs has changed');
});

const bodies: Readonly<Record<string, object>> = {
  'POST /sessions/{id}/chat': { message: 'Hi' },
  'PATCH /console/api/workspaces/{w}': { name: 'taken over' },
  'PATCH /console/api/workspaces/{w}/assistants/{id}': { name: 'taken over' },
  'PATCH /console/api/workspaces/{w}/keys/{id}': { name: 'taken over' },
  'POST /console/api/workspaces/{w}/keys/{id}/rotate': {},
  'POST /console/api/workspaces/{w}/sessions/{id}/chat': { message: 'Hi' },
  'PATCH /console/api/workspaces/{w}/credentials/{id}': { api_key: 'taken over' },
  'POST /console/api/workspaces/{w}/assistants/{id}/preview': { session_id: nobody.session },
  'PUT /sessions/{id}/turns/{turn_id}/feedback': { rating: 'up' },
  'PATCH /console/api/workspaces/{w}/tools/{id}': { name: 'taken over' },
  'POST /console/api/workspaces/{w}/tools/{id}/test': { name: 'look' },
  'PATCH /console/api/workspaces/{w}/webhooks/{id}': { enabled: false },
  'POST /console/api/workspaces/{w}/assistants/{id}/rollout': { version: 1, percent: 10 },
  'POST /console/api/workspaces/{w}/sessions/{id}/messages': { text: 'taken over' },
  'POST /console/api/workspaces/{w}/assistants/{id}/tests': { name: 'taken over', steps: [{ message: 'Hi' }] },
  'POST /console/api/workspaces/{w}/assistants/{id}/test-runs': { version: 'draft' },
  'PATCH /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': { name: 'taken over' },
};

/** Method and path of each documented operation that names a thing in its path, and a request of it. */
async function operations(house: House, prefix: string): Promise<{ name: string; path: string; options: Ask }[]> {
  const { paths } = (await house.ask('/openapi.json', { key: null })).json;
  return Object.entries<object>(paths)
    .filter(
      ([path]) =>
        path.startsWith('/console') === (prefix === '/console') &&
        !path.startsWith('/p/') &&
        !path.startsWith('/v1/') &&
        path.includes('{id}') &&
        !path.includes('/sign-ins/') &&
        !path.includes('/people/'),
    )
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((lower) => {
        const method = lower.toUpperCase();
        const name = `${method} ${path}`;
        return { name, path, options: { method, ...(name in bodies ? { body: bodies[name] } : {}) } };
      }),
    );
}

const filled = (
  path: string,
  { workspace, assistant, session, turn, keyId, credential, tool, webhook, delivery }: Ids,
): string => {
  const ids: Record<string, string> = {
    assistants: assistant,
    sessions: session,
    keys: keyId,
    credentials: credential,
    tools: tool,
    webhooks: webhook,
  };
  return path
    .replace('{w}', workspace)
    .replace('{turn_id}', turn)
    .replace('{delivery_id}', delivery)
    .replace('{test_id}', 'tst_none')
    .replace('{run_id}', 'run_none')
    .replace('{n}', '1')
    .replace(/(\w+)\/\{id\}/, (_, kind: string) => `${kind}/${ids[kind]}`);
};

async function everyPath(t: Test, house: House, ours: Tenant, theirs: Tenant): Promise<void> {
  const all = await operations(house, '');
  t.ok(all.length >= 9, 'the document names each');
  for (const { name, path, options } of all) {
    const asked = { ...options, key: ours.key };
    const unknown = await house.ask(filled(path, nobody), asked);
    isRefused(t, unknown, path.startsWith('/assistants') ? refusals.noAssistant : refusals.noSession, name);
    t.same(comparable(await house.ask(filled(path, theirs), asked)), comparable(unknown), name);
    if (!path.includes('{turn_id}')) continue;
    const mixed = await house.ask(filled(path, { ...ours, turn: theirs.turn }), asked);
    isRefused(t, mixed, refusals.noTurn, `${name}: their turn on our session`);
  }
}

async function everyConsolePath(t: Test, house: House, ours: Tenant, theirs: Tenant): Promise<void> {
  const all = await operations(house, '/console');
  t.ok(all.length >= 36, 'the document names each');
  for (const { name, path, options } of all) {
    const ask = (ids: Ids) => house.console(filled(path, ids).replace('/console/api', ''), options);
    const unknown = await ask({ ...nobody, workspace: ours.workspace });
    // An erasure of what does not exist has erased nothing.
    t.equal(unknown.status, name === erasure ? 200 : 404, name);
    t.same(
      comparable(await ask({ ...theirs, workspace: ours.workspace })),
      comparable(unknown),
      `${name}: theirs in our workspace`,
    );
    isRefused(
      t,
      await ask({ ...theirs, workspace: nobody.workspace }),
      unrated(refusals.noRoute),
      `${name}: theirs in a workspace of nobody`,
    );
  }
}

async function named(t: Test, house: House, ours: Tenant, theirs: Tenant): Promise<void> {
  const { key } = ours;
  for (const path of ['/sessions?assistant_id=', '/usage?assistant_id=']) {
    const unknown = await house.ask(path + nobody.assistant, { key });
    isRefused(t, unknown, refusals.noAssistant, path);
    t.same(comparable(await house.ask(path + theirs.assistant, { key })), comparable(unknown), path);
    const inConsole = (assistant: string) => house.console(`/workspaces/${ours.workspace}${path}${assistant}`);
    isRefused(t, await inConsole(nobody.assistant), unrated(refusals.noAssistant), `console's ${path}`);
    t.same(
      comparable(await inConsole(theirs.assistant)),
      comparable(await inConsole(nobody.assistant)),
      `console's ${path}`,
    );
  }
  const create = (assistant_id: string) => house.ask('/sessions', { key, body: { assistant_id } });
  isRefused(t, await create(nobody.assistant), refusals.noAssistant);
  t.same(comparable(await create(theirs.assistant)), comparable(await create(nobody.assistant)));

  const inside = `/workspaces/${ours.workspace}`;
  const withCredential = (credential_id: string) =>
    house.console(`${inside}/assistants`, {
      body: { name: 'a', model: { provider: 'openai', name: 'm', credential_id } },
    });
  isRefused(t, await withCredential(nobody.credential), unrated(wrongField('model.credential_id')));
  t.same(comparable(await withCredential(theirs.credential)), comparable(await withCredential(nobody.credential)));

  const greedy = (
    await house.console(`${inside}/keys`, {
      body: { name: 'greedy', assistant_ids: [theirs.assistant, ours.assistant] },
    })
  ).json.key;
  isRefused(
    t,
    await house.ask(`/assistants/${theirs.assistant}`, { key: greedy }),
    refusals.noAssistant,
    'a key is of its workspace, whatever it names',
  );
  t.same(
    (await house.ask('/assistants', { key: greedy })).json.data.map(({ id }: { id: string }) => id),
    [ours.assistant],
  );
}

async function memories(t: Test, house: House, ours: Tenant): Promise<void> {
  const third = await tenant(house, 'third');
  const headers = { 'idempotency-key': 'the same for both' };
  const both = await Promise.all(
    [ours, third].map(({ key, assistant }) =>
      house.ask('/sessions', { key, headers, body: { assistant_id: assistant } }),
    ),
  );
  t.same(
    both.map(({ status, headers }) => [status, headers.has('idempotent-replayed')]),
    [
      [201, false],
      [201, false],
    ],
  );
}

/** A key that may not use the assistant hears so wherever a path names the assistant or a session of it. */
async function permissions(t: Test, house: House, ours: Tenant): Promise<void> {
  const body = { name: 'restricted', assistant_ids: [], limits: { requests: 100_000 } };
  const { key } = (await house.console(`/workspaces/${ours.workspace}/keys`, { body })).json;
  for (const { name, path, options } of await operations(house, ''))
    isRefused(t, await house.ask(filled(path, ours), { ...options, key }), refusals.notPermitted, name);
  isRefused(
    t,
    await house.ask('/sessions', { key, body: { assistant_id: ours.assistant } }),
    refusals.notPermitted,
    'POST /sessions',
  );
}

async function lists(t: Test, house: House, ours: Tenant): Promise<void> {
  const ids = async (path: string) =>
    (await house.ask(path, { key: ours.key })).json.data.map(({ id }: { id: string }) => id);
  t.same(await ids('/assistants'), [ours.assistant]);
  t.ok((await ids('/sessions')).includes(ours.session));
  const inside = `/workspaces/${ours.workspace}`;
  for (const list of ['assistants', 'keys', 'credentials', 'tools', 'webhooks', 'sessions'])
    t.notMatch((await house.console(`${inside}/${list}`)).text, 'theirs', list);
  t.notMatch((await house.ask(`/sessions/${ours.session}/transcript`, { key: ours.key })).text, 'theirs');
  t.equal((await house.ask('/usage', { key: ours.key })).json.totals.turns, 1);
}
