/**
 * A call in a browser: its fake microphone plays a clip, its loudspeaker is a real one, and the transcript is what left
 * it.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { openHouse, type House } from '../api/house.ts';
import { transcriptOf, until } from '../api/talk.ts';
import { openBrowser, patience, whyNoBrowser } from '../browser.ts';
import { phraseFor } from '../phrase.ts';
import { served } from './served.ts';

const built = fileURLToPath(new URL('../../dist/client/', import.meta.url));

/** A page that calls at a click, and keeps the events. */
const page = (key: string, sessionId: string): string => `<!doctype html>
<title>Call</title>
<button>Call</button>
<script type="module">
import { Parley } from './index.js';
import { browserCall } from './browser-call.js';
const parley = new Parley({ url: location.origin, key: ${JSON.stringify(key)}, allowKeyInBrowser: true });
globalThis.events = [];
globalThis.positions = [];
document.querySelector('button').onclick = async () => {
  const opened = await browserCall({ token: (options) => parley.sessions.callToken(${JSON.stringify(sessionId)}, options), ...globalThis.options });
  const { call, loudspeaker } = (globalThis.opened = opened);
  call.subscribe((event) => events.push(event));
  const { onPlayed } = loudspeaker;
  loudspeaker.onPlayed = (id, samples) => (positions.push(samples), onPlayed(id, samples));
};
</script>`;

const event = (page: Page, expression: string): Promise<boolean> =>
  until(() => page.evaluate(`events.some((event) => ${expression})`) as Promise<boolean>);

interface Scene {
  readonly house: House;
  readonly sessionId: string;
  /** The page, on which a script has run before its own. */
  tab(before?: string): Promise<Page>;
  readonly complaints: readonly string[];
}

/** A session whose assistant speaks for three seconds, and a browser whose microphone plays this file. */
async function scene(t: Test, clip: string): Promise<Scene> {
  // Loudness alone is taken for speech without voice processes.
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
  const voice = { provider: 'synthetic', name: 'character_ms=30', transcription_name: 'texts=hello_there' };
  const { id } = await house.assistant({
    channels: { voice: true },
    model: { provider: 'synthetic', name: 'tokens=20,delay_ms=0' },
    voice,
  });
  const session = await house.session(id);
  const origin = await served(t, house, page(house.key, session.id), (path) => readFile(built + path));
  const device = [
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-audio-capture=${clip}`,
  ];
  const browser = await openBrowser(t, ...device);
  const complaints: string[] = [];
  const tab = async (before = ''): Promise<Page> => {
    const page = await browser.newPage();
    page.setDefaultTimeout(patience);
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.addInitScript(before);
    await page.goto(origin);
    await page.click('button');
    return page;
  };
  return { house, sessionId: session.id, tab, complaints };
}

t.test('what was heard is what left the loudspeaker', { skip: whyNoBrowser }, async (t: Test) => {
  const { house, sessionId, complaints, ...opened } = await scene(t, `${await phraseFor(t)}%noloop`);
  const tab = await opened.tab();
  await event(tab, "event.type === 'turn.completed'");
  const [said, reply] = await transcriptOf(house, sessionId);
  t.match(
    [said, reply],
    [
      { role: 'user', content: 'hello there' },
      { status: 'completed', voice: { heard: 'played', cut_by: null } },
    ],
  );
  const positions = (await tab.evaluate('positions')) as number[];
  t.same(
    positions,
    positions.toSorted((one, other) => one - other),
    'the position never goes back',
  );
  t.equal(positions.at(-1), await tab.evaluate("events.find((event) => event.type === 'audio.end').samples"));
  t.ok(positions.length > 10, 'it is told while it plays');

  await tab.evaluate("opened.call.message('And now?')");
  await event(
    tab,
    "event.type === 'message.delta' && event.message_id !== events.find((event) => event.type === 'message.delta').message_id",
  );
  await tab.evaluate('opened.call.interrupt()');
  await event(tab, "event.type === 'turn.aborted'");
  const cut = (await transcriptOf(house, sessionId)).at(-1)!;
  t.match(cut, { status: 'partial', stop_reason: 'aborted', voice: { heard: 'played', cut_by: 'client' } });
  t.ok(
    cut.content.length > 0 && reply!.content.startsWith(cut.content) && cut.content.length < reply!.content.length,
    cut.content,
  );

  await tab.evaluate('opened.call.hangUp()');
  t.match(await tab.evaluate('events.at(-1)'), { type: 'closed', reason: 'hangup' });
  t.same(complaints, []);
});

/** A browser's words on a microphone, and whether a call is half duplex by them. */
const microphones = [
  ['its echo is cancelled', 'true', 'true', false],
  ['all of it', '"all"', 'true', false],
  ['that of other pages alone', '"remote-only"', 'true', true],
  ['none of it', 'false', 'true', true],
  ['nothing, and it knows the constraint', 'undefined', 'true', false],
  ['nothing, and it knows no such constraint', 'undefined', 'undefined', true],
] as const;

const says = (
  settings: string,
  supported: string,
): string => `MediaStreamTrack.prototype.getSettings = () => ({ echoCancellation: ${settings} });
MediaDevices.prototype.getSupportedConstraints = () => ({ echoCancellation: ${supported} });`;

t.test('where the browser does not cancel the echo a call is half duplex', { skip: whyNoBrowser }, async (t: Test) => {
  // Somebody speaks again and again: no reply ends before they do.
  const { tab, complaints } = await scene(t, await phraseFor(t, { afterMs: 1_500 }));
  for (const [name, settings, supported, half] of microphones) {
    const page = await tab(says(settings, supported));
    await event(page, "event.type === 'ready'");
    t.equal(await page.evaluate('opened.call.halfDuplex'), half, name);
    await page.close();
  }
  const chosen = await tab(`${says('false', 'true')} globalThis.options = { barge_in: 'words' };`);
  await event(chosen, "event.type === 'ready'");
  t.equal(await chosen.evaluate('opened.call.halfDuplex'), false, 'what the page wants holds');
  await chosen.close();

  const page = await tab(
    `${says('false', 'true')} globalThis.devices = []; globalThis.options = { onDevice: (device) => devices.push(device) };`,
  );
  await event(page, "event.type === 'turn.completed'");
  t.equal(
    await page.evaluate("events.some((event) => event.type === 'audio.pause')"),
    false,
    'who speaks over the reply is not heard',
  );
  t.same(await page.evaluate('devices'), [{ microphone: 'open', loudspeaker: 'open', echo: 'heard' }]);
  await page.evaluate('opened.call.halfDuplex = false');
  await event(page, "event.type === 'audio.pause'");
  t.pass('with headphones they are');
  t.same(complaints, []);
});
