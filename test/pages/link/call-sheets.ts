/**
 * The call bar in each of its states, one beneath the other on a sheet: of the link's page, the widget and the
 * console's trial.
 */
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core';
import type { House } from '../../api/house.ts';
import { openPage } from '../../browser.ts';
import { scriptCalls, type Line, type Lines } from './scripted-call.ts';
import { frameOf, launcherOf, type Sites } from './sites.ts';

/** The states and the words that are waited for after each deed. */
const deeds: readonly (readonly [state: string, text: string, deed: (line: Line, root: Page | Frame) => unknown])[] = [
  ['opening', 'Connecting', () => {}],
  ['listening', 'Listening', (line) => line.ready()],
  ['hearing', 'Hearing you', (line) => line.partial('When do you')],
  ['thinking', 'Thinking', (line) => line.asks('When do you open?')],
  ['held', 'Waiting for you', (line) => line.state('held')],
  ['speaking', 'Speaking', (line) => line.speaks('We open at nine, and on')],
  ['paused', 'Paused', (line) => line.pauses()],
  ['listening', 'Listening', (line) => line.cut()],
  ['listening', 'muted', (_, root) => mutes(root)],
  ['busy', 'Another message', (line) => line.state('busy')],
  ['listening', 'use headphones', (line) => echoes(line)],
  ['lost', 'Connection lost', (line) => line.lose()],
];

const pointsAway = (root: Page | Frame): Promise<void> => root.locator('h1').first().hover();

async function mutes(root: Page | Frame): Promise<void> {
  await root.locator('#call').getByRole('button', { name: 'Mute' }).click();
  await pointsAway(root);
}

function echoes(line: Line): void {
  line.state('listening');
  for (let times = 0; times < 3; times++) line.final('we open at nine', 'echo');
}

/** A page, or the widget's frame, whose calls the test answers. */
export interface Called {
  readonly root: Page | Frame;
  readonly lines: Lines;
  close(): Promise<void>;
}

type Look = { readonly width: number; readonly height?: number } & BrowserContextOptions;

export async function onLink(browser: Browser, house: House, slug: string, look: Look): Promise<Called> {
  const { page, context } = await openPage(browser, { origin: new URL(house.url).origin, locale: 'en-GB', ...look });
  const lines = await scriptCalls(page);
  await page.goto(`${house.url}/p/${slug}`);
  return { root: page, lines, close: () => context.close() };
}

export async function onWidget(sites: Sites, slug: string, { width, height = 760, ...look }: Look): Promise<Called> {
  const { page, context } = await sites.visit('/', { viewport: { width, height }, reducedMotion: 'reduce', ...look });
  const lines = await scriptCalls(page);
  await launcherOf(page).click();
  return { root: await frameOf(page, slug), lines, close: () => context.close() };
}

export async function onTrial(browser: Browser, address: string, look: Look): Promise<Called> {
  const { page, context } = await openPage(browser, { origin: new URL(address).origin, ...look });
  const lines = await scriptCalls(page);
  await page.goto(address);
  return { root: page, lines, close: () => context.close() };
}

/** Calls, and takes the bar in each state. */
export async function barsOf({ root, lines }: Called): Promise<Buffer[]> {
  await root.getByRole('button', { name: 'Call', exact: true }).click();
  const line = await lines.next();
  // The pointer must not be above a button of the bar.
  await pointsAway(root);
  const bar = root.locator('#call');
  const taken: Buffer[] = [];
  for (const [state, text, deed] of deeds) {
    await deed(line, root);
    await bar.filter({ hasText: text }).locator(`.mark[data-state="${state}"]`).waitFor();
    taken.push(await bar.screenshot());
  }
  return taken;
}

/** Pictures in columns, as one: each column on the ground that its pages have. */
export async function sheetOf(
  browser: Browser,
  columns: readonly { readonly ground: string; readonly pictures: readonly Buffer[] }[],
  path: string,
): Promise<void> {
  const page = await browser.newPage();
  const cells = columns.map(
    ({ ground, pictures }) =>
      `<div style="background:${ground}">${pictures.map((picture) => `<img src="data:image/png;base64,${picture.toString('base64')}">`).join('')}</div>`,
  );
  await page.setContent(
    `<style>main { display: inline-flex; } div { padding: 12px 20px; } img { display: block; margin: 8px 0; }</style><main>${cells.join('')}</main>`,
  );
  await page.locator('main').screenshot({ path });
  await page.close();
}
