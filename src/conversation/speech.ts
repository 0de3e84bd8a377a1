/** Speaks a text on behalf of any caller, sentence by sentence, and a long one piece by piece (contract 8). */
import { atTurnEnd } from '../base/clock.ts';
import type { AssistantActor } from '../host/assistants.ts';
import { limits } from '../base/limits.ts';
import type { Services } from './services.ts';
import { codePoints } from '../base/text.ts';
import { VoiceFailed, type SentenceAudio } from '../providers/voice.ts';
import { encoderFor, type AudioEncoder } from '../providers/voice/audio/encoding.ts';
import type { SpeechFormat } from '../base/audio-formats.ts';
import { Resampler } from '../providers/voice/audio/resample.ts';
import { piecesOf, sayingOf, sentencesAndCode, type Saying } from '../providers/voice/sound.ts';
import type { ReadyVoice } from './voice-call.ts';
import { countVoice } from './voice-usage.ts';

/** Bytes of the samples of a text whose audio is sent whole. */
const speechWholeBytesMax = 64 * 1024 * 1024;

export interface SpeechWish {
  /** The caller among those that share the voice processes. */
  readonly caller: string;
  /** The API key of the request; null without one. */
  readonly keyId: string | null;
  /** Whether it counts in the workspace's usage. */
  readonly counted: boolean;
  readonly text: string;
  readonly format: SpeechFormat;
  /** Null for the assistant's, or the provider's own. */
  readonly voice: string | null;
  readonly speed: number;
  /** Whether the audio is wanted as it is made; otherwise all at once. */
  readonly stream: boolean;
}

/** Speech with its first sentence ready. */
export interface BegunSpeech {
  readonly encoder: AudioEncoder;
  /** Whether it is sent whole, with its length. */
  readonly whole: boolean;
  /** The encoded audio. Leaving the loop stops the work; usage is counted when it is left, for any reason. */
  readonly bytes: AsyncGenerator<Uint8Array, void>;
}

/**
 * Resolves when the first sentence's audio is ready, or rejects with the reason for its failure; then no usage is
 * counted. `onGone` calls back when the client leaves, which stops the work.
 */
export async function beginSpeech(
  assistant: AssistantActor,
  { provider, settings, access }: ReadyVoice,
  wish: SpeechWish,
  onGone: (callback: () => void) => void,
  services: Services,
): Promise<BegunSpeech> {
  const sentences = sentencesToSpeak(wish.text, sayingOf(provider));
  const pieces = sentences.flatMap(({ pieces, characters }, index) =>
    pieces.map((sentence, place) => ({ spokenText: sentence, index, characters: place === 0 ? characters : 0 })),
  );
  const stop = new AbortController();
  onGone(() => stop.abort());
  let begun = 0;
  const count = async (): Promise<void> => {
    if (wish.counted) await countVoice(assistant.record, wish.keyId, { speechCharacters: begun }, services);
  };
  const { caller, speed } = wish;
  const choice = {
    caller,
    name: settings.name,
    voice: wish.voice ?? settings.voice,
    speed,
    access,
    signal: stop.signal,
  };
  const speak = (place: number): Promise<SentenceAudio> => {
    const { spokenText: sentence, index, characters } = pieces[place]!;
    begun += characters;
    const audio = provider.speak({ ...choice, text: sentence, index, awaited: place === 0 });
    // Checked once the piece before has been sent.
    audio.catch(() => {});
    return audio;
  };
  const first = await speak(0).catch((error) => {
    if (stop.signal.aborted) void count();
    throw error;
  });
  const whole =
    !wish.stream ||
    (wish.format === 'wav' && sentences.length === 1 && codePoints(wish.text) <= limits.sentenceCharactersMax);
  const encoder = await encoderFor(wish.format, first.sampleRate, whole).catch((error) => {
    // Synthesis that has begun would continue without a receiver.
    stop.abort();
    throw error;
  });
  let samplesMade = 0;
  const bytes = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      for (let place = 0, audio: Promise<SentenceAudio> = Promise.resolve(first); place < pieces.length; place++) {
        const { pieces: made, sampleRate } = await audio;
        // The next piece is made while this one is sent.
        if (place + 1 < pieces.length && !stop.signal.aborted) audio = speak(place + 1);
        else if (stop.signal.aborted) return;
        for await (const samples of convert(made, sampleRate, first.sampleRate)) {
          samplesMade += samples.length;
          if (whole && 2 * samplesMade > speechWholeBytesMax)
            throw new VoiceFailed('malformed', 'The audio is too long to be sent whole.');
          const encoded = encoder.push(samples);
          if (encoded.length > 0) yield encoded;
        }
      }
      const rest = encoder.end();
      if (rest.length > 0) yield rest;
    } catch (error) {
      // Speech that is sent whole has failed as a whole: its answer is a status, which counts nothing.
      if (whole && !stop.signal.aborted) begun = 0;
      throw error;
    } finally {
      stop.abort();
      // The count is stored before the answer ends: a client that has all of it finds it in the usage.
      await count();
    }
  };
  return { encoder, whole, bytes: bytes() };
}

interface Sentence {
  /** The text for the voice: in several pieces if the sentence would last long. */
  readonly pieces: readonly string[];
  /** The number of code points of the original text. */
  readonly characters: number;
}

/** A piece without speech, such as the code of a block, counts with the one before or after it. */
function sentencesToSpeak(text: string, saying: Saying): Sentence[] {
  const sentences: Sentence[] = [];
  let silent = 0;
  let prose = '';
  for (const sentence of sentencesAndCode(text)) {
    if (sentence.kind === 'prose') prose += sentence.raw;
    const pieces = piecesOf(sentence, saying, prose)
      .map(({ spokenText }) => spokenText)
      .filter((spokenText) => spokenText !== '');
    const characters = codePoints(sentence.raw) + silent;
    if (pieces.length > 0) sentences.push({ pieces, characters });
    silent = pieces.length === 0 ? characters : 0;
  }
  const last = sentences.pop();
  if (last === undefined) return [{ pieces: [saying.sayable(text)], characters: silent }];
  return [...sentences, { ...last, characters: last.characters + silent }];
}

/** The samples at another rate, a little at a time, with other work of the process in between. */
async function* convert(pieces: AsyncIterable<Int16Array>, from: number, to: number): AsyncIterable<Int16Array> {
  const resampler = new Resampler(from, to);
  const step = Math.round((from * limits.speechPieceMs) / 1000);
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += step) {
      yield resampler.push(piece.subarray(at, at + step));
      await new Promise<void>(atTurnEnd);
    }
  }
  yield resampler.end();
}
