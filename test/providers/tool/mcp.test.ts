/** Sessions with MCP servers over time, and the decisions of the handshake (contract 13). */
import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { providerHttp } from '../../../src/providers/client.ts';
import type { ToolInvocation, ToolAccess } from '../../../src/providers/tool.ts';
import { McpTools } from '../../../src/providers/tool/mcp.ts';
import type { Outcome } from '../../../src/providers/tool/mcp/exchange.ts';
import {
  afterInitialize,
  afterProbe,
  isSessionLost,
  redirectedPath,
} from '../../../src/providers/tool/mcp/handshake.ts';
import {
  headerDeclarations,
  headerValue,
  parameterHeaders,
} from '../../../src/providers/tool/mcp/parameter-headers.ts';
import { openServer, schema } from '../../api/mcp-server.ts';
import { ManualClock } from '../model/provider.ts';
import { toolSessionIdleMs } from '../../../src/providers/tool/mcp/connections.ts';

const asked: ToolInvocation = {
  callId: 'call_1',
  arguments: { order: '7' },
  context: {
    workspaceId: 'wks_1',
    assistantId: null,
    sessionId: null,
    turnId: null,
    channel: 'console',
    signedVisitorId: null,
    visitor: {},
    metadata: {},
  },
};

t.test('an idle session is ended, the next call opens another, and the rest end with the process', async (t) => {
  const wheel = new WheelClock();
  const http = providerHttp({ clock: wheel, allowPrivate: true });
  t.teardown(() => http.close().finally(() => wheel.stop()));
  const clock = new ManualClock();
  const tools = new McpTools(http, clock);
  let ended = (): void => {};
  const server = await openServer(t, 'legacy', {
    oddly: (method) => {
      if (method === 'DELETE') queueMicrotask(() => ended());
      return undefined;
    },
  });
  const tool: ToolAccess = {
    workspaceId: 'wks_1',
    kind: 'mcp',
    url: server.url,
    timeoutSeconds: 20,
    repeatable: false,
    secrets: [],
    headers: {},
  };
  const call = () => tools.invoke(tool, { name: 'look_up', parameters: schema }, asked, new AbortController().signal);
  t.match(await call(), { status: 'completed' });
  clock.advance(toolSessionIdleMs - 1);
  t.match(await call(), { status: 'completed' });
  clock.advance(toolSessionIdleMs - 1);
  t.same([server.sessions.made, server.sessions.open.size], [1, 1], 'a call begins the time anew');
  const end = new Promise<void>((resolve) => (ended = resolve));
  clock.advance(1);
  await end;
  t.equal(server.sessions.open.size, 0);
  t.match(await call(), { status: 'completed' });
  t.equal(server.got.filter(({ method }) => method === 'server/discover').length, 1, 'its era is known');
  t.same([server.sessions.made, server.sessions.open.size], [2, 1]);
  await tools.close();
  t.same([server.sessions.open.size, server.got.at(-1)!.method], [0, 'DELETE']);
});

const refusal = (status: number, errorText = '', location = ''): Outcome => ({
  kind: 'refusal',
  status,
  errorText,
  location,
  error: 'refused',
  again: 'never',
  didNotAct: true,
});
const answer = (given: object): Outcome => ({
  kind: 'answer',
  answer: given as { result: unknown },
  session: 's1',
  bytes: 10,
});
const unreachable: Outcome = { kind: 'failure', error: 'unreachable', again: 'unsent', didNotAct: true };

t.test('the probe leads to the handshake unless the server denies access or is away', async (t) => {
  t.same(afterProbe(answer({ result: { supportedVersions: ['2026-07-28'] } })), { era: 'modern' });
  t.same(afterProbe(refusal(401)), { step: 'probe', error: 'refused', again: 'never' });
  t.same(afterProbe(refusal(403)), { step: 'probe', error: 'refused', again: 'never' });
  t.same(afterProbe(unreachable), { step: 'connect', error: 'unreachable', again: 'unsent' });
  t.equal(afterProbe(answer({ error: { code: -32022, message: '', data: { supported: ['2026-07-28'] } } })), 'probe');
  for (const other of [
    refusal(400),
    refusal(404),
    refusal(500),
    refusal(307),
    answer({ result: null }),
    answer({ error: null }),
    { kind: 'accepted' } as const,
    { ...unreachable, didNotAct: false } as Outcome,
  ])
    t.equal(afterProbe(other), 'initialize');
});

