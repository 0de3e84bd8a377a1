/** Calls from the link's page and the widget, in a browser whose fake microphone says one phrase (contract 18). */
import t from 'tap';
import type { Frame, Page } from 'playwright-core';
import { languages } from '../../../src/pages/words.ts';
import { callWords } from '../../../src/pages/call/words.ts';
import { opened } from '../../api/caller.ts';
import { openHouse } from '../../api/house.ts';
import { transcriptOf, until } from '../../api/talk.ts';
import { faintTexts, openBrowser, openPage, overflow, whyNoBrowser } from '../../browser.ts';
import { phrase, phraseFor } from '../../phrase.ts';
import { findings as seriousFindings } from '../console/console.ts';
import { openStandIn } from '../console/stand-in.ts';
import { findings, openLink, replies } from './browser.ts';
import { frameOf, launcherOf, openSites } from './sites.ts';
import { linked } from './visits.ts';

// Loudness alone is taken for speech without voice processes.
const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
const voice = { provider: 'synthetic', name: 'character_ms=40', transcription_name: 'texts=where_is_my_order' };
const spoken = {
  channels: { voice: true, link: true, widget: true },
  voice,
  greeting: null,
  name: 'tokens=40,delay_ms=0',
};
const device = [
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  `--use-file-for-fake-audio-capture=${await phraseFor(t)}%noloop`,
];
const browser = whyNoBrowser ? null! : await openBrowser(t, ...device);

const bar = (page: Page | Frame) => page.locator('#call');
const state = (page: Page | Frame, name: string): Promise<void> =>
  bar(page).locator(`.mark[data-state="${name}"]`).waitFor();
const call = (page: Page | Frame): Promise<void> => page.getByRole('button', { name: 'Call', exact: true }).click();
const hangUp = (page: Page | Frame): Promise<void> => bar(page).getByRole('button', { name: 'Hang up' }).click();
const reply = (page: Page | Frame) => page.locator('#messages li.assistant .said');
const sessionOf = async (page: Page | Frame): Promise<string> =>
  JSON.parse((await page.evaluate('Object.values(localStorage)[0]')) as string).session;
/** Resolves once something of the last reply was heard. */
const heard = (page: Page | Frame): Promise<boolean> =>
  until(async () => ((await reply(page).last().textContent()) ?? '').includes(' '));

t.test('each language has words of its own for it', async (t) => {
  t.same(Object.keys(callWords), languages);
  for (const key of Object.keys(callWords.en) as (keyof typeof callWords.en)[])
    t.ok(new Set(languages.map((language) => callWords[language][key])).size >= languages.length - 1, key);
  for (const { timeLeft } of Object.values(callWords)) t.match(timeLeft, '{seconds}');
});

t.test(
  'a turn is heard, interrupted by the space bar, and is what the transcript has',
  { skip: whyNoBrowser },
  async (t) => {
    await linked(house, 'turn', spoken);
    const { page, complaints, context } = await openLink(browser, `${house.url}/p/turn`, { width: 360, height: 700 });
    const loaded: string[] = [];
    page.on('request', (request) => void (request.url().includes('/link/call-') && loaded.push(request.url())));
    await page.locator('#message').waitFor();
    t.same(loaded, [], 'nothing is loaded for it before');
    await call(page);
    await state(page, 'hearing');
    t.equal(await page.locator('#talk').isVisible(), false, 'the bar stands in place of the text field');
    // A screen reader announces the words that were understood.
    await page.locator('[role="log"]').filter({ hasText: 'where is my order' }).waitFor({ state: 'attached' });
    await state(page, 'speaking');
    await heard(page);
    t.same(
      [await findings(page, 'not contrast'), await page.evaluate(faintTexts), await page.evaluate(overflow)],
      [[], [], 0],
    );
    t.match(await bar(page).locator('.doing').innerText(), 'Speaking');
    t.equal(await bar(page).locator('.line u').count(), 1, 'the word under way is marked');
    await page.keyboard.press('Space');
    await page.locator('#messages li.cut').waitFor();
    await state(page, 'listening');
    t.match(await bar(page).locator('.line').innerText(), /\|$/);
    const [said, cut] = await transcriptOf(house, await sessionOf(page));
    t.match(
      [said, cut],
      [
        { content: 'where is my order', voice: {} },
        { status: 'partial', voice: { heard: 'played', cut_by: 'client' } },
      ],
    );
    t.equal(await reply(page).last().innerText(), cut!.content, 'the page shows what was heard');

    await hangUp(page);
    await bar(page).waitFor({ state: 'detached' });
    await page.locator('#send').waitFor();
    t.same(
      [await page.locator('#messages li').count(), await replies(page).count()],
      [2, 1],
      'each message once, as the service has it',
    );
    t.equal((await house.ask(`/sessions/${await sessionOf(page)}`)).json.active_call_id, null);
    t.same(complaints, []);
    await context.close();
  },
);

