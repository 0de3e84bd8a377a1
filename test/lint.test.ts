/** The linter's settings (`.oxlintrc.json`), shown to reject their targets: floating promises. */
import { spawnSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { temporaryFolder } from './folders.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const files: Readonly<Record<string, string>> = {
  'tsconfig.json': JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['src'] }),
  'src/writer.ts': `
    export interface Writer { write(): Promise<void>; maybe?(): Promise<void> }
    export class File implements Writer {
      async write(): Promise<void> {}
      twice() { return this.write(); }
      either(): void | Promise<void> {}
      run() { this.write(); } // floats
    }`,
  'src/floating.ts': `
    import { setTimeout as sleep } from 'node:timers/promises';
    import { File, type Writer } from './writer.ts';
    const file = new File();
    file.write(); // floats
    file.twice(); // floats
    file.either(); // floats
    (file as Writer).maybe?.(); // floats
    file.write().then(() => 1); // floats
    sleep(1); // floats
    Promise.all([file.write()]); // floats
    export const f = () => { file.write(); }; // floats
    if (file.write()) f(); // misused
    [1].forEach(async () => { await file.write(); }); // misused
    await file.write();
    void file.write();
    file.write().catch(() => {});
    export const g = () => file.write();`,
  'src/plain.mjs': `
    import { File } from './writer.ts';
    class Own { async write() {} run() { this.write(); } } // floats
    new Own().write(); // floats
    new File().write(); // floats
    await new File().write();`,
  'src/kept.test.ts': `
    import t from 'tap';
    t.test('tap awaits its subtests', async (t) => {
      t.rejects(Promise.reject(new Error('a'))); // floats
      t.test('all', async () => {});
    });`,
};

const ruleOf: Readonly<Record<string, string>> = {
  floats: 'typescript(no-floating-promises)',
  misused: 'typescript(no-misused-promises)',
};

/** Returns the violations that a file's lines are marked with. */
const marked = ([path, text]: [string, string]): string[] =>
  text.split('\n').flatMap((line, index) => {
    const mark = line.match(/\/\/ (\w+)$/)?.[1];
    return mark === undefined ? [] : [`${path}:${index + 1} ${ruleOf[mark]}`];
  });

t.test('it finds promises that nobody waits for, in modules and plain JavaScript, and nothing else', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'src'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  const oxlint = join('node_modules', 'oxlint', 'dist', 'cli.js');
  const args = [oxlint, '-c', join(root, '.oxlintrc.json'), '--format=unix', 'src'];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  const found = stdout.split('\n').flatMap((line) => {
    const [, path, number, rule] = line.match(/^(\S+?):(\d+):.*\[Error\/(.+)\]$/) ?? [];
    return path === undefined ? [] : [`${path}:${number} ${rule}`];
  });
  t.same(found.toSorted(), Object.entries(files).flatMap(marked).toSorted(), stdout + stderr);
  t.equal(status, 1);
});
