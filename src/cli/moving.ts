/** Code that `parley export` and `parley import` share. */
import type { Command } from 'commander';
import { WheelClock, type Clock } from '../base/clock.ts';
import { readConfig, settings, type Config } from '../base/config.ts';
import { counted } from '../base/text.ts';
import type { Io } from './io.ts';
import { Progress } from './progress.ts';
import { flagOption, withFlags, type Flags } from './serve.ts';

/**
 * The settings of a move. An environment file may hold the server's other settings too; a move ignores them.
 */
export type MovingVariables = readonly (
  | 'PARLEY_STORE'
  | 'PARLEY_SECRET'
  | 'PARLEY_DURABILITY'
  | 'PARLEY_ALLOW_VOLATILE'
  | 'PARLEY_ACCEPT_LOSS'
)[];

/** Adds the flags of these settings. */
export function withSettings(command: Command, variables: MovingVariables): Command {
  for (const setting of settings)
    if ((variables as readonly string[]).includes(setting.variable)) command.addOption(flagOption(setting));
  return command;
}

/** Runs a move with its settings and shows its progress. */
export async function runMove<T>(
  io: Io,
  given: { readonly options: Flags; readonly variables: MovingVariables },
  line: () => string,
  move: (config: Config, clock: Clock) => Promise<T>,
): Promise<T> {
  const environment = withFlags(given.options, io.env);
  const config = readConfig(Object.fromEntries(given.variables.map((variable) => [variable, environment[variable]])));
  const clock = new WheelClock();
  const progress = new Progress(io.stderr, clock, line);
  try {
    return await move(config, clock);
  } finally {
    progress.end();
    clock.stop();
  }
}

const plurals: Readonly<Record<string, string>> = {
  history: 'histories',
  memory: 'remembered requests',
  usage: 'usage rows',
  audit: 'audit rows',
  delivery: 'deliveries',
};

/** `3 rows: 1 workspace, 2 keys` */
export function countsText(rows: number, counts: Readonly<Record<string, number>>): string {
  const kinds = Object.entries(counts).map(
    ([kind, count]) => `${count} ${plurals[kind] ?? (count === 1 ? kind : `${kind}s`).replaceAll('_', ' ')}`,
  );
  return `${counted(rows, 'row')}${kinds.length === 0 ? '' : `: ${kinds.join(', ')}`}`;
}
