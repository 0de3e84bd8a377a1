/** The protocol's own example of a server, with a tool of every kind, as a tool of an assistant (contract 13). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { freePort } from '../../bench/harness/process.ts';
import { openHouse, type House } from '../api/house.ts';
import { until } from '../api/talk.ts';
import { installedAside } from '../client/aside.ts';
import { told } from '../faults/tool-house.ts';

const { why, folder } = await installedAside('@modelcontextprotocol/server-everything', '2026.8.31');

/** The sessions of the server, by what it prints. */
const sessions = { begun: 0, ended: 0 };

/** The server's address. It says by itself when it listens. */
async function start(): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [join(folder, 'dist', 'index.js'), 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  createInterface(child.stdout).on('line', (line) => {
    if (line.startsWith('Session initialized')) sessions.begun++;
    if (line.startsWith('Transport closed')) sessions.ended++;
  });
  t.teardown(() => child.kill('SIGKILL'));
  child.stderr.setEncoding('utf8');
  for (let said = ''; !said.includes('listening on port');) said += (await once(child.stderr, 'data'))[0];
  child.stderr.resume();
  return `http://127.0.0.1:${port}/mcp`;
}

/** A call by the embedded assistant, as the console sees it. */
async function callOf(house: House, assistantId: string, name: string, given: object): Promise<any> {
  const { id } = await house.session(assistantId);
  await house.ask(`/sessions/${id}/chat`, { body: { message: `/call ${name} ${JSON.stringify(given)}` } });
  const { data } = (await house.console(`/workspaces/${house.workspaceId}/sessions/${id}/transcript`)).json;
  return data.at(-1).tool_calls[0];
}

const rows: readonly (readonly [string, object, object])[] = [
  ['echo', { message: 'grüße 😀' }, { status: 'completed', output: 'Echo: grüße 😀' }],
  ['get-sum', { a: 2, b: 3 }, { status: 'completed', output: 'The sum of 2 and 3 is 5.' }],
  ['get-tiny-image', {}, { status: 'completed', output: /^[^\n]+\n\[image\]\n[^\n]+$/ }],
  [
    'get-annotated-message',
    { messageType: 'success', includeImage: true },
    { status: 'completed', output: /^Operation completed successfully\n\[image\]$/ },
  ],
  [
    'get-resource-reference',
    { resourceType: 'Text', resourceId: 1 },
    {
      status: 'completed',
      output: /^Returning resource reference for Resource 1:\n(?!\[resource\])[^\n]+\nYou can access/,
    },
  ],
  ['get-resource-links', { count: 2 }, { status: 'completed', output: /\n\[resource\]\n\[resource\]$/ }],
  [
    'get-structured-content',
    { location: 'Chicago' },
    { status: 'completed', output: '{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}' },
  ],
  [
    'trigger-long-running-operation',
    { duration: 0.3, steps: 3 },
    { status: 'completed', output: 'Long running operation completed. Duration: 0.3 seconds, Steps: 3.' },
  ],
  ['trigger-long-running-operation', { duration: 60, steps: 1 }, { status: 'failed', error: 'timeout', output: null }],
  [
    'get-resource-reference',
    { resourceType: 'Text', resourceId: -1 },
    { status: 'failed', error: 'refused', output: null },
  ],
  ['get-sum', { a: 'two', b: 3 }, { status: 'failed', error: 'arguments', output: null }],
  ['get-structured-content', { location: 'Paris' }, { status: 'failed', error: 'arguments', output: null }],
  ['get-roots-list', {}, { status: 'failed', error: 'unknown_tool', output: null }],
];

t.test(
  'the tools of the official server are listed, and each answers or fails as it should',
  { skip: why ?? false },
  async (t) => {
    const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
    const { id } = await told(house, '/tools', {
      kind: 'mcp',
      name: 'Everything',
      url: await start(),
      timeout_seconds: 5,
    });
    const { functions, changes } = await told(house, `/tools/${id}/refresh`, {});
    t.same(
      changes.filter(({ change }: any) => change !== 'added'),
      [],
      'no schema of it is refused',
    );
    t.ok(functions.length >= 10);
    t.notOk(
      functions.some(({ name }: any) => /roots|sampling|elicitation/.test(name)),
      'none that asks something of its client',
    );
    const names = [...new Set(rows.map(([name]) => name))].filter((name) => name !== 'get-roots-list');
    await told(house, `/tools/${id}`, { functions: names.map((name) => ({ name, enabled: true })) }, 'PATCH');
    const assistant = await house.assistant({ model: { provider: 'scripted', name: 'demo' }, tool_ids: [id] });
    for (const [name, given, expected] of rows)
      t.match(
        await callOf(house, assistant.id, name, given),
        { name, ...expected },
        `${name} ${JSON.stringify(given)}`,
      );
    await sessionsOf(t, house, id);
  },
);

/** A call that took too long has cost the session before. */
async function sessionsOf(t: Test, house: House, toolId: string): Promise<void> {
  const before = sessions.begun;
  const call = async () =>
    (
      await house.console(`/workspaces/${house.workspaceId}/tools/${toolId}/test`, {
        body: { name: 'get-sum', arguments: { a: 2, b: 3 } },
      })
    ).json.status;
  for (let round = 0; round < 30; round++)
    t.same(new Set(await Promise.all(Array.from({ length: 10 }, call))), new Set(['completed']));
  t.ok(sessions.begun - before <= 1, '300 calls take one session');
  await house.stop();
  await until(async () => sessions.ended === sessions.begun);
  t.equal(sessions.ended, sessions.begun, 'none is open at the end');
}
