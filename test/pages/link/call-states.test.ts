/**
 * The call bar in every state and with every hint, on the link's page: the service's side of the call is the test's
 * own.
 */
import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { openHouse } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { faintTexts, openBrowser, openPage, overflow, whyNoBrowser } from '../../browser.ts';
import { phraseFor } from '../../phrase.ts';
import { findings } from './browser.ts';
import { scriptCalls, type Line, type Lines } from './scripted-call.ts';
import { linked } from './visits.ts';

const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1' } });
const unlimited = {
  minutes_per_day: null,
  concurrent_visitors: null,
  messages_per_visitor_per_day: null,
  messages_per_address_per_hour: null,
};
await linked(house, 'states', {
  channels: { voice: true, link: true, widget: true },
  voice: { provider: 'synthetic', name: 'audio_ms=50' },
  greeting: null,
  limits: unlimited,
});
const device = [
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  `--use-file-for-fake-audio-capture=${await phraseFor(t)}%noloop`,
];
const browser = whyNoBrowser ? null! : await openBrowser(t, ...device);

const bar = (page: Page) => page.locator('#call');
const mark = (page: Page) => bar(page).locator('.mark');
const hint = (page: Page) => bar(page).getByRole('status');
const said = (page: Page, text: string): Promise<void> => hint(page).filter({ hasText: text }).waitFor();
const words = (page: Page, text: string): Promise<void> =>
  bar(page).locator('.doing').filter({ hasText: text }).waitFor();

type Calling = (t: Test, page: Page, line: Line, lines: Lines) => Promise<void>;

/** A test in a call that is open. */
const calling = (
  name: string,
  run: Calling,
  options: { width?: number; colorScheme?: 'dark'; reducedMotion?: 'no-preference'; before?: string } = {},
) =>
  t.test(name, { skip: whyNoBrowser }, async (t) => {
    const { before, ...opening } = options;
    const { page, complaints, context } = await openPage(browser, {
      origin: new URL(house.url).origin,
      locale: 'en-GB',
      networkFailures: 'expected',
      ...opening,
    });
    if (before !== undefined) await page.addInitScript(before);
    const lines = await scriptCalls(page);
    await page.goto(`${house.url}/p/states`);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    const line = await lines.next();
    await run(t, page, line, lines);
    t.same(complaints, []);
    await context.close();
  });

for (const options of [{ width: 720 }, { width: 360, colorScheme: 'dark' }, { width: 320 }] as const) {
  calling(
    `each state in words, at ${options.width} px`,
    async (t, page, line) => {
      /** The state is said in words, and nobody is kept from using the bar. */
      const shows = async (state: string, text: string, interruptible: boolean): Promise<void> => {
        await words(page, text);
        t.equal(await mark(page).getAttribute('data-state'), state);
        t.equal(
          await mark(page).getAttribute('aria-disabled'),
          String(!interruptible),
          `${state} can be interrupted: ${interruptible}`,
        );
        t.same([await page.evaluate(faintTexts), await page.evaluate(overflow)], [[], 0], state);
        // Only contrast and the size of buttons depend on the width, and size is least there.
        if (options.width === 320) t.same(await findings(page, 'not contrast'), [], state);
      };
      await shows('opening', 'Connecting', false);
      line.ready();
      await shows('listening', 'Listening', false);
      line.partial('when do you');
      await shows('hearing', 'Hearing you', false);
      line.asks('When do you open?');
      await shows('thinking', 'Thinking', true);
      line.state('held');
      await shows('held', 'Waiting for you', true);
      line.speaks('We open at nine, on Sundays at ten');
      await shows('speaking', 'Speaking', true);
      t.equal(
        await bar(page).locator('.line.long').count(),
        options.width === 360 ? 1 : 0,
        'a text that is too long fades in',
      );
      line.pauses();
      await shows('paused', 'Paused', true);
      t.match(
        await line.heard('played'),
        { message_id: 'msg_1', samples: Number },
        'the pause is answered with what was played',
      );
      line.cut();
      await shows('listening', 'Listening', false);
      line.state('busy');
      await shows('busy', 'Another message is answered first', false);
      line.lose();
      await shows('lost', 'Connection lost, trying again', false);
    },
    options,
  );
}

calling('a call that was lost is taken up again, and what was heard stays', async (t, page, line, lines) => {
  line.ready();
  line.asks('When do you open?');
  line.speaks('We open at nine');
  await words(page, 'Speaking');
  line.lose();
  await words(page, 'Connection lost');
  const second = await lines.next();
  second.ready();
  await words(page, 'Listening');
  t.equal(await page.locator('#messages li.assistant .said').last().textContent(), 'We open at nine');
  await page.keyboard.press('m');
  await words(page, 'You are muted');
  await bar(page).getByRole('button', { name: 'Hang up' }).click();
  await second.heard('hangup');
  second.send({ type: 'ended', reason: 'hangup' });
  await bar(page).waitFor({ state: 'detached' });
});

