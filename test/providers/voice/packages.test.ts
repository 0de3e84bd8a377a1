/** Formats whose optional package is not installed. */
import { register } from 'node:module';
import t from 'tap';
import { beginSpeech } from '../../../src/conversation/speech.ts';
import { audioDecoder } from '../../../src/providers/voice/audio/decoding.ts';
import { encoderFor } from '../../../src/providers/voice/audio/encoding.ts';

register(
  `data:text/javascript,${encodeURIComponent(`export async function resolve(name, context, next) {
  if (name.startsWith('@evan/opus') || name.startsWith('wasm-media-encoders')) throw new Error('not installed');
  return next(name, context);
}`)}`,
);

t.test('formats that need one are refused by its name', async (t) => {
  const opus = { message: 'Opus audio needs the package @evan/opus, which does not load.' };
  const mp3 = { message: 'MP3 audio needs the package wasm-media-encoders, which does not load.' };
  await t.rejects(async () => audioDecoder({ encoding: 'opus', sampleRate: 16_000 }), opus);
  await t.rejects(encoderFor('opus', 16_000, true), opus);
  await t.rejects(encoderFor('mp3', 16_000, false), mp3);
  await t.rejects(encoderFor('mp3', 16_000, false), mp3, 'each time');
});

t.test('speech in a format that needs one leaves its provider', async (t) => {
  const left: AbortSignal[] = [];
  const provider = {
    speak: async ({ signal }: { signal: AbortSignal }) => (
      left.push(signal),
      { sampleRate: 16_000, pieces: (async function* () {})() }
    ),
  };
  const wish = {
    caller: 'w',
    keyId: null,
    counted: false,
    text: 'Hello.',
    format: 'mp3',
    voice: null,
    speed: 1,
    stream: true,
  } as const;
  const assistant = { record: { workspaceId: 'wks_a', id: 'asst_a' } };
  await t.rejects(
    beginSpeech(assistant as never, { provider, settings: {}, access: {} } as never, wish, () => {}, {} as never),
  );
  t.same(
    left.map(({ aborted }) => aborted),
    [true],
  );
});

t.test('formats without packages work', async (t) => {
  for (const encoding of ['pcm_s16le', 'pcm_mulaw', 'pcm_alaw'] as const)
    t.ok(await audioDecoder({ encoding, sampleRate: 8000 }), encoding);
  for (const format of ['wav', 'pcm'] as const) t.ok(await encoderFor(format, 16_000, false), format);
});
