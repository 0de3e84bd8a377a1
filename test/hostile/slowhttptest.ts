/** The attacks of slowhttptest, a program of others: slow heads, slow bodies, slow readers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { environment } from '../installed.ts';
import { longTurn } from './slow.ts';
import type { World } from './world.ts';
import { patient } from '../run/speed.mjs';

export const attacks = ['slow heads', 'slow bodies', 'slow readers'] as const;
export type Attack = (typeof attacks)[number];

const optionsOf: Readonly<Record<Attack, (world: World) => Promise<readonly string[]>>> = {
  'slow heads': async ({ house }) => ['-H', '-u', `${house.url}/assistants`],
  'slow bodies': async ({ house }) => ['-B', '-t', 'POST', '-f', 'application/json', '-u', `${house.url}/sessions`],
  'slow readers': async (world) => [
    '-X',
    '-w',
    '512',
    '-y',
    '1024',
    '-n',
    '1',
    '-z',
    '32',
    '-u',
    `${world.house.url}${await longTurn(world)}`,
  ],
};

/** The program has no option for headers but one for cookies, and hands that on as it is. */
const authorized = ({ house }: World): string => `a=b\r\nX-API-Key: ${house.key}`;

const pollMs = 25;
/** Milliseconds after which the server has closed some, and the number of connections no longer grows. */
const comingMsMax = patient(20_000);

/**
 * Resolves with what ends it, once its connections are there; or the server has let go of them all by then. The program
 * is as busy as it can be: with a niceness of up to 19 it leaves the cores to what is measured beside it.
 */
export async function beginAttack(
  world: World,
  attack: Attack,
  connections: number,
  niceness = 0,
): Promise<() => Promise<void>> {
  const common = ['-c', connections, '-r', connections, '-i', 2, '-l', 600, '-j', authorized(world)].map(String);
  const child = spawn(
    'nice',
    ['-n', String(niceness), 'slowhttptest', ...common, ...(await optionsOf[attack](world))],
    { env: environment, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  let over = false;
  const ended = once(child, 'close').finally(() => (over = true));
  ended.catch(() => {});
  for (let waitedMs = 0; !over && waitedMs < comingMsMax && descriptors(child.pid!) < connections; waitedMs += pollMs)
    await pause(pollMs);
  if (over && child.exitCode !== 0) throw new Error(`slowhttptest ended with ${child.exitCode ?? child.signalCode}`);
  return async () => {
    child.kill('SIGKILL');
    await ended;
  };
}

function descriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
