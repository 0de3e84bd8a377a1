/** A real browser for the tests of pages: an installed one, or Debian's Chromium where packages may be installed. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, BrowserContextOptions, BrowserType, Page } from 'playwright-core';
import type { Owner } from './folders.ts';
import { whyMissing } from './installed.ts';
import { patient } from './run/speed.mjs';

/** The same browser without its windows, menus and extensions: a page takes two fifths of the CPU time. */
const shell = 'chromium-headless-shell';
const others = ['chromium', 'chromium-browser', 'google-chrome'];

/** The path of a browser that starts. */
const installed = [shell, ...others]
  .map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout?.trim())
  .find((path) => path && spawnSync(path, ['--version']).status === 0);

/** The reason for skipping tests that need a browser; false if one is installed. */
export const whyNoBrowser: string | false = installed === undefined && (whyMissing(shell) ?? false);

/** Milliseconds that tests wait for a page's content. */
export const patience = patient(120_000);

const require = createRequire(import.meta.url);

/**
 * Sites run in separate processes, as on a desktop. The limit keeps the browser from starting one in advance for every
 * context.
 */
const switches = ['--no-sandbox', '--site-per-process', '--renderer-process-limit=1', '--in-process-gpu'];

/** The browsers of this process by their switches, each with the number of tests that use it. */
const running = new Map<string, { readonly browser: Promise<Browser>; users: number }>();

/** Opens a browser, or joins the one with these switches that another test of this process uses. */
export async function openBrowser(t: Owner, ...args: readonly string[]): Promise<Browser> {
  const key = args.join(' ');
  const shared = running.get(key) ?? { browser: launch(args), users: 0 };
  running.set(key, shared);
  shared.users++;
  t.teardown(async () => {
    if (--shared.users > 0) return;
    running.delete(key);
    await (await shared.browser).close();
  });
  return shared.browser;
}

function launch(args: readonly string[]): Promise<Browser> {
  // Two files of 3 MB each: by `import` Node reads them twice, the first time for the names that they export.
  const { chromium } = require('playwright-core') as { readonly chromium: BrowserType };
  return chromium.launch({ executablePath: installed!, args: [...switches, ...args] });
}

export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Faults that a page must never have: errors, violations of its policy, requests to elsewhere. */
  readonly complaints: string[];
}

export interface Opening extends BrowserContextOptions {
  /** Width in pixels. */
  readonly width?: number;
  readonly height?: number;
  /** The one server that the page may ask. */
  readonly origin: string;
  /**
   * Whether the browser's message about a failed request is a complaint. It is, except where a test cuts the network.
   */
  readonly networkFailures?: 'complaints' | 'expected';
}

/** Opens a page in a new context, without an address. */
export async function openPage(
  browser: Browser,
  { origin, width = 1440, height = 800, networkFailures = 'complaints', ...options }: Opening,
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(patience);
  const complaints: string[] = [];
  await context.exposeFunction('complain', (what: string) => void complaints.push(what));
  await context.addInitScript(
    `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile, lineNumber }) => complain([violatedDirective, blockedURI, sourceFile, lineNumber].join(' ')));`,
  );
  const page = await context.newPage();
  page.on('console', (message) => {
    const expected = networkFailures === 'expected' && /Failed to load resource/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !expected) complaints.push(message.text());
  });
  page.on('pageerror', (error) => void complaints.push(error.stack ?? error.message));
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin)
      complaints.push(`asks ${request.url()}`);
  });
  return { page, context, complaints };
}

export interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Runs axe on the page, shadow roots included. Its script is loaded only now, since most pages are never checked; the
 * page's policy does not apply to it.
 */
export async function axeFindings(page: Page, options: object = {}): Promise<Finding[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ ...options, resultTypes: ['violations'] })})`,
  )) as { violations: Finding[] };
  return violations;
}

/** Returns each finding with its first three places. */
export const toldOf = (findings: readonly Finding[]): string[] =>
  findings.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
  );

/** Pixels by which the page is wider than its window: a script for the page. */
export const overflow = 'document.documentElement.scrollWidth - innerWidth';

/**
 * The elements whose text, or a field's, has less contrast than 4.5 : 1 to the colour behind it: a script for the page
 * (WCAG 2.2, 1.4.3).
 */
export const faintTexts = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = (color) => {
    const [r, g, b] = channels(color).slice(0, 3).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    if (element === null) return 'rgb(255, 255, 255)';
    const { backgroundColor } = getComputedStyle(element);
    return channels(backgroundColor)[3] === 0 ? behind(element.parentElement) : backgroundColor;
  };
  const faint = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const isField = element.matches('input, textarea, select');
    if (!isField && ![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '')) continue;
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    if ((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) < 4.5) faint.add(element.tagName + '.' + element.className);
  }
  return [...faint];
})()`;
