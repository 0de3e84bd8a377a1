/** The development commands tell how they are used, and in one line when they are called the wrong way. None of them starts anything here. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import manifest from '../package.json' with { type: 'json' };
import { bundle } from './bundle.mjs';

// Each run loads all that the command stands on.
t.setTimeout(280_000);

interface Example {
  /** What the help says of each option and argument, line breaks aside; "…" stands for words that nobody relies on. */
  readonly help: readonly string[];
  /** Arguments that cannot be used, and what is said of them. */
  readonly wrong: Readonly<Record<string, string>>;
}

const wholeNumber = (least: number): string => `is invalid. It must be a whole number from ${least} to 999999999`;
const unknown = "unknown option '--nonsense'. The options are";
const promises = 'It must be all, one of P1, P2, P3, P4, P5, P6, P7, P9, P10, P11, P12, P17, V1, V3, or an experiment that --list tells';

const commands: Readonly<Record<string, Example>> = {
  'npm test': {
    help: ['[path...]', '(default: test)', '--changed ', '--measure ', 'N passed, N failed[, N skipped]'],
    wrong: {
      '--nonsense': `${unknown} --changed, --measure`,
      '--changed=all': "option '--changed' does not take an argument",
    },
  },
  'npm run bench': {
    help: ['[question...] ', 'question relay, turn, ', '(default: all)', '--quick ', '--smoke ', '--rounds <number> ', '(default: 5; 3 with --quick, 1 with --smoke)', '--peers ', '--profile <folder> ', '--ruler <language> ', '(choices: "C", "Node"', '--write '],
    wrong: {
      '--nonsense': `${unknown} --quick, --smoke, --rounds, --peers, --profile, --ruler, --write`,
      'relay --rounds 0': `option '--rounds <number>' argument '0' ${wholeNumber(1)}`,
    },
  },
  'npm run simulate': {
    help: [
      '--seed <number> ', '--runs <number> … (default: 100)', '--from <number> … (default: a new one)',
      '--mode <mode> ', `(choices: "embedded", "shared", "failover", default: the bug's; without one the seed says which)`,
      '--story ', '--bug <words> ', '(default: none)', 'Deliberate bugs: a withdrawal leaves no trace',
    ],
    wrong: {
      '--nonsense': `${unknown} --seed, --runs, --from, --mode, --story, --bug`,
      '--seed 1.5': `option '--seed <number>' argument '1.5' ${wholeNumber(0)}`,
    },
  },
  'npm run fuzz': {
    help: [
      '--what <what> ', '"requests", "voice", "faults", "slow", default: "requests")', '--edge <engine> ', '(choices: "uws", "node", default: "uws")',
      '--times <number> … (default: 20000)', '--seed <number> … (default: a new one)',
    ],
    wrong: {
      '--nonsense': `${unknown} --what, --edge, --times, --seed`,
      '--times many': `option '--times <number>' argument 'many' ${wholeNumber(1)}`,
    },
  },
  'npm run soak': {
    help: [
      '--minutes <number> … (default: 60)', '--store <store> ', '(choices: "redis", "lmdb", default: "redis")', '--processes <number> … (default: 3)',
      '--guests <number> … (default: 16)', '--restart-seconds <number> … (default: 60)', '--seed <number> ', '(default: 1)',
    ],
    wrong: {
      '--nonsense': `${unknown} --minutes, --store, --processes, --guests, --restart-seconds, --seed`,
      '--minutes 0': "option '--minutes <number>' argument '0' is invalid. It must be a number above 0, of at most six digits, such as 30 or 0.5",
    },
  },
  'npm run sequences': {
    help: [
      '--runs <number> … (default: 1000)', '--seed <number> … (default: a new one)', '--path <path> ',
      '--length <number> … (default: 40)', '--store <url> ', '(default: "lmdb:./data")', '--edge <engine> ', '(choices: "uws", "node", default: uws where it loads, else node)',
    ],
    wrong: {
      '--nonsense': `${unknown} --runs, --seed, --path, --length, --store, --edge`,
      '--length -1': `option '--length <number>' argument '-1' ${wholeNumber(0)}`,
      '--store nonsense': `option '--store <url>' argument 'nonsense' is invalid. It must be lmdb:FOLDER, memory:, redis://HOST:PORT or redis-cluster://HOST:PORT,HOST:PORT, not "nonsense"`,
      '--path': "option '--path <path>' argument missing. It is the path of a failure, as it was printed; goes with its --seed and --runs",
    },
  },
  'npm run differential': {
    help: [
      '--runs <number> … (default: 500)', '--seed <number> … (default: a new one)', '--path <path> ',
      '--length <number> … (default: 150)',
    ],
    wrong: {
      '--nonsense': `${unknown} --runs, --seed, --path, --length`,
      '--runs -1': `option '--runs <number>' argument '-1' ${wholeNumber(0)}`,
      '--path': "option '--path <path>' argument missing. It is the path of a difference, as it was printed; goes with its --seed, --runs and --length",
    },
  },
  'npm run golden': {
    help: ['<version> ', 'version the version, two numbers and a point'],
    wrong: {
      '--nonsense': "unknown option '--nonsense'. It has none",
      '0.1': "command-argument value '0.1' is invalid for argument 'version'. It must be a version that has no golden files yet, such as 0.2",
      '': "missing required argument 'version'. It must be a version that has no golden files yet, such as 0.2",
    },
  },
  'npm run faults': {
    help: [
      '--promise <name> ', '--store <store> … (choices: "lmdb", "redis", "both", default: "both")', '--times <number> … (default: 10; with --seed 1)',
      '--seed <number> ', '(default: a new one)', '--abreast <number> ', '--list ',
    ],
    wrong: {
      '--nonsense': `${unknown} --promise, --store, --times, --seed, --abreast, --list`,
      '--promise all --times 0': `option '--times <number>' argument '0' ${wholeNumber(1)}`,
      '': `--promise is missing. ${promises}`,
    },
  },
  'node --import=tsx bench/failover.ts': {
    help: [
      '--times <number> … (default: 10)', '--stopped <ms> how long the replica is stopped before', '--durability <durability> ',
      '(choices: "committed", "replicated", "replicated-output", default: one after the other)',
    ],
    wrong: {
      '--nonsense': `${unknown} --times, --stopped, --durability`,
      '--times 1e3': `option '--times <number>' argument '1e3' ${wholeNumber(1)}`,
      '--durability': "option '--durability <durability>' argument missing. Allowed choices are committed, replicated, replicated-output",
    },
  },
  'node --import=tsx bench/replication.ts': {
    help: ['--abreast <number> … (default: 1)', '--rounds <number> … (default: 9)', '--turns <number> … (default: 40)'],
    wrong: {
      '--nonsense': `${unknown} --abreast, --rounds, --turns`,
      '--turns many': `option '--turns <number>' argument 'many' ${wholeNumber(1)}`,
    },
  },
  'node --import=tsx --expose-gc bench/idle-sessions.ts': {
    help: ['[sessions]', 'sessions how many (default: 1000000)'],
    wrong: {
      '--nonsense': "unknown option '--nonsense'. It has none",
      '0': `command-argument value '0' is invalid for argument 'sessions'. It must be a whole number from 1 to 999999999`,
    },
  },
};

