/** A version of parley that does not exist yet: a clone of this one whose session machine is of the next version. */
import { cp, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Owner } from './folders.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The next version's changes to `machines/session.ts`: a state has another name, and the context counts the turns. */
const changes: readonly (readonly [from: string, to: string])[] = [
  [
    'const migrations: readonly Migration[] = [];',
    `const migrations: readonly Migration[] = [
      ({ state, context }) => ({ state: state === 'streaming' ? 'talking' : state, context: { ...(context as SessionContext), turns: 0 } }),
    ];`,
  ],
  ['  readonly activeTurnId: string | null;\n', '  readonly activeTurnId: string | null;\n  readonly turns: number;\n'],
  ['endedAt: null, activeTurnId: null }', 'endedAt: null, activeTurnId: null, turns: 0 }'],
  [
    "assign(({ event }) => (event.type === 'chat' ? { activeTurnId: event.turnId } : {}))",
    "assign(({ context, event }) => (event.type === 'chat' ? { activeTurnId: event.turnId, turns: context.turns + 1 } : {}))",
  ],
  ['    streaming: {\n', '    talking: {\n'],
  ["target: 'streaming'", "target: 'talking'"],
];

function changed(source: string): string {
  return changes.reduce((text, [from, to]) => {
    if (text.split(from).length !== 2) throw new Error(`machines/session.ts has not just one ${from}`);
    return text.replace(from, () => to);
  }, source);
}

/** Resolves with the path of its command; it is built when it is first run. */
export async function nextVersion(t: Owner): Promise<string> {
  const folder = await temporaryFolder(t);
  // Leaves out the console, which no test requests: building its pages takes longer than all else.
  const filter = (path: string): boolean => path !== join(root, 'src', 'pages', 'console');
  for (const name of ['src', 'machines', 'package.json', 'package-lock.json'])
    await cp(join(root, name), join(folder, name), { recursive: true, filter });
  // The packages are this one's, which are not older than its lockfile.
  await utimes(join(folder, 'package-lock.json'), 1, 1);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const machine = join(folder, 'machines', 'session.ts');
  await writeFile(machine, changed(await readFile(machine, 'utf8')));
  return join(folder, 'src', 'install', 'start.mjs');
}
