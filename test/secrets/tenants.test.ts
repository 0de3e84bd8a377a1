/**
 * Three workspaces with everything in them; for every row of the table of routes and every place in it where an id
 * stands, another workspace's id is answered as one that never was, to the byte (contract 4; promise P16).
 */
import t, { type Test } from 'tap';
import { routes } from '../../src/http/routes.ts';
import type { Route } from '../../src/http/request.ts';
import { answerBytes } from '../api/raw.ts';
import { edge, openHouse, type House } from '../api/house.ts';
import { withoutUse } from '../api/talk.ts';
import { openTenant, type Ids, type Tenant } from './tenant.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t);
  const tenants = await Promise.all(['one', 'two', 'three'].map((name) => openTenant(t, house, name)));
  const before = await Promise.all(tenants.map((tenant) => everythingOf(house, tenant)));
  await t.test('the rows that have no id in them are few', async (t) =>
    t.same(
      tenantRoutes
        .filter((route) => positionsOf(route).length === 0)
        .map(nameOf)
        .sort(),
      withoutIds,
    ),
  );
  for (const ours of tenants) {
    for (const theirs of tenants) if (theirs !== ours) await everyRoute(t, house, ours, theirs);
  }
  t.same(
    await Promise.all(tenants.map((tenant) => everythingOf(house, tenant))),
    before,
    'nothing of anybody has changed',
  );
});

/** A visitor of a link has no workspace and no key; test/pages/link tests a visitor's access. */
const tenantRoutes = routes.filter(({ path }) => !path.startsWith('/p/'));

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

const withoutIds = [
  ...['GET /asyncapi.json', 'GET /console/api/load', 'GET /console/api/machines', 'GET /console/api/machines/{kind}'],
  ...[
    'GET /docs',
    'GET /healthz',
    'GET /metrics',
    'GET /openapi.json',
    'GET /readyz',
    'POST /console/api/workspaces',
    'POST /mcp',
    'GET /v1/models',
  ],
  ...[
    'DELETE /console/api/sign-ins/{id}',
    'GET /console/api/me',
    'GET /console/api/people',
    'GET /console/api/sign-ins',
    'POST /console/api/sign-in',
    'POST /console/api/sign-in-links',
    'POST /console/api/sign-out',
  ],
].sort();

/** The place of an id in a request: a parameter of the path, a name in the query, or a field of the body. */
interface Position {
  readonly in: 'path' | 'query' | 'body';
  readonly name: string;
  readonly kind: keyof Ids;
}

/** Kinds by the segment before the parameter, and by the beginning of a cursor. */
const kinds: Readonly<Record<string, keyof Ids>> = {
  ...({
    assistants: 'assistant',
    sessions: 'session',
    turns: 'turn',
    keys: 'keyId',
    credentials: 'credential',
    workspaces: 'workspace',
    tools: 'tool',
    webhooks: 'webhook',
    deliveries: 'delivery',
    models: 'assistant',
    responses: 'turn',
    // No tenant has a visitor: any id is one of nobody.
    visitors: 'session',
    // No tenant has a test: any id is one of nobody.
    tests: 'session',
    runs: 'session',
  } as const),
  ...({ asst: 'assistant', ses: 'session', key: 'keyId', crd: 'credential', wks: 'workspace', tool: 'tool' } as const),
  ...({ whk: 'webhook', dlv: 'delivery' } as const),
};

const modelFields = {
  'model.credential_id': 'credential',
  'voice.credential_id': 'voiceCredential',
  tool_ids: 'tool',
} as const;

