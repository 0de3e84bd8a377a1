/**
 * The link's page for everybody who comes: by keyboard, by screen reader, in each direction and colour, with limits,
 * fields and voice.
 */
import type { Page } from 'playwright-core';
import t from 'tap';
import { openHouse } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { faintTexts, openBrowser, overflow, whyNoBrowser } from '../../browser.ts';
import { Faulty } from '../../client/faulty.ts';
import { failure } from '../../client/scene.ts';
import { findings, openLink, quiet, replies, say } from './browser.ts';
import { linked, Visit } from './visits.ts';

const fields = [
  { name: 'name', label: 'Your name', type: 'text', required: true },
  { name: 'email', label: 'E-mail', type: 'email', required: true },
  { name: 'order', label: 'Order', type: 'number', required: false },
  { name: 'news', label: 'News', type: 'boolean', required: false },
];

const focused = (page: Page): Promise<string> =>
  page.evaluate(
    "document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent",
  );

// Loudness alone is taken for speech without voice processes, such as the beeps of a browser's fake microphone.
const house = await openHouse(t, { env: { PARLEY_VOICE_PROCESSES: '0' } });
const device = [
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  '--autoplay-policy=no-user-gesture-required',
];
const browser = whyNoBrowser ? null! : await openBrowser(t, ...device);
const open = (slug: string, options = {}, query = '') => openLink(browser, `${house.url}/p/${slug}${query}`, options);
await linked(house, 'fields', { greeting: 'Good day.', visitor_fields: fields });
await linked(house, 'plain', { greeting: 'Good day.\n\n- **one**\n- https://a.example' });

t.test(
  'axe finds nothing, and nothing is faint or wider than the window: empty and full, light and dark, from left and from right, small and large',
  { skip: whyNoBrowser },
  async (t) => {
    for (const [options, query] of [
      [{ width: 360, height: 700 }, ''],
      [{ colorScheme: 'dark' }, ''],
      [{ width: 360, height: 700, locale: 'ar' }, ''],
      [{ locale: 'de', colorScheme: 'dark' }, '?accent=%23ffee00&scheme=light'],
    ] as const) {
      for (const slug of ['fields', 'plain']) {
        const { page, complaints, context } = await open(slug, options, query);
        const look = async (what: string): Promise<void> => {
          t.same(
            [await findings(page, 'not contrast'), await page.evaluate(faintTexts), await page.evaluate(overflow)],
            [[], [], 0],
            `${slug} ${query} ${JSON.stringify(options)}: ${what}`,
          );
        };
        await replies(page).waitFor();
        await look('empty');
        await say(page, 'Hello');
        if (slug === 'fields') {
          await page.locator('.fault:not(:empty)').first().waitFor();
          await look('faults');
        } else {
          await until(async () => (await replies(page).count()) === 2);
          await quiet(page);
          await page.locator('header button').first().click();
          await look('full, with a question');
        }
        t.same(complaints, []);
        await context.close();
      }
    }
    const { page, context } = await open('nobody', { locale: 'ar' });
    t.same([await findings(page), await page.evaluate('getComputedStyle(document.body).direction')], [[], 'rtl']);
    await context.close();
  },
);

t.test('a greeting that needs a session is shown once it is open', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'variables', { greeting: 'Good day on the {{channel}}.' });
  const { page, complaints, context } = await open('variables');
  await say(page, 'Hello');
  await until(async () => (await replies(page).count()) === 2);
  await until(async () => (await replies(page).allTextContents())[0]?.includes('Good day on the link.'));
  await page.reload();
  await until(async () => (await replies(page).count()) === 2);
  t.match((await replies(page).allTextContents())[0], 'Good day on the link.');
  t.same(complaints, []);
  await context.close();
});

t.test(
  'inputs are large enough for a phone not to zoom, and the page is as high as what is seen of it',
  { skip: whyNoBrowser },
  async (t) => {
    const { page, context } = await open('fields', { width: 360, height: 700 });
    await replies(page).waitFor();
    t.same(
      new Set(
        (await page.evaluate(
          "[...document.querySelectorAll('input:not([type=checkbox]), textarea')].map((input) => getComputedStyle(input).fontSize)",
        )) as string[],
      ),
      new Set(['16px']),
    );
    // A keyboard that covers the page, as phones of one maker have it: there is no such device here.
    await page.evaluate(
      "Object.defineProperty(visualViewport, 'height', { value: 400, configurable: true }); visualViewport.dispatchEvent(new Event('resize'))",
    );
    const { bottom } = (await page.evaluate("document.querySelector('#talk').getBoundingClientRect().toJSON()")) as {
      bottom: number;
    };
    t.ok(bottom <= 400, `${bottom}`);
    await context.close();
  },
);

