/** Our audio files in other players: ffmpeg, Python's `wave`, and a browser. */
import { spawnSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import t from 'tap';
import { audioDecoder } from '../../../src/providers/voice/audio/decoding.ts';
import { encodeWhole, encoderFor } from '../../../src/providers/voice/audio/encoding.ts';
import { speechFormats, type SpeechFormat } from '../../../src/base/audio-formats.ts';
import { joined, samplesOf } from '../../../src/providers/voice/audio/samples.ts';
import { openBrowser, whyNoBrowser } from '../../browser.ts';
import { whyMissing } from '../../installed.ts';
import { all, likeness, pieces, voice } from './sounds.ts';

type Container = Exclude<SpeechFormat, 'pcm'>;
const containers = speechFormats.filter((format): format is Container => format !== 'pcm');
const rates = [16_000, 24_000, 48_000] as const;

async function streamed(format: SpeechFormat, rate: number, sound: Int16Array): Promise<Uint8Array> {
  const encoder = await encoderFor(format, rate, false);
  return joined([...pieces(sound, rate / 10, 7).map((piece) => encoder.push(piece)), encoder.end()]);
}

/**
 * Warnings of ffmpeg about files that are as they should be: an MP3 without an index, a WAV whose size is open, which
 * ends before 4 GB.
 */
const remarks =
  /Estimating duration from bitrate|Guessed Channel Layout|Ignoring maximum wav data size|Packet corrupt|corrupt input packet/;

/** Returns a file's samples as ffmpeg plays it; throws on its warnings. */
function played(file: Uint8Array, rate: number): Int16Array {
  const { stdout, stderr } = spawnSync(
    'ffmpeg',
    ['-v', 'warning', '-i', 'pipe:0', '-ar', String(rate), '-ac', '1', '-f', 's16le', 'pipe:1'],
    { input: file, maxBuffer: 2 ** 28 },
  );
  const complaints = String(stderr)
    .split('\n')
    .filter((line) => line !== '' && !remarks.test(line));
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  return samplesOf(stdout);
}

/**
 * The most that a format may change a sound: samples by which it is longer and later, and the least correlation.
 * The delay of MP3 is known only from LAME's header.
 */
const losses: Record<Container, { longer: number; late: [number, number]; correlation: number }> = {
  wav: { longer: 0, late: [0, 0], correlation: 0.9999 },
  mp3: { longer: 3500, late: [528, 1200], correlation: 0.95 },
  opus: { longer: 0, late: [-8, 8], correlation: 0.97 },
};

t.test('ffmpeg decodes what the encoder writes', { skip: whyMissing('ffmpeg') ?? false }, async (t) => {
  for (const format of containers) {
    for (const rate of rates) {
      const sound = voice(rate, 1.0371);
      for (const file of [await streamed(format, rate, sound), (await encodeWhole(format, rate, sound)).bytes]) {
        const out = played(file, rate);
        const { longer, late, correlation } = losses[format];
        t.ok(
          out.length >= sound.length && out.length <= sound.length + longer,
          `${format}, ${rate}: ${out.length} samples of ${sound.length}`,
        );
        const like = likeness(sound, out, late[1] + 20);
        t.ok(
          like.correlation > correlation && like.lag >= late[0] && like.lag <= late[1],
          `${format}, ${rate}: ${like.correlation} at ${like.lag}`,
        );
      }
    }
  }
});

t.test('the end is exact to the sample in Opus', { skip: whyMissing('ffmpeg') ?? false }, async (t) => {
  for (const count of [1, 100, 216, 217, 319, 320, 321, 536, 640, 16_000]) {
    const sound = voice(16_000, 1).subarray(0, count);
    t.equal(
      played((await encodeWhole('opus', 16_000, sound)).bytes, 48_000).length,
      count * 3,
      `${count} samples, whole`,
    );
    t.equal(played(await streamed('opus', 16_000, sound), 48_000).length, count * 3, `${count} samples, in pieces`);
  }
});

t.test('our Opus, read by our decoder', async (t) => {
  const sound = voice(16_000, 1);
  const file = Buffer.from((await encodeWhole('opus', 16_000, sound)).bytes);
  const decoder = await audioDecoder({ encoding: 'opus', sampleRate: 16_000 });
  const packets = packetsOf(file).slice(2);
  const out = all(packets.map((packet) => decoder.push(packet)));
  t.equal(out.length, packets.length * 320);
  const { lag, correlation } = likeness(sound, out, 300);
  t.ok(Math.abs(lag - 104) < 8 && correlation > 0.97, `${correlation} at ${lag}`);
  decoder.close();
});

/** Packets of Ogg pages; our packets never continue from one page to the next. */
function packetsOf(file: Buffer): Buffer[] {
  const packets: Buffer[] = [];
  for (let at = 0; at < file.length;) {
    const lacing = [...file.subarray(at + 27, at + 27 + file[at + 26]!)];
    at += 27 + lacing.length;
    let from = at;
    for (const length of lacing) {
      at += length;
      if (length < 255) packets.push(file.subarray(from, at));
      if (length < 255) from = at;
    }
  }
  return packets;
}

t.test('Python reads a whole WAV', { skip: whyMissing('python3') ?? false }, async (t) => {
  const script =
    'import io, sys, wave\nw = wave.open(io.BytesIO(sys.stdin.buffer.read()))\nprint(w.getnchannels(), w.getsampwidth(), w.getframerate(), w.getnframes(), len(w.readframes(10**9)))';
  const { bytes } = await encodeWhole('wav', 22_050, voice(22_050, 0.5));
  const { stdout, stderr } = spawnSync('python3', ['-c', script], { input: bytes, encoding: 'utf8' });
  t.same([stdout.trim(), stderr], ['1 2 22050 11025 22050', '']);
});

/** Decodes a file, and plays it to its end; both durations in seconds. */
const playing = `async ({ base64, type }) => {
  const bytes = Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
  const element = document.createElement('audio');
  element.src = URL.createObjectURL(new Blob([bytes], { type }));
  const decoded = await new OfflineAudioContext(1, 48000, 48000).decodeAudioData(bytes.buffer);
  await new Promise((resolve, reject) => {
    element.onended = resolve;
    element.onerror = () => reject(new Error(element.error.message));
    element.play().catch(reject);
  });
  return { decoded: decoded.duration, loud: decoded.getChannelData(0).some((sample) => Math.abs(sample) > 0.2), played: element.currentTime, known: element.duration };
}`;

t.test('a browser plays what the encoder writes', { skip: whyNoBrowser }, async (t) => {
  const running = await openBrowser(t, '--autoplay-policy=no-user-gesture-required');
  const page = await running.newPage();
  page.setDefaultTimeout(40_000);
  await page.goto('about:blank');
  for (const format of containers) {
    for (const rate of [16_000, 24_000]) await heard(t, page, format, rate);
  }
});

async function heard(
  t: { ok(value: unknown, name: string): unknown },
  page: Page,
  format: Container,
  rate: number,
): Promise<void> {
  const seconds = 0.6;
  const sound = voice(rate, seconds);
  const files = {
    streamed: await streamed(format, rate, sound),
    whole: (await encodeWhole(format, rate, sound)).bytes,
  };
  for (const [name, file] of Object.entries(files)) {
    const { contentType } = await encoderFor(format, rate, false);
    const measured = await page.evaluate<{ decoded: number; loud: boolean; played: number; known: number }>(
      `(${playing})(${JSON.stringify({ base64: Buffer.from(file).toString('base64'), type: contentType })})`,
    );
    // An MP3 ends with a whole frame; of Opus the element's clock counts the pre-skip, which is not played.
    const slack = { mp3: 0.1, opus: 0.008, wav: 0.001 }[format];
    const fits = (duration: number): boolean => duration > seconds - 0.005 && duration < seconds + slack;
    t.ok(measured.loud && fits(measured.decoded), `${format}, ${rate}, ${name}: decoded: ${measured.decoded} s`);
    t.ok(
      fits(measured.played) && fits(measured.known),
      `${format}, ${rate}, ${name}: played: ${measured.played} s, known: ${measured.known} s`,
    );
  }
}
