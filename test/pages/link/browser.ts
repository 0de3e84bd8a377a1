/** The link's page in a browser. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { axeFindings, openPage, toldOf, type Opened } from '../../browser.ts';

/** Opens a page in a new context, at the address. Network failures are no complaints: tests cut the network. */
export async function openLink(
  browser: Browser,
  url: string,
  options: { width?: number; height?: number } & BrowserContextOptions = {},
): Promise<Opened> {
  const opened = await openPage(browser, {
    origin: new URL(url).origin,
    networkFailures: 'expected',
    locale: 'en-GB',
    ...options,
  });
  await opened.page.goto(url);
  return opened;
}

/**
 * All that axe finds. The contrast of texts takes it as long as all the rest: it may be left out where `faintTexts`
 * looks at the same texts.
 */
export const findings = async (page: Page, what: 'all' | 'not contrast' = 'all'): Promise<string[]> =>
  toldOf(await axeFindings(page, { rules: { 'color-contrast': { enabled: what === 'all' } } }));

export const replies = (page: Page) => page.locator('#messages li.assistant');

/** Writes and sends a message. */
export async function say(page: Page, text: string): Promise<void> {
  await page.locator('#message').fill(text);
  await page.locator('#message').press('Enter');
}

/** Resolves when no reply is on its way. */
export const quiet = (page: Page): Promise<void> => page.locator('#send:not([hidden])').waitFor();
