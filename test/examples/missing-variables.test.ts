/** The examples and the receiver of docs/webhooks.md, started without their variables, or on a port that is in use. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { parted } from '../markdown.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const packages = { 'parley-client': 'dist/client', ws: '', minisearch: '', '@modelcontextprotocol': '' };

async function folderOf(t: Test, example: string): Promise<string> {
  const folder = await temporaryFolder(t);
  const isModule = (path: string): boolean => path.includes('node_modules');
  await cp(join(root, 'examples', example), folder, { recursive: true, filter: (path) => !isModule(path) });
  await mkdir(join(folder, 'node_modules'));
  for (const [name, place] of Object.entries(packages))
    await symlink(join(root, place || `node_modules/${name}`), join(folder, 'node_modules', name));
  return folder;
}

/** Runs a program to its end, with these variables alone: the exit code and the lines on stderr. */
async function ended(cwd: string, program: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [program], {
    cwd,
    env: { PATH: process.env.PATH, NODE_V8_COVERAGE: '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code: code as number, lines: stderr.trimEnd().split('\n') };
}

const needed = {
  'phone-bridge/bridge.mjs': ['PARLEY_API_KEY', 'ASSISTANT', 'SECRET'],
  'helpdesk-bridge/bridge.mjs': [
    ...['PARLEY_OPERATOR_TOKEN', 'WORKSPACE', 'WEBHOOK_SECRET', 'CHATWOOT_URL', 'CHATWOOT_TOKEN', 'CHATWOOT_INBOX'],
  ],
  'knowledge/server.mjs': ['TOKEN'],
};

for (const [path, names] of Object.entries(needed)) {
  t.test(`examples/${path} says in a line each which variables are missing`, async (t) => {
    const [example, program] = path.split('/') as [string, string];
    const folder = await folderOf(t, example);
    const none = await ended(folder, program, {});
    t.equal(none.code, 1);
    t.equal(none.lines.length, names.length, none.lines.join('\n'));
    for (const [index, name] of names.entries()) t.match(none.lines[index], new RegExp(`^Set ${name} to .+`));
    for (const name of names) {
      const others = Object.fromEntries(names.filter((other) => other !== name).map((other) => [other, 'x']));
      const { code, lines } = await ended(folder, program, others);
      t.equal(code, 1);
      t.match(lines, [new RegExp(`^Set ${name} to `)]);
      t.equal(lines.length, 1);
    }
  });
}

t.test('an example whose port is in use says so in one line', async (t) => {
  // Parley and the helpdesk at once, as far as the bridge asks them before it listens.
  const other = createServer((_request, response) => response.end('{"name":"Bridge"}')).listen(0);
  t.teardown(() => other.close());
  await once(other, 'listening');
  const PORT = String((other.address() as AddressInfo).port);
  const url = `http://127.0.0.1:${PORT}`;
  for (const [path, names] of Object.entries(needed)) {
    const [example, program] = path.split('/') as [string, string];
    const given = Object.fromEntries(names.map((name) => [name, name === 'CHATWOOT_URL' ? url : 'x']));
    const env = { ...given, PORT, PARLEY_URL: url };
    const { code, lines } = await ended(await folderOf(t, example), program, env);
    t.equal(code, 1, path);
    t.same(lines, [`The port ${PORT} is in use. Set PORT to a free one.`], path);
  }
});

t.test('the receiver says which variable is missing, or is no secret of a webhook', async (t) => {
  const page = await readFile(join(root, 'docs', 'webhooks.md'), 'utf8');
  const folder = await temporaryFolder(t);
  await writeFile(
    join(folder, 'receiver.mjs'),
    parted(page).code.find((code) => code.startsWith('import '))!,
  );
  for (const env of [{}, { WEBHOOK_SECRET: 'secret' }] as Record<string, string>[]) {
    const { code, lines } = await ended(folder, 'receiver.mjs', env);
    t.equal(code, 1);
    t.match(lines, [/^Set WEBHOOK_SECRET to .*whsec_/]);
    t.equal(lines.length, 1);
  }
});
