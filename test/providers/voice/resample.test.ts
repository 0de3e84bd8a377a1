import t from 'tap';
import { Resampler } from '../../../src/providers/voice/audio/resample.ts';
import { all, decibels, isSame, likeness, pieces, tone, voice } from './sounds.ts';

const peak = 16_000;
const toRecognition = [8000, 11_025, 12_000, 22_050, 24_000, 32_000, 44_100, 47_999, 48_000].map(
  (from) => [from, 16_000] as const,
);
const toOpus = [
  [16_000, 48_000],
  [22_050, 24_000],
  [24_000, 16_000],
  [11_025, 12_000],
] as const;
const changes = [...toRecognition, ...toOpus];

const resampled = (from: number, to: number, parts: readonly Int16Array[]): Int16Array => {
  const resampler = new Resampler(from, to);
  return all([...parts.map((part) => resampler.push(part)), resampler.end()]);
};

t.test('what lies below 0.85 of the lower Nyquist frequency stays, and what lies above it goes', async (t) => {
  for (const [from, to] of changes) {
    const nyquist = Math.min(from, to) / 2;
    const level = (part: number): number =>
      decibels(resampled(from, to, [tone(part * nyquist, from, from / 4, peak)]), peak);
    const kept = [0.01, 0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.85].map(level);
    t.ok(
      kept.every((db) => Math.abs(db) <= 0.5),
      `${from} → ${to}: flat: ${kept.map((db) => db.toFixed(2))}`,
    );
    const above = Array.from({ length: 24 }, (_, step) => 1.003 + step * 0.0871).filter(
      (part) => part * nyquist < from / 2,
    );
    const left = above.map(level);
    t.ok(
      left.every((db) => db <= -60),
      `${from} → ${to}: ${left.length} tones that would alias are gone: ${Math.max(-200, ...left).toFixed(1)} dB`,
    );
  }
});

t.test('a higher rate brings no images of the sound', async (t) => {
  for (const [from, to] of [
    [8000, 16_000],
    [16_000, 48_000],
    [15_999, 48_000],
  ] as const) {
    const hertz = 0.8 * (from / 2);
    const out = resampled(from, to, [tone(hertz, from, from / 2, peak)]);
    const pure = tone(hertz, to, to / 2, peak);
    t.ok(
      decibels(
        out.map((sample, at) => sample - pure[at]!),
        peak,
      ) < -60,
      `${from} → ${to}: what is not the tone is 60 dB below it`,
    );
  }
});

t.test('the output is in step with the input', async (t) => {
  for (const [from, to] of changes) {
    const { lag, correlation } = likeness(voice(to, 0.5), resampled(from, to, [voice(from, 0.5)]), 20);
    t.ok(lag === 0 && correlation > 0.999, `${from} → ${to}: ${lag}, ${correlation}`);
  }
});

t.test('pieces of any size give what one piece gives', async (t) => {
  for (const [from, to] of [...changes, [16_000, 16_000] as const]) {
    const sound = voice(from, 0.3);
    const whole = resampled(from, to, [sound]);
    for (const most of [1, 7, 500, 5000])
      t.ok(isSame(resampled(from, to, pieces(sound, most, most)), whole), `${from} → ${to}: up to ${most} samples`);
  }
});

t.test('the output is as long as the input', async (t) => {
  for (const [from, to] of [...changes, [16_000, 16_000] as const]) {
    for (const count of [0, 1, 2, 3, 100, 4097, from])
      t.equal(
        resampled(from, to, [new Int16Array(count)]).length,
        Math.ceil((count * to) / from),
        `${from} → ${to}: ${count}`,
      );
  }
});

t.test('the output comes soon', async (t) => {
  for (const [from, to] of changes) {
    const resampler = new Resampler(from, to);
    const wait = (resampler.push(new Int16Array(from)).length - to) / to;
    t.ok(
      wait > -24 / Math.min(from, to) - 0.0005 && wait < 0,
      `${from} → ${to}: ${(-wait * 1000).toFixed(2)} ms are held back`,
    );
  }
});

t.test('a constant stays one, and peaks are clipped', async (t) => {
  const constant = resampled(44_100, 16_000, [new Int16Array(4410).fill(12_345)]);
  t.ok(
    constant.subarray(100, -100).every((sample) => sample === 12_345),
    'no phase is louder than another',
  );
  const square = Int16Array.from({ length: 4800 }, (_, at) => (Math.floor(at / 24) % 2 ? 32_767 : -32_768));
  const out = resampled(48_000, 16_000, [square]);
  t.ok(out.includes(32_767) && out.includes(-32_768), 'a square wave of the full range overshoots');
  const middles = Array.from({ length: 200 }, (_, half) => out[4 + 8 * half]! * (half % 2 ? 1 : -1));
  t.ok(
    middles.every((sample) => sample > 20_000),
    'and does not wrap',
  );
});
