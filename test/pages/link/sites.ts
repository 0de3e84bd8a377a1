/** Sites of other people with a widget of ours on them, in a real browser. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, BrowserContextOptions, Frame, Page } from 'playwright-core';
import type { House } from '../../api/house.ts';
import { openBrowser, patience } from '../../browser.ts';
import type { Owner } from '../../folders.ts';

export interface SitePage {
  readonly title?: string;
  /** HTML in the page beside the widget's tag. */
  readonly body?: string;
  readonly head?: string;
  /** The tags of widgets: attributes of each. */
  readonly tags?: readonly string[];
  /** The query behind the widget's address in each tag. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings that no page may have. */
  readonly complaints: string[];
  /** The paths that were asked of our server. */
  readonly asked: string[];
}

export interface Sites {
  readonly house: House;
  readonly browser: Browser;
  /** The origin of the site; another one is the same server by another name. */
  readonly origin: string;
  readonly otherOrigin: string;
  /** Puts a page on the site; its path. */
  put(path: string, page: SitePage): string;
  /** Opens a page as a new visitor. */
  visit(
    path: string,
    options?: BrowserContextOptions & { readonly origin?: string; readonly init?: string },
  ): Promise<Visitor>;
}

export const phone: BrowserContextOptions = { viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true };

export async function openSites(t: Owner, house: House, ...args: readonly string[]): Promise<Sites> {
  const pages = new Map<string, SitePage>();
  const answer = (path: string, response: ServerResponse): void => {
    const page = pages.get(path);
    if (page === undefined) return void response.writeHead(404).end();
    const { title = 'Shop', head = '', body = '', tags = ['data-slug="widget"'], query = '', headers = {} } = page;
    const scripts = tags
      .map((attributes) => `<script src="${house.url}/widget.js${query}" ${attributes} async></script>`)
      .join('');
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers });
    response.end(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>${title}</title>${head}${scripts}<main><h1>${title}</h1>${body}</main></html>`,
    );
  };
  const server = createServer((request, response) => answer(new URL(request.url!, 'http://site').pathname, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const origin = `http://localhost:${port}`;
  const browser = await openBrowser(t, ...args);
  return {
    house,
    browser,
    origin,
    otherOrigin: `http://127.0.0.1:${port}`,
    put(path, page) {
      pages.set(path, page);
      return path;
    },
    async visit(path, { origin: at = origin, init, ...options } = {}) {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(patience);
      const [complaints, asked]: [string[], string[]] = [[], []];
      if (init !== undefined) await context.addInitScript(init);
      const page = await context.newPage();
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on(
        'console',
        (message) => void (['error', 'warning'].includes(message.type()) && complaints.push(message.text())),
      );
      page.on(
        'request',
        (request) => void (request.url().startsWith(house.url) && asked.push(new URL(request.url()).pathname)),
      );
      await page.goto(at + path);
      return { page, context, complaints, asked };
    },
  };
}

/** The widget's button: its shadow root is open to scripts. */
export const launcherOf = (page: Page) => page.locator('div[popover] button');

/**
 * The page in the frame, once it has something to say. A frame that the site removes or loads again meanwhile has its
 * connection to the browser closed, and the one in its place is taken.
 */
export async function frameOf(page: Page, slug = 'widget'): Promise<Frame> {
  const isFrame = (one: Frame): boolean => one.url().includes(`/p/${slug}/frame`);
  for (;;) {
    const frame = page.frames().find(isFrame) ?? (await nextFrame(page, isFrame));
    try {
      await frame.locator('#message').waitFor({ state: 'attached' });
      return frame;
    } catch (error) {
      if (page.isClosed() || !/has been closed|was detached/.test(String(error))) throw error;
    }
  }
}

async function nextFrame(page: Page, isFrame: (frame: Frame) => boolean): Promise<Frame> {
  let found: Frame | undefined;
  await page.waitForEvent('framenavigated', (one) => {
    if (isFrame(one)) found = one;
    return found !== undefined;
  });
  return found!;
}

/** Times that a person presses Enter: a page that is learning who its visitor is takes no message, and keeps the text. */
const pressesMax = 5;

/** Says something, and resolves when the whole reply is there. */
export async function say(frame: Frame, text: string): Promise<void> {
  // A greeting may still come: the reply is what stands behind the message.
  const own = frame.locator('#messages li.user');
  const before = await own.count();
  const field = frame.locator('#message');
  await field.fill(text);
  for (let tries = 0; ; tries++) {
    await field.press('Enter');
    if ((await field.inputValue()) === '') break;
    if (tries === pressesMax) throw new Error(`The page does not take ${text}.`);
    await frame.locator('#scroller[aria-busy="false"]').waitFor();
  }
  await own.nth(before).locator('xpath=following-sibling::li').filter({ hasText: /\S/ }).first().waitFor();
  await frame.locator('#send:not([hidden])').waitFor();
}

/** Resolves when a script in the page says true, under any policy that the page has. */
export async function until(page: Page | Frame, script: string): Promise<void> {
  const looking = page.evaluate(
    `new Promise((said) => { const look = () => ((${script}) ? said() : setTimeout(look, 20)); look(); })`,
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>(
    (_, reject) => (timer = setTimeout(() => reject(new Error(`never: ${script}`)), patience)),
  );
  await Promise.race([looking, late]).finally(() => clearTimeout(timer));
}
