/** docs/development.md names each file that a first change touches: each has the example, and no other file has it. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readTree } from './tidy/tree.ts';

const root = new URL('../', import.meta.url);
const tree = readTree(fileURLToPath(root));
const [, guide = ''] =
  /^## Your first change\n([^]*?)^## /m.exec(readFileSync(new URL('docs/development.md', root), 'utf8')) ?? [];

interface Recipe {
  readonly files: readonly string[];
  /** Tests that fail while a file is left out. */
  readonly tests: readonly string[];
}

const pathsIn = (cell: string): string[] => [...cell.matchAll(/`([\w./-]+\.\w+)`/g)].map(([, path]) => path!);

function recipeOf(title: string): Recipe {
  const [, text = ''] = new RegExp(`^### ${title}\n([^]*?)(?=^### |(?![^]))`, 'm').exec(guide) ?? [];
  const rows = text
    .split('\n')
    .filter((line) => /^\| `/.test(line))
    .map((line) => line.split('|').slice(1, -1));
  return { files: rows.flatMap(([files]) => pathsIn(files!)), tests: rows.flatMap((row) => pathsIn(row[2]!)) };
}

const examples: Readonly<Record<string, { readonly shows: RegExp; readonly only?: RegExp }>> = {
  'A route': { shows: /(GET |['`] ?)\/voices\b|\bvoices\b|Voices/ },
  // The prose of the changelog names codes of the past as well.
  'An error code': { shows: /invalid_range|invalidRange/, only: /\binvalid_range\b/ },
  'A transition': { shows: /\babort\b/ },
};

for (const [title, { shows, only }] of Object.entries(examples)) {
  t.test(`the files of "${title}" have the example`, async (t) => {
    const { files, tests } = recipeOf(title);
    t.ok(files.length > 5, `${files.length} files`);
    for (const path of files) t.match(tree.get(path) ?? '', shows, path);
    t.same(
      tests.filter((path) => !existsSync(new URL(path, root)) || !path.endsWith('.test.ts')),
      [],
      'the tests that hold them are there',
    );
    if (only === undefined) return;
    const having = [...tree]
      .filter(
        ([path, text]) =>
          /^(src|machines|test|docs)\//.test(path) &&
          path !== 'test/first-change.test.ts' &&
          path !== 'docs/development.md' &&
          only.test(text),
      )
      .map(([path]) => path);
    t.same(having.toSorted(), files.toSorted(), 'no other file has it');
  });
}
