/**
 * The microphone in a browser, whose fake device plays a clip of the server's own voice: its words come out of the
 * page.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { Parley } from '../../src/client/parley.ts';
import { exactWav, readWav } from '../../src/providers/voice/audio/wav.ts';
import { openHouse, type House } from '../api/house.ts';
import { openBrowser, patience, whyNoBrowser } from '../browser.ts';
import { temporaryFolder } from '../folders.ts';
import { served } from './served.ts';

const built = fileURLToPath(new URL('../../dist/client/', import.meta.url));

/** An example of a page: it shows the transcript as it comes, until it has some words. */
const page = (key: string, assistantId: string): string => `<!doctype html>
<title>Microphone</title>
<button>Speak</button>
<p id="text"></p>
<script type="module">
import { Parley } from './index.js';
import { microphone } from './microphone.js';
const parley = new Parley({ url: location.origin, key: ${JSON.stringify(key)}, allowKeyInBrowser: true });
const text = document.querySelector('#text');
document.querySelector('button').onclick = async () => {
  const frames = new Set();
  const source = await microphone();
  const transcription = parley.transcribe({ assistant_id: ${JSON.stringify(assistantId)}, sample_rate: source.sampleRate });
  const sending = (async () => {
    for await (const frame of source) {
      frames.add(frame.length);
      await transcription.send(frame);
    }
    await transcription.finish();
  })();
  for await (const message of transcription) {
    // Sound between the words and the end of the source may be an utterance without a word.
    const isFinal = message.type === 'transcript.final';
    if ((!isFinal && message.type !== 'transcript.partial') || message.text === '') continue;
    text.textContent = message.text;
    if (isFinal) source.stop();
  }
  await sending;
  document.title = JSON.stringify({ rate: source.sampleRate, frames: [...frames] });
};
</script>`;

t.test('what is spoken into the microphone is shown on the page', { skip: whyNoBrowser }, async (t) => {
  // The voice processes end with their server.
  const house = await openHouse(t, { workersAlone: true });
  const { id } = await house.assistant({ channels: { voice: true } });
  const clip = await spoken(t, house, id);
  await heardOnce(house, id, clip);
  const origin = await served(t, house, page(house.key, id), (path) => readFile(join(built, path)));
  const device = [
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-audio-capture=${clip}`,
  ];
  const running = await openBrowser(t, ...device);
  const tab = await running.newPage();
  tab.setDefaultTimeout(patience);
  const complaints: string[] = [];
  tab.on('pageerror', (error) => complaints.push(error.message));
  await tab.goto(origin);
  await tab.click('button');
  await tab.waitForFunction("document.title.startsWith('{')").catch(() => {});
  t.same(complaints, []);
  // A busy machine may drop the sound's first moment.
  t.match(await tab.textContent('#text'), /hello|there/i);
  const { rate, frames } = JSON.parse(await tab.title());
  t.same(frames, [rate / 50], 'frames of 20 ms');
});

t.test('where there is no microphone it says so', async (t) => {
  const { microphone } = await import(`${built}microphone.js`);
  await t.rejects(microphone(), /There is no microphone here/);
});

/** A file for the device, which plays it again and again. */
async function spoken(t: Test, house: House, assistant_id: string): Promise<string> {
  const parley = new Parley({ url: house.url, key: house.key });
  const { samples, sampleRate } = readWav(
    await (await parley.speech({ assistant_id, text: 'Hello there.', stream: false })).bytes(),
  );
  const padded = new Int16Array(samples.length + 2 * sampleRate);
  padded.set(samples, sampleRate);
  const path = join(await temporaryFolder(t), 'clip.wav');
  await writeFile(path, exactWav(padded, sampleRate));
  return path;
}

/**
 * Has the clip transcribed, and so the models loaded: what is spoken meanwhile waits, and on a busy machine more of it
 * than a socket lets wait.
 */
async function heardOnce(house: House, assistant_id: string, clip: string): Promise<void> {
  const { samples, sampleRate } = readWav(await readFile(clip));
  const transcription = new Parley({ url: house.url, key: house.key }).transcribe({
    assistant_id,
    sample_rate: sampleRate,
  });
  await transcription.send(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  await transcription.finish();
  for await (const message of transcription) if (message.type === 'done') return;
}
