/** The development commands tell how they are used, and in one line when they are called the wrong way. None of them starts anything here. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import manifest from '../package.json' with { type: 'json' };

// Each run loads all that the command stands on.
t.setTimeout(120_000);

interface Example {
  /** What the help says of each option and argument, line breaks aside. */
  readonly help: readonly string[];
  /** Arguments that cannot be used, and what is said of them. */
  readonly wrong: Readonly<Record<string, string>>;
}

const wholeNumber = (least: number): string => `is invalid. It must be a whole number from ${least} to 999999999`;
const unknown = "unknown option '--nonsense'. The options are";
const promises = 'It must be all, one of P1, P2, P3, P4, P5, P6, P7, P9, P10, P11, P12, P17, or an experiment that --list tells';

const commands: Readonly<Record<string, Example>> = {
  'npm run bench': {
    help: ['[question...] ', 'question relay, turn, ', '(default: all)', '--quick ', '--smoke ', '--rounds <number> ', '(default: 5; 3 with --quick, 1 with --smoke)', '--peers ', '--profile <folder> ', '--write '],
    wrong: {
      '--nonsense': `${unknown} --quick, --smoke, --rounds, --peers, --profile, --write`,
      'relay --rounds 0': `option '--rounds <number>' argument '0' ${wholeNumber(1)}`,
    },
  },
  'npm run simulate': {
    help: [
      '--seed <number> ', '--runs <number> as many seeds, one after another (default: 100)', '--from <number> the first of them (default: a new one)',
      '--mode <mode> ', `(choices: "embedded", "shared", "failover", default: the bug's; without one the seed says which)`,
      '--story ', '--bug <words> ', '(default: none)', 'Deliberate bugs: no fence: ',
    ],
    wrong: {
      '--nonsense': `${unknown} --seed, --runs, --from, --mode, --story, --bug`,
      '--seed 1.5': `option '--seed <number>' argument '1.5' ${wholeNumber(0)}`,
    },
  },
  'npm run fuzz': {
    help: [
      '--what <what> ', '(choices: "requests", "faults", "slow", default: "requests")', '--edge <engine> ', '(choices: "uws", "node", default: "uws")',
      '--times <number> how many requests or faults (default: 20000)', '--seed <number> what they are drawn from (default: a new one)',
    ],
    wrong: {
      '--nonsense': `${unknown} --what, --edge, --times, --seed`,
      '--times many': `option '--times <number>' argument 'many' ${wholeNumber(1)}`,
    },
  },
  'npm run soak': {
    help: [
      '--minutes <number> for how long (default: 60)', '--store <store> ', '(choices: "redis", "lmdb", default: "redis")', '--processes <number> how many serve on Redis (default: 3)',
      '--guests <number> how many talk at one time (default: 16)', '--restart-seconds <number> from one restart to the next (default: 60)', '--seed <number> ', '(default: 1)',
    ],
    wrong: {
      '--nonsense': `${unknown} --minutes, --store, --processes, --guests, --restart-seconds, --seed`,
      '--minutes 0': "option '--minutes <number>' argument '0' is invalid. It must be a number above 0, of at most six digits, such as 30 or 0.5",
    },
  },
  'npm run sequences': {
    help: [
      '--runs <number> how many sequences (default: 1000)', '--seed <number> what they are drawn from (default: a new one)', '--path <path> ',
      '--length <number> commands in a sequence, at most (default: 40)', '--store <url> ', '(default: "lmdb:./data")', '--edge <engine> ', '(choices: "uws", "node", default: uws where it loads, else node)',
    ],
    wrong: {
      '--nonsense': `${unknown} --runs, --seed, --path, --length, --store, --edge`,
      '--length -1': `option '--length <number>' argument '-1' ${wholeNumber(0)}`,
      '--store nonsense': `option '--store <url>' argument 'nonsense' is invalid. It must be lmdb:FOLDER, memory:, redis://HOST:PORT or redis-cluster://HOST:PORT,HOST:PORT, not "nonsense"`,
      '--path': "option '--path <path>' argument missing. It is the path of a failure, as it was printed; goes with its --seed and --runs",
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
      '--promise <name> ', '--store <store> on which store (choices: "lmdb", "redis", "both", default: "both")', '--times <number> repetitions of each experiment (default: 10; with --seed 1)',
      '--seed <number> ', '(default: a new one)', '--abreast <number> ', '--list ',
    ],
    wrong: {
      '--nonsense': `${unknown} --promise, --store, --times, --seed, --abreast, --list`,
      '--promise all --times 0': `option '--times <number>' argument '0' ${wholeNumber(1)}`,
      '': `--promise is missing. ${promises}`,
    },
  },
  'node --import=tsx bench/failover.ts': {
    help: ['--times <number> how many are killed for each durability (default: 10)', '--durability <durability> ', '(choices: "committed", "replicated", default: one after the other)'],
    wrong: {
      '--nonsense': `${unknown} --times, --durability`,
      '--times 1e3': `option '--times <number>' argument '1e3' ${wholeNumber(1)}`,
      '--durability': "option '--durability <durability>' argument missing. Allowed choices are committed, replicated",
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

/** Runs it without npm, which only takes time. */
function run(line: string, args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const words = (line.startsWith('npm run ') ? scripts[line.slice('npm run '.length)]! : line).split(' ').slice(1);
  return new Promise((done) => execFile(process.execPath, [...words, ...args], { cwd }, (error, stdout, stderr) => done({ code: error?.code ?? 0, stdout, stderr })));
}

for (const [line, { help, wrong }] of Object.entries(commands)) {
  t.test(line, async (t) => {
    const helped = async (): Promise<void> => {
      const { code, stdout, stderr } = await run(line, ['--help']);
      t.strictSame({ code, stderr }, { code: 0, stderr: '' });
      const words = stdout.replace(/\s+/g, ' ');
      t.ok(words.startsWith(`Usage: ${line}`), 'how it is called');
      for (const text of ['-h, --help print help', `Examples: ${line} `, ...help]) t.ok(words.includes(text), `${text} is in ${stdout}`);
    };
    const refused = async ([given, said]: [string, string]): Promise<void> => {
      t.strictSame(await run(line, given.split(' ').filter(Boolean)), { code: 2, stdout: '', stderr: `${line}: ${said}; --help tells more.\n` }, given);
    };
    await Promise.all([helped(), ...Object.entries(wrong).map(refused)]);
  });
}

t.test('every script that takes options is among them', async (t) => {
  const others = ['start', 'build', 'test'];
  t.same(Object.keys(commands).flatMap((line) => /^npm run (\w+)$/.exec(line)?.[1] ?? []).sort(), Object.keys(scripts).filter((name) => !others.includes(name)).sort());
});
