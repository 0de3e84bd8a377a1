/** The pictures of the desk as a visitor sees it: the page and the widget in each state, light and dark, on a sheet. */
import { mkdirSync } from 'node:fs';
import type { Browser, Frame, Page } from 'playwright-core';
import type { House } from '../../api/house.ts';
import { transcriptOf, until } from '../../api/talk.ts';
import { cookieFor, linkFor, withCookie } from '../../api/signing.ts';
import type { Owner } from '../../folders.ts';
import { openLink } from './browser.ts';
import { sheetOf } from './call-sheets.ts';
import { replyingModel } from './replying-model.ts';
import { frameOf, launcherOf, openSites, type Sites } from './sites.ts';

const looks = ['light', 'dark'] as const;

/** The ground of the sheets, beside which light and dark pages show their edges. */
const ground = '#8c8c88';

/** A person of the team who works at the desk. */
export interface AtDesk {
  readonly cookie: string;
  act(session: string, verb: string, body?: object): Promise<void>;
}

export async function atDesk(house: House, name: string): Promise<AtDesk> {
  const cookie = await cookieFor(house, await linkFor(house, name));
  return {
    cookie,
    async act(session, verb, body) {
      const path = `/workspaces/${house.workspaceId}/sessions/${session}/${verb}`;
      const { status, text } = await withCookie(house, cookie, path, { method: 'POST', ...(body && { body }) });
      if (status >= 300) throw new Error(text);
    },
  };
}

/** A page or a frame that a visitor looks at, and what takes its picture. */
interface Seen {
  readonly root: Page | Frame;
  /** Closes and opens the widget; a page has none. */
  readonly widget?: { toggle(): Promise<void>; unread(): Promise<void> };
  shot(): Promise<Buffer>;
  close(): Promise<unknown>;
}

const texts = {
  waiting: 'A person of our team will be with you shortly.',
  joined: '{{person.name}} has joined.',
  left: '{{person.name}} has left.',
  nobody: null,
};

const shopWithDesk = (slug: string, model: object, origins: readonly string[]) => ({
  name: 'Corner shop',
  greeting: 'Good day! What can I do for you?',
  model,
  channels: { voice: false, link: true, widget: true },
  desk: { enabled: true, texts },
  link: { slug, origins },
});

async function sends(root: Page | Frame, text: string): Promise<void> {
  await root.locator('#message').fill(text);
  await root.locator('#message').press('Enter');
}

const said = (root: Page | Frame, role: string, text: string) =>
  root.locator(`#messages li.${role}`).filter({ hasText: text }).waitFor();

/** One conversation from the greeting to the return; a picture of each state. */
async function statesOf(house: House, person: AtDesk, { root, widget, shot, close }: Seen): Promise<Buffer[]> {
  const taken: Buffer[] = [];
  const state = root.locator('#desk [role=status]');
  const button = root.getByRole('button', { name: 'Talk to a person' });
  await sends(root, 'My order has not come.');
  await root.locator('#send:not([hidden])').waitFor();
  await root.locator('#messages li.assistant').nth(1).waitFor();
  await button.waitFor();
  taken.push(await shot());
  const session: string = JSON.parse(await root.evaluate('Object.values(localStorage)[0]')).session;
  await button.click();
  await state.filter({ hasText: 'Waiting for a person…' }).waitFor();
  await said(root, 'notice', texts.waiting);
  taken.push(await shot());
  await person.act(session, 'take');
  await said(root, 'notice', 'Ana has joined.');
  const greet = () => person.act(session, 'messages', { text: 'Hello, this is Ana. Is it about your order?' });
  if (widget === undefined) await greet();
  else {
    await widget.toggle();
    await greet();
    await widget.unread();
    taken.push(await shot());
    await widget.toggle();
  }
  await said(root, 'person', 'Is it about your order?');
  await sends(root, 'Yes. Can I fetch it on Monday?');
  await until(async () => (await transcriptOf(house, session)).some(({ content }) => content.startsWith('Yes. Can')));
  taken.push(await shot());
  await person.act(session, 'return');
  await said(root, 'notice', 'Ana has left.');
  await button.waitFor();
  taken.push(await shot());
  await close();
  return taken;
}

async function onPage(browser: Browser, house: House, colorScheme: 'light' | 'dark'): Promise<Seen> {
  const { page, context } = await openLink(browser, `${house.url}/p/desk-shop`, {
    width: 380,
    height: 600,
    colorScheme,
  });
  return { root: page, shot: () => page.screenshot(), close: () => context.close() };
}

async function onWidget(sites: Sites, colorScheme: 'light' | 'dark'): Promise<Seen> {
  const viewport = { width: 560, height: 640 };
  const { page, context } = await sites.visit('/desk', { viewport, colorScheme, reducedMotion: 'reduce' });
  await launcherOf(page).click();
  const root = await frameOf(page, 'desk-shop');
  return {
    root,
    widget: {
      toggle: () => launcherOf(page).click(),
      unread: () => launcherOf(page).locator('b:not([hidden])').waitFor(),
    },
    shot: () => page.screenshot({ clip: { x: 140, y: 0, width: 420, height: 640 } }),
    close: () => context.close(),
  };
}

/** Takes the sheets into folders, as `desk.png`. */
export async function takeDeskSheets(t: Owner, house: House, folders: { link: string; widget: string }): Promise<void> {
  const sites = await openSites(t, house);
  const model = await replyingModel(
    t,
    house,
    'I am sorry. Orders take two days; a person of our team can look into yours.',
  );
  await house.assistant(shopWithDesk('desk-shop', model, [sites.origin]));
  sites.put('/desk', { title: 'Corner shop', tags: ['data-slug="desk-shop"'] });
  const person = await atDesk(house, 'Ana');
  const [pages, widgets]: Buffer[][][] = [[], []];
  for (const look of looks) {
    pages!.push(await statesOf(house, person, await onPage(sites.browser, house, look)));
    widgets!.push(await statesOf(house, person, await onWidget(sites, look)));
  }
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  await sheetOf(sites.browser, columnsOf(pages!), `${folders.link}desk.png`);
  await sheetOf(sites.browser, columnsOf(widgets!), `${folders.widget}desk.png`);
}

/** A column for each state, in which the looks stand one beneath the other. */
const columnsOf = ([light, dark]: readonly Buffer[][]) =>
  light!.map((picture, index) => ({ ground, pictures: [picture, dark![index]!] }));