t.test('a call is muted, typed into and hung up by keyboard', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'typed', { ...spoken, name: 'tokens=3,delay_ms=0' });
  const { page, complaints, context } = await openLink(browser, `${house.url}/p/typed`, { colorScheme: 'dark' });
  await call(page);
  await state(page, 'listening');
  t.equal(await page.evaluate('document.activeElement.id'), 'call');
  await page.locator('#scroller').press('m');
  t.equal(
    await bar(page).getByRole('button', { name: 'Mute' }).getAttribute('aria-pressed'),
    'false',
    'a letter counts in the bar alone',
  );
  await bar(page).press('m');
  await bar(page).getByRole('button', { name: 'Mute' }).and(page.locator('[aria-pressed="true"]')).waitFor();
  t.match(await bar(page).locator('.doing').innerText(), 'You are muted');
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  t.equal(await page.evaluate('document.activeElement.id'), 'message');
  await page.keyboard.type('Am I muted?');
  await page.keyboard.press('Enter');
  await page.locator('li.user:has-text("Am I muted?") + li.assistant[aria-busy="false"]').waitFor();
  t.same([await findings(page, 'not contrast'), await page.evaluate(faintTexts)], [[], []]);
  t.equal(await page.locator('#message').inputValue(), '', 'a space in the text field is a space');
  t.match((await transcriptOf(house, await sessionOf(page))).slice(-2), [
    { content: 'Am I muted?', voice: null },
    { status: 'completed', voice: { heard: 'played', cut_by: null } },
  ]);
  await bar(page).getByRole('button', { name: 'Hang up' }).focus();
  await page.keyboard.press('Space');
  await bar(page).waitFor({ state: 'detached' });
  t.equal(await page.evaluate('document.activeElement.id'), 'message');
  t.same(complaints, []);
  await context.close();
});

