/** The common part of the development commands: their help, and their message on wrong usage. */
import { Command, Option, type CommanderError } from 'commander';
import { wholeNumber } from '../../src/cli/arguments.ts';

/**
 * The command that the line starts, such as `npm run soak --`. `--help` ends it with 0. Called the wrong way it says in
 * one line on stderr what is allowed and ends with 2; `error()` does the same for values that only the command itself
 * can judge.
 */
export function developmentCommand(line: string, description: string, examples: string): Command {
  const command = new Command(line)
    .description(description)
    .helpOption('-h, --help', 'print help')
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: () => {} })
    .exitOverride((error) => {
      if (error.exitCode !== 0) process.stderr.write(`${line.replace(/ --$/, '')}: ${sentence(command, error)}\n`);
      process.exit(error.exitCode === 0 ? 0 : 2);
    })
    .addHelpText('after', `\nExamples:\n${examples.trim().replace(/^ */gm, '  ')}`);
  return command;
}

/** An option that takes a whole number, of nine digits at most unless there are other bounds. */
export const numberOption = (flags: string, description: string, least = 0, most = 999_999_999): Option =>
  new Option(flags, description).argParser(wholeNumber(least, most));

/**
 * Returns a signal that is aborted when the process is asked to stop: work that has begun may run to its end. A second
 * signal ends the process at once.
 */
export function stopping(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => (stop.signal.aborted ? process.exit(130) : stop.abort()));
  return stop.signal;
}

function sentence(command: Command, { code, message }: CommanderError): string {
  const said = [message.replace(/^error: /, ''), allowed(command, code, message)].map((part) =>
    part.replace(/\.$/, ''),
  );
  return `${said.filter(Boolean).join('. ')}; --help tells more.`;
}

/** Returns the values allowed, where commander does not say them itself. */
function allowed(command: Command, code: string, message: string): string {
  if (code === 'commander.unknownOption')
    return command.options.length === 0
      ? 'It has none'
      : `The options are ${command.options.map(({ long }) => long).join(', ')}`;
  if (code === 'commander.optionMissingArgument')
    return takenBy(command.options.find(({ flags }) => message.includes(`'${flags}'`))!);
  if (code === 'commander.missingArgument') return takenBy(command.registeredArguments[0]!);
  return '';
}

/**
 * Returns the values that an argument takes: its parser lists them when it gets an empty text. For an argument that
 * takes any text, returns its description.
 */
function takenBy({ parseArg, description }: Pick<Option, 'parseArg' | 'description'>): string {
  try {
    parseArg?.('', undefined);
    return `It is ${description}`;
  } catch (error) {
    return (error as Error).message;
  }
}