t.test('a visitor fills in the fields and talks by keyboard alone', { skip: whyNoBrowser }, async (t) => {
  const { page, complaints, context } = await open('fields');
  const { keyboard } = page;
  await replies(page).waitFor();
  t.equal(await focused(page), 'field-0', 'the first field has the focus');
  await keyboard.press('Enter');
  t.same(await page.locator('.fault').allTextContents(), ['Please fill this in.', 'Please fill this in.', '', '', '']);
  await keyboard.type('Ada');
  await keyboard.press('Tab');
  await keyboard.type('nobody');
  await keyboard.press('Tab');
  await keyboard.type('seven');
  await keyboard.press('Enter');
  t.same(await page.locator('.fault').allTextContents(), [
    '',
    'Please enter an e-mail address.',
    'Please enter a number.',
    '',
    '',
  ]);
  t.equal(await focused(page), 'field-1');
  t.same(
    await page.evaluate(
      "[document.activeElement.getAttribute('aria-invalid'), document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent]",
    ),
    ['true', 'Please enter an e-mail address.'],
  );
  await keyboard.press('End');
  await keyboard.type('@a.example');
  await keyboard.press('Tab');
  await keyboard.press('Control+A');
  await keyboard.type('７，٥');
  await keyboard.press('Tab');
  await keyboard.press('Space');
  await keyboard.press('Enter');
  t.equal(await focused(page), 'message');
  await keyboard.type('One');
  await keyboard.press('Shift+Enter');
  await keyboard.type('two');
  await keyboard.press('Enter');
  await until(async () => (await replies(page).count()) === 2);
  await quiet(page);
  t.equal(await page.locator('#messages li.user .said').innerText(), 'One\ntwo');
  t.equal(await page.locator('#fields').isVisible(), false);
  const { session } = JSON.parse((await page.evaluate('Object.values(localStorage)[0]')) as string);
  t.same((await house.ask(`/sessions/${session}`)).json.visitor, {
    name: 'Ada',
    email: 'nobody@a.example',
    order: 7.5,
    news: true,
  });
  while ((await focused(page)) !== 'New conversation') await keyboard.press('Shift+Tab');
  await keyboard.press('Enter');
  t.equal(await focused(page), 'New conversation');
  await keyboard.press('Enter');
  t.equal(await focused(page), 'field-0');
  t.equal(await page.locator('#field-0').inputValue(), 'Ada', 'what was filled in is not asked again');
  t.same(complaints, []);
  await context.close();
});

t.test('a screen reader hears each reply once, whole, and what goes wrong', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'heard', { name: 'tokens=40,delay_ms=10' });
  const { page, complaints, context } = await open('heard');
  await page.locator('#message').waitFor();
  await page.evaluate(
    `globalThis.heard = []; for (const live of document.querySelectorAll('[aria-live], [role=status], [role=log]')) new MutationObserver((records) => heard.push(...records.flatMap(({ addedNodes }) => [...addedNodes].map(({ textContent }) => textContent)))).observe(live, { childList: true, subtree: true });`,
  );
  t.equal(
    await page.evaluate("document.querySelector('#messages').closest('[aria-live], [role=log], [role=status]')"),
    null,
    'not by tokens',
  );
  await say(page, 'Hello');
  await quiet(page);
  const name = await page.locator('h1').innerText();
  t.same(await page.evaluate('heard'), [`${name}: ${'word '.repeat(40).trim()}`]);
  t.same(await page.locator('#messages li > .hidden').allTextContents(), ['You', name], 'who speaks is said');
  t.same(complaints, []);
  await context.close();
});