t.test('what goes wrong is said in words', { skip: whyNoBrowser }, async (t) => {
  const assistant = await linked(house, 'wrong', spoken);
  const { page, context } = await openLink(browser, `${house.url}/p/wrong`);
  const fails = async (words: RegExp): Promise<void> => {
    await call(page);
    await page.locator('#notice').filter({ hasText: words }).waitFor();
    t.equal(await bar(page).count(), 0);
    t.equal(await page.locator('#message').isVisible(), true, 'one can still write');
  };
  const device = (name: string): Promise<void> =>
    page.evaluate(`navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '${name}'))`);
  await page.locator('#message').waitFor();
  await page.evaluate('globalThis.real = navigator.mediaDevices.getUserMedia');
  await device('NotAllowedError');
  await fails(/does not allow the microphone/);
  await device('NotFoundError');
  await fails(/No microphone can be used/);
  await page.evaluate('navigator.mediaDevices.getUserMedia = real');
  const change = (body: object) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}`, { method: 'PATCH', body });
  await change({ channels: { voice: false } });
  await fails(/Voice is not available/);
  await change({ channels: { voice: true }, link: { limits: { messages_per_visitor_per_day: 0 } } });
  await fails(/No more messages for now/);
  await change({ channels: { voice: false } });
  await page.reload();
  await page.locator('#message').waitFor();
  t.equal(
    await page.getByRole('button', { name: 'Call', exact: true }).count(),
    0,
    'where voice is off there is no call',
  );
  await context.close();
});

t.test('in the widget, where closing it hangs up', { skip: whyNoBrowser }, async (t) => {
  const sites = await openSites(t, house, ...device);
  await linked(house, 'widget', { ...spoken, origins: [sites.origin] });
  sites.put('/', { body: '<p>Shop</p>' });
  const { page, complaints } = await sites.visit('/');
  await launcherOf(page).click();
  const frame = await frameOf(page);
  await call(frame);
  await state(frame, 'speaking');
  await heard(frame);
  await frame.locator('#call').press('Escape');
  await frame.locator('#messages li.cut').waitFor();
  t.equal(await bar(frame).isVisible(), true, 'Escape interrupts, and closes nothing');
  await frame.getByRole('button', { name: 'Close' }).click();
  await bar(frame).waitFor({ state: 'detached' });
  const session = (await house.ask(`/sessions?limit=1`)).json.data[0];
  t.equal((await house.ask(`/sessions/${session.id}`)).json.active_call_id, null);
  t.same(complaints, []);
});

t.test("in the console's trial, with its chart", { skip: whyNoBrowser }, async (t) => {
  const standIn = await openStandIn(t, house);
  const { id } = await house.assistant({
    name: 'on trial',
    channels: { voice: true },
    model: { provider: 'synthetic', name: 'tokens=40,delay_ms=0' },
    voice,
  });
  const { page, complaints, context } = await openPage(browser, { origin: standIn.url, height: 900 });
  await page.goto(`${standIn.url}/console/${house.workspaceId}/assistants/${id}`);
  await call(page);
  await state(page, 'speaking');
  const said = page.getByRole('article', { name: 'Assistant' });
  await said.filter({ hasText: 'word word' }).waitFor();
  t.equal(await page.getByRole('article', { name: 'Visitor' }).getByText('where is my order').count(), 1);
  t.same([await seriousFindings(page), await page.evaluate(faintTexts), await page.evaluate(overflow)], [[], [], 0]);
  t.same(
    await page.evaluate(
      "(() => { const line = document.querySelector('#call .line'); return [getComputedStyle(line, '::after').content, line.getBoundingClientRect().height]; })()",
    ),
    ['none', 24],
    "it has the look of the bar, and nothing of the console's",
  );
  await page.keyboard.press('Space');
  // The transcript says what cut it.
  await said
    .filter({ hasText: 'interrupted by the caller' })
    .filter({ hasText: /, spoken, \d+\.\d s/ })
    .waitFor();
  await hangUp(page);
  await bar(page).waitFor({ state: 'detached' });
  await page.getByLabel('Message', { exact: true }).waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("above a call's chart stands who spoke in the last half minute", { skip: whyNoBrowser }, async (t) => {
  const standIn = await openStandIn(t, house);
  const caller = await opened(house, { texts: 'hello_there|no_stop', model: 'tokens=60,delay_ms=0', characterMs: 60 });
  const { page, complaints, context } = await openPage(browser, { origin: standIn.url });
  await page.goto(`${standIn.url}/console/${house.workspaceId}/live/session/${caller.session.id}`);
  await page.getByRole('link', { name: 'Call', exact: true }).click();
  const lane = page.getByRole('region', { name: 'The last 30 seconds' });
  const told = (words: RegExp): Promise<void> => lane.getByRole('listitem').filter({ hasText: words }).waitFor();
  await lane.locator('summary').focus();
  await page.keyboard.press('Enter');
  await lane.getByText('Nobody has spoken.').waitFor();
  caller.say(phrase());
  await told(/The turn of the person is over after a silence of \d+ ms/);
  await told(/The reply begins [\d,]+ ms after the voice of the person/);
  await told(/The assistant speaks, so far for [\d,]+ ms/);
  caller.report();
  caller.say(phrase());
  await told(/The reply is held \d+ ms after a voice began over it/);
  await told(/The reply is cut [\d,]+ ms after a voice began over it: interrupted by speech/);
  t.ok((await lane.locator('.spoken').count()) >= 3, 'and it is drawn');
  t.same([await seriousFindings(page), await page.evaluate(faintTexts)], [[], []]);
  await page.setViewportSize({ width: 360, height: 700 });
  await page.emulateMedia({ colorScheme: 'dark' });
  t.same([await seriousFindings(page), await page.evaluate(faintTexts), await page.evaluate(overflow)], [[], [], 0]);
  t.same(complaints, []);
  await page.getByRole('link', { name: 'Session', exact: true }).click();
  await page.locator('.head code').filter({ hasText: caller.session.id }).waitFor();
  caller.send({ type: 'hangup' });
  await caller.closed;
  await context.close();
});
