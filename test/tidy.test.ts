import { fileURLToPath } from 'node:url';
import t from 'tap';
import { rooms } from './tidy/house.ts';
import { rules } from './tidy/rules.ts';
import { readTree, type Tree } from './tidy/tree.ts';

const house = readTree(fileURLToPath(new URL('..', import.meta.url)));
const treeOf = (files: Readonly<Record<string, string>>): Tree => new Map(Object.entries(files));
const linesOf = (count: number): string => 'void 0;\n'.repeat(count);
const functionOf = (lines: number): string => `export function long() {\n${linesOf(lines - 2)}}\n`;

/** For each rule, files that break it, with what it must say of them, and files that look alike and do not. */
const examples: Readonly<Record<string, { broken: Record<string, string>; says: string[]; kept: Record<string, string> }>> = {
  'every file has its room': {
    broken: { 'src/attic.ts': '' },
    says: ['src/attic.ts:1: has no room in test/tidy/house.ts'],
    kept: { 'src/store/attic.ts': '', 'test/attic.ts': '' },
  },
  'imports go down': {
    broken: {
      'src/turn.ts': "\nimport type { Host } from './host.ts';",
      'src/store/lmdb.ts': "export * from '../host.ts';",
      'src/handlers/chat.ts': "await import('../store/lmdb.ts');",
      'src/client/http.ts': "type Store = import('../store.ts').Store;",
      'src/web/feed.ts': "import type { Host } from '../host.ts';",
    },
    says: ['src/turn.ts:2: turn imports src/host.ts', 'src/store/lmdb.ts:1: stores imports', 'src/handlers/chat.ts:1: handlers imports', 'src/client/http.ts:1: client imports', 'src/web/feed.ts:1: pages imports src/host.ts'],
    kept: { 'src/host.ts': "import './turn.ts'; import './host/actor.ts'; import '../machines/key.ts';", 'src/main.ts': "import './store/lmdb.ts';" },
  },
  'machines and their like import few packages': {
    broken: { 'machines/key.ts': "import 'xstate';\nimport 'node:fs';", 'src/start.mjs': "import 'undici';" },
    says: ['machines/key.ts:2: imports node:fs', 'src/start.mjs:1: imports undici'],
    kept: { 'machines/key.ts': "import 'xstate'; import './budget.ts';", 'src/start.mjs': "import 'node:fs'; await import('esbuild');", 'src/host.ts': "import 'undici';" },
  },
  'pages take types alone from the wire': {
    broken: { 'src/web/types.ts': "import { KeyView } from '../wire.ts';\nimport { Type } from 'typebox';" },
    says: ['src/web/types.ts:1: src/wire.ts', 'src/web/types.ts:2: typebox'],
    kept: { 'src/web/types.ts': "import type { KeyView } from '../wire.ts';", 'src/handlers/a.ts': "import { KeyView } from '../wire.ts';" },
  },
  'every import exists': {
    broken: { 'src/host.ts': "import './gone.ts';" },
    says: ['src/host.ts:1: src/gone.ts is not there'],
    kept: { 'src/host.ts': "import './turn.ts'; import 'gone';", 'src/turn.ts': '' },
  },
  'no cycles': {
    broken: { 'src/a.ts': "import './b.ts';", 'src/b.ts': "import type { C } from './c.ts';", 'src/c.ts': "export { a } from './a.ts';" },
    says: ['src/a.ts:1: src/a.ts → src/b.ts → src/c.ts → src/a.ts'],
    kept: { 'src/a.ts': "import './b.ts'; import './c.ts';", 'src/b.ts': "import './c.ts';", 'src/c.ts': '' },
  },
  'clock and chance are passed in': {
    broken: {
      'src/host.ts': 'Date.now();\nnew Date();\nDate();\nsetTimeout(f, 1);\nglobalThis.setInterval(f);\nlater(setImmediate);\nMath.random();\nperformance.now();',
      'machines/key.ts': "import { randomBytes as bytes } from 'node:crypto';\ncrypto.randomUUID();",
      'src/turn.ts': "import { scheduler } from 'node:timers/promises';",
    },
    says: [
      ...['Date.now', 'new Date()', 'Date()', 'setTimeout', 'globalThis.setInterval', 'setImmediate', 'Math.random', 'performance.now'].map((name, index) => `src/host.ts:${index + 1}: ${name}`),
      'machines/key.ts:1: randomBytes',
      'machines/key.ts:2: crypto.randomUUID',
      'src/turn.ts:1: timers',
    ],
    kept: { 'src/clock.ts': 'Date.now();', 'src/host.ts': '// Date.now\nnew Date(0); Date.parse(a); socket.setTimeout(0); f({ setTimeout: 1 }); Math.floor(1);', 'test/a.ts': 'Date.now();' },
  },
  'no file over 500 lines': {
    broken: { 'test/a.test.ts': linesOf(501) },
    says: ['test/a.test.ts:1: 501 lines'],
    kept: { 'test/a.test.ts': linesOf(500) },
  },
  'no function over 70 lines': {
    broken: { 'src/host.ts': `\n${functionOf(71)}`, 'test/a.ts': `class A {\n  m() {\n${linesOf(69)}  }\n}`, 'test/b.ts': `f(() => {\n${linesOf(69)}});` },
    says: ['src/host.ts:2: 71 lines', 'test/a.ts:2: 71 lines', 'test/b.ts:1: 71 lines'],
    kept: { 'src/host.ts': functionOf(70), 'test/a.ts': `${linesOf(100)}${functionOf(70)}` },
  },
  'nothing is unreachable': {
    broken: { 'src/cli.ts': "import './main.ts';", 'src/main.ts': '', 'src/host.ts': '', 'test/host.test.ts': "import '../src/host.ts';", 'test/support.ts': '', 'bench/old.ts': '' },
    says: ['src/host.ts:1: nothing reaches it', 'test/support.ts:1: nothing reaches it', 'bench/old.ts:1: nothing reaches it'],
    kept: {
      'package.json': '{ "scripts": { "test": "node test/run.mjs" } }',
      'test/run.mjs': "import '../src/start.mjs';",
      'src/start.mjs': "import './prepare.mjs';",
      'src/prepare.mjs': '',
      'test/a.test.ts': "new URL('./child.ts', import.meta.url);",
      'test/child.ts': "import '../bench/chat.ts';",
      'bench/chat.ts': '',
    },
  },
  'nothing is put off': {
    broken: { 'README.md': `one\n${'TO' + 'DO'}: two`, 'src/host.ts': `// ${'FIX' + 'ME'}` },
    says: [`README.md:2: ${'TO' + 'DO'}`, `src/host.ts:1: ${'FIX' + 'ME'}`],
    kept: { 'src/host.ts': 'const todo = 1;' },
  },
  'no paths of one machine': {
    broken: { 'README.md': `cd /${'home'}/ada/parley`, 'src/host.ts': `read('/${'root'}/x');` },
    says: [`README.md:1: /${'home'}/ada/p`, `src/host.ts:1: /${'root'}/x`],
    kept: { 'README.md': 'see docs/work/a, https://example.com/root/b and /workspaces/c' },
  },
  'no registry is named': {
    broken: { '.npmrc': `${'registry'}=https://packages.example.com/`, 'package-lock.json': `"${'resolved'}": "x"` },
    says: ['.npmrc:1: registry=', 'package-lock.json: "resolved" addresses'],
    kept: { '.npmrc': 'save-exact=true', 'package-lock.json': '"version": "1.0.0"' },
  },
};

for (const { name, why, check } of rules) {
  t.test(`${name}: ${why}`, async (t) => {
    t.same(check(house), [], 'the house keeps it');
    const example = examples[name];
    if (example === undefined) return t.fail('the rule has no example, so nothing shows that it can fail');
    const said = check(treeOf(example.broken));
    t.equal(said.length, example.says.length, `it finds each offence once: ${said.join(' | ')}`);
    for (const words of example.says) t.ok(said.some((line) => line.startsWith(words)), words);
    t.same(check(treeOf(example.kept)), [], 'it leaves alone what only looks alike');
  });
}

t.test('the picture names no room that is not there', async (t) => {
  const names = rooms.map(({ name }) => name);
  t.equal(new Set(names).size, names.length, 'each once');
  for (const { name, imports } of rooms) t.same(imports.filter((other) => other !== 'package.json' && !names.includes(other)), [], name);
});
