/** The MCP server of the examples, as a process of its own, given to an assistant by the commands that the README tells. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openHouse } from '../api/house.ts';
import { run } from '../cli/support.ts';
import { temporaryFolder } from '../folders.ts';

const serverFile = fileURLToPath(new URL('../../examples/knowledge/server.mjs', import.meta.url));
const example = dirname(serverFile);
const root = dirname(dirname(example));

/** Starts the server where its packages are installed, on its own notes; returns its address. */
async function start(token: string): Promise<string> {
  const folder = await temporaryFolder(t);
  await cp(example, folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
  await mkdir(join(folder, 'node_modules'));
  for (const name of ['@modelcontextprotocol', 'minisearch']) await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  const child = spawn(process.execPath, ['server.mjs'], { cwd: folder, env: { PATH: process.env.PATH, TOKEN: token, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return `http://127.0.0.1:${/listens on (\d+)/.exec(line)![1]}/mcp`;
}

/** The commands of the README's section as arguments, and the output that it shows of the last one. */
async function shown(): Promise<{ commands: string[][]; token: string; output: string }> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  const [, script, output] = /### An assistant that answers from your documents\n[^]*?```sh\n([^]*?)```\n\n```\n([^]*?)```/.exec(text)!;
  const lines = script!.split('\n').filter((line) => line.startsWith('npx parley '));
  const commands = lines.map((line) => [...line.replace(/ +# .*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!).slice(2));
  return { commands, token: /TOKEN=(\S+)/.exec(script!)![1]!, output: output! };
}

t.test('an assistant finds what the notes say', async (t) => {
  const { commands, token, output } = await shown();
  const url = await start(token);
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  t.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401, 'nobody without the token');

  const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken, PARLEY_API_KEY: house.key };
  let last = '';
  for (const command of commands) {
    const { code, stdout, stderr } = await run(command.map((word) => (word === 'http://127.0.0.1:8090/mcp' ? url : word)), { env });
    t.equal(code, 0, `${command.join(' ')}: ${stdout}${stderr}`);
    last = stdout;
  }
  t.equal(last.trim(), output.trim());
  const { json } = await house.console(`/workspaces/${house.workspaceId}/sessions`);
  const { json: transcript } = await house.console(`/workspaces/${house.workspaceId}/sessions/${json.data[0].id}/transcript`);
  t.match(transcript.data.at(-1).tool_calls, [{ status: 'completed', output: /^\[orders\.md#1\]\n## Delivery times\n\nParcels take two days/ }]);
});
