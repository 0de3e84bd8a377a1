/**
 * Runs `parley speak`, `listen` and `voices`: each finds key and assistant, does its work, and revokes a key that it
 * made.
 */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { extname } from 'node:path';
import { finished } from 'node:stream/promises';
import { text as textOf } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { ParleyError, RateLimitError } from '../client/failure.ts';
import { Parley } from '../client/parley.ts';
import type { Assistant, NewSpeech, Voice } from '../client/types.ts';
import { WheelClock } from '../base/clock.ts';
import { commandKey, type KeyOptions } from './api-key.ts';
import { chooseAssistant } from './assistant-choice.ts';
import { atItsPace, readClip, resampled } from './clip.ts';
import { serverUrl } from './connection.ts';
import { AdvisedFailure, CommandFailure, failureLine, UsageFailure } from './exit.ts';
import { HeardJson, HeardText, type Heard } from './heard.ts';
import type { Io } from './io.ts';
import { listText, pageQuery, type ListView, type PageOptions } from './list.ts';
import { note, print } from './output.ts';
import { installedPlayer, play } from './player.ts';

export interface VoiceOptions extends KeyOptions {
  readonly assistant?: string;
}

export interface SpeakOptions extends VoiceOptions {
  readonly format?: SpeechFormat;
  readonly voice?: string;
  readonly speed?: number;
  readonly out?: string;
}

export type ListenOptions = VoiceOptions;
export type VoicesOptions = VoiceOptions & PageOptions;
type SpeechFormat = NonNullable<NewSpeech['format']>;

export interface Speaking {
  readonly parley: Parley;
  readonly assistant: Assistant;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Runs a command with an assistant. Without `--assistant` it has voice on. */
export async function withAssistant(
  io: Io,
  name: string,
  options: VoiceOptions,
  run: (speaking: Speaking) => Promise<void>,
): Promise<void> {
  const clock = new WheelClock();
  const url = serverUrl(options, io.env);
  const stop = new AbortController();
  let signals = 0;
  // The first one leaves in order, and revokes the key; the second does not wait for that.
  const interrupted = (): void => (++signals > 1 ? io.exit(1) : stop.abort(new CommandFailure('Interrupted.')));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) io.on(signal, interrupted);
  try {
    const key = await commandKey(name, options, io.env, url, clock);
    try {
      const waits = ({ error, waitMs }: { error: Error; waitMs: number }): void => {
        if (error instanceof RateLimitError)
          note(io, `Trying again in ${Math.ceil(waitMs / 1000)} s: ${failureLine(error)}`);
      };
      const parley = new Parley({ url, key: key.key, WebSocket, onRetry: waits });
      const suits = (one: Assistant): boolean => one.channels.voice;
      const none =
        'No published assistant has voice on. Switch it on with `parley assistants update ID --voice`, or name another with --assistant.';
      const assistant = await chooseAssistant(parley, options.assistant, { suits, none });
      await run({ parley, assistant, signal: stop.signal });
    } finally {
      await key.revoke((text) => note(io, text));
    }
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) io.off(signal, interrupted);
    clock.stop();
  }
}

export async function runSpeak(io: Io, words: readonly string[], options: SpeakOptions): Promise<void> {
  const plays = options.out === undefined && io.stdout.isTTY === true;
  const player = plays ? installedPlayer(io.env) : null;
  if (plays && player === null) {
    throw new UsageFailure(
      'Audio is not for a terminal, and no player is installed (ffplay, aplay, afplay or paplay). Send it elsewhere: add > speech.wav or --out speech.wav.',
    );
  }
  const text = words.length > 0 ? words.join(' ') : await readStdin(io);
  const format = player === null ? (options.format ?? formatOf(options.out)) : 'wav';
  await withAssistant(io, 'parley speak', options, async ({ parley, assistant, signal }) => {
    const { voice, speed } = options;
    // Only a player that reads as it plays gains from audio that comes as it is made.
    const stream = player === null || player.reads;
    const wish = {
      assistant_id: assistant.id,
      text,
      format,
      stream,
      ...(voice !== undefined && { voice }),
      ...(speed !== undefined && { speed }),
    };
    const speech = await parley.speech(wish, { signal }).catch((error: unknown) => Promise.reject(withAdvice(error)));
    if (player !== null) return play(player, speech, signal);
    if (options.out === undefined) return writeAll(speech, io.stdout);
    await toFile(speech, options.out);
  });
}

