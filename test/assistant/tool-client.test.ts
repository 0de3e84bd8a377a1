/** The secrets that sign a call, and what becomes of a call that cannot be signed (contract 13). */
import t from 'tap';
import { openVault, signingHolder } from '../../src/access/vault.ts';
import { randomIds } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { ToolClient, type ToolClientParts } from '../../src/assistant/tool-client.ts';
import type { OfferedFunction, ToolAccess } from '../../src/providers/tool.ts';
import type { Tool } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';

const nowMs = new ManualClock().now();
const ids = randomIds(new ManualClock());
const vault = openVault('a secret of thirty-two characters', ids);
const blank: Tool = {
  id: 'tool_1',
  workspaceId: 'wks_1',
  kind: 'http',
  name: 'T',
  url: 'https://tool.example/call',
  credentialId: null,
  timeoutSeconds: 20,
  repeatable: false,
  approval: 'never',
  show: 'name',
  callsPerMinute: null,
  functions: [
    { name: 'act', description: null, parameters: { type: 'object' }, enabled: true, approval: null, show: null },
  ],
  refreshedAt: null,
  sealed: null,
  createdAt: 1,
  updatedAt: 1,
};
const sealed = (secret: string): Uint8Array => vault.seal(signingHolder(blank), secret);
const offered: OfferedFunction = {
  toolId: 'tool_1',
  kind: 'http',
  name: 'act',
  description: null,
  parameters: { type: 'object' },
  approval: 'never',
  show: 'name',
};
const asked = {
  callId: 'call_1',
  arguments: {},
  context: {
    workspaceId: 'wks_1',
    assistantId: 'a',
    sessionId: 's',
    turnId: 't',
    channel: 'api',
    signedVisitorId: null,
    visitor: {},
    metadata: {},
  },
};

function deskWith(tool: Tool, clock: ManualClock) {
  const sent: ToolAccess[] = [];
  const parts = {
    host: { tools: { of: async () => tool }, credentials: { of: async () => null } },
    store: {},
    vault,
    clock,
    invoker: {
      invoke: async (access: ToolAccess) => (sent.push(access), { status: 'completed', output: '' }),
      list: async () => [],
    },
    metrics: { toolCalls: { inc: () => {} }, toolSeconds: { observe: () => {} } },
  } as unknown as ToolClientParts;
  return { desk: new ToolClient(parts), sent };
}

t.test('a replaced secret signs for a day', async (t) => {
  const clock = new ManualClock();
  const { desk, sent } = deskWith(
    {
      ...blank,
      sealed: sealed('whsec_new'),
      previous: { sealed: sealed('whsec_old'), untilMs: nowMs + limits.secretOverlapMs },
    },
    clock,
  );
  t.equal(limits.secretOverlapMs, 24 * 60 * 60 * 1000);
  for (const [afterMs, secrets] of [
    [0, ['whsec_new', 'whsec_old']],
    [limits.secretOverlapMs - 1, ['whsec_new', 'whsec_old']],
    [1, ['whsec_new']],
  ] as const) {
    clock.advance(afterMs);
    t.match(await desk.call(offered, asked, new AbortController().signal), { status: 'completed' });
    t.same(sent.at(-1)!.secrets, secrets, `${afterMs} ms later`);
  }
});

t.test('each secret that was replaced signs until its own end, the newest first', async (t) => {
  const clock = new ManualClock();
  const replaced = (secret: string, afterMs: number) => ({ sealed: sealed(secret), untilMs: nowMs + afterMs });
  const { desk, sent } = deskWith(
    {
      ...blank,
      sealed: sealed('whsec_4'),
      previous: replaced('whsec_3', 300),
      earlier: [replaced('whsec_2', 200), replaced('whsec_1', 100)],
    },
    clock,
  );
  for (const count of [4, 3, 2, 1]) {
    await desk.call(offered, asked, new AbortController().signal);
    t.same(sent.at(-1)!.secrets, ['whsec_4', 'whsec_3', 'whsec_2', 'whsec_1'].slice(0, count));
    clock.advance(100);
  }
});

t.test('a test call refuses arguments that a turn would refuse', async (t) => {
  const { desk, sent } = deskWith({ ...blank, sealed: sealed('whsec_new') }, new ManualClock());
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`);
  for (const given of [deep, { order: 1 }]) {
    t.same(
      await desk.test(
        blank,
        { name: 'act', parameters: { type: 'object', properties: { order: { type: 'string' } } } },
        given,
        'call_1',
      ),
      { status: 'failed', error: 'arguments' },
    );
  }
  t.equal(sent.length, 0);
});

t.test('a call that cannot be signed, or trusted, is refused and not sent', async (t) => {
  const other = openVault('another secret of thirty-two chars', ids);
  const foreign = other.seal(signingHolder(blank), 'whsec_x');
  const tools: Readonly<Record<string, Tool>> = {
    'of another PARLEY_SECRET': { ...blank, sealed: foreign },
    'of another tool': { ...blank, sealed: vault.seal(signingHolder({ ...blank, id: 'tool_2' }), 'whsec_x') },
    'without a secret': blank,
    'whose secret alone is the one before': {
      ...blank,
      sealed: foreign,
      previous: { sealed: sealed('whsec_old'), untilMs: nowMs + 1000 },
    },
    'whose credential is gone': { ...blank, sealed: sealed('whsec_new'), credentialId: 'crd_1' },
  };
  for (const [name, tool] of Object.entries(tools)) {
    const { desk, sent } = deskWith(tool, new ManualClock());
    t.equal(await desk.admit('wks_1', offered), 'refused', name);
    t.same(
      await desk.call(offered, asked, new AbortController().signal),
      { status: 'failed', error: 'refused', didNotAct: true },
      name,
    );
    t.equal(sent.length, 0);
  }
  const { desk, sent } = deskWith(
    { ...blank, sealed: sealed('whsec_new'), previous: { sealed: foreign, untilMs: nowMs + 1000 } },
    new ManualClock(),
  );
  t.equal(await desk.admit('wks_1', offered), null);
  await desk.call(offered, asked, new AbortController().signal);
  t.same(sent[0]!.secrets, ['whsec_new'], 'one before that does not open is left out');
  const mcp = deskWith({ ...blank, kind: 'mcp' }, new ManualClock());
  t.equal(await mcp.desk.admit('wks_1', offered), null, 'an MCP server is asked without a signature');
});
