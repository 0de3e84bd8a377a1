/** Two tabs of one visitor: neither takes the other's conversation away (contract 9). */
import type { BrowserContext, Page } from 'playwright-core';
import t from 'tap';
import { openHouse } from '../../api/house.ts';
import { transcriptOf, until } from '../../api/talk.ts';
import { openBrowser, whyNoBrowser } from '../../browser.ts';
import { openLink, quiet, replies, say } from './browser.ts';
import { linked } from './visits.ts';

const house = await openHouse(t);
const browser = whyNoBrowser ? null! : await openBrowser(t);

/** Two tabs on the same page; the second one is opened by `second`. */
async function openTabs(slug: string): Promise<{ one: Page; context: BrowserContext; second(): Promise<Page> }> {
  await linked(house, slug, { name: 'tokens=3,delay_ms=0', greeting: 'Good day.' });
  const url = `${house.url}/p/${slug}`;
  const { page: one, context } = await openLink(browser, url);
  await replies(one).first().waitFor();
  const second = async (): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(url);
    await replies(page).first().waitFor();
    return page;
  };
  return { one, context, second };
}

const own = (page: Page, text: string): Promise<void> =>
  page.locator('#messages li.user').filter({ hasText: text }).waitFor();
const asks = async (page: Page, text: string): Promise<void> => {
  await say(page, text);
  await own(page, text);
  await quiet(page);
};
const begins = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.locator('#notice').getByRole('button', { name: 'New conversation' }).click();
  await until(async () => (await page.locator('#messages li').count()) === 1);
};
const said = (page: Page): Promise<string[]> => page.locator('#messages li.user .said').allInnerTexts();
/** The visitor's messages of each session of an assistant, in the order of the sessions. */
const stored = async (): Promise<{ id: string; status: string; said: string[] }[]> => {
  const sessions = (await house.ask('/sessions?limit=10')).json.data.toReversed();
  return Promise.all(
    sessions.map(async ({ id, status }: { id: string; status: string }) => ({
      id,
      status,
      said: (await transcriptOf(house, id)).filter(({ role }) => role === 'user').map(({ content }) => content),
    })),
  );
};

t.test(
  'a tab without a conversation goes on with the one that another tab begins',
  { skip: whyNoBrowser },
  async (t) => {
    const { one, context, second } = await openTabs('joins');
    const two = await second();
    await asks(one, 'First');
    await own(two, 'First');
    await asks(two, 'Second');
    t.same(
      (await stored()).map(({ said }) => said),
      [['First', 'Second']],
    );
    await context.close();
  },
);

t.test(
  'a tab shows the message of another that arrives after the tab has read the conversation',
  { skip: whyNoBrowser },
  async (t) => {
    const { one, context, second } = await openTabs('late');
    const two = await second();
    let arrive = (): void => {};
    const held = new Promise<void>((resolve) => (arrive = resolve));
    await one.route('**/chat', async (route) => {
      await held;
      await route.continue();
    });
    const isRead = two.waitForResponse((response) => response.url().includes('/transcript'));
    await say(one, 'First');
    await isRead;
    arrive();
    await own(two, 'First');
    t.same(await said(two), ['First']);
    await context.close();
  },
);

t.test(
  'a new conversation in one tab leaves the other its own, also after a reload of both',
  { skip: whyNoBrowser },
  async (t) => {
    const before = (await stored()).length;
    const { one, context, second } = await openTabs('leaves');
    await asks(one, 'First');
    const two = await second();
    await own(two, 'First');
    await begins(two);
    await one.reload();
    await own(one, 'First');
    await asks(one, 'Still here');
    await asks(two, 'Another');
    await asks(one, 'And here');
    await Promise.all([one.reload(), two.reload()]);
    await Promise.all([own(one, 'And here'), own(two, 'Another')]);
    t.same([await said(one), await said(two)], [['First', 'Still here', 'And here'], ['Another']]);
    t.same(
      (await stored()).slice(before).map(({ status, said }) => [status, said]),
      [
        ['open', ['First', 'Still here', 'And here']],
        ['open', ['Another']],
      ],
    );
    const third = await second();
    await own(third, 'Another');
    t.pass('a tab that is opened later has the newest one');
    await third.close();
    await begins(one);
    await until(async () => (await stored())[before]!.status === 'ended');
    t.pass('the last tab that leaves a conversation ends its session');
    await two.reload();
    await own(two, 'Another');
    await context.close();
  },
);

t.test(
  'two tabs that begin at the same time have a conversation each, also after a reload',
  { skip: whyNoBrowser },
  async (t) => {
    const { one, context, second } = await openTabs('races');
    const two = await second();
    const held: (() => void)[] = [];
    await two.route('**/sessions', async (route) => {
      await new Promise<void>((resolve) => held.push(resolve));
      await route.continue();
    });
    await say(two, 'Of the second');
    await until(() => held.length > 0);
    await asks(one, 'Of the first');
    held.forEach((go) => go());
    await quiet(two);
    await Promise.all([one.reload(), two.reload()]);
    await Promise.all([own(one, 'Of the first'), own(two, 'Of the second')]);
    t.same([await said(one), await said(two)], [['Of the first'], ['Of the second']]);
    await context.close();
  },
);

t.test('a message that waits in one tab outlasts what another tab stores', { skip: whyNoBrowser }, async (t) => {
  const { one, context, second } = await openTabs('waits');
  await asks(one, 'First');
  const two = await second();
  await own(two, 'First');
  await one.route('**/chat', (route) => route.abort());
  await say(one, 'Waiting');
  await own(one, 'Waiting');
  await asks(two, 'Meanwhile');
  await two.close();
  await one.unroute('**/chat');
  await one.reload();
  await own(one, 'Waiting');
  await quiet(one);
  t.same((await said(one)).toSorted(), ['First', 'Meanwhile', 'Waiting']);
  t.same((await stored()).at(-1)!.said.toSorted(), ['First', 'Meanwhile', 'Waiting'], 'each once');
  await context.close();
});
