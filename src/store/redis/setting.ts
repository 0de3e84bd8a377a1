/** What Redis is set to, asked of itself. */
import type { Reply } from './reply.ts';
import { textOf } from './reply.ts';

/** Sends one command to the server that is asked. */
export type Ask = (...words: string[]) => Promise<Reply>;

/** The value of one setting. Rejects where Redis does not let it be asked, as some services do not. */
export async function settingOf(ask: Ask, name: string): Promise<string> {
  const answer = (await ask('CONFIG', 'GET', name)) as unknown;
  // A map of RESP3, as node-redis has it.
  const reply: Reply[] = Array.isArray(answer) ? answer : answer instanceof Map ? [...answer.entries()].flat() : Object.entries(answer as object).flat();
  return textOf(reply[1]);
}

export const unaskable = 'Redis does not let parley ask whether it keeps an append-only file (CONFIG GET appendonly)';
export const volatile = 'Redis keeps no append-only file and would lose what it acknowledged';
