/** The development commands describe their use, and name a wrong use in one line. None of them starts anything here. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t from 'tap';
import manifest from '../package.json' with { type: 'json' };
import { bundle } from './bundle.mjs';

interface Example {
  /** The help of each option and argument, line breaks aside; "…" stands for words that nobody relies on. */
  readonly help: readonly string[];
  /**
   * Invalid arguments, with their messages. The words of an unknown option come from the command's own list, in one
   * place for all.
   */
  readonly wrong: Readonly<Record<string, string>>;
}

const wholeNumber = (least: number): string => `is invalid. It must be a whole number from ${least} to 999999999`;
const unknown = "unknown option '--nonsense'. The options are";
const promises =
  'It must be all, one of P1, P2, P3, P4, P5, P6, P7, P9, P10, P11, P12, P17, P24, P25, T1, T2, T3, R4, T4, V1, V3, C1, C2, C3, C4, C5, W1, D1, D2, D3, D4, A1, A3, or an experiment that --list tells';

const commands: Readonly<Record<string, Example>> = {
  'npm test': {
    help: ['[path...]', '(default: test)', '--changed ', '--measure ', 'N passed, N failed[, N skipped]'],
    wrong: {
      '--nonsense': `${unknown} --changed, --skip-checks, --measure`,
      '--changed=all': "option '--changed' does not take an argument",
    },
  },
  'npm run bench': {
    help: [
      '[question...] ',
      'question relay, turn, ',
      '(default: all)',
      '--quick ',
      '--smoke ',
      '--rounds <number> ',
      '(default: 5; 3 with --quick, 1 with --smoke)',
      '--peers ',
      '--profile <folder> ',
      '--ruler <language> ',
      '(choices: "C", "Node"',
      '--write ',
    ],
    wrong: {
      '--nonsense': `${unknown} --quick, --smoke, --rounds, --peers, --profile, --ruler, --write`,
      'relay --rounds 0': `option '--rounds <number>' argument '0' ${wholeNumber(1)}`,
    },
  },
  'npm run simulate': {
    help: [
      '--seed <number> ',
      '--runs <number> … (default: 100)',
      '--from <number> … (default: a new one)',
      '--mode <mode> ',
      `(choices: "embedded", "shared", "failover", default: the bug's; without one the seed says which)`,
      '--story ',
      '--bug <words> ',
      '(default: none)',
      'Deliberate bugs: a withdrawal leaves no trace',
    ],
    wrong: {
      '--seed 1.5': `option '--seed <number>' argument '1.5' ${wholeNumber(0)}`,
    },
  },
  'npm run fuzz': {
    help: [
      '--what <what> ',
      '"requests", "voice", "calls", "faults", "slow", default: "requests")',
      '--edge <engine> ',
      '(choices: "uws", "node", default: "uws")',
      '--times <number> … (default: 20000)',
      '--seed <number> … (default: a new one)',
    ],
    wrong: {
      '--times many': `option '--times <number>' argument 'many' ${wholeNumber(1)}`,
    },
  },
  'npm run providers': {
    help: ['--provider <name> ', '"Mistral", ', '"all", default: "all")', '--silent '],
    wrong: {
      '--provider Nobody':
        "option '--provider <name>' argument 'Nobody' is invalid. Allowed choices are OpenAI, Mistral, Gemini, Kimi, DeepSeek, vLLM, Groq, Cerebras, OpenRouter, Ollama, xAI, Bedrock, Anthropic, DeepSeek for Anthropic, all",
    },
  },
  'npm run repeat': {
    help: [
      '--engine <engine> ',
      '(choices: "uws", "node", "both", default: "both")',
      '--times <number> … (default: 100000)',
      '--row <name> ',
      '(default: all)',
    ],
    wrong: {
      '--times 0': `option '--times <number>' argument '0' ${wholeNumber(1)}`,
    },
  },
  'npm run soak': {
    help: [
      '--minutes <number> … (default: 60)',
      '--store <store> ',
      '(choices: "redis", "lmdb", default: "redis")',
      '--processes <number> … (default: 3)',
      '--guests <number> … (default: 16)',
      '--restart-seconds <number> … (default: 60)',
      '--seed <number> ',
      '(default: 1)',
    ],
    wrong: {
      '--minutes 0':
        "option '--minutes <number>' argument '0' is invalid. It must be a number above 0, of at most six digits, such as 30 or 0.5",
    },
  },
  'npm run sequences': {
    help: [
      '--runs <number> … (default: 1000)',
      '--seed <number> … (default: a new one)',
      '--path <path> ',
      '--length <number> … (default: 40)',
      '--store <url> ',
      '(default: "lmdb:./data")',
      '--edge <engine> ',
      '(choices: "uws", "node", default: uws where it loads, else node)',
    ],
    wrong: {
      '--length -1': `option '--length <number>' argument '-1' ${wholeNumber(0)}`,
      '--store nonsense': `option '--store <url>' argument 'nonsense' is invalid. It must be lmdb:FOLDER, memory:, redis://HOST:PORT or redis-cluster://HOST:PORT,HOST:PORT, not "nonsense"`,
      '--path':
        "option '--path <path>' argument missing. It is the path of a failure, as it was printed; goes with its --seed and --runs",
    },
  },
  'npm run differential': {
    help: [
      '--runs <number> … (default: 500)',
      '--seed <number> … (default: a new one)',
      '--path <path> ',
      '--length <number> … (default: 150)',
    ],
    wrong: {
      '--runs -1': `option '--runs <number>' argument '-1' ${wholeNumber(0)}`,
      '--path':
        "option '--path <path>' argument missing. It is the path of a difference, as it was printed; goes with its --seed, --runs and --length",
    },
  },
  'npm run golden': {
    help: ['<version> ', 'version the version, two numbers and a point'],
    wrong: {
      '--nonsense': "unknown option '--nonsense'. It has none",
      '0.1':
        "command-argument value '0.1' is invalid for argument 'version'. It must be a version that has no golden files yet, such as 0.2",
      '': "missing required argument 'version'. It must be a version that has no golden files yet, such as 0.2",
    },
  },
  'npm run faults': {
    help: [
      '--promise <name> ',
      '--store <store> … (choices: "lmdb", "redis", "both", default: "both")',
      '--times <number> … (default: 10; with --seed 1)',
      '--seed <number> ',
      '(default: a new one)',
      '--abreast <number> ',
      '--list ',
    ],
    wrong: {
      '--promise all --times 0': `option '--times <number>' argument '0' ${wholeNumber(1)}`,
      '': `--promise is missing. ${promises}`,
    },
  },
  'node --import=tsx bench/failover.ts': {
    help: [
      '--times <number> … (default: 10)',
      '--stopped <ms> how long the replica is stopped before',
      '--durability <durability> ',
      '(choices: "committed", "replicated", "replicated-output", default: one after the other)',
    ],
    wrong: {
      '--times 1e3': `option '--times <number>' argument '1e3' ${wholeNumber(1)}`,
      '--durability':
        "option '--durability <durability>' argument missing. Allowed choices are committed, replicated, replicated-output",
    },
  },
  'node --import=tsx bench/replication.ts': {
    help: ['--abreast <number> … (default: 1)', '--rounds <number> … (default: 9)', '--turns <number> … (default: 40)'],
    wrong: {
      '--turns many': `option '--turns <number>' argument 'many' ${wholeNumber(1)}`,
    },
  },
  'node --import=tsx bench/stored-sessions.ts': {
    help: [
      '[sessions]',
      'sessions how many (default: 10000)',
      '--turns <number> … (default: 6)',
      '--store <store> … (choices: "lmdb", "redis", default: "lmdb")',
    ],
    wrong: {
      '0': `command-argument value '0' is invalid for argument 'sessions'. It must be a whole number from 1 to 999999999`,
      '--store memory:': "option '--store <store>' argument 'memory:' is invalid. Allowed choices are lmdb, redis",
    },
  },
  'node --import=tsx --expose-gc bench/idle-sessions.ts': {
    help: ['[sessions]', 'sessions how many (default: 1000000)'],
    wrong: {
      '0': `command-argument value '0' is invalid for argument 'sessions'. It must be a whole number from 1 to 999999999`,
    },
  },
};

