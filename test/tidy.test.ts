import { fileURLToPath } from 'node:url';
import t from 'tap';
import { messagesThere, routesThere } from './repeat/there.ts';
import { rows } from './repeat/rows.ts';
import { partOf, parts, rooms } from './tidy/house.ts';
import { rules } from './tidy/rules.ts';
import { readTree, type Tree } from './tidy/tree.ts';

const house = readTree(fileURLToPath(new URL('..', import.meta.url)));
const treeOf = (files: Readonly<Record<string, string>>): Tree => new Map(Object.entries(files));
const linesOf = (count: number): string => 'void 0;\n'.repeat(count);
const functionOf = (lines: number): string => `export function long() {\n${linesOf(lines - 2)}}\n`;

/** For each rule, files that break it, with its messages, and files that look alike and do not. */
const examples: Readonly<
  Record<string, { broken: Record<string, string>; says: string[]; kept: Record<string, string> }>
> = {
  'every file has its room': {
    broken: { 'src/attic.ts': '' },
    says: ['src/attic.ts:1: has no room in test/tidy/house.ts'],
    kept: { 'src/store/attic.ts': '', 'test/attic.ts': '' },
  },
  'imports go down': {
    broken: {
      'src/host/keys.ts': "\nimport type { TurnLog } from '../turn/log.ts';",
      'src/store/lmdb.ts': "export * from '../host.ts';",
      'src/http/handlers/chat.ts': "await import('../../store/lmdb.ts');",
      'src/client/http.ts': "type Store = import('../store/store.ts').Store;",
      'src/pages/console/feed.ts': "import type { Host } from '../../host.ts';",
    },
    says: [
      'src/host/keys.ts:2: host imports src/turn/log.ts',
      'src/store/lmdb.ts:1: store imports',
      'src/http/handlers/chat.ts:1: handlers imports',
      'src/client/http.ts:1: client imports',
      'src/pages/console/feed.ts:1: console pages imports src/host.ts',
    ],
    kept: {
      'src/turn/turns.ts': "import '../host/keys.ts'; import './log.ts'; import '../../machines/key.ts';",
      'src/main.ts': "import './store/lmdb.ts';",
      'src/store/lmdb.ts': "import './store.ts';",
    },
  },
  'machines and their like import few packages': {
    broken: { 'machines/key.ts': "import 'xstate';\nimport 'node:fs';", 'src/install/start.mjs': "import 'undici';" },
    says: ['machines/key.ts:2: imports node:fs', 'src/install/start.mjs:1: imports undici'],
    kept: {
      'machines/key.ts': "import 'xstate'; import './budget.ts';",
      'src/install/start.mjs': "import 'node:fs'; await import('esbuild');",
      'src/host.ts': "import 'undici';",
    },
  },
  'pages take types alone from the wire': {
    broken: {
      'src/pages/console/types.ts': "import { KeyView } from '../../wire/wire.ts';\nimport { Type } from 'typebox';",
    },
    says: ['src/pages/console/types.ts:1: src/wire/wire.ts', 'src/pages/console/types.ts:2: typebox'],
    kept: {
      'src/pages/console/types.ts': "import type { KeyView } from '../../wire/wire.ts';",
      'src/http/handlers/a.ts': "import { KeyView } from '../../wire/wire.ts';",
    },
  },
  'every import exists': {
    broken: { 'src/host.ts': "import './gone.ts';" },
    says: ['src/host.ts:1: src/gone.ts is not there'],
    kept: { 'src/host.ts': "import './turn.ts'; import 'gone';", 'src/turn.ts': '' },
  },
  'no cycles': {
    broken: {
      'src/a.ts': "import './b.ts';",
      'src/b.ts': "import type { C } from './c.ts';",
      'src/c.ts': "export { a } from './a.ts';",
    },
    says: ['src/a.ts:1: src/a.ts → src/b.ts → src/c.ts → src/a.ts'],
    kept: { 'src/a.ts': "import './b.ts'; import './c.ts';", 'src/b.ts': "import './c.ts';", 'src/c.ts': '' },
  },
  'clock and chance are passed in': {
    broken: {
      'src/host.ts':
        'Date.now();\nnew Date();\nDate();\nsetTimeout(f, 1);\nglobalThis.setInterval(f);\nlater(setImmediate);\nMath.random();\nperformance.now();',
      'machines/key.ts': "import { randomBytes as bytes } from 'node:crypto';\ncrypto.randomUUID();",
      'src/turn.ts': "import { scheduler } from 'node:timers/promises';",
    },
    says: [
      ...[
        'Date.now',
        'new Date()',
        'Date()',
        'setTimeout',
        'globalThis.setInterval',
        'setImmediate',
        'Math.random',
        'performance.now',
      ].map((name, index) => `src/host.ts:${index + 1}: ${name}`),
      'machines/key.ts:1: randomBytes',
      'machines/key.ts:2: crypto.randomUUID',
      'src/turn.ts:1: timers',
    ],
    kept: {
      'src/base/clock.ts': 'Date.now();',
      'src/host.ts':
        '// Date.now\nnew Date(0); Date.parse(a); socket.setTimeout(0); f({ setTimeout: 1 }); Math.floor(1);',
      'test/a.ts': 'Date.now();',
    },
  },
  'each regular expression is tried for linear time': {
    broken: {
      'src/host.ts':
        "const late = (text: string) => new RegExp(text);\nconst unlisted = new RegExp('a');\ntext.match('b+');\ntext.search(`${a}+`);\nglobalThis.RegExp('c');",
      'src/base/link-fields.ts':
        "const listed = new RegExp('a');\nfunction later() { return RegExp('b'); }\nclass Late { pattern = new RegExp('c'); }",
      'src/turn.ts':
        "const Other = RegExp;\nReflect.construct(RegExp, ['a']);\nglobalThis['RegExp']('a');\nconst { RegExp: Taken } = globalThis;",
      'src/main.ts':
        "const words = 'a+b';\ntext?.match(words);\nconst of = (given: string) => text.matchAll(given);\ntext.search(words + 'c');\ntext.match(String.raw`\\s`);\nlisted.compile('a');",
    },
    says: [
      'src/host.ts:1: RegExp is built in a function',
      'src/host.ts:2: RegExp is not in the list',
      'src/host.ts:3: match takes a text',
      'src/host.ts:4: search takes a text',
      'src/host.ts:5: RegExp is not in the list',
      'src/base/link-fields.ts:2: RegExp is built in a function',
      'src/base/link-fields.ts:3: RegExp is built in a function',
      'src/turn.ts:1: RegExp is passed on',
      'src/turn.ts:2: RegExp is passed on',
      'src/turn.ts:3: RegExp is not in the list',
      'src/turn.ts:4: RegExp is passed on',
      'src/main.ts:2: match takes a text',
      'src/main.ts:3: matchAll takes a text',
      'src/main.ts:4: search takes a text',
      'src/main.ts:5: match takes a text',
      'src/main.ts:6: compile takes a text',
    ],
    kept: {
      'src/host.ts':
        "/a+/.test(text); text.match(/b/); text.split('c'); text.replaceAll('d', ''); text.match(known); (one: RegExp) => one instanceof RegExp;",
      'src/base/link-fields.ts': "const listed = new RegExp('a');",
      'src/providers/tool/schema-check.ts': 'const given = (text: string) => new RegExp(text);',
      'test/a.ts': "new RegExp('a');",
    },
  },
  'no file is too long': {
    broken: { 'src/a.ts': linesOf(601), 'test/a.test.ts': linesOf(951) },
    says: ['src/a.ts:1: 601 lines', 'test/a.test.ts:1: 951 lines'],
    kept: { 'src/a.ts': linesOf(600), 'test/a.test.ts': linesOf(950) },
  },
  'no function is too long': {
    broken: {
      'src/host.ts': `\n${functionOf(111)}`,
      'test/a.ts': `class A {\n  m() {\n${linesOf(179)}  }\n}`,
      'test/b.ts': `f(() => {\n${linesOf(179)}});`,
    },
    says: ['src/host.ts:2: 111 lines', 'test/a.ts:2: 181 lines', 'test/b.ts:1: 181 lines'],
    kept: { 'src/host.ts': functionOf(110), 'test/a.ts': `${linesOf(100)}${functionOf(180)}` },
  },
  'nothing is unreachable': {
    broken: {
      'src/cli/cli.ts': "import '../main.ts';",
      'src/main.ts': '',
      'src/host.ts': '',
      'test/host.test.ts': "import '../src/host.ts';",
      'test/support.ts': '',
      'bench/old.ts': '',
    },
    says: [
      'src/host.ts:1: nothing reaches it',
      'test/support.ts:1: nothing reaches it',
      'bench/old.ts:1: nothing reaches it',
    ],
    kept: {
      'package.json': '{ "scripts": { "test": "node test/run.mjs" } }',
      'test/run.mjs': "import '../src/install/start.mjs';",
      'src/install/start.mjs': "import './prepare.mjs';",
      'src/install/prepare.mjs': '',
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
  'no test has a deadline of its own': {
    broken: { 'test/a.test.ts': 't.setTimeout(280_000);\nfetch(url, { signal: AbortSignal.timeout(5000) });' },
    says: ['test/a.test.ts:1: t.setTimeout(', 'test/a.test.ts:2: AbortSignal.timeout(5'],
    kept: {
      'test/a.test.ts': 'socket.setTimeout(5); AbortSignal.timeout(patience);',
      'src/a.ts': 'AbortSignal.timeout(5000);',
    },
  },
  'nothing writes to a pipe without waiting': {
    broken: { 'test/child.ts': "writeSync(1, 'a');", 'src/install/a.mjs': "writeFileSync('/dev/stdout', 'a');" },
    says: ['test/child.ts:1: writeSync(1', "src/install/a.mjs:1: writeFileSync('/dev/std"],
    kept: { 'test/child.ts': "process.stdout.write('a'); writeSync(file, 'a');", 'docs/a.md': 'writeSync(1)' },
  },
  'a test names its subject and the expected result': {
    broken: {
      'test/a.test.ts':
        "t.test('limits', f);\nawait t.test(\n  'so does a provider', f);\nt.test('[P1] two words', f);",
    },
    says: ['test/a.test.ts:1: limits', 'test/a.test.ts:2: so does a provider', 'test/a.test.ts:4: two words'],
    kept: { 'test/a.test.ts': "t.test('a limit refuses', f); t.test(`${edge}`, f); pattern.test('a b');" },
  },
  'a comment begins with the thing or the verb': {
    broken: {
      'src/host.ts':
        '/** What a turn costs. */\n/**\n * Of a session, the id.\n */\ncall();\t// Whoever waits\n// Those that wait\n',
      'machines/key.ts': 'f();\t/** One that holds the key. */',
      'src/store/steps/a.lua': '-- Which keys\n-- KEYS: a',
      'src/http/docs.css': '/* Whose margin */',
      'src/plain.ts': '/** Where the turn ended. */\n// A turn that\n// is over.\n/**\n * Tells the log.\n */',
    },
    says: [
      'src/host.ts:1: What a turn costs',
      'src/host.ts:2: Of a session',
      'src/host.ts:5: Whoever waits',
      'src/host.ts:6: Those that wait',
      'machines/key.ts:1: One that holds',
      'src/store/steps/a.lua:1: Which keys',
      'src/http/docs.css:1: Whose margin',
      'src/plain.ts:1: Where the turn ended',
      'src/plain.ts:2: is over',
      'src/plain.ts:4: Tells',
    ],
    kept: {
      'src/host.ts':
        "/** The cost of a turn: what it takes. */\n// The requests of a caller.\n// Those that wait come first.\nconst text = '/** What';\n/** Office. */\n",
      'src/store/steps/a.lua': '-- KEYS: a\n-- Of these the first counts.\nreturn 1 -- one',
      'docs/a.md': '// What',
    },
  },
  'each citation names a part of the contract': {
    broken: {
      'docs/contract.md': '# The contract\n## 1. A\n**Order.**\n## 2. B\n',
      'src/host.ts': '// contract 3\n// contract 1 and 4\n// contract 2, "Order"\n',
    },
    says: ['src/host.ts:1: contract 3', 'src/host.ts:2: contract 1 and 4', 'src/host.ts:3: contract 2, "Order"'],
    kept: {
      'docs/contract.md': '# The contract\n## 1. A\n**Order.**\n## 12. B\n',
      'src/host.ts': '// contract 1\n// contract 12 and 1\n// contract 1, "Order"\n// the contract, contracts 9',
    },
  },
};

for (const { name, why, check } of rules) {
  t.test(`${name}: ${why}`, async (t) => {
    t.same(check(house), [], 'the house keeps it');
    const example = examples[name];
    if (example === undefined) return t.fail('the rule has no example, so nothing shows that it can fail');
    const said = check(treeOf(example.broken));
    t.equal(said.length, example.says.length, `it finds each offence once: ${said.join(' | ')}`);
    for (const words of example.says)
      t.ok(
        said.some((line) => line.startsWith(words)),
        words,
      );
    t.same(check(treeOf(example.kept)), [], 'it leaves alone what only looks alike');
  });
}

t.test('the picture names no room that is not there, and parts stand on those below', async (t) => {
  const names = [...parts, ...rooms].map(({ name }) => name);
  t.equal(new Set(names).size, names.length, 'each once');
  const heightOf = (name: string): number =>
    parts.findIndex(
      (part) =>
        part === parts.find((one) => one.name === name) ||
        part === partOf(rooms.find((one) => one.name === name)?.files[0] ?? ''),
    );
  for (const { name, imports } of [...parts, ...rooms]) {
    const others = imports.filter((other) => other !== 'package.json');
    t.same(
      others.filter((other) => !names.includes(other)),
      [],
      name,
    );
    t.same(
      others.filter((other) => heightOf(other) < heightOf(name)),
      [],
      `${name} imports nothing above it`,
    );
  }
  t.same(
    [...house.keys()]
      .filter((path) => path.startsWith('src/'))
      .map((path) => path.split('/')[1]!)
      .filter((entry) => !parts.some(({ name }) => name === entry)),
    [],
    'each entry of src/ is a part',
  );
});

t.test('each route and each message that a client can send is sent again and again', async (t) => {
  const covered = rows.flatMap(({ covers }) => covers ?? []);
  t.same(
    [...covered].sort(),
    [...routesThere(), ...messagesThere()].sort(),
    'test/repeat has one row for each: add one for what is new',
  );
  t.equal(new Set(rows.map(({ name }) => name)).size, rows.length, 'no two of one name');
});
