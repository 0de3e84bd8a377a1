/** The rules of the house. Each takes the whole tree and returns what offends, one line each. */
import { mayImport, ownRoomOf, roomOf } from './house.ts';
import { sourcesOf, type Source, type Tree } from './tree.ts';
import { namesOfClockAndChance } from './names.ts';
import { dialect, testNames } from './dialect.ts';
import { unlistedExpressions } from './expressions.ts';

export interface Rule {
  readonly name: string;
  readonly why: string;
  /** Offences as `path:line: what`. */
  readonly check: (tree: Tree) => string[];
}

/** Lines of a file, and of a function, once formatted: tests and their tables of rows may be longer. */
const sizesOf = (path: string) => (inHouse(path) ? { file: 600, function: 110 } : { file: 950, function: 180 });

const inHouse = (path: string): boolean => path.startsWith('src/') || path.startsWith('machines/');
const houseOf = (tree: Tree): Source[] => sourcesOf(tree).filter((source) => inHouse(source.path));
const linesOf = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

/** Every line of every text file that matches, but for the lockfile and the licence, which are not ours to write. */
const matching = (tree: Tree, pattern: RegExp): string[] =>
  [...tree].flatMap(([path, text]) =>
    path === 'package-lock.json' || path === 'LICENSE'
      ? []
      : text.split('\n').flatMap((line, index) => {
          const found = pattern.exec(line);
          return found === null ? [] : [`${path}:${index + 1}: ${found[0].trim()}`];
        }),
  );

const withPath = (tree: Tree, fits: RegExp): Tree =>
  new Map([...tree].filter(([path]) => fits.test(path) && path !== 'test/tidy.test.ts'));