/** A body that is taken, and where ids stand in it. A row that takes a body without one here fails the test. */
const bodies: Readonly<Record<string, { body: (ids: Ids) => object; fields?: Readonly<Record<string, keyof Ids>> }>> = {
  'POST /sessions': { body: ({ assistant }) => ({ assistant_id: assistant }), fields: { assistant_id: 'assistant' } },
  'POST /speech': {
    body: ({ assistant }) => ({ assistant_id: assistant, text: 'Hi' }),
    fields: { assistant_id: 'assistant' },
  },
  'POST /transcription-tokens': {
    body: ({ assistant, session }) => ({ assistant_id: assistant, session_id: session }),
    fields: { assistant_id: 'assistant', session_id: 'session' },
  },
  'POST /call-tokens': { body: ({ session }) => ({ session_id: session }), fields: { session_id: 'session' } },
  'PUT /sessions/{id}/turns/{turn_id}/feedback': { body: () => ({ rating: 'up' }) },
  'PATCH /console/api/people/{id}': { body: () => ({ blocked: true }) },
  'POST /mcp': { body: () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) },
  'POST /v1/chat/completions': {
    body: ({ assistant }) => ({ model: assistant, messages: [{ role: 'user', content: 'Hi' }] }),
    fields: { model: 'assistant' },
  },
  'POST /v1/responses': {
    body: ({ assistant, session }) => ({ model: assistant, input: 'Hi', conversation: session }),
    fields: { model: 'assistant', conversation: 'session' },
  },
  'POST /v1/audio/speech': {
    body: ({ assistant }) => ({ model: assistant, input: 'Hi' }),
    fields: { model: 'assistant' },
  },
  'POST /sessions/{id}/chat': { body: () => ({ message: 'Hi' }) },
  'POST /console/api/workspaces/{w}/sessions/{id}/chat': { body: () => ({ message: 'Hi' }) },
  'POST /console/api/workspaces': { body: () => ({ name: 'taken over' }) },
  'PATCH /console/api/workspaces/{w}': { body: () => ({ name: 'taken over' }) },
  'POST /console/api/workspaces/{w}/assistants': { body: modelOf, fields: modelFields },
  'PATCH /console/api/workspaces/{w}/assistants/{id}': { body: modelOf, fields: modelFields },
  'POST /sessions/{id}/ask': { body: () => ({ reason: 'taken over' }) },
  'POST /console/api/workspaces/{w}/sessions/{id}/messages': { body: () => ({ text: 'taken over' }) },
  'POST /console/api/workspaces/{w}/assistants/{id}/rollback': { body: () => ({ version: 1 }) },
  'POST /console/api/workspaces/{w}/assistants/{id}/rollout': { body: () => ({ version: 'draft', percent: 50 }) },
  'POST /console/api/workspaces/{w}/assistants/{id}/tests': {
    body: ({ session }) => ({ name: 'taken over', from_session: session }),
    fields: { from_session: 'session' },
  },
  'POST /console/api/workspaces/{w}/assistants/{id}/test-runs': { body: () => ({ version: 'draft' }) },
  'PATCH /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}': { body: () => ({ name: 'taken over' }) },
  'POST /console/api/workspaces/{w}/assistants/{id}/publish': { body: () => ({ note: 'taken over' }) },
  'POST /console/api/workspaces/{w}/keys': { body: () => ({ name: 'taken over' }) },
  'PATCH /console/api/workspaces/{w}/keys/{id}': { body: () => ({ name: 'taken over' }) },
  'POST /console/api/workspaces/{w}/keys/{id}/rotate': { body: () => ({ overlap_seconds: 0 }) },
  'POST /console/api/workspaces/{w}/credentials': {
    body: () => ({ kind: 'model', provider: 'openai', api_key: 'taken over' }),
  },
  'POST /console/api/workspaces/{w}/tools': {
    body: ({ credential }) => ({
      kind: 'http',
      name: 'taken over',
      url: 'https://tool.example/',
      credential_id: credential,
    }),
    fields: { credential_id: 'credential' },
  },
  'POST /console/api/workspaces/{w}/assistants/{id}/preview': {
    body: ({ session }) => ({ session_id: session }),
    fields: { session_id: 'session' },
  },
  'POST /console/api/workspaces/{w}/tools/{id}/test': { body: () => ({ name: 'look', arguments: {} }) },
  'PATCH /console/api/workspaces/{w}/tools/{id}': { body: () => ({ name: 'taken over' }) },
  'POST /console/api/workspaces/{w}/webhooks': {
    body: () => ({ url: 'https://hooks.example/', events: ['turn.failed'] }),
  },
  'PATCH /console/api/workspaces/{w}/webhooks/{id}': { body: () => ({ enabled: false }) },
  'PATCH /console/api/workspaces/{w}/credentials/{id}': { body: () => ({ api_key: 'taken over' }) },
};

function modelOf({ credential, voiceCredential, tool }: Ids): object {
  return {
    name: 'taken over',
    tool_ids: [tool],
    model: { provider: 'openai', name: 'm', credential_id: credential },
    voice: { provider: 'openai', credential_id: voiceCredential },
  };
}

function positionsOf(route: Route): Position[] {
  // Machines and sign-ins are the installation's.
  const named = [...route.path.replace('{n}', '1').matchAll(/(\w+)\/\{(\w+)\}/g)].filter(
    ([, segment]) => segment !== 'machines' && segment !== 'ins',
  );
  const inPath = named.map(([, segment, name]): Position => ({ in: 'path', name: name!, kind: kinds[segment!]! }));
  const properties = (route.query.schema as { properties?: Record<string, { pattern?: string }> }).properties ?? {};
  const inQuery = Object.entries(properties).flatMap(([name, { pattern }]): Position[] => {
    const prefix = /^\^([a-z]+)_/.exec(pattern ?? '')?.[1];
    if (name === 'assistant_id') return [{ in: 'query', name, kind: 'assistant' }];
    return prefix === undefined ? [] : [{ in: 'query', name, kind: kinds[prefix]! }];
  });
  const inBody = Object.entries(bodies[nameOf(route)]?.fields ?? {}).map(([name, kind]): Position => ({
    in: 'body',
    name,
    kind,
  }));
  return [...inPath, ...inQuery, ...inBody];
}