t.test('limits: when to come back, in the clock of the visitor', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'limited', { limits: { messages_per_visitor_per_day: 0 } });
  const midnight = new Date(Math.ceil(Date.now() / 86_400_000) * 86_400_000);
  for (const [locale, timezoneId, words] of [
    ['en-US', 'America/New_York', 'No more messages for now. Please try again at '],
    ['de-DE', 'Asia/Tokyo', 'Bitte versuchen Sie es um '],
  ] as const) {
    const { page, complaints, context } = await open('limited', { locale, timezoneId });
    await say(page, 'Hello');
    const notice = await page.locator('#notice p').innerText();
    t.match(notice, words);
    t.match(
      notice,
      new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone: timezoneId }).format(midnight),
    );
    t.equal(await page.locator('#message').inputValue(), 'Hello', 'the message is not lost');
    t.equal(await page.locator('#messages li').count(), 0);
    t.same(complaints, []);
    await context.close();
  }
});

t.test('a short wait is waited for, and the message goes out by itself', { skip: whyNoBrowser }, async (t) => {
  await linked(house, 'busy', { limits: { concurrent_visitors: 1 }, name: 'tokens=1000000,delay_ms=50' });
  const visit = await Visit.to(house, 'busy');
  const session = await visit.session();
  const stream = await visit.stream(session);
  const { page, complaints, context } = await open('busy');
  await page.clock.install();
  await page.reload();
  await say(page, 'Hello');
  await page.locator('#notice p').filter({ hasText: 'Your message goes out at' }).waitFor();
  await visit.ask(`/sessions/${session.id}/end`, { method: 'POST' });
  stream.leave();
  await page.clock.fastForward(61_000);
  await replies(page).locator('.said').filter({ hasText: 'word' }).waitFor();
  t.equal(await page.locator('#notice').innerText(), '');
  t.same(complaints, []);
  await context.close();
});