const testsOf = (tree: Tree): Tree => withPath(tree, /^test\//);
const sourceFilesOf = (tree: Tree): Tree => withPath(tree, /\.(ts|tsx|mjs)$/);

export const rules: readonly Rule[] = [
  {
    name: 'every file has its room',
    why: 'A reader who knows the picture knows where any line belongs.',
    check: withoutRoom,
  },
  { name: 'imports go down', why: 'A request goes down through the house once and never back up.', check: upward },
  { name: 'machines and their like import few packages', why: 'What decides does no I/O.', check: strangers },
  {
    name: 'pages take types alone from the wire',
    why: 'The shapes have validators, which a browser has no use for.',
    check: drawnAlong,
  },
  {
    name: 'every import exists',
    why: 'A path that leads nowhere would slip past the rules on imports.',
    check: dangling,
  },
  { name: 'no cycles', why: 'Files in a circle can only be understood, tested and loaded together.', check: cycles },
  {
    name: 'clock and chance are passed in',
    why: 'Tests decide what time it is and what the dice say.',
    check: clockAndChance,
  },
  {
    name: 'each regular expression is tried for linear time',
    why: 'One that backtracks lets a text of a client or a provider stop the event loop; test/linear knows literals, and what the modules of its list build as they load.',
    check: (tree) =>
      houseOf(tree).flatMap(({ path, nodes }) =>
        unlistedExpressions(path, nodes).map(({ line, what }) => `${path}:${line}: ${what}`),
      ),
  },
  { name: 'no file is too long', why: 'Small rooms: a file is one noun.', check: longFiles },
  {
    name: 'no function is too long',
    why: 'A function is read on one screen.',
    check: longFunctions,
  },
  {
    name: 'nothing is unreachable',
    why: 'What nothing reaches is not tested, and is wrong before long.',
    check: unreachable,
  },
  {
    name: 'nothing is put off',
    why: 'A note to do it later is a defect that was seen and kept.',
    check: (tree) => matching(tree, new RegExp(String.raw`\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\b`)),
  },
  {
    name: 'no paths of one machine',
    why: 'The project runs wherever it is cloned.',
    check: (tree) => matching(tree, /(?<![\w.*})-])\/(root|work|Users\/\w+|home\/\w+)\/\w/),
  },
  {
    name: 'no registry is named',
    why: 'Packages come from the registry that the reader has set.',
    check: (tree) => [
      ...matching(tree, /\bhttps?:\/\/(registry|npm)\.[\w.-]+|^\s*(@[\w-]+:)?registry\s*=/),
      ...(tree.get('package-lock.json')?.includes('"resolved"') ? ['package-lock.json: "resolved" addresses'] : []),
    ],
  },
  {
    name: 'no test has a deadline of its own',
    why: 'A slow machine is no failure: `npm test` ends what hangs, by the measured speed (test/run/speed.mjs).',
    check: (tree) => matching(testsOf(tree), /\bt\.setTimeout\(|AbortSignal\.timeout\(\d/),
  },
  {
    name: 'nothing writes to a pipe without waiting',
    why: 'A pipe that is full refuses the write with EAGAIN, and its reader may be slow.',
    check: (tree) => matching(sourceFilesOf(tree), /\bwriteSync\([12]\b|\bwriteFileSync\((?:[12]\b|'\/dev\/std)/),
  },
  {
    name: 'a comment begins with the thing or the verb',
    why: 'A relative clause in place of a noun is read twice and found by no search.',
    check: dialect,
  },
  {
    name: 'a test names its subject and the expected result',
    why: 'A name is what a failure prints first: a fragment says nothing without its file.',
    check: (tree) => testNames(testsOf(tree)),
  },
  {
    name: 'each citation names a part of the contract',
    why: 'A rule that cannot be looked up is a rumour.',
    check: uncited,
  },
];

/**
 * `contract 3`, `contract 6 and 12`, `contract 8, "Overload"`: parts are headings of docs/contract.md, and a name in
 * quotes stands in bold in the part before it.
 */
function uncited(tree: Tree): string[] {
  const parts = new Map(
    (tree.get('docs/contract.md') ?? '')
      .split(/^## (?=\d+\. )/m)
      .slice(1)
      .map((text) => [Number.parseInt(text), text]),
  );
  return [...tree].flatMap(([path, text]) => {
    if (!/^(src|machines|test|bench|docs)\//.test(path) || path === 'docs/contract.md' || path === 'test/tidy.test.ts')
      return [];
    return text.split('\n').flatMap((line, index) =>
      [...line.matchAll(/\bcontract,? (?:part )?(\d+(?:(?:, | and | to |, and )\d+)*)(?:, "([^"]+)")?/g)].flatMap(
        ([cited, numbers, name]) => {
          const wanted = numbers!.match(/\d+/g)!.map(Number);
          const found =
            wanted.every((number) => parts.has(number)) &&
            (name === undefined || parts.get(wanted.at(-1)!)!.includes(`**${name}`));
          return found ? [] : [`${path}:${index + 1}: ${cited}`];
        },
      ),
    );
  });
}

function withoutRoom(tree: Tree): string[] {
  return houseOf(tree).flatMap(({ path }) =>
    roomOf(path) === path ? [`${path}:1: has no room in test/tidy/house.ts`] : [],
  );
}

function upward(tree: Tree): string[] {
  return houseOf(tree).flatMap(({ path, imports }) =>
    imports
      .filter(({ target, ours }) => ours && !mayImport(path, target))
      .map(({ target, line }) => `${path}:${line}: ${roomOf(path)} imports ${target} (${ownRoomOf(path)!.why})`),
  );
}

function strangers(tree: Tree): string[] {
  return houseOf(tree).flatMap(({ path, imports }) => {
    const own = ownRoomOf(path);
    const allowed = own?.packages;
    if (allowed === undefined) return [];
    const strange = imports.filter(
      ({ target, ours }) => !ours && !allowed.includes(target) && !(own?.name === 'install' && startMay(target)),
    );
    return strange.map(({ target, line }) => `${path}:${line}: imports ${target}`);
  });
}

/** The start uses Node itself, and the bundler once it is installed. */
const startMay = (target: string): boolean => target.startsWith('node:') || target === 'esbuild';

function drawnAlong(tree: Tree): string[] {
  return houseOf(tree)
    .filter(({ path }) => roomOf(path) === 'console pages')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target, types }) => !types && (roomOf(target) === 'wire' || target === 'typebox'))
        .map(({ target, line }) => `${path}:${line}: ${target}`),
    );
}

function dangling(tree: Tree): string[] {
  return sourcesOf(tree).flatMap(({ path, imports }) =>
    imports.flatMap(({ target, ours, line }) =>
      ours && !tree.has(target) ? [`${path}:${line}: ${target} is not there`] : [],
    ),
  );
}

/** Imports of types count: they tie files together in the reader's head, if not in the machine's. */
function cycles(tree: Tree): string[] {
  const imports = new Map(
    houseOf(tree).map(({ path, imports }) => [path, imports.filter(({ ours }) => ours).map(({ target }) => target)]),
  );
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, above: readonly string[]): void => {
    const start = above.indexOf(path);
    if (start >= 0) found.push(`${path}:1: ${[...above.slice(start), path].join(' → ')}`);
    if (start >= 0 || done.has(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...above, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  return found;
}

function clockAndChance(tree: Tree): string[] {
  const allowed = [
    'src/base/clock.ts',
    'src/base/ids.ts',
    'src/client/clock.ts',
    'src/pages/console/clock.ts',
    'src/pages/link/clock.ts',
    'src/install/load.mjs',
    'src/install/turns.mjs',
  ];
  return houseOf(tree)
    .filter(({ path }) => !allowed.includes(path))
    .flatMap(({ path, nodes }) => namesOfClockAndChance(nodes).map(({ name, line }) => `${path}:${line}: ${name}`));
}

function longFiles(tree: Tree): string[] {
  return sourcesOf(tree).flatMap(({ path }) => {
    const lines = linesOf(tree.get(path)!);
    return lines > sizesOf(path).file ? [`${path}:1: ${lines} lines`] : [];
  });
}

const functions = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
  'ClassPrivateMethod',
]);

function longFunctions(tree: Tree): string[] {
  return sourcesOf(tree).flatMap(({ path, nodes }) =>
    nodes.flatMap(({ type, loc }) => {
      const lines = loc.end.line - loc.start.line + 1;
      return functions.has(type) && lines > sizesOf(path).function ? [`${path}:${loc.start.line}: ${lines} lines`] : [];
    }),
  );
}

/**
 * Files that nothing reaches. The entries are the command and its bundle's source, the pages and the widget, the tests,
 * and scripts of package.json.
 */
function unreachable(tree: Tree): string[] {
  const sources = new Map(sourcesOf(tree).map((source) => [source.path, source]));
  const scripts = tree.get('package.json')?.match(/\b(src|test|bench)\/[\w./-]+/g) ?? [];
  const outward = new Set([
    'src/install/start.mjs',
    'src/cli/cli.ts',
    'src/pages/console/main.tsx',
    'src/pages/link/main.ts',
    'src/pages/link/refused.ts',
    'src/pages/widget/main.ts',
    ...scripts,
  ]);
  const reach = (entries: Iterable<string>): Set<string> => {
    const reached = new Set<string>();
    const visit = (path: string): void => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const target of sources.get(path)?.named ?? []) visit(target);
    };
    for (const entry of entries) visit(entry);
    return reached;
  };
  const running = reach(outward);
  const testing = reach([...outward, ...[...sources.keys()].filter((path) => path.endsWith('.test.ts'))]);
  // The product must be reached by the product: a file of src/ that only a test imports is not part of it.
  return [...sources.keys()]
    .filter((path) => !(inHouse(path) ? running : testing).has(path))
    .map((path) => `${path}:1: nothing reaches it`);
}
