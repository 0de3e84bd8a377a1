/** The way to a person of the desk on the link's page in a browser (contract 23). */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { openHouse } from '../../api/house.ts';
import { operate, transcriptOf, until } from '../../api/talk.ts';
import { openBrowser, whyNoBrowser } from '../../browser.ts';
import { findings, openLink, quiet, replies, say } from './browser.ts';
import { linked } from './visits.ts';

const texts = {
  waiting: 'One moment.',
  joined: '{{person.name}} is here.',
  left: '{{person.name}} left.',
  nobody: null,
};

const house = await openHouse(t);
const browser = whyNoBrowser ? null! : await openBrowser(t);

const sessionOf = async (page: Page): Promise<string> => {
  await until(() => page.evaluate<boolean>('Object.values(localStorage).length > 0'));
  return JSON.parse(await page.evaluate<string>('Object.values(localStorage)[0]')).session;
};
const desk = (id: string, verb: string, body?: object): Promise<any> =>
  operate(house, 'POST', `/workspaces/${house.workspaceId}/sessions/${id}/${verb}`, body);
const state = (page: Page) => page.locator('#desk [role=status]');
const button = (page: Page) => page.getByRole('button', { name: 'Talk to a person' });
const shown = (page: Page): Promise<string[]> => page.locator('#messages > li .said').allInnerTexts();

async function asks(t: Test): Promise<void> {
  await linked(house, 'desk', { name: 'tokens=2,text=word', greeting: 'Hello.', desk: { enabled: true, texts } });
  const { page, complaints, context } = await openLink(browser, `${house.url}/p/desk`);
  await button(page).click();
  await state(page).filter({ hasText: 'Waiting for a person…' }).waitFor();
  t.equal(await button(page).isVisible(), false);
  const id = await sessionOf(page);
  await page.locator('#messages li.notice').filter({ hasText: 'One moment.' }).waitFor();
  await desk(id, 'take');
  await state(page).filter({ hasText: 'operator is answering you.' }).waitFor();
  await desk(id, 'messages', { text: 'How can I\nhelp?' });
  const person = page.locator('#messages li.person');
  await person.waitFor();
  t.same(
    [await person.locator('.by').innerText(), await person.locator('.said').innerText()],
    ['operator', 'How can I\nhelp?'],
  );
  await say(page, 'My order is lost.');
  await quiet(page);
  await until(async () => (await transcriptOf(house, id)).at(-1).content === 'My order is lost.');
  t.same(await findings(page), []);
  const messages = ['Hello.', 'One moment.', 'operator is here.', 'How can I\nhelp?', 'My order is lost.'];
  t.same(await shown(page), messages, 'nobody else answers, and nothing is shown twice');
  await page.reload();
  await state(page).filter({ hasText: 'operator is answering you.' }).waitFor();
  t.same(await shown(page), messages, 'after a reload');
  await desk(id, 'return');
  await button(page).waitFor();
  await page.locator('#messages li.notice').filter({ hasText: 'operator left.' }).waitFor();
  await say(page, 'Thank you.');
  await until(async () => (await shown(page)).at(-1)!.startsWith('word'));
  t.same((await shown(page)).slice(0, -1), [...messages, 'operator left.', 'Thank you.']);
  t.same(complaints, []);
  await context.close();
}

async function isTaken(t: Test): Promise<void> {
  await linked(house, 'taken', { name: 'tokens=100000,delay_ms=10', desk: { texts } });
  const { page, complaints, context } = await openLink(browser, `${house.url}/p/taken`);
  await say(page, 'Hello');
  await replies(page).locator('.said').filter({ hasText: 'word word' }).waitFor();
  const id = await sessionOf(page);
  await desk(id, 'take');
  await quiet(page);
  await state(page).filter({ hasText: 'operator is answering you.' }).waitFor();
  await page.locator('#messages li.notice').filter({ hasText: 'operator is here.' }).waitFor();
  const stored = (await transcriptOf(house, id)).map(({ role, content }) => [role, content.trim()]);
  t.same(
    stored.map(([role]) => role),
    ['user', 'assistant', 'notice'],
  );
  t.same(
    await shown(page),
    stored.map(([, content]) => content),
  );
  await desk(id, 'messages', { text: 'Let me look.' });
  await page.locator('#messages li.person').filter({ hasText: 'Let me look.' }).waitFor();
  await desk(id, 'release');
  await state(page).filter({ hasText: 'Waiting for a person…' }).waitFor();
  t.same(complaints, []);
  await context.close();
}

t.test('a visitor asks for a person, talks to one and returns to the assistant', { skip: whyNoBrowser }, asks);
t.test('a person takes a conversation in mid-reply, and the page shows it unasked', { skip: whyNoBrowser }, isTaken);
