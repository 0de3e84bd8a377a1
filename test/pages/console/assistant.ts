/** The assistant's page: its public link with its possible cost and its use, the widget's line, and its voice. */
import type { Test } from 'tap';
import type { Locator, Page } from 'playwright-core';
import { Visit } from '../link/visits.ts';
import { findings, settled, turnTo, until, within, type Console } from './console.ts';

export async function theAssistant(t: Test, console: Console): Promise<void> {
  await within(t, console, 'the form has sections, and each refusal shows its own', sectionsShown);
  await within(t, console, 'on a phone Save and the trial are in view in every section', onPhone);
  await within(t, console, "whether a model's reasoning is shown is set", setReasoning);
  await within(t, console, 'a removed pre-chat field leaves the focus in its section', preChat);
  await within(t, console, 'the link is set, and what the server refuses is said at the field', setLink);
  await within(t, console, 'what the link has used is there, and goes on being so', linkInUse);
  await within(t, console, "the widget's line has what was chosen", widgetLine);
  await within(
    t,
    console,
    'a trial leaves its reader in place, sends at no Enter of an input method, and says whole replies',
    trialRead,
  );
  await within(t, console, 'the voice is heard, and says why it is not', voiceHeard);
}

/** Removes the browser's complaints about answers 409 and 422. */
const withoutRefusal = (complaints: string[]): void =>
  void complaints.splice(0, complaints.length, ...complaints.filter((one) => !/status of 4(09|22)/.test(one)));

const sectionNames = ['General', 'Model', 'Tools', 'Voice', 'Pre-chat form', 'Link', 'Widget', 'Desk'];

