/** The arguments of a benchmark run: the questions and their options. */
import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import type { Wanted } from './answer.ts';
import { developmentCommand, numberOption } from './harness/development-command.ts';
import type { Question, Size } from './harness/question.ts';
import { rulers, type RulerName } from './harness/ruler.ts';
import { questions } from './questions.ts';

const roundsOf: Readonly<Record<Size, number>> = { full: 5, quick: 3, smoke: 1 };

interface Given {
  readonly quick?: true;
  readonly smoke?: true;
  readonly rounds: number | null;
  readonly peers?: true;
  readonly profile: string | null;
  readonly ruler: RulerName | null;
  readonly write?: true;
}

function question(name: string, before: readonly Question[] = []): readonly Question[] {
  const found = questions.find((one) => one.name === name);
  if (found === undefined)
    throw new InvalidArgumentError(`It must be one of ${questions.map((one) => one.name).join(', ')}.`);
  return [...before, found];
}

/** Parses the words after `npm run bench --`; ends the process if they ask for help or name something unknown. */
export function readArguments(words: readonly string[]): Wanted & { readonly write: boolean } {
  const command = developmentCommand(
    'npm run bench --',
    'What the product costs, against the least that it could: every question, or those named. Leaves a report in bench/results.',
    `
    npm run bench -- relay --quick      one question in about a minute
    npm run bench -- --rounds 9         every question, in more rounds than five
    npm run bench -- --peers --write    other people's frameworks too, and docs/performance.md anew`,
  )
    .argument('[question...]', `${questions.map(({ name }) => name).join(', ')} (default: all)`, question)
    .option('--quick', 'fewer cases and shorter measurements, for a first look')
    .option('--smoke', 'only show that it runs')
    .addOption(
      numberOption('--rounds <number>', 'rounds, whose median counts', 1).default(
        null,
        `${roundsOf.full}; ${roundsOf.quick} with --quick, ${roundsOf.smoke} with --smoke`,
      ),
    )
    .option('--peers', "measure other people's frameworks too, which installs bench/peers")
    .addOption(
      new Option(
        '--profile <folder>',
        "leave a CPU profile of each of parley's servers there, for the developer tools of a browser; it costs them a little",
      ).default(null, 'none'),
    )
    .addOption(
      new Option('--ruler <language>', 'what load and provider are written in')
        .choices(rulers)
        .default(null, 'C, where there is a compiler'),
    )
    .addOption(
      new Option(
        '--write',
        'write docs/performance.md anew; what is not asked stays as its last run found it',
      ).conflicts(['profile', 'smoke']),
    )
    .parse(words, { from: 'user' });
  const { quick, smoke, rounds, peers = false, profile, ruler, write = false } = command.opts<Given>();
  const named: readonly Question[] = command.processedArgs[0];
  const size: Size = smoke ? 'smoke' : quick ? 'quick' : 'full';
  return {
    asked: questions.filter((one) => named.length === 0 || named.includes(one)),
    size,
    rounds: rounds ?? roundsOf[size],
    peers,
    profile: profile && resolve(profile),
    ruler,
    write,
  };
}
