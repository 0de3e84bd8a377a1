/** Runs `parley speak`, `listen` and `voices`: each finds key and assistant, does its work, and revokes a key that it made. */
import { createWriteStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { extname } from 'node:path';
import { finished } from 'node:stream/promises';
import { buffer, text as textOf } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { pause, realClock } from '../client/clock.ts';
import { ParleyError, RateLimitError } from '../client/failure.ts';
import { Parley } from '../client/parley.ts';
import type { Assistant, List, NewSpeech, Voice } from '../client/types.ts';
import { WheelClock } from '../base/clock.ts';
import { Resampler } from '../providers/voice/audio/resample.ts';
import { joinedSamples } from '../providers/voice/audio/samples.ts';
import { UnreadableAudio } from '../providers/voice/audio/unreadable.ts';
import { readWav } from '../providers/voice/audio/wav.ts';
import { commandKey, type KeyOptions } from './api-key.ts';
import { chooseAssistant } from './assistant-choice.ts';
import { moreLine, pageQuery, serverUrl, type PageOptions } from './connection.ts';
import { AdvisedFailure, CommandFailure, failureLine, UsageFailure } from './exit.ts';
import { HeardJson, HeardText, type Heard } from './heard.ts';
import type { Io } from './io.ts';
import { note, print, table } from './output.ts';
import { installedPlayer, play } from './player.ts';

interface VoiceOptions extends KeyOptions {
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

interface Speaking {
  readonly parley: Parley;
  readonly assistant: Assistant;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Runs a command with an assistant. Without `--assistant` it has voice on. */
async function withAssistant(io: Io, name: string, options: VoiceOptions, run: (speaking: Speaking) => Promise<void>): Promise<void> {
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
        if (error instanceof RateLimitError) note(io, `Trying again in ${Math.ceil(waitMs / 1000)} s: ${failureLine(error)}`);
      };
      const parley = new Parley({ url, key: key.key, WebSocket, onRetry: waits });
      const suits = (one: Assistant): boolean => one.channels.voice;
      const none = 'No published assistant has voice on. Switch it on with `parley assistants update ID --voice`, or name another with --assistant.';
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
    throw new UsageFailure('Audio is not for a terminal, and no player is installed (ffplay, aplay, afplay or paplay). Send it elsewhere: add > speech.wav or --out speech.wav.');
  }
  const text = words.length > 0 ? words.join(' ') : await readStdin(io);
  const format = player === null ? (options.format ?? formatOf(options.out)) : 'wav';
  await withAssistant(io, 'parley speak', options, async ({ parley, assistant, signal }) => {
    const { voice, speed } = options;
    // Only a player that reads as it plays gains from audio that comes as it is made.
    const stream = player === null || player.reads;
    const wish = { assistant_id: assistant.id, text, format, stream, ...(voice !== undefined && { voice }), ...(speed !== undefined && { speed }) };
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
  speed: 'The speed must be from 0.5 to 2.',
};

function withAdvice(error: unknown): unknown {
  const sentence = error instanceof ParleyError && error.code === 'invalid_request' ? advice[error.field ?? ''] : undefined;
  return sentence === undefined ? error : new AdvisedFailure(sentence, error as ParleyError);
}

const formats: Readonly<Record<string, SpeechFormat>> = { '.pcm': 'pcm', '.raw': 'pcm', '.mp3': 'mp3', '.opus': 'opus', '.ogg': 'opus' };
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

/** Sample rates that a transcription accepts; audio of another rate is resampled to that of recognition. */
const [rateMin, rateMax, rateOther] = [8000, 48_000, 16_000];
const frameMs = 20;

export async function runListen(io: Io, file: string, options: ListenOptions): Promise<void> {
  const { samples, sampleRate } = await clip(io, file);
  const heard: Heard = options.json ? new HeardJson(io.stdout) : new HeardText(io.stdout);
  try {
    await withAssistant(io, 'parley listen', options, async ({ parley, assistant, signal }) => {
      const transcription = parley.transcribe({ assistant_id: assistant.id, sample_rate: sampleRate }, { signal });
      const sending = atItsPace(samples, sampleRate, (frame) => transcription.send(frame), signal).then(() => transcription.finish());
      // The iteration has the same failure.
      sending.catch(() => {});
      for await (const message of transcription) heard.message(message);
      await sending;
    });
  } finally {
    heard.end();
  }
  if (!heard.anything) note(io, 'Nothing was said.');
}

/** As fast as it was spoken: the service takes no more than ten seconds at once, and answers as it hears. */
async function atItsPace(samples: Int16Array, rate: number, send: (frame: Int16Array) => Promise<void>, signal: AbortSignal): Promise<void> {
  const frame = Math.round((rate * frameMs) / 1000);
  // The first frame waits for the socket, which opens meanwhile.
  await send(samples.subarray(0, frame));
  const begun = realClock.now();
  for (let at = frame; at < samples.length; at += frame) {
    const waitMs = begun + (at / rate) * 1000 - realClock.now();
    if (waitMs > 0) await pause(realClock, waitMs, signal);
    await send(samples.subarray(at, at + frame));
  }
}

async function clip(io: Io, file: string): Promise<{ readonly samples: Int16Array; readonly sampleRate: number }> {
  if (file === '-' && io.stdin.isTTY) throw new UsageFailure('Name a WAV file, as in parley listen hello.wav, or send one on stdin.');
  try {
    const wav = readWav(file === '-' ? await buffer(io.stdin) : await readFile(file));
    if (wav.sampleRate >= rateMin && wav.sampleRate <= rateMax) return wav;
    const resampler = new Resampler(wav.sampleRate, rateOther);
    return { samples: joinedSamples([resampler.push(wav.samples), resampler.end()]), sampleRate: rateOther };
  } catch (error) {
    if (error instanceof UnreadableAudio) throw new CommandFailure(`${file === '-' ? 'The input on stdin' : file} cannot be read: ${error.message}`);
    throw new CommandFailure(`The file ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

export const voices = (io: Io, options: VoicesOptions): Promise<void> =>
  withAssistant(io, 'parley voices', options, async ({ parley, assistant, signal }) => {
    const list = await parley.voices({ assistant_id: assistant.id }).page(pageQuery(options), { signal });
    print(io, options.json ? JSON.stringify(list) : rendered(list));
  });

function rendered(list: List<Voice>): string {
  if (list.data.length === 0) return 'No voices to choose from: the assistant has one of its own.';
  const columns = [{ title: 'ID' }, { title: 'NAME' }, { title: 'LANGUAGE' }, { title: 'HERTZ', right: true }];
  return table(columns, list.data.map((one) => [one.id, one.name, one.language, String(one.sample_rate)])) + moreLine(list);
}