async function sectionsShown(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({ name: 'in sections', description: 'For everybody.' });
  await page.goto(url(house.workspaceId, 'assistants', id));
  await settled(page);
  const sections = page.getByRole('navigation', { name: 'Sections of the assistant' });
  t.same(await sections.getByRole('link').allTextContents(), sectionNames);
  await turnTo(page, { url }, `${url(house.workspaceId, 'assistants', id)}?section=general`);
  await settled(page);
  t.equal(await sections.locator('[aria-current]').textContent(), 'General', 'its name in the address is taken too');
  t.match(
    await page.getByText('Shown to visitors and in API listings.').textContent(),
    /visitors/,
    'the note under Description is true',
  );
  await page.getByLabel('Greeting').fill('Typed in one section');
  for (const name of sectionNames) {
    await sections.getByRole('link', { name, exact: true }).click();
    await page.getByRole('region', { name, exact: true }).waitFor();
    t.same(
      await page.locator('.fields:visible').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label'))),
      [name],
      `${name} alone is shown`,
    );
    t.ok(Number(await page.evaluate('document.documentElement.scrollHeight')) <= 1500, `${name} is no long page`);
    for (const act of [
      page.getByRole('button', { name: 'Save', exact: true }),
      page.getByLabel('Message', { exact: true }),
    ])
      t.ok(await inView(page, act), `${name}: Save and the trial are in view`);
  }
  // A field that the browser refuses is in another section.
  await sections.getByRole('link', { name: 'General' }).click();
  await page.getByLabel('Name', { exact: true }).fill('');
  await sections.getByRole('link', { name: 'Model' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('[name="name"]:focus').waitFor();
  t.equal(new URL(page.url()).search, '');
  await page.getByLabel('Name', { exact: true }).fill('in sections');
  await sections.getByRole('link', { name: 'Tools' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(
    (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json,
    { greeting: 'Typed in one section', description: 'For everybody.' },
    'one button saves all of them',
  );
}

/** Whether all of an element is in the window, and nothing covers its middle. */
async function inView(page: Page, element: Locator): Promise<boolean> {
  const box = await element.boundingBox();
  const { width, height } = page.viewportSize()!;
  if (box === null || box.x < 0 || box.y < 0 || box.x + box.width > width || box.y + box.height > height) return false;
  return element.evaluate((one, [x, y]) => one.contains(one.ownerDocument.elementFromPoint(x, y)), [
    box.x + box.width / 2,
    box.y + box.height / 2,
  ] as const);
}

async function onPhone(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({
    name: 'on a phone',
    channels: { link: true, widget: true },
    link: { slug: 'phone', origins: [] },
  });
  await page.setViewportSize({ width: 360, height: 740 });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id));
  const sections = page.getByRole('navigation', { name: 'Sections of the assistant' });
  for (const name of sectionNames) {
    await sections.getByRole('link', { name, exact: true }).click();
    await page.getByRole('region', { name, exact: true }).waitFor();
    for (const top of ['0', 'document.body.scrollHeight']) {
      await page.evaluate(`scrollTo(0, ${top})`);
      for (const act of [
        page.getByRole('button', { name: 'Save', exact: true }),
        page.getByRole('link', { name: 'Try it' }),
      ])
        t.ok(await inView(page, act), `${name}, ${top}: ${act}`);
    }
  }
  await page.getByRole('link', { name: 'Try it' }).click();
  await page.getByLabel('Message', { exact: true }).waitFor();
  t.equal(await page.locator('.fields:visible').count(), 0, 'the trial is in the place of the form');
  for (const act of [
    page.getByRole('button', { name: 'Save', exact: true }),
    page.getByLabel('Message', { exact: true }),
  ])
    t.ok(await inView(page, act), 'Save and the message are in view');
  t.same(await findings(page, 'not contrast'), []);
  await page.getByRole('link', { name: 'Back to the form' }).click();
  await page.getByLabel('Name', { exact: true }).waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
}

async function setReasoning(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({ name: 'thinker', model: { provider: 'openai', name: 'm' } });
  const stored = async () =>
    (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json.model.reasoning;
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', `${id}?section=model`));
  await settled(page);
  const choice = page.locator('[name="model.reasoning"]');
  t.equal(await choice.inputValue(), 'hidden');
  await choice.selectOption('shown');
  const saved = page.waitForResponse((response) => response.request().method() === 'PATCH');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await saved;
  t.equal(await stored(), 'shown');
  t.same(await findings(page), []);
}

async function preChat(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({ name: 'asks first' });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', `${id}?section=pre-chat`));
  await settled(page);
  const section = page.getByRole('region', { name: 'Pre-chat form' });
  const add = section.getByRole('button', { name: 'Add a field' });
  for (const name of ['plan', 'order']) {
    await add.click();
    await section.getByLabel('Name', { exact: true }).last().fill(name);
    await section.getByLabel('Label', { exact: true }).last().fill(`Your ${name}`);
  }
  await section.getByRole('button', { name: 'Remove the field plan' }).click();
  await section.and(page.locator(':focus')).waitFor();
  await section.getByLabel('Required').check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.same((await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json.visitor_fields, [
    { name: 'order', label: 'Your order', type: 'text', required: true },
  ]);
}

async function setLink(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  await house.assistant({ name: 'other', link: { slug: 'taken' } });
  const { id } = await house.assistant({ name: 'asked' });
  const stored = async () => (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`)).json;
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', `${id}?section=link`));
  await settled(page);
  await page.getByLabel('Public link').check();
  const slug = page.getByLabel('URL slug');
  await slug.fill('taken');
  await page.getByLabel('Minutes per day').fill('30');
  await page.getByLabel('Visitors at a time').fill('none');
  await page.getByText(/for 30 minutes\. .*180,000 output tokens/).waitFor();
  const sections = page.getByRole('navigation', { name: 'Sections of the assistant' });
  await sections.getByRole('link', { name: 'Widget' }).click();
  await page.getByRole('checkbox', { name: 'Widget' }).check();
  await sections.getByRole('link', { name: 'General' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  // The section of the field is shown, and the field is marked one frame before it is focused.
  await page.locator('[name="link.slug"][aria-invalid="true"]:focus').waitFor();
  t.equal(
    await page.locator('small.fault').textContent(),
    'Another assistant of the installation has this slug: choose another one.',
  );
  t.same(await findings(page), []);
  await sections.getByRole('link', { name: 'Link has a fault' }).waitFor();
  await slug.fill('asked');
  const origins = page.getByLabel('Allowed origins');
  await sections.getByRole('link', { name: 'Widget' }).click();
  await origins.fill('https://shop.example.com\nftp://nowhere');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('textarea[aria-invalid="true"]').waitFor();
  t.match(
    await page.locator('small.fault').textContent(),
    /^`link\.origins`: ftp:\/\/nowhere is no origin\./,
    'the line that is refused is named',
  );
  await origins.fill('https://shop.example.com\nhttp://localhost:3000');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  await sections.getByRole('link', { name: 'Link' }).click();
  await page
    .getByRole('region', { name: 'The page' })
    .getByRole('link', { name: /\/p\/asked$/ })
    .waitFor();
  t.match(await stored(), {
    channels: { link: true, widget: true },
    link: {
      slug: 'asked',
      origins: ['https://shop.example.com', 'http://localhost:3000'],
      limits: { minutes_per_day: 30, concurrent_visitors: null },
    },
  });
  await page.getByLabel('Minutes per day').fill('');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.equal((await stored()).link.limits.minutes_per_day, 600, 'what was emptied is the default again');
  withoutRefusal(complaints);
}

async function linkInUse(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({
    channels: { link: true },
    link: { slug: 'used', limits: { messages_per_visitor_per_day: 1 } },
  });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', `${id}?section=link`));
  await page.getByText('0 used, 0 refused today').waitFor();
  await page.getByText('0 present, 0 refused today').waitFor();
  t.equal(await page.getByRole('note').count(), 0, 'every visitor has an address of their own');
  const visit = await Visit.to(house, 'used', { headers: { 'x-forwarded-for': '203.0.113.9' } });
  const session = await visit.session();
  t.equal((await visit.say(session, 'Hello')).status, 200);
  t.equal((await visit.say(session, 'Hello?')).status, 429);
  await page.getByText('1 present, 0 refused today').waitFor();
  await page.getByText(/^1(\.\d)? used, 0 refused today/).waitFor();
  await page.getByText(/^1 refused today/).waitFor();
  t.match(
    await page.getByRole('note').textContent(),
    /^A request came with X-Forwarded-For from an address that the server does not know as a proxy\. If it was your proxy.*PARLEY_TRUSTED_PROXIES.*made the header up/,
  );
  t.same(await findings(page), []);
}

async function widgetLine(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({
    name: 'shown',
    greeting: 'Hello there.',
    channels: { widget: true },
    link: { slug: 'shown', origins: [] },
  });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', `${id}?section=widget`));
  const part = page.getByRole('region', { name: 'The widget' });
  await part.getByText('No site is listed above').waitFor();
  const line = part.locator('.command code');
  const { snippet } = (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}/link`)).json;
  t.equal(
    (await line.textContent())!.replace(/http:\/\/[^/]+/, ''),
    snippet.replace(/http:\/\/[^/]+/, ''),
    "it is the server's",
  );
  await part.getByLabel('Button label').fill('Ask "us" $& <now>');
  await part.getByLabel('Colours').selectOption('dark');
  await part.getByLabel('On the left').check();
  await part.getByLabel('Accent').fill('#ffcc00');
  t.match(
    await line.textContent(),
    'data-slug="shown" data-label="Ask &quot;us&quot; $&amp; &lt;now>" data-accent="#ffcc00" data-theme="dark" data-position="left" async></script>',
  );
  await part.getByText('Hello there.').waitFor();
  t.same(await findings(page), []);
  await part.getByRole('button', { name: 'Ask "us" $& <now>' }).click();
  await part.getByText('Hello there.').waitFor({ state: 'detached' });
}

async function trialRead(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({
    name: 'long',
    model: { provider: 'synthetic', name: 'tokens=400,delay_ms=10' },
  });
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', id));
  const box = page.getByLabel('Message', { exact: true });
  await box.fill('Hi');
  for (const how of ['isComposing: true', 'keyCode: 229']) {
    const prevented = await page.evaluate(
      `!document.querySelector('.say textarea').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ${how} }))`,
    );
    t.notOk(prevented, `${how} belongs to the input method`);
  }
  t.equal(await box.inputValue(), 'Hi');
  await box.press('Enter');
  const room = (fields: string) => `(() => { const stage = document.querySelector('.stage'); return ${fields}; })()`;
  await until(page, room('stage.scrollHeight > stage.clientHeight + 60'));
  t.ok(
    Number(await page.evaluate(room('stage.scrollHeight - stage.clientHeight - stage.scrollTop'))) < 60,
    'who is at the end stays there',
  );
  const said = page.getByRole('log', { name: 'Replies' });
  t.equal(await said.textContent(), '', 'a reply that grows is not read out');
  // The event comes a frame later by itself, and more of the reply may come before it.
  await page.evaluate(room("(stage.scrollTop = 0, stage.dispatchEvent(new Event('scroll')))"));
  const length = Number(await page.evaluate(room('stage.textContent.length')));
  await until(page, room(`stage.textContent.length > ${length + 100}`));
  t.equal(await page.evaluate(room('stage.scrollTop')), 0, 'who has scrolled up is left there');
  await said.locator('p').waitFor({ state: 'attached' });
  t.ok((await said.textContent())!.length > 500, 'it is said once it is whole');
  await box.fill('And?');
  await box.press('Enter');
  await until(page, room('stage.scrollTop > 0'));
}

async function voiceHeard(t: Test, page: Page, { url, house, standIn }: Console, complaints: string[]): Promise<void> {
  const { id } = (
    await house.console(`/workspaces/${house.workspaceId}/assistants`, {
      body: { name: 'spoken', channels: { voice: true }, voice: { provider: 'synthetic', name: 'audio_ms=200' } },
    })
  ).json;
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  await turnTo(page, { url }, url(house.workspaceId, 'assistants', `${id}?section=voice`));
  const { data: voices } = (await (await fetch(`${standIn.url}/console/api${path}/voices`)).json()) as {
    data: { id: string; name: string }[];
  };
  const last = voices.at(-1)!;
  const chosen = page.getByRole('combobox', { name: 'Voice', exact: true });
  await chosen.getByRole('option', { name: new RegExp(last.name) }).waitFor({ state: 'attached' });
  await chosen.selectOption(last.id);
  await page.getByLabel('Preview text').fill('Hello.');
  await page.getByRole('button', { name: 'Save and play sample' }).click();
  const audio = page.locator('audio');
  await audio.waitFor();
  t.equal((await house.console(path)).json.voice.voice, last.id, 'it is what was chosen');
  await until(page, `document.querySelector('audio').duration > 0.1`);
  await house.console(path, { method: 'PATCH', body: { channels: { voice: false } } });
  await page.getByRole('button', { name: 'Play sample' }).click();
  await page.getByRole('group', { name: 'Play sample' }).getByRole('alert').waitFor();
  t.match(
    await page.getByRole('group', { name: 'Play sample' }).getByRole('alert').textContent(),
    /voice.*req_\w{26}/i,
  );
  const now = Math.floor(Date.now() / 1000);
  t.equal(
    (await house.console(`/workspaces/${house.workspaceId}/usage?start=${now - 86_400}&end=${now + 86_400}`)).json
      .totals.speech_characters,
    0,
    'it counts in no usage',
  );
  withoutRefusal(complaints);
}