const cwd = fileURLToPath(new URL('..', import.meta.url));
const scripts: Readonly<Record<string, string>> = manifest.scripts;

/** Returns Node's arguments for a command: npm itself would only take time. */
const wordsOf = (line: string): string[] =>
  (line.startsWith('npm ') ? scripts[line.split(' ').at(-1)!]! : line).split(' ').slice(1);

interface Outcome {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function runProcess(words: readonly string[], args: readonly string[]): Promise<Outcome> {
  return new Promise((done) =>
    execFile(process.execPath, [...words, ...args], { cwd }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

const isProgram = (word: string): boolean => word.endsWith('.ts');
const programOf = (line: string): string | undefined => wordsOf(line).find(isProgram);
const programs = Object.keys(commands).flatMap((line) => programOf(line) ?? []);
const bundled: readonly string[] = await bundle(programs);

class Ended extends Error {
  readonly code: unknown;

  constructor(code: unknown) {
    super(`ended with ${code}`);
    this.code = code;
  }
}

let runs = 0;

/**
 * Runs a bundled program within this process, which has loaded all that the programs stand on: it is evaluated anew,
 * and ends by an error.
 */
async function runWithin(program: string, args: readonly string[]): Promise<Outcome> {
  const { argv, exit, stdout, stderr } = process;
  const writers = [stdout, stderr].map((stream) => ({ stream, write: stream.write, text: '' }));
  for (const writer of writers)
    writer.stream.write = (text: string | Uint8Array): boolean => ((writer.text += text), true);
  process.exit = (code) => {
    throw new Ended(code);
  };
  process.argv = [process.execPath, join(cwd, program), ...args];
  try {
    const url = pathToFileURL(join(cwd, bundled[programs.indexOf(program)]!));
    const ended: unknown = await import(`${url.href}?run=${runs++}`).then(
      () => null,
      (error) => error,
    );
    if (!(ended instanceof Ended)) throw new Error(`${program} ${args.join(' ')} did not end`, { cause: ended });
    return { code: ended.code, stdout: writers[0]!.text, stderr: writers[1]!.text };
  } finally {
    for (const { stream, write } of writers) stream.write = write;
    Object.assign(process, { argv, exit });
  }
}

/** Run as it is written; of the others the words before the program are compared with its words. */
const asWritten = 'npm run simulate';
/** Another program imports it, so within this process it would be evaluated only once. */
const imported = 'bench/failover.ts';

/** The arguments of Node for a bundle, whose program may run only where it is what Node was given. */
const bundleOf = (program: string): string[] => [
  `--import=data:text/javascript,${encodeURIComponent(`process.argv[1] = ${JSON.stringify(join(cwd, program))};`)}`,
  bundled[programs.indexOf(program)]!,
];

function run(line: string, args: readonly string[]): Promise<Outcome> {
  const program = programOf(line);
  if (program === undefined || (line === asWritten && args.includes('--help'))) return runProcess(wordsOf(line), args);
  return program === imported ? runProcess(bundleOf(program), args) : runWithin(program, args);
}

/** Whether a help says a text, in which "…" stands for words that nobody relies on. */
const says = (help: string, text: string): boolean =>
  new RegExp(
    text
      .split('…')
      .map((part) => part.replace(/[^\w\s]/g, '\\$&'))
      .join('[^(]*'),
  ).test(help);

// Before the first test begins: it would write to the same stdout.
const outcomes = new Map<string, { readonly helped: Outcome; readonly refused: readonly Outcome[] }>();
for (const [line, { wrong }] of Object.entries(commands)) {
  const refused: Outcome[] = [];
  for (const given of Object.keys(wrong)) refused.push(await run(line, given.split(' ').filter(Boolean)));
  outcomes.set(line, { helped: await run(line, ['--help']), refused });
}

for (const [line, { help, wrong }] of Object.entries(commands)) {
  t.test(line, async (t) => {
    const {
      helped: { code, stdout, stderr },
      refused,
    } = outcomes.get(line)!;
    t.strictSame({ code, stderr }, { code: 0, stderr: '' });
    const words = stdout.replace(/\s+/g, ' ');
    t.ok(words.startsWith(`Usage: ${line}`), 'how it is called');
    for (const text of ['-h, --help print help', `Examples: ${line} `, ...help])
      t.ok(says(words, text), `${text} is in ${stdout}`);
    Object.entries(wrong).forEach(([given, said], index) => {
      t.strictSame(refused[index], { code: 2, stdout: '', stderr: `${line}: ${said}; --help tells more.\n` }, given);
    });
    const program = programOf(line);
    if (program !== undefined)
      t.same(
        wordsOf(line).filter((word) => word !== '--expose-gc'),
        ['--import=tsx', program],
      );
  });
}

t.test('every script that takes options is among them', async (t) => {
  const others = ['start', 'build', 'format', 'screenshots'];
  t.same(
    Object.keys(commands)
      .flatMap((line) => /^npm (?:run )?(\w+)$/.exec(line)?.[1] ?? [])
      .sort(),
    Object.keys(scripts)
      .filter((name) => !others.includes(name))
      .sort(),
  );
});
