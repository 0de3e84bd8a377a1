/** The choice of an assistant, for commands that may be called without naming one. */
import type { Parley } from '../client/parley.ts';
import type { Assistant } from '../client/types.ts';
import { CommandFailure, UsageFailure } from './exit.ts';
import { oneLine } from './output.ts';

export interface Choice {
  /** Whether an assistant that was not named will do; a published one. */
  readonly suits?: (assistant: Assistant) => boolean;
  /** The error message if none does. */
  readonly none: string;
}

/**
 * Returns the assistant that `selector` names by id or name; without it the only one that suits, or the one called
 * "demo".
 */
export async function chooseAssistant(
  parley: Parley,
  selector: string | undefined,
  { suits = () => true, none }: Choice,
): Promise<Assistant> {
  const all = await parley.assistants.list().all();
  if (selector === undefined) {
    const suitable = all.filter((one) => one.status === 'published' && suits(one));
    const chosen = suitable.length === 1 ? suitable[0] : suitable.find((one) => one.name === 'demo');
    if (chosen) return chosen;
    throw new UsageFailure(suitable.length === 0 ? none : `Choose an assistant with --assistant: ${names(suitable)}.`);
  }
  const named = all.filter((one) => one.id === selector || one.name === selector);
  if (named.length === 1) return named[0]!;
  if (named.length === 0)
    throw new CommandFailure(`The key reaches no assistant "${selector}". It reaches: ${names(all) || 'none'}.`);
  throw new UsageFailure(
    `Several assistants are called "${selector}"; name one by its id: ${named.map((one) => one.id).join(', ')}.`,
  );
}

const names = (assistants: readonly Assistant[]): string => assistants.map((one) => oneLine(one.name)).join(', ');
