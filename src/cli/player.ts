/** Plays speech through the first player that the machine has. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { signalChild } from '../base/signals.ts';
import type { Speech } from '../client/speech.ts';
import type { Environment } from './io.ts';
import { CommandFailure } from './exit.ts';

export interface Player {
  readonly program: string;
  /** Before the name of the file. */
  readonly args: readonly string[];
  /** Whether it reads stdin, given `-`, and plays while it does. */
  readonly reads: boolean;
}

const players: readonly Player[] = [
  { program: 'ffplay', args: ['-nodisp', '-autoexit', '-loglevel', 'quiet'], reads: true },
  { program: 'aplay', args: ['-q'], reads: false },
  { program: 'afplay', args: [], reads: false },
  { program: 'paplay', args: [], reads: false },
];

/** The first player on the path, or null. */
export const installedPlayer = (env: Environment): Player | null => firstInstalled(players, env);

/** The first of these programs that is on the path, or null. */
export function firstInstalled<Program extends { readonly program: string }>(
  programs: readonly Program[],
  { PATH = '' }: Environment,
): Program | null {
  const folders = PATH.split(delimiter).filter((folder) => folder !== '');
  return programs.find(({ program }) => folders.some((folder) => isProgram(join(folder, program)))) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when it has been played to its end. */
export async function play(player: Player, speech: Speech, signal: AbortSignal): Promise<void> {
  if (player.reads) return run(player, '-', speech, signal);
  const folder = await mkdtemp(join(tmpdir(), 'parley-'));
  try {
    const file = join(folder, 'speech.wav');
    await writeFile(file, await speech.bytes());
    await run(player, file, null, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function run(
  { program, args }: Player,
  source: string,
  input: Speech | null,
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(program, [...args, source], { stdio: [input === null ? 'ignore' : 'pipe', 'ignore', 'ignore'] });
  const stop = (): void => signalChild(child, 'SIGTERM');
  signal.addEventListener('abort', stop);
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', resolve);
    child.on('error', () => resolve(null));
  });
  try {
    // The exit code of a player that has left reports the failure; the broken pipe does not.
    if (input !== null)
      await pipeline(input, child.stdin!).catch(
        (error: NodeJS.ErrnoException) => pipeEnds.has(error.code) || Promise.reject(error),
      );
    const code = await ended;
    signal.throwIfAborted();
    if (code !== 0) throw new CommandFailure(`${program} could not play it. Write it to a file with --out speech.wav.`);
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}

const pipeEnds = new Set<string | undefined>(['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE']);
