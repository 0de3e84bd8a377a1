/** The console in a browser: a server with some data, signed-in pages, and faults that no page may have. */
import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
import { axeFindings, openBrowser, openPage, toldOf, type Opened } from '../../browser.ts';
import type { Owner } from '../../folders.ts';
import { Visit } from '../link/visits.ts';
import { openHouse, type House, type Stream } from '../../api/house.ts';
import { openStandIn, type StandIn } from './stand-in.ts';

export interface Console {
  readonly house: House;
  readonly standIn: StandIn;
  readonly browser: Browser;
  /** The page shared by tests that need no separate one. */
  readonly shared: Opened;
  /** A page in a new context. Faults that a page must never have are gathered in `complaints`. */
  open(options?: { width?: number; colorScheme?: 'light' | 'dark' }): Promise<Opened>;
  /** The address of a page of the console. */
  url(...path: readonly string[]): string;
}

export async function openConsole(t: Owner): Promise<Console> {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const standIn = await openStandIn(t, house);
  const browser = await openBrowser(t);
  const open: Console['open'] = ({ width = 1440, colorScheme = 'light' } = {}) =>
    openPage(browser, { origin: standIn.url, width, height: 900, colorScheme });
  return {
    house,
    standIn,
    browser,
    open,
    shared: await open(),
    url: (...path) => [`${standIn.url}/console`, ...path].join('/'),
  };
}

/** A test on a page, whose complaints are gathered meanwhile. */
export type Doing = (t: Test, page: Page, console: Console, complaints: string[]) => Promise<void>;

/** Runs a test on a page, by default the shared one, and checks at its end that there is no complaint. */
export const within = (t: Test, console: Console, name: string, run: Doing, { page, complaints } = console.shared) =>
  t.test(name, async (t) => {
    complaints.length = 0;
    await run(t, page, console, complaints);
    t.same(complaints, [], 'without a complaint');
  });

const content = (page: Page) => page.locator('body:has(h1):not(:has(.wait))');

/** Resolves when the page shows its content. */
export const settled = (page: Page): Promise<void> => content(page).waitFor({ state: 'attached' });

const nothing = 'There is no such page';

/** Follows a link of the console. */
export const follow = (page: Page, address: string): Promise<void> =>
  page.evaluate(
    `(() => { const link = document.createElement('a'); link.href = ${JSON.stringify(address)}; document.body.append(link); link.click(); link.remove(); })()`,
  );

/** Follows a link to a page of nothing. */
export async function turnAway(page: Page, { url }: Pick<Console, 'url'>): Promise<void> {
  await follow(page, url('nothing'));
  await page.getByRole('heading', { name: nothing }).waitFor();
}

/**
 * Follows links from one page of the console to another, over a page of nothing since two may begin alike, and resolves
 * when it shows its content. What is loaded stays so: scripts, and axe, which costs a browser more than most pages.
 */
export async function turnTo(page: Page, console: Pick<Console, 'url'>, address: string): Promise<void> {
  await turnAway(page, console);
  await follow(page, address);
  await content(page).filter({ hasNotText: nothing }).waitFor({ state: 'attached' });
}

/**
 * Resolves once an expression is true in the page, looked at with each frame. The page's policy does not let it be
 * given to `waitForFunction`.
 */
export const until = (page: Page, expression: string): Promise<void> =>
  page.evaluate(
    `new Promise((resolve) => { const look = () => (${expression}) ? resolve() : requestAnimationFrame(look); look(); })`,
  );

const everything = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/**
 * The findings that keep somebody from using the page. The contrast of its texts takes axe as long as the rest;
 * `faintTexts` looks at it as well.
 */
export async function findings(page: Page, what: 'all' | 'not contrast' = 'all'): Promise<string[]> {
  const found = await axeFindings(page, {
    runOnly: everything,
    rules: { 'color-contrast': { enabled: what === 'all' } },
  });
  const told = toldOf(found.filter(({ impact }) => impact === 'serious' || impact === 'critical'));
  // A target that the bar at the bottom covers in part is reached by scrolling.
  return told.filter((one) => !one.includes('partially obscured'));
}

export interface Furnished {
  readonly session: { readonly id: string };
  readonly ended: { readonly id: string };
  /** The last turn of `ended`. */
  readonly over: string;
  readonly assistant: { readonly id: string };
  readonly key: { readonly id: string };
  /** The turn that runs as long as the test. */
  readonly turn: Stream;
}

/** A workspace after a morning's use: assistants, keys, a credential, ended talks, and a running one. */
export async function furnish(house: House): Promise<Furnished> {
  const assistant = await house.assistant({
    name: 'support',
    greeting: 'Hello! What can I do for you?',
    model: { provider: 'synthetic', name: 'hang_at=40,delay_ms=5,tokens=200' },
  });
  const quick = await house.assistant({
    name: 'opening hours',
    visitor_fields: [{ name: 'email', type: 'email', required: false }],
    greeting: 'Hello! Ask me when we are open.',
    channels: { link: true, widget: true },
    link: { slug: 'hours', origins: ['https://shop.example.com'] },
  });
  await house.console(`/workspaces/${house.workspaceId}/assistants`, { body: { name: 'returns' } });
  await house.console(`/workspaces/${house.workspaceId}/credentials`, {
    body: {
      kind: 'model',
      provider: 'openai',
      base_url: 'https://api.example.com/v1',
      api_key: 'a-key-of-the-provider',
    },
  });
  const key = await house.newKey({ name: 'web shop', limits: { requests: 60 } });
  await house.newKey({ name: 'night batch', assistant_ids: [quick.id], expires_at: 2_000_000_000 });
  const talks = [];
  const turns: string[] = [];
  for (const name of ['ada@example.com', 'grace@example.com']) {
    const talk = await house.session(quick.id, { visitor: { email: name } });
    for (const message of ['Hello', 'Count to 7']) {
      const said = await house.stream(`/sessions/${talk.id}/chat`, { body: { message } });
      await said.rest();
      turns.push(said.turnId);
    }
    talks.push(talk);
  }
  const visit = await Visit.to(house, 'hours');
  await visit.say(await visit.session({ visitor: { email: 'hedy@example.com' } }), 'When are you open?');
  await house.ask(`/sessions/${talks[0].id}/end`, { method: 'POST' });
  const session = await house.session(assistant.id);
  const turn = await house.stream(`/sessions/${session.id}/chat`, {
    body: { message: 'Tell me all about it. <img src=x onerror=complain(1)>' },
  });
  await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'and?' } });
  await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'and?' } });
  // Somebody is signed in elsewhere.
  await house.ask('/console/api/sign-in', { key: null, body: { token: house.operatorToken } });
  return { session, ended: talks[0], over: turns[1]!, assistant: quick, key, turn };
}
