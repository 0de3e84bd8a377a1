/**
 * The microphone and the loudspeaker of a call, as programs that the machine has. Both carry raw 16-bit samples, mono.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { signalChild } from '../base/signals.ts';
import { CommandFailure, UsageFailure } from './exit.ts';
import type { Environment } from './io.ts';
import { oneLine } from './output.ts';
import { firstInstalled } from './player.ts';

/** Hertz of both. */
export const soundRate = 16_000;

interface SoundProgram {
  readonly program: string;
  readonly args: readonly string[];
}

const raw = ['-q', '-t', 'raw', '-r', `${soundRate}`, '-e', 'signed', '-b', '16', '-c', '1', '-'];
const alsa = ['-q', '-t', 'raw', '-f', 'S16_LE', '-r', `${soundRate}`, '-c', '1'];
const pulse = ['--raw', '--format=s16le', `--rate=${soundRate}`, '--channels=1', '--latency-msec=40'];
const ffmpegInput =
  process.platform === 'darwin' ? ['-f', 'avfoundation', '-i', ':0'] : ['-f', 'pulse', '-i', 'default'];

const recorders: readonly SoundProgram[] = [
  { program: 'arecord', args: alsa },
  { program: 'rec', args: raw },
  { program: 'parecord', args: pulse },
  {
    program: 'ffmpeg',
    args: ['-loglevel', 'error', '-nostdin', ...ffmpegInput, '-ac', '1', '-ar', `${soundRate}`, '-f', 's16le', '-'],
  },
];

const loudspeakers: readonly SoundProgram[] = [
  {
    program: 'ffplay',
    args: [
      '-nodisp',
      '-loglevel',
      'quiet',
      '-fflags',
      'nobuffer',
      '-probesize',
      '32',
      '-f',
      's16le',
      '-ar',
      `${soundRate}`,
      '-',
    ],
  },
  { program: 'aplay', args: [...alsa, '--buffer-time=100000'] },
  { program: 'play', args: raw },
  { program: 'paplay', args: pulse },
];

/** A program that runs until it is stopped. */
export class Sound {
  readonly #program: string;
  readonly #child: ChildProcess;
  readonly #signs: string[] = [];
  #stopped = false;
  /** Resolves with the failure, if it ends before it is stopped. */
  readonly failed: Promise<CommandFailure>;

  constructor({ program, args }: SoundProgram, does: string) {
    this.#program = program;
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    // The exit code of a program that has left reports the failure; the broken pipe does not.
    this.#child.stdin!.on('error', () => {});
    this.#child
      .stderr!.setEncoding('utf8')
      .on('data', (text: string) => this.#signs.length < 20 && this.#signs.push(text));
    this.failed = new Promise((resolve) => {
      const ended = (): void => {
        const [sign = ''] = this.#signs.join('').trim().split('\n');
        if (!this.#stopped)
          resolve(new CommandFailure(`${this.#program} could not ${does}${sign === '' ? '.' : `: ${oneLine(sign)}`}`));
      };
      this.#child.on('close', ended);
      this.#child.on('error', ended);
    });
  }

  get output(): Readable {
    return this.#child.stdout!;
  }

  get input(): Writable {
    return this.#child.stdin!;
  }

  stop(): void {
    this.#stopped = true;
    signalChild(this.#child, 'SIGTERM');
  }
}

/** Opens the microphone. Throws where there is no program for it. */
export function microphone(env: Environment): Sound {
  const recorder = firstInstalled(recorders, env);
  if (recorder === null)
    throw new UsageFailure(
      `No recording program is installed (${names(recorders)}). Send a file instead: --from hello.wav.`,
    );
  return new Sound(recorder, 'record');
}

/** Opens the loudspeaker; null where there is no program for it. */
export function loudspeaker(env: Environment): Sound | null {
  const player = firstInstalled(loudspeakers, env);
  if (player === null) return null;
  const sound = new Sound(player, 'play');
  // The program's output is not needed, and a full pipe must not block it.
  sound.output.resume();
  return sound;
}

export const nothingPlays = `Nothing to play with is installed (${names(loudspeakers)}).`;

function names(programs: readonly SoundProgram[]): string {
  const all = programs.map(({ program }) => program);
  return `${all.slice(0, -1).join(', ')} or ${all.at(-1)!}`;
}
