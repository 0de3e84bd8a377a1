/** Reads Redis's settings from Redis itself. */
import type { Reply } from './reply.ts';
import { textOf } from './reply.ts';

/** Sends one command to the server in question. */
export type Ask = (...words: string[]) => Promise<Reply>;

/** The value of one setting. Rejects if Redis does not allow the query, as some hosted services do not. */
export async function settingOf(ask: Ask, name: string): Promise<string> {
  const answer = (await ask('CONFIG', 'GET', name)) as unknown;
  // A map in RESP3, as node-redis returns it.
  const reply: Reply[] = Array.isArray(answer) ? answer : answer instanceof Map ? [...answer.entries()].flat() : Object.entries(answer as object).flat();
  return textOf(reply[1]);
}

export const unaskable = 'Redis does not let parley ask whether it keeps an append-only file (CONFIG GET appendonly)';
export const volatile = 'Redis keeps no append-only file and would lose what it acknowledged';
