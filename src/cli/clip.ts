/** WAV files as audio that is spoken: their samples, and the pace. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { pause, realClock } from '../client/clock.ts';
import { Resampler } from '../providers/voice/audio/resample.ts';
import { joinedSamples } from '../providers/voice/audio/samples.ts';
import { UnreadableAudio } from '../providers/voice/audio/unreadable.ts';
import { readWav } from '../providers/voice/audio/wav.ts';
import { CommandFailure, UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { codeOfThrown } from '../base/thrown.ts';

export interface Clip {
  readonly samples: Int16Array;
  readonly sampleRate: number;
}

const frameMs = 20;

/** Reads a WAV file, or stdin for `-`; `command` is named in the advice where stdin is a terminal. */
export async function readClip(io: Io, file: string, command: string): Promise<Clip> {
  if (file === '-' && io.stdin.isTTY)
    throw new UsageFailure(`Name a WAV file, as in ${command} hello.wav, or send one on stdin.`);
  try {
    const clip = readWav(file === '-' ? await buffer(io.stdin) : await readFile(file));
    if (clip.samples.length === 0) throw new UnreadableAudio('The WAV has no audio.');
    return clip;
  } catch (error) {
    if (error instanceof UnreadableAudio)
      throw new CommandFailure(`${file === '-' ? 'The input on stdin' : file} cannot be read: ${error.message}`);
    throw new CommandFailure(`The file ${file} cannot be read (${codeOfThrown(error)}).`);
  }
}

/** The clip at this rate. */
export function resampled({ samples, sampleRate }: Clip, rate: number): Clip {
  if (sampleRate === rate) return { samples, sampleRate };
  const resampler = new Resampler(sampleRate, rate);
  return { samples: joinedSamples([resampler.push(samples), resampler.end()]), sampleRate: rate };
}

/** Gives the samples in frames, as fast as they were spoken; `send` may hold it up. */
export async function atItsPace(
  { samples, sampleRate }: Clip,
  send: (frame: Int16Array) => Promise<void> | void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const frame = Math.round((sampleRate * frameMs) / 1000);
  // The first frame waits for the socket, which opens meanwhile.
  await send(samples.subarray(0, frame));
  const begun = realClock.now();
  for (let at = frame; at < samples.length; at += frame) {
    const waitMs = begun + (at / sampleRate) * 1000 - realClock.now();
    if (waitMs > 0) await pause(realClock, waitMs, signal);
    await send(samples.subarray(at, at + frame));
  }
}
