/** Formats whose optional package is not installed. */
import { register } from 'node:module';
import t from 'tap';
import { audioDecoder } from '../../src/voice/audio/decoding.ts';
import { encoderFor } from '../../src/voice/audio/encoding.ts';

register(`data:text/javascript,${encodeURIComponent(`export async function resolve(name, context, next) {
  if (name.startsWith('@evan/opus') || name.startsWith('wasm-media-encoders')) throw new Error('not installed');
  return next(name, context);
}`)}`);

t.test('formats that need one are refused by its name', async (t) => {
  const opus = { message: 'Opus audio needs the package @evan/opus, which does not load.' };
  const mp3 = { message: 'MP3 audio needs the package wasm-media-encoders, which does not load.' };
  await t.rejects(audioDecoder({ encoding: 'opus', sampleRate: 16_000 }), opus);
  await t.rejects(encoderFor('opus', 16_000, true), opus);
  await t.rejects(encoderFor('mp3', 16_000, false), mp3);
  await t.rejects(encoderFor('mp3', 16_000, false), mp3, 'each time');
});

t.test('the others work', async (t) => {
  for (const encoding of ['pcm_s16le', 'pcm_mulaw', 'pcm_alaw'] as const) t.ok(await audioDecoder({ encoding, sampleRate: 8000 }), encoding);
  for (const format of ['wav', 'pcm'] as const) t.ok(await encoderFor(format, 16_000, false), format);
});
