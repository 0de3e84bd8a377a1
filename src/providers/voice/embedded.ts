/**
 * The embedded voice: flite speaks and Moonshine transcribes, in the voice processes, offline and without a credential.
 * English only.
 */
import type { SentenceAudio, SentenceRequest, Voice, VoiceProvider } from '../voice.ts';
import { VoiceFailed } from '../voice.ts';
import { onePiece } from './audio/samples.ts';
import { englishOf } from './english.ts';
import type { VoiceSource } from './engine/messages.ts';
import { VoiceProcessFailed, type VoiceProcesses, type VoicePools } from './processes.ts';

interface EmbeddedVoice extends Voice {
  readonly source: VoiceSource;
}

const builtIn = (id: string, name: string, language: string): EmbeddedVoice => ({
  id,
  name,
  language,
  sampleRate: 16_000,
  source: { name: id, file: null },
});

/** flite's own; `kal16` is a diphone voice, the quickest and plainest. */
const voices: readonly EmbeddedVoice[] = [
  builtIn('slt', 'Slt, a woman from the United States', 'en-US'),
  builtIn('rms', 'Rms, a man from the United States', 'en-US'),
  builtIn('awb', 'Awb, a man from Scotland', 'en-GB'),
  builtIn('kal16', 'Kal, a plain and quick voice', 'en-US'),
];

export const isEnglish = (language: string): boolean => /^en(?:-[a-z0-9-]*)?$/i.test(language);

export const embeddedVoice = ({ speakers, listeners }: VoicePools): VoiceProvider => ({
  provider: 'embedded',
  needsCredential: false,
  available: () => speakers.available && listeners.available,
  partials: true,
  refusedField: ({ voice }) => (voice === null || voices.some(({ id }) => id === voice) ? null : 'voice'),
  voices: () => voices,
  takesVoice: (id) => voices.some((voice) => voice.id === id),
  takesLanguage: isEnglish,
  sayable: englishOf,
  spells: true,
  speak: (request) =>
    speakWith(speakers, (voices.find(({ id }) => id === request.voice) ?? voices[0]!).source, request),
  transcribe: (request) => listeners.transcribe(request, null).catch(asVoiceFailure),
});

/** A sentence made whole by a voice process: it takes less time than one of its words. */
export async function speakWith(
  speakers: VoiceProcesses,
  source: VoiceSource,
  { caller, text, speed, timed = false, awaited, signal }: SentenceRequest,
): Promise<SentenceAudio> {
  const urgency = awaited ? 'speech' : 'ahead';
  const order = { text, voice: source, speed, timed };
  const { samples, sampleRate, words } = await speakers.speak(order, urgency, caller, signal).catch(asVoiceFailure);
  return { sampleRate, pieces: onePiece(samples), ...(words !== null && { words }) };
}

export function asVoiceFailure(error: unknown): never {
  throw error instanceof VoiceProcessFailed ? new VoiceFailed('process', error.message) : error;
}