/** Sends a request of `ours`, with these positions filled by other ids. */
async function send(
  house: House,
  route: Route,
  ours: Tenant,
  positions: readonly Position[],
  other: Ids,
): Promise<string> {
  const has = (where: Position['in'], kind: keyof Ids) =>
    positions.some((one) => one.in === where && one.kind === kind);
  const mixed = (where: Position['in']): Ids =>
    Object.fromEntries(
      (Object.keys(ours.ids) as (keyof Ids)[]).map((kind) => [kind, (has(where, kind) ? other : ours.ids)[kind]]),
    ) as unknown as Ids;
  const inPath = mixed('path');
  const path = route.path
    .replace('{n}', '1')
    .replace(/(\w+)\/\{\w+\}/g, (_, segment: string) => `${segment}/${inPath[kinds[segment]!]}`);
  const query = positions.filter((one) => one.in === 'query').map(({ name, kind }) => `${name}=${other[kind]}`);
  const body = bodies[nameOf(route)]?.body(mixed('body'));
  if (route.body !== null && body === undefined) throw new Error(`${nameOf(route)} wants a body`);
  const headers = { Authorization: `Bearer ${route.caller === 'operator' ? house.operatorToken : ours.key}` };
  return answerBytes(house.url, `${path}${query.length > 0 ? '?' : ''}${query.join('&')}`, {
    method: route.method,
    headers,
    body: body === undefined ? '' : JSON.stringify(body),
  });
}

/**
 * Removes the parts that may differ between two answers: the request's id, the time, and the state of the budgets, in
 * headers and in a view of a key.
 */
const comparable = (bytes: string): string => {
  const same = bytes
    .replace(/req_[0-9a-z]{26}/g, 'req_')
    .replace(/"at":\d+/g, '"at":0')
    .replace(
      /^(date|x-ratelimit-remaining|x-ratelimit-reset|x-ratelimit-remaining-requests|x-ratelimit-reset-requests): .*$/gim,
      '$1:',
    );
  // Only a view with budgets may differ in its length.
  if (!same.includes('"budgets":')) return same;
  return same
    .replace(/^content-length: .*$/im, 'Content-Length:')
    .replace(/"(remaining|reset|last_used_at)":(?:\d+|null)/g, '"$1":0');
};

/** Routes to which an unknown id is no error: nothing of it is left (contract 22). */
const erasing = /^DELETE .*\/(?:sessions|visitors)\/\{\w+\}$/;

/** Ids that never existed: next to a real one, and all zeros. */
const neverWere = (theirs: Ids): Ids[] => {
  const map = (change: (id: string) => string) =>
    Object.fromEntries(Object.entries(theirs).map(([kind, id]) => [kind, change(id)])) as unknown as Ids;
  return [
    map((id) => id.slice(0, -1) + (id.endsWith('0') ? '1' : '0')),
    map((id) => `${id.split('_')[0]}_${'0'.repeat(26)}`),
  ];
};

async function everyRoute(t: Test, house: House, ours: Tenant, theirs: Tenant): Promise<void> {
  const [beside, nowhere] = neverWere(theirs.ids);
  for (const route of tenantRoutes.filter(({ caller }) => caller !== 'anyone')) {
    // The operator may use every workspace: an id is foreign there if it lies in another workspace.
    const positions = positionsOf(route).filter(({ kind }) => kind !== 'workspace');
    const choices = [...positions.map((one) => [one]), ...(positions.length > 1 ? [positions] : [])];
    for (const chosen of choices) {
      const name = `${ours.name} asks for what is ${theirs.name}'s: ${nameOf(route)} by ${chosen.map((one) => `${one.in} ${one.name}`).join(', ')}`;
      const [foreign, unknown] = [
        await send(house, route, ours, chosen, theirs.ids),
        await send(house, route, ours, chosen, beside!),
      ];
      t.equal(comparable(foreign), comparable(unknown), name);
      // A cursor that is no longer there is still a place in the order, and so no failure.
      if (chosen.some((one) => one.name === 'after')) continue;
      t.equal(
        comparable(await send(house, route, ours, chosen, nowhere!)),
        comparable(unknown),
        `${name}, or nobody's`,
      );
      if (erasing.test(nameOf(route))) t.match(unknown, '"sessions":0,', `${name}: erases nothing`);
      else t.match(unknown, /^HTTP\/1.1 4(?:04|22) /, `${name}: refused`);
    }
  }
}

/** All that can be read of a workspace, by its own key and by the operator. */
async function everythingOf(house: House, { ids, key }: Tenant): Promise<unknown> {
  const at = `/workspaces/${ids.workspace}`;
  const inConsole = [
    '',
    '/assistants',
    '/keys',
    '/credentials',
    '/tools',
    '/webhooks',
    '/sessions',
    `/sessions/${ids.session}`,
    `/sessions/${ids.session}/transcript`,
  ];
  const own = ['/assistants', '/sessions', `/sessions/${ids.session}`, `/sessions/${ids.session}/transcript`];
  return [
    await Promise.all(inConsole.map(async (path) => withoutUse((await house.console(at + path)).json))),
    await Promise.all(own.map(async (path) => (await house.ask(path, { key })).json)),
  ];
}