calling('Space interrupts a reply, and scrolls where there is none', async (t, page, line) => {
  await page.evaluate(
    "addEventListener('keydown', ({ defaultPrevented }) => (globalThis.prevented = defaultPrevented))",
  );
  line.ready();
  await words(page, 'Listening');
  await page.locator('#scroller').press('Space');
  t.equal(await page.evaluate('prevented'), false);
  await page.evaluate('delete globalThis.prevented');
  line.asks('When do you open?');
  line.speaks('We open at nine');
  await words(page, 'Speaking');
  await page.locator('#scroller').press('Space');
  await line.heard('interrupt');
  t.equal(await page.evaluate('typeof prevented'), 'undefined', 'and nothing else');
});

calling('the third echo asks for headphones, the next turn takes it back', async (t, page, line) => {
  line.ready();
  for (let echoes = 0; echoes < 2; echoes++) line.final('we open at nine', 'echo');
  line.partial('and');
  await words(page, 'Hearing you');
  t.equal(await hint(page).textContent(), '', 'two are none');
  line.final('we open at nine', 'echo');
  await said(page, 'The reply comes back through the microphone. Please use headphones.');
  t.same([await findings(page, 'not contrast'), await page.evaluate(faintTexts)], [[], []]);
  line.final('yes', 'backchannel');
  line.asks('And on Sundays?');
  await words(page, 'Thinking');
  await hint(page).locator('p').waitFor({ state: 'detached' });
  t.equal(await bar(page).locator('.line').innerText(), 'And on Sundays?', 'words that do not count are not shown');
});

calling('why there is no reply', async (t, page, line) => {
  line.ready();
  line.final('', 'failed');
  await said(page, 'That could not be understood.');
  for (const [code, begun, text] of [
    ['assistant_unavailable', true, 'There was no reply. Please say it again.'],
    ['voice_unavailable', true, 'Voice is not available at the moment.'],
    ['rate_limited', false, 'No more for now. Please try again later.'],
    ['turn_in_progress', false, 'Your message was not taken: another one is answered.'],
    ['api_error', false, 'Something went wrong. Please say it again.'],
  ] as const) {
    line.asks('When do you open?');
    await words(page, 'Thinking');
    line.fails(code, begun);
    await said(page, text);
    await words(page, 'Listening');
  }
  // The messages are drawn with the next frame, behind the hint.
  await page.locator('#messages li').nth(5).waitFor();
  t.equal(await page.locator('#messages li').count(), 6, 'a turn that was not begun has no message to take back');
});

calling('the last minute is counted', async (t, page, line) => {
  line.ready(Math.floor(((await page.evaluate('Date.now()')) as number) / 1000) + 50);
  await words(page, 's left');
  t.match(await bar(page).locator('.remaining').innerText(), /^(50|4\d) s left$/);
  line.ready(Math.floor(((await page.evaluate('Date.now()')) as number) / 1000) + 5_000);
  await bar(page).locator('.remaining').filter({ hasNotText: 'left' }).waitFor({ state: 'attached' });
});

/** A microphone of zeros: what a browser gives where it is switched off. */
const silent = `navigator.mediaDevices.getUserMedia = async () => (globalThis.stream = new AudioContext().createMediaStreamDestination().stream);`;

calling(
  'a microphone that gives nothing, one that is unplugged, and another one',
  async (t, page, line) => {
    line.ready();
    await said(page, 'The microphone gives nothing. Is it switched off?');
    await page.keyboard.press('m');
    await words(page, 'You are muted');
    await page.evaluate(`(() => {
    globalThis.another = navigator.mediaDevices.getUserMedia;
    navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotFoundError'));
    const [track] = stream.getTracks();
    track.stop();
    track.dispatchEvent(new Event('ended'));
  })()`);
    await said(page, 'The microphone is gone. Plug one in to go on.');
    t.same(await findings(page), []);
    await page.evaluate(
      'navigator.mediaDevices.getUserMedia = another; void navigator.mediaDevices.dispatchEvent(new Event("devicechange"))',
    );
    await hint(page).filter({ hasNotText: 'gone' }).waitFor({ state: 'attached' });
  },
  { before: silent },
);

/** Microphones for which the browser cancels only the echo of other pages by default. */
const echoing = `globalThis.opened = 0;
const get = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => (globalThis.stream = await get(wanted));
MediaStreamTrack.prototype.getSettings = () => (opened++, { echoCancellation: globalThis.cancels ?? 'remote-only' });`;

