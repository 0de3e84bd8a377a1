/**
 * The operator's voices and recognisers, in the folder that `PARLEY_VOICE_FOLDER` names: `name` is a file
 * `NAME.flitevox`, `transcription_name` a folder with Moonshine's `encoder_model.onnx` and `decoder_model_merged.onnx`.
 * Both run in the voice processes.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Voice, VoiceProvider } from '../voice.ts';
import { asVoiceFailure, speakWith } from './embedded.ts';
import type { VoicePools } from './processes.ts';

export const voiceSuffix = '.flitevox';
const weights = ['encoder_model.onnx', 'decoder_model_merged.onnx'];

/** Matches a name that stays within the folder. */
const isPlain = (name: string): boolean => /^[\w][\w.-]*$/.test(name);

/** Whether the folder has weights of that name. */
export const isRecogniser = (folder: string, name: string): boolean =>
  isPlain(name) && weights.every((file) => existsSync(join(folder, name, file)));

/** Returns an empty list if the folder has disappeared since the start or is a file now; then speech fails. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

export function localVoice({ speakers, listeners }: VoicePools, folder: string): VoiceProvider {
  const voices = (): Voice[] =>
    namesIn(folder)
      .filter((name) => name.endsWith(voiceSuffix))
      .sort()
      .map((name) => name.slice(0, -voiceSuffix.length))
      .map((id) => ({ id, name: id, language: 'en', sampleRate: 16_000 }));
  const isVoice = (name: string): boolean => isPlain(name) && existsSync(join(folder, name + voiceSuffix));
  const fileOf = (name: string | null): string => join(folder, (name ?? voices()[0]?.id ?? '') + voiceSuffix);
  return {
    provider: 'local',
    needsCredential: false,
    available: () => speakers.available && listeners.available,
    partials: true,
    refusedField({ name, transcriptionName, voice }) {
      if (name !== null && !isVoice(name)) return 'name';
      if (transcriptionName !== null && !isRecogniser(folder, transcriptionName)) return 'transcription_name';
      return voice === null || isVoice(voice) ? null : 'voice';
    },
    voices,
    takesVoice: isVoice,
    spells: true,
    // The languages depend on the weights that the operator installed.
    takesLanguage: () => true,
    speak: (request) =>
      speakWith(speakers, { name: '', file: fileOf(request.voice ?? request.name) }, { ...request, timed: false }),
    transcribe(request) {
      const weights = request.name === null ? null : join(folder, request.name);
      return listeners.transcribe(request, weights).catch(asVoiceFailure);
    },
  };
}