async function readStdin({ stdin }: Io): Promise<string> {
  const text = stdin.isTTY ? '' : (await textOf(stdin)).trim();
  if (text === '') throw new UsageFailure('Give the text, as in parley speak "Hello there", or send it on stdin.');
  return text;
}

/** An explanation by field: the API's sentence is the same for all. */
const advice: Readonly<Record<string, string>> = {
  text: 'The text has no letter or digit to speak.',
  voice: 'The assistant has no such voice: see `parley voices`.',
};

function withAdvice(error: unknown): unknown {
  const sentence =
    error instanceof ParleyError && error.code === 'invalid_request' ? advice[error.field ?? ''] : undefined;
  return sentence === undefined ? error : new AdvisedFailure(sentence, error as ParleyError);
}

const formats: Readonly<Record<string, SpeechFormat>> = {
  '.pcm': 'pcm',
  '.raw': 'pcm',
  '.mp3': 'mp3',
  '.opus': 'opus',
  '.ogg': 'opus',
};
const formatOf = (path = ''): SpeechFormat => formats[extname(path).toLowerCase()] ?? 'wav';

/** Writes speech to a file. If the speech is cut, the file is removed, as it would look whole. */
async function toFile(speech: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = createWriteStream(path);
  const closed = finished(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`The file ${path} cannot be written (${error.code}).`);
  });
  closed.catch(() => {});
  try {
    await Promise.race([writeAll(speech, file), closed]);
  } catch (error) {
    if (!file.destroyed) await rm(path, { force: true });
    file.destroy();
    throw error;
  }
  file.end();
  await closed;
}

/** Writes with backpressure. */
async function writeAll(pieces: AsyncIterable<Uint8Array>, target: NodeJS.WritableStream): Promise<void> {
  for await (const piece of pieces) {
    if (!target.write(piece)) await new Promise((resolve) => target.once('drain', resolve));
  }
}

/** Sample rates that a transcription accepts; audio of another rate is resampled to the rate of recognition. */
const [rateMin, rateMax, rateOther] = [8000, 48_000, 16_000];

export async function runListen(io: Io, file: string, options: ListenOptions): Promise<void> {
  const read = await readClip(io, file, 'parley listen');
  const clip = read.sampleRate >= rateMin && read.sampleRate <= rateMax ? read : resampled(read, rateOther);
  const heard: Heard = options.json ? new HeardJson(io.stdout) : new HeardText(io.stdout);
  try {
    await withAssistant(io, 'parley listen', options, async ({ parley, assistant, signal }) => {
      const transcription = parley.transcribe({ assistant_id: assistant.id, sample_rate: clip.sampleRate }, { signal });
      // The service takes no more than ten seconds at once, and answers as it hears.
      const sending = atItsPace(clip, (frame) => transcription.send(frame), signal).then(() => transcription.finish());
      // The iteration has the same failure.
      sending.catch(() => {});
      for await (const message of transcription) heard.message(message);
      await sending;
    });
  } finally {
    heard.end();
  }
  if (!heard.anything) note(io, 'The audio contains no speech.');
}

export const voices = (io: Io, options: VoicesOptions): Promise<void> =>
  withAssistant(io, 'parley voices', options, async ({ parley, assistant, signal }) => {
    const list = await parley.voices({ assistant_id: assistant.id }).page(pageQuery(options), { signal });
    print(io, options.json ? JSON.stringify(list) : listText(list, voiceList));
  });

const voiceList: ListView<Voice> = {
  empty: 'No voices to choose from: the assistant has one of its own.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'LANGUAGE', cell: ({ language }) => language },
    { title: 'HERTZ', right: true, cell: (voice) => voice.sample_rate },
  ],
};