/** Another microphone takes the place of this one. */
async function replaced(page: Page, cancels: boolean): Promise<void> {
  const before = await page.evaluate('opened');
  await page.evaluate(`(() => {
    globalThis.cancels = ${cancels};
    const [track] = stream.getTracks();
    track.stop();
    track.dispatchEvent(new Event('ended'));
  })()`);
  await until(() => page.evaluate(`opened > ${before}`) as Promise<boolean>);
}

calling(
  'a microphone that hears the reply: headphones are asked for, until one says so or a reply has been heard',
  async (t, page, line) => {
    const advice = 'Use headphones to speak over the reply.';
    line.ready();
    await said(page, advice);
    t.same(
      [await findings(page, 'not contrast'), await page.evaluate(faintTexts), await page.evaluate(overflow)],
      [[], [], 0],
    );
    line.asks('When do you open?');
    await words(page, 'Thinking');
    line.fails('assistant_unavailable');
    await said(page, 'There was no reply.');
    t.not(await hint(page).textContent(), advice, 'what goes wrong is said instead');
    line.asks('When do you open?');
    await said(page, advice);
    line.speaks('We open at nine');
    await words(page, 'Speaking');
    await hint(page).filter({ hasText: advice }).waitFor();
    line.cut();
    await hint(page).locator('p').waitFor({ state: 'detached' });
    await replaced(page, true);
    t.equal(await hint(page).textContent(), '');
    await replaced(page, false);
    await said(page, advice);
    await hint(page).getByRole('button', { name: 'I have headphones' }).click();
    await hint(page).locator('p').waitFor({ state: 'detached' });
  },
  { before: echoing, width: 360 },
);

/** Keeps the page's context of sound, and counts its tones: half a second of sound at once, which no reply sends. */
const sounds = `globalThis.tones = 0;
const { postMessage } = MessagePort.prototype;
MessagePort.prototype.postMessage = function (message, ...rest) {
  if (message?.type === 'play' && message.samples.length === 12_000) tones++;
  return postMessage.call(this, message, ...rest);
};
globalThis.AudioContext = class extends AudioContext { constructor(...given) { super(...given); globalThis.context ??= this; } };`;

calling(
  'the sound is taken away, and comes back with a click',
  async (t, page, line) => {
    line.ready();
    await words(page, 'Listening');
    await page.evaluate('context.suspend()');
    await said(page, 'The sound is interrupted.');
    t.same([await findings(page, 'not contrast'), await page.evaluate(faintTexts)], [[], []]);
    await hint(page).getByRole('button', { name: 'Go on' }).click();
    await hint(page).locator('p').waitFor({ state: 'detached' });
    t.equal(await page.evaluate('context.state'), 'running');
  },
  { before: sounds },
);

/** Keeps the page's contexts of sound and its streams of microphones. */
const kept = `globalThis.contexts = [];
globalThis.streams = [];
globalThis.AudioContext = class extends AudioContext { constructor(...given) { super(...given); contexts.push(this); } };
const get = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => { const stream = await get(wanted); streams.push(stream); return stream; };`;
const states = "contexts.map(({ state }) => state).filter((state) => state !== 'closed').join()";

/** Resolves once audio of the person has come since. */
async function hears(line: Line): Promise<void> {
  const before = line.audioBytes;
  await until(() => line.audioBytes > before);
}

const away = 'The microphone is interrupted: nobody hears you.';

calling(
  'a microphone and a loudspeaker that are taken away are said, and both come back with a click',
  async (t, page, line) => {
    line.ready();
    await words(page, 'Listening');
    await hears(line);
    await page.evaluate('Promise.all(contexts.map((context) => context.suspend()))');
    await said(page, away);
    await words(page, 'You are not heard');
    t.same(
      [await findings(page, 'not contrast'), await page.evaluate(faintTexts), await page.evaluate(overflow)],
      [[], [], 0],
    );
    await hint(page).getByRole('button', { name: 'Go on' }).click();
    await hint(page).locator('p').waitFor({ state: 'detached' });
    t.equal(await page.evaluate(states), 'running,running');
    await hears(line);
    await words(page, 'Listening');
  },
  { before: kept, width: 360 },
);

