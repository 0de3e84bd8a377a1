/** The link's page in a browser: a server with assistants that answer as their names say, and what must never happen on a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { browserPath } from '../browser.ts';
import type { Owner } from '../folders.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Tests of a page wait on what it shows, on a busy machine too. */
const patience = 120_000;

export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What a page must never do: errors, violations of its policy, requests to elsewhere. */
  readonly complaints: string[];
}

export async function openBrowser(t: Owner, ...args: readonly string[]): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: browserPath!, args: ['--no-sandbox', ...args] });
  t.teardown(() => browser.close());
  return browser;
}

/** A page of its own context, at the address. What the network does is no complaint: tests cut it. */
export async function openPage(browser: Browser, url: string, { width = 1440, height = 800, ...options }: { width?: number; height?: number } & BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce', locale: 'en-GB', ...options });
  context.setDefaultTimeout(patience);
  const complaints: string[] = [];
  await context.exposeFunction('complain', (what: string) => void complaints.push(what));
  await context.addInitScript(`document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile, lineNumber }) => complain([violatedDirective, blockedURI, sourceFile, lineNumber].join(' ')));`);
  // As a script of the browser's own: it runs under the page's policy without being allowed by it.
  await context.addInitScript(axe);
  const page = await context.newPage();
  page.on('console', (message) => void (['error', 'warning'].includes(message.type()) && !/Failed to load resource/.test(message.text()) && complaints.push(message.text())));
  page.on('pageerror', (error) => void complaints.push(error.stack ?? error.message));
  page.on('request', (request) => void (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== new URL(url).origin && complaints.push(`asks ${request.url()}`)));
  await page.goto(url);
  return { page, context, complaints };
}

/** All that axe finds. */
export async function findings(page: Page): Promise<string[]> {
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as { violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] };
  return found.violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`));
}

export const replies = (page: Page) => page.locator('#messages li.assistant');

/** Writes and sends a message. */
export async function say(page: Page, text: string): Promise<void> {
  await page.locator('#message').fill(text);
  await page.locator('#message').press('Enter');
}

/** Resolves when no reply is on its way. */
export const quiet = (page: Page): Promise<void> => page.locator('#send:not([hidden])').waitFor();
