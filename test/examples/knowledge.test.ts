/** The MCP server of the examples, as a process of its own, with an assistant that looks something up in it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openHouse } from '../api/house.ts';
import { temporaryFolder } from '../folders.ts';

const serverFile = fileURLToPath(new URL('../../examples/knowledge/server.mjs', import.meta.url));
const example = dirname(serverFile);
const root = dirname(dirname(example));
const token = 'a-token-of-the-test';

/** Starts the server where its packages are installed, on its own notes; returns its address. */
async function start(): Promise<string> {
  const folder = await temporaryFolder(t);
  await cp(example, folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
  await mkdir(join(folder, 'node_modules'));
  for (const name of ['@modelcontextprotocol', 'minisearch']) await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  const child = spawn(process.execPath, ['server.mjs'], { cwd: folder, env: { PATH: process.env.PATH, TOKEN: token, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return `http://127.0.0.1:${/listens on (\d+)/.exec(line)![1]}/mcp`;
}

t.test('an assistant finds what the notes say', async (t) => {
  const url = await start();
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const inWorkspace = `/workspaces/${house.workspaceId}`;
  t.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401, 'nobody without the token');

  const credential = await house.console(`${inWorkspace}/credentials`, { body: { kind: 'tool', base_url: url, api_key: token } });
  t.equal(credential.status, 201, credential.text);
  const made = await house.console(`${inWorkspace}/tools`, { body: { kind: 'mcp', name: 'Notes', url, credential_id: credential.json.id } });
  const tool = `${inWorkspace}/tools/${made.json.id}`;
  const { json: listed } = await house.console(`${tool}/refresh`, { method: 'POST' });
  t.match(listed.changes, [{ name: 'search_notes', change: 'added' }]);
  await house.console(tool, { method: 'PATCH', body: { functions: [{ name: 'search_notes', enabled: true }] } });

  const assistant = await house.assistant({ model: { provider: 'scripted', name: 'any' }, tool_ids: [made.json.id] });
  const session = await house.session(assistant.id);
  const stream = await house.stream(`/sessions/${session.id}/chat`, { key: house.key, body: { message: '/call search_notes {"query":"delivery tmes abroad"}' } });
  await stream.rest();
  const { json } = await house.console(`${inWorkspace}/sessions/${session.id}/transcript`);
  t.match(json.data.at(-1).tool_calls, [{ status: 'completed', output: /^\[orders\.md#1\]\n## Delivery times\n\nParcels take two days/ }]);
});
