/** A call in a browser: its fake microphone plays a clip, its loudspeaker is a real one, and the transcript is what left it. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { openHouse } from '../api/house.ts';
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
  const opened = await browserCall({ token: (options) => parley.sessions.callToken(${JSON.stringify(sessionId)}, options) });
  const { call, loudspeaker } = (globalThis.opened = opened);
  call.subscribe((event) => events.push(event));
  const { onPlayed } = loudspeaker;
  loudspeaker.onPlayed = (id, samples) => (positions.push(samples), onPlayed(id, samples));
};
</script>`;

const event = (page: Page, expression: string): Promise<boolean> => until(() => page.evaluate(`events.some((event) => ${expression})`) as Promise<boolean>);

t.test('what was heard is what left the loudspeaker', { skip: whyNoBrowser }, async (t: Test) => {
  // Without voice processes loudness alone is taken for speech.
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
  const voice = { provider: 'synthetic', name: 'character_ms=30', transcription_name: 'texts=hello_there' };
  const { id } = await house.assistant({ channels: { voice: true }, model: { provider: 'synthetic', name: 'tokens=20,delay_ms=0' }, voice });
  const session = await house.session(id);
  const origin = await served(t, house, page(house.key, session.id), (path) => readFile(built + path));
  const device = ['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${await phraseFor(t)}%noloop`];
  const tab = await (await openBrowser(t, ...device)).newPage();
  tab.setDefaultTimeout(patience);
  const complaints: string[] = [];
  tab.on('pageerror', (error) => complaints.push(error.message));
  await tab.goto(origin);
  await tab.click('button');
  await event(tab, "event.type === 'turn.completed'");
  const [said, reply] = await transcriptOf(house, session.id);
  t.match([said, reply], [{ role: 'user', content: 'hello there' }, { status: 'completed', voice: { heard: 'played', cut_by: null } }]);
  const positions = (await tab.evaluate('positions')) as number[];
  t.same(positions, positions.toSorted((one, other) => one - other), 'the position never goes back');
  t.equal(positions.at(-1), await tab.evaluate("events.find((event) => event.type === 'audio.end').samples"));
  t.ok(positions.length > 10, 'it is told while it plays');

  await tab.evaluate("opened.call.message('And now?')");
  await event(tab, "event.type === 'message.delta' && event.message_id !== events.find((event) => event.type === 'message.delta').message_id");
  await tab.evaluate('opened.call.interrupt()');
  await event(tab, "event.type === 'turn.aborted'");
  const cut = (await transcriptOf(house, session.id)).at(-1)!;
  t.match(cut, { status: 'partial', stop_reason: 'aborted', voice: { heard: 'played', cut_by: 'client' } });
  t.ok(cut.content.length > 0 && reply!.content.startsWith(cut.content) && cut.content.length < reply!.content.length, cut.content);

  await tab.evaluate('opened.call.hangUp()');
  t.match(await tab.evaluate('events.at(-1)'), { type: 'closed', reason: 'hangup' });
  t.same(complaints, []);
});
