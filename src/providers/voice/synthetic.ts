/**
 * Voice for load and fault tests. Its names contain its settings: `audio_ms=800,delay_ms=20,fail_at=1`. It speaks tones
 * and transcribes given texts.
 */
import type { Clock } from '../../base/clock.ts';
import type { ModelFailure } from '../model.ts';
import { limits } from '../../base/limits.ts';
import { codePoints } from '../../base/text.ts';
import { failure, failures, parseName, wholeUpTo, word, type NameSettings } from '../synthetic-name.ts';
import { onAbort } from './abort.ts';
import { onePiece } from './audio/samples.ts';
import { wordsOf } from './sentences.ts';
import { VoiceFailed, type SentenceAudio, type VoiceProvider, type WordSpan } from '../voice.ts';

interface SyntheticVoiceSettings {
  readonly audioMs: number;
  /** Milliseconds of a sentence for each character; null: every sentence lasts `audioMs`. */
  readonly characterMs: number | null;
  readonly delayMs: number;
  readonly failAt: number | null;
  readonly failAs: ModelFailure;
  readonly hangAt: number | null;
  readonly text: string;
  /** Transcripts by utterance, the last one repeated; null: each is `text`. */
  readonly texts: readonly string[] | null;
}

const defaults: SyntheticVoiceSettings = {
  audioMs: 800,
  characterMs: null,
  delayMs: 0,
  failAt: null,
  failAs: 'provider_error',
  hangAt: null,
  text: 'synthetic',
  texts: null,
};

const [audioMax, characterMax, delayMax, countMax] = [60_000, 1_000, 600_000, 1_000_000];

const textsLengthMax = 1_000;
function textsIn(text: string): string[] | undefined {
  return text.length <= textsLengthMax ? text.replaceAll('_', ' ').split('|') : undefined;
}

const keys: NameSettings<SyntheticVoiceSettings> = {
  audio_ms: { field: 'audioMs', read: wholeUpTo(audioMax), meaning: 'milliseconds of audio for each sentence (800)' },
  character_ms: {
    field: 'characterMs',
    read: wholeUpTo(characterMax),
    meaning: 'milliseconds of audio for each character of the sentence as it is spoken, in place of `audio_ms`',
  },
  delay_ms: {
    field: 'delayMs',
    read: wholeUpTo(delayMax),
    meaning: 'milliseconds before each sentence, or each transcript (0)',
  },
  fail_at: {
    field: 'failAt',
    read: wholeUpTo(countMax),
    meaning: 'fails after that many sentences, or transcripts; 0 before the first',
  },
  fail_as: { field: 'failAs', read: failure, meaning: `how it fails: ${failures.join(', ')} (provider_error)` },
  hang_at: { field: 'hangAt', read: wholeUpTo(countMax), meaning: 'falls silent for good after that many' },
  text: { field: 'text', read: word, meaning: 'the text of each transcript (synthetic)' },
  texts: {
    field: 'texts',
    read: textsIn,
    meaning:
      'the texts of one transcript after another, as `one_two|three`: `_` is a space, an empty one has no words, and the last is repeated',
  },
};

const sampleRate = 16_000;
const voice = { id: 'tone', name: 'Tone', language: 'en', sampleRate };

export function syntheticVoice(clock: Clock): VoiceProvider {
  const settingsOf = (name: string | null): SyntheticVoiceSettings => {
    const settings = parseName(keys, defaults, name ?? '');
    if (typeof settings === 'string')
      throw new VoiceFailed('provider_error', `"${settings}" is no key of a synthetic voice`);
    return settings;
  };
  /** Waits as the settings say; rejects as they say, or when the caller cancels. */
  const play = async (
    { delayMs, failAt, failAs, hangAt }: SyntheticVoiceSettings,
    index: number,
    signal: AbortSignal,
  ): Promise<void> => {
    if (failAt !== null && index >= failAt) throw new VoiceFailed(failAs);
    const hangs = hangAt !== null && index >= hangAt;
    if (delayMs === 0 && !hangs) return;
    let forget = (): void => {};
    const played = new Promise<void>((resolve, reject) => {
      const timer = hangs
        ? clock.after(limits.voiceFirstBytesMs, () => reject(new VoiceFailed('first_output_timeout')))
        : clock.after(delayMs, resolve);
      forget = onAbort(signal, () => {
        timer.cancel();
        reject(new VoiceFailed('cut', 'the request was cancelled'));
      });
    });
    await played.finally(() => forget());
  };
  const isRead = (name: string | null): boolean => typeof parseName(keys, defaults, name ?? '') !== 'string';
  return {
    provider: 'synthetic',
    needsCredential: false,
    partials: true,
    refusedField({ name, transcriptionName, voice: id }) {
      if (!isRead(name)) return 'name';
      if (!isRead(transcriptionName)) return 'transcription_name';
      return id === null || id === voice.id ? null : 'voice';
    },
    voices: () => [voice],
    takesVoice: (id) => id === voice.id,
    takesLanguage: () => true,
    async speak({ text, name, index, speed, timed = false, signal }): Promise<SentenceAudio> {
      const settings = settingsOf(name);
      await play(settings, index, signal);
      const { audioMs, characterMs } = settings;
      const samples = Math.round(
        ((characterMs === null ? audioMs : characterMs * codePoints(text)) / speed / 1000) * sampleRate,
      );
      return { sampleRate, pieces: tone(samples), ...(timed && { words: spansWithin(text, samples) }) };
    },
    async transcribe({ name, speechName = null, index, signal }) {
      await play(settingsOf(name), index, signal);
      // The delays and failures of `speechName` are for sentences alone.
      const { text, texts } = settingsOf(name ?? speechName);
      return texts === null ? text : texts[Math.min(index, texts.length - 1)]!;
    },
  };
}

const [toneHertz, toneLevel] = [440, 8_000];

function tone(length: number): AsyncIterable<Int16Array> {
  const samples = new Int16Array(length);
  for (let i = 0; i < samples.length; i++)
    samples[i] = toneLevel * Math.sin((2 * Math.PI * toneHertz * i) / sampleRate);
  return onePiece(samples);
}

/** Distributes words in proportion to their characters, and the white space between them likewise. */
function spansWithin(text: string, samples: number): WordSpan[] {
  const all = codePoints(text);
  const placeOf = (index: number): number => Math.round((codePoints(text.slice(0, index)) / all) * samples);
  return wordsOf(text).map(({ text: word, index }) => ({ from: placeOf(index), to: placeOf(index + word.length) }));
}