calling(
  'a microphone that is taken away alone is said, and comes back with the page',
  async (_, page, line) => {
    line.ready();
    await hears(line);
    const turn = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true }); document.dispatchEvent(new Event('visibilitychange'));`,
      );
    await turn('hidden');
    // The loudspeaker was made in the handler of the click, before the microphone.
    await page.evaluate('contexts.at(-1).suspend()');
    await said(page, away);
    await turn('visible');
    await hint(page).locator('p').waitFor({ state: 'detached' });
    await hears(line);
  },
  { before: kept },
);

calling(
  'a microphone of which nothing comes, whatever the browser says of it, is opened anew by the second click',
  async (t, page, line) => {
    line.ready();
    await hears(line);
    const opened = (await page.evaluate('streams.length')) as number;
    await page.evaluate(
      "(() => { const context = contexts.at(-1); context.addEventListener('statechange', (event) => event.stopImmediatePropagation(), { capture: true }); context.resume = async () => {}; Object.defineProperty(context, 'state', { value: 'running' }); AudioContext.prototype.suspend.call(context); })()",
    );
    await said(page, away);
    const goOn = hint(page).getByRole('button', { name: 'Go on' });
    await goOn.click();
    t.equal(await page.evaluate('streams.length'), opened);
    await goOn.click();
    await hint(page).locator('p').waitFor({ state: 'detached' });
    t.same(await page.evaluate('streams.map((stream) => stream.getTracks()[0].readyState)'), ['ended', 'live']);
    await hears(line);
  },
  { before: kept },
);

calling(
  'a microphone that the browser mutes is said, and is opened anew by a click',
  async (t, page, line) => {
    line.ready();
    await hears(line);
    await page.evaluate(
      "(() => { const [track] = streams.at(-1).getTracks(); track.enabled = false; Object.defineProperty(track, 'muted', { value: true }); track.dispatchEvent(new Event('mute')); })()",
    );
    await said(page, away);
    await hint(page).getByRole('button', { name: 'Go on' }).click();
    await hint(page).locator('p').waitFor({ state: 'detached' });
    t.same(await page.evaluate('streams.map((stream) => stream.getTracks()[0].readyState)'), ['ended', 'live']);
    await hears(line);
  },
  { before: kept },
);

/** The browser's microphones; the first is its choice. */
const choices = `${kept}
globalThis.choice = 'built in';
navigator.mediaDevices.enumerateDevices = async () => [
  { kind: 'audiooutput', deviceId: 'default', groupId: choice + '!', label: 'Loudspeaker' },
  { kind: 'audioinput', deviceId: 'default', groupId: choice, label: 'Default - ' + choice },
  { kind: 'audioinput', deviceId: '1', groupId: 'built in', label: 'built in' },
  { kind: 'audioinput', deviceId: '2', groupId: 'headset', label: 'headset' },
];
globalThis.change = (to) => { choice = to; navigator.mediaDevices.dispatchEvent(new Event('devicechange')); };`;

calling(
  'a new default microphone is followed, and one that cannot be opened is not',
  async (t, page, line) => {
    const tracks = (): Promise<string[]> => page.evaluate('streams.map((stream) => stream.getTracks()[0].readyState)');
    line.ready();
    await hears(line);
    await page.evaluate("change('built in')");
    await page.evaluate("change('headset')");
    await until(async () => (await tracks()).join() === 'ended,live');
    await hears(line);
    await page.evaluate(
      "navigator.mediaDevices.getUserMedia = async () => { globalThis.refused = true; throw new DOMException('', 'NotReadableError'); }",
    );
    await page.evaluate("change('built in')");
    await until(() => page.evaluate('globalThis.refused === true') as Promise<boolean>);
    await hears(line);
    t.same(await tracks(), ['ended', 'live'], 'the one before is heard still');
    await words(page, 'Listening');
    t.equal(await hint(page).textContent(), '');
  },
  { before: choices },
);

for (const [name, reducedMotion] of [
  ['a long thought has a soft sound', 'no-preference'],
  ['with reduced motion it is silent', undefined],
] as const) {
  calling(
    name,
    async (t, page, line) => {
      await page.clock.install();
      line.ready();
      line.asks('When do you open?');
      await words(page, 'Thinking');
      const tones = (): Promise<number> => page.evaluate('tones');
      // The page's clock also runs by itself.
      await page.clock.runFor(700);
      t.equal(await tones(), 0, 'a short one has none');
      await page.clock.runFor(900);
      t.equal(await tones(), reducedMotion === undefined ? 0 : 1);
      line.speaks('We');
      await words(page, 'Speaking');
      await page.clock.runFor(10_000);
      t.equal(await tones(), reducedMotion === undefined ? 0 : 1, 'none while it speaks');
    },
    { before: sounds, ...(reducedMotion && { reducedMotion }) },
  );
}

for (const [reason, error, text] of [
  ['replaced', null, 'The call goes on in another window.'],
  [null, 'session_expired', 'The time of this conversation is over.'],
  [null, 'voice_unavailable', 'Voice is not available at the moment.'],
] as const) {
  calling(`why the call is over: ${reason ?? error}`, async (t, page, line) => {
    line.ready();
    await words(page, 'Listening');
    if (reason !== null) line.send({ type: 'ended', reason });
    else line.ends(error);
    await page.locator('#notice').filter({ hasText: text }).waitFor();
    t.equal(await bar(page).count(), 0);
    t.equal(await page.locator('#message').isVisible(), true, 'one can write');
  });
}
