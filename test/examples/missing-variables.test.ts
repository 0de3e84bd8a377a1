/** The examples and the receiver of docs/webhooks.md, started without the variables that they need. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