t.test(
  'a conversation that is over, closed, too long or refused says so in words',
  { skip: whyNoBrowser },
  async (t) => {
    const assistant = await linked(house, 'said', { name: 'tokens=4' });
    const move = (verb: string) =>
      house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/${verb}`, { method: 'POST' });
    const { page, complaints, context } = await open('said');
    await say(page, 'x'.repeat(8003));
    t.equal(await page.locator('#fault-message').innerText(), '3 characters too many.');
    await page.locator('#message').fill('😀'.repeat(8000));
    t.equal(await page.locator('#fault-message').innerText(), '', 'counted as the service counts');
    await say(page, 'Hello');
    await quiet(page);
    const { session } = JSON.parse((await page.evaluate('Object.values(localStorage)[0]')) as string);
    await move('disable');
    await say(page, 'Are you there?');
    await page.locator('#notice').filter({ hasText: 'Nobody is available here at the moment.' }).waitFor();
    t.equal(await page.locator('#message').inputValue(), 'Are you there?');
    const { page: late, context: another } = await open('said');
    await late.locator('#notice').filter({ hasText: 'Nobody is available' }).waitFor();
    t.equal(await late.locator('#message').isVisible(), false);
    await another.close();
    await move('enable');
    await house.ask(`/sessions/${session}/end`, { method: 'POST' });
    await page.locator('#message').press('Enter');
    await page.locator('#notice').filter({ hasText: 'This conversation is over.' }).waitFor();
    await page.locator('#notice button').click();
    await page.locator('#message').press('Enter');
    await until(async () => (await replies(page).count()) === 1);
    await quiet(page);
    t.equal(await page.locator('#messages li.user .said').innerText(), 'Are you there?', 'what was written went along');
    t.same(complaints, []);
    await context.close();
  },
);

t.test(
  'a failure is said in words, with what it can be asked for by where nobody but the operator can help',
  { skip: whyNoBrowser },
  async (t) => {
    const way = await Faulty.open(t, house.url);
    const { page, complaints, context } = await openLink(browser, `${way.url}/p/plain`);
    for (const [status, code, words] of [
      [503, 'assistant_unavailable', /^There is no reply at the moment/],
      [500, 'api_error', /^Something went wrong\. Please try again\.\s*Reference: req_a+$/],
    ] as const) {
      way.fault = (line) =>
        line.endsWith('/chat') ? { kind: 'answer', status, body: failure('api_error', code) } : null;
      await say(page, 'Hello');
      await page.locator('#notice').filter({ hasText: words }).waitFor();
      t.equal(await page.locator('#message').inputValue(), 'Hello');
    }
    way.fault = () => null;
    await page.locator('#message').press('Enter');
    await until(async () => (await replies(page).count()) === 2);
    await quiet(page);
    t.equal(await page.locator('#notice').innerText(), '');
    t.same(complaints, []);
    await context.close();
  },
);

t.test(
  'voice: what is spoken is written, and a reply is read aloud; what does it is loaded then',
  { skip: whyNoBrowser },
  async (t) => {
    const assistant = await linked(house, 'voiced', {
      channels: { voice: true, link: true, widget: true },
      voice: { provider: 'synthetic', name: 'audio_ms=200,delay_ms=0', transcription_name: 'text=spoken' },
      name: 'tokens=4',
    });
    const { page, complaints, context } = await open('voiced', { permissions: ['microphone'] });
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    await page.locator('#message').fill('I have');
    t.notOk(asked.some((path) => path.includes('/voice-')));
    await page.getByRole('button', { name: 'Speak your message' }).click();
    await page.getByRole('button', { name: 'Stop listening' }).waitFor();
    await until(async () => (await page.locator('#message').inputValue()).startsWith('I have spoken spoken'), 120);
    await page.getByRole('button', { name: 'Stop listening' }).click();
    await page.getByRole('button', { name: 'Speak your message' }).waitFor();
    t.match(await page.locator('#message').inputValue(), /^I have( spoken)+$/);
    await page.locator('#message').press('Enter');
    await until(async () => (await replies(page).count()) === 1);
    await quiet(page);
    await page.getByRole('button', { name: 'Read aloud' }).click();
    await until(() => asked.some((path) => path.endsWith('/speech')));
    await page.getByRole('button', { name: 'Read aloud' }).waitFor();
    t.equal(await page.locator('#notice').innerText(), '');
    const usage = (await house.ask(`/usage?assistant_id=${assistant.id}`)).json.totals;
    t.ok(usage.speech_characters > 0);
    await page.evaluate(
      "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('Denied', 'NotAllowedError'))",
    );
    await page.getByRole('button', { name: 'Speak your message' }).click();
    await page.getByRole('button', { name: 'Speak your message' }).waitFor();
    const words = 'The microphone cannot be used';
    await page.locator('#notice').filter({ hasText: words }).waitFor();
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    t.match(await page.locator('#notice').innerText(), words, 'it stays');
    await page.evaluate(
      'const { stream } = new AudioContext().createMediaStreamDestination(); globalThis.track = stream.getTracks()[0]; navigator.mediaDevices.getUserMedia = () => new Promise((answer) => (globalThis.allow = () => answer(stream)))',
    );
    await page.getByRole('button', { name: 'Speak your message' }).click();
    await until(() => page.evaluate('globalThis.allow !== undefined'));
    await page.getByRole('button', { name: 'Stop listening' }).click();
    const before = asked.length;
    await page.evaluate('allow()');
    await page.getByRole('button', { name: 'Speak your message' }).waitFor();
    t.equal(await page.evaluate('track.readyState'), 'ended', 'stopped while the browser asked the person');
    t.same(
      asked.slice(before).filter((path) => !path.startsWith('/link/')),
      [],
      'nothing is spent',
    );
    t.same(complaints, []);
    await context.close();
  },
);

t.test('a visitor rates a reply, takes the rating back, and finds it again', { skip: whyNoBrowser }, async (t) => {
  const link = { slug: 'rated', origins: [], limits: {}, feedback: true };
  const assistant = await linked(house, 'rated', { greeting: 'Good day.', link });
  const { page, complaints, context } = await open('rated', { width: 360, height: 700 });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await say(page, 'Hello');
  await until(async () => (await button('Good reply').count()) === 1);
  const counts = async () => {
    const { totals } = (await house.ask(`/usage?assistant_id=${assistant.id}`)).json;
    return [totals.feedback_up, totals.feedback_down].join(' ');
  };
  const pressed = async () => [
    await button('Good reply').getAttribute('aria-pressed'),
    await button('Poor reply').getAttribute('aria-pressed'),
  ];
  t.same(await pressed(), ['false', 'false'], 'the greeting has no buttons, the reply has two');
  await button('Good reply').click();
  await until(async () => (await counts()) === '1 0');
  await button('Poor reply').click();
  await until(async () => (await counts()) === '0 1');
  t.same(await pressed(), ['false', 'true']);
  t.same([await findings(page, 'not contrast'), await page.evaluate(faintTexts)], [[], []]);
  await page.reload();
  await until(async () => (await button('Poor reply').count()) === 1);
  t.same(await pressed(), ['false', 'true']);
  await button('Poor reply').click();
  await until(async () => (await counts()) === '0 0');
  t.same(await pressed(), ['false', 'false']);
  t.same(complaints, []);
  await context.close();
});