const cwd = fileURLToPath(new URL('..', import.meta.url));
const scripts: Readonly<Record<string, string>> = manifest.scripts;

/** What Node is given for a command: npm itself would only take time. */
const wordsOf = (line: string): string[] => (line.startsWith('npm ') ? scripts[line.split(' ').at(-1)!]! : line).split(' ').slice(1);

function run(words: readonly string[], args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((done) => execFile(process.execPath, [...words, ...args], { cwd }, (error, stdout, stderr) => done({ code: error?.code ?? 0, stdout, stderr })));
}

const isProgram = (word: string): boolean => word.endsWith('.ts');
const programOf = (line: string): string | undefined => wordsOf(line).find(isProgram);
/** Run as bundles, which load in a third of the time. One is run as it is written, and the words of the others differ from its words in nothing else. */
const programs = Object.keys(commands).flatMap((line) => programOf(line) ?? []);
const bundled: readonly string[] = await bundle(programs);
const asWritten = 'npm run simulate';
const quickly = (line: string): string[] => {
  const program = programs.indexOf(programOf(line) ?? '');
  if (program < 0) return wordsOf(line);
  // Some run only where they are what Node was given.
  const given = `process.argv[1] = ${JSON.stringify(join(cwd, programs[program]!))};`;
  return [`--import=data:text/javascript,${encodeURIComponent(given)}`, bundled[program]!];
};

/** Whether a help says a text, in which "…" stands for words that nobody relies on. */
const says = (help: string, text: string): boolean => new RegExp(text.split('…').map((part) => part.replace(/[^\w\s]/g, '\\$&')).join('[^(]*')).test(help);

for (const [line, { help, wrong }] of Object.entries(commands)) {
  t.test(line, async (t) => {
    const helped = async (): Promise<void> => {
      const { code, stdout, stderr } = await run(line === asWritten ? wordsOf(line) : quickly(line), ['--help']);
      t.strictSame({ code, stderr }, { code: 0, stderr: '' });
      const words = stdout.replace(/\s+/g, ' ');
      t.ok(words.startsWith(`Usage: ${line}`), 'how it is called');
      for (const text of ['-h, --help print help', `Examples: ${line} `, ...help]) t.ok(says(words, text), `${text} is in ${stdout}`);
    };
    const refused = async ([given, said]: [string, string]): Promise<void> => {
      t.strictSame(await run(quickly(line), given.split(' ').filter(Boolean)), { code: 2, stdout: '', stderr: `${line}: ${said}; --help tells more.\n` }, given);
    };
    const program = programOf(line);
    if (program !== undefined) t.same(wordsOf(line).filter((word) => word !== '--expose-gc'), ['--import=tsx', program]);
    await Promise.all([helped(), ...Object.entries(wrong).map(refused)]);
  });
}

t.test('every script that takes options is among them', async (t) => {
  const others = ['start', 'build', 'screenshots'];
  t.same(Object.keys(commands).flatMap((line) => /^npm (?:run )?(\w+)$/.exec(line)?.[1] ?? []).sort(), Object.keys(scripts).filter((name) => !others.includes(name)).sort());
});