t.test('the handshake agrees on a version, offers another, or fails', async (t) => {
  t.same(afterInitialize(answer({ result: { protocolVersion: '2024-11-05' } }), '2025-11-25'), {
    era: 'legacy',
    version: '2024-11-05',
    session: 's1',
  });
  t.match(afterInitialize(answer({ result: { protocolVersion: 'a\r\nb' } }), '2025-11-25'), { version: '2025-11-25' });
  t.same(afterInitialize(answer({ error: { data: { supported: ['2025-03-26', '2025-06-18'] } } }), '2025-11-25'), {
    offer: '2025-06-18',
  });
  t.same(afterInitialize(refusal(400, '{"error":{"data":{"supported":["2025-11-25"]}}}'), '2025-11-25'), {
    step: 'initialize',
    error: 'refused',
    again: 'never',
  });
  t.same(afterInitialize(answer({ result: 'ok' }), '2025-11-25'), {
    step: 'initialize',
    error: 'malformed',
    again: 'never',
  });
  t.same(afterInitialize({ kind: 'accepted' }, '2025-11-25'), {
    step: 'initialize',
    error: 'malformed',
    again: 'never',
  });
});

t.test('a session is lost by 404, or by a 400 that names it', async (t) => {
  for (const [outcome, isLost] of [
    [refusal(404), true],
    [refusal(400, 'No valid Session ID'), true],
    [refusal(400, 'bad arguments'), false],
    [refusal(500, 'session'), false],
    [answer({ error: {} }), false],
  ] as const)
    t.equal(isSessionLost(outcome), isLost);
});

t.test('a redirect is followed within its origin, where it keeps the method', async (t) => {
  const url = 'https://tool.example/mcp';
  t.equal(redirectedPath(refusal(307, '', '/mcp/'), url), '/mcp/');
  t.equal(redirectedPath(refusal(308, '', 'https://tool.example/a?b=c#d'), url), '/a?b=c');
  for (const [status, location] of [
    [307, 'https://other.example/mcp/'],
    [307, 'http://tool.example/mcp/'],
    [307, '//other.example/'],
    [302, '/mcp/'],
    [307, 'https://tool.example:444/mcp'],
    [200, '/mcp/'],
  ] as const)
    t.equal(redirectedPath(refusal(status, '', location), url), null, location);
});

t.test('a header repeats an argument where the schema of its tool allows it', async (t) => {
  const region = { type: 'string', 'x-mcp-header': 'Region' };
  const allowed = {
    type: 'object',
    properties: {
      region,
      deep: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    },
  };
  t.same(parameterHeaders(allowed, { region: 'grüße', deep: { count: 3 } }), {
    'mcp-param-region': `=?base64?${Buffer.from('grüße').toString('base64')}?=`,
    'mcp-param-count': '3',
  });
  t.same(parameterHeaders(allowed, { region: null, deep: [] }), {});
  const refused: readonly object[] = [
    { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } },
    { properties: { a: { ...region, 'x-mcp-header': 'a b' } } },
    { properties: { a: { ...region, 'x-mcp-header': '' } } },
    { properties: { a: region, b: { ...region, 'x-mcp-header': 'REGION' } } },
    { properties: { list: { type: 'array', items: region } } },
    { anyOf: [{ properties: { region } }] },
    { $defs: { region } },
    { type: 'string', 'x-mcp-header': 'A' },
  ];
  for (const one of refused) t.equal(headerDeclarations(one), null, JSON.stringify(one));
  t.same(
    headerDeclarations({ properties: { 'x-mcp-header': { type: 'string' } }, default: { 'x-mcp-header': 5 } }),
    [],
  );
  t.same(['a', 'a b', ' a', '', 'a\r\nb', '=?base64?YQ==?='].map(headerValue), [
    'a',
    'a b',
    '=?base64?IGE=?=',
    '=?base64??=',
    '=?base64?YQ0KYg==?=',
    '=?base64?PT9iYXNlNjQ/WVE9PT89?=',
  ]);
});
