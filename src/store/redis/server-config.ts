/** Reads Redis's settings from Redis itself. */
import type { RedisReply } from './reply.ts';
import { textOfReply } from './reply.ts';

/** Sends one command to the server in question. */
export type SendCommand = (...words: string[]) => Promise<RedisReply>;

/**
 * The value of one setting; empty if Redis does not know it. Rejects if Redis does not allow the query, as some hosted
 * services do not.
 */
export async function readConfig(ask: SendCommand, name: string): Promise<string> {
  const answer = (await ask('CONFIG', 'GET', name)) as unknown;
  // A map in RESP3, as node-redis returns it.
  const reply: RedisReply[] = Array.isArray(answer)
    ? answer
    : answer instanceof Map
      ? [...answer.entries()].flat()
      : Object.entries(answer as object).flat();
  return reply[1] === undefined ? '' : textOfReply(reply[1]);
}

/** Whether Redis itself refuses a query, because it does not have the command or the user may not use it. */
export const isQueryRefused = (error: Error): boolean => /(?:^|: )(?:NOPERM|ERR) /.test(error.message);

const emptyIfRefused = (error: Error): string => {
  if (isQueryRefused(error)) return '';
  throw error;
};

/**
 * The policy of Redis for a full memory, as `noeviction`; empty if it does not let parley ask. Services that keep
 * CONFIG to themselves allow INFO.
 */
export async function evictionPolicyOf(ask: SendCommand): Promise<string> {
  const policy = await readConfig(ask, 'maxmemory-policy').catch(emptyIfRefused);
  if (policy !== '') return policy;
  const memory = await ask('INFO', 'memory').then(textOfReply).catch(emptyIfRefused);
  return /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? '';
}

/**
 * Whether a policy takes keys away. The policies `volatile-…` do as well: budgets, leases and answers that are kept for
 * a repeat have an end.
 */
export const evicts = (policy: string): boolean => policy !== '' && policy !== 'noeviction';

export const hiddenConfig =
  'Redis does not let parley ask whether it keeps an append-only file (CONFIG GET appendonly)';
export const volatile = 'Redis keeps no append-only file and would lose acknowledged writes';
