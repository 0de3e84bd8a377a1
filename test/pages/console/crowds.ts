/** Pages with much content, or without a live feed: thousands of sessions, a storm of events, a proxy that stalls. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { until, within, type Console } from './console.ts';
import { everyKind } from './live-lists.ts';

/** The number of sessions: a multiple of a hundred. */
const all = Number(process.env['PARLEY_CONSOLE_SESSIONS'] ?? 1000);

export async function crowds(t: Test, console: Console): Promise<void> {
  await within(t, console, `${all} sessions are read as one scrolls, and drawn where one looks`, manySessions);
  const ownFeed = await console.open();
  await ownFeed.page.addInitScript(feedOfTest);
  await within(t, console, 'events are drawn once a frame, however many come', storm, ownFeed);
  await within(t, console, 'each kind of actor is listed as it wakes, moves and falls asleep', everyKind, ownFeed);
  await ownFeed.context.close();
  const ownClock = await console.open();
  await within(t, console, 'a feed that stalls is said to be lost, and goes on by itself', stalled, ownClock);
  await ownClock.context.close();
}

/** Returns an id newer than the server's sessions, which the feed reports. */
const idOf = (number: number): string => `ses_${String(number).padStart(26, 'z')}`;

/** Sessions by pages, without a server that would have to make them. */
const sessions =
  (house: { workspaceId: string }, asked: (string | null)[]) =>
  (after: string | null): object => {
    asked.push(after);
    const from = Number(after ?? 0);
    const data = Array.from({ length: 100 }, (_, index) => ({
      id: idOf(all - from - index),
      object: 'session',
      assistant_id: 'asst_1',
      workspace_id: house.workspaceId,
      status: 'open',
      channel: 'api',
      visitor: {},
      metadata: {},
      active_turn_id: null,
      created_at: 1_790_000_000 - from - index,
    }));
    return {
      object: 'list',
      data,
      has_more: from + 100 < all,
      next_cursor: from + 100 < all ? String(from + 100) : null,
    };
  };

/** Number of groups of a hundred rows, and of groups that the browser draws. */
const drawn = `(() => {
  const groups = [...document.querySelectorAll('.rows .group')];
  return [groups.length, groups.filter((group) => group.firstElementChild.checkVisibility({ contentVisibilityAuto: true })).length];
})()`;

/** Whether the browser draws the first or last group, and the session stands in it. */
const shows = (place: 0 | -1, session: number): string => `(() => {
  const group = [...document.querySelectorAll('.rows .group')].at(${place});
  return group.textContent.includes('${idOf(session)}') && group.firstElementChild.checkVisibility({ contentVisibilityAuto: true });
})()`;

async function manySessions(t: Test, page: Page, { url, house, standIn }: Console): Promise<void> {
  const asked: (string | null)[] = [];
  const stop = standIn.answer(/\/sessions\?/, 200, sessions(house, asked));
  await page.goto(url(house.workspaceId, 'sessions'));
  const table = page.getByRole('table', { name: 'Sessions' });
  await table.waitFor();
  t.ok(asked.length <= 2, `${asked.length} pages are read for the first look`);
  // Pages are loaded as fast as they come: each brings the end of the list, which asks for the next. The script runs in
  // the page, since a locator looks at every row.
  while (asked.length < all / 100) {
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await until(page, `document.querySelectorAll('.rows .group').length >= ${asked.length}`);
  }
  await until(page, `document.querySelectorAll('.rows .group').length === ${all / 100}`);
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await until(page, shows(-1, 1));
  t.equal(new Set(asked).size, all / 100, 'each page is read once');
  t.equal(asked.length, all / 100);
  const [groups, seen] = (await page.evaluate(drawn)) as [number, number];
  t.equal(groups, all / 100, 'all are in the page, for the browser to search');
  t.ok(seen >= 1 && seen <= 4, `${seen} of them are drawn at the end`);
  await page.evaluate('scrollTo(0, 0)');
  await until(page, shows(0, all));
  // A change in one row draws one group.
  await page.evaluate(
    `changed = 0; for (const group of document.querySelectorAll('.rows .group')) new MutationObserver(() => changed++).observe(group, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['class'] })`,
  );
  await page.getByText('More filters').click();
  t.equal(await page.evaluate('changed'), 0, 'and none is drawn anew for what stands beside the list');
  stop();
}

/** Replaces the feed by one that the test fills, as fast as it likes. */
const feedOfTest = `(() => {
  const Real = WebSocket;
  window.feeds = [];
  window.WebSocket = class {
    static OPEN = Real.OPEN;
    static CLOSED = Real.CLOSED;
    readyState = Real.OPEN;
    constructor() { feeds.push(this); queueMicrotask(() => this.say({ type: 'actors', at: 0, actors: [] })); }
    say(message) { this.onmessage?.({ data: JSON.stringify(message) }); }
    send() {}
    close() { this.readyState = Real.CLOSED; }
  };
})()`;

/**
 * Sends a number of events, each in a separate task as a socket does, and counts the frames of that time and the draws
 * of the page.
 */
const burst = (workspaceId: string, count: number): string => `(async () => {
  let [drawings, frames, over] = [0, 0, false];
  const observer = new MutationObserver(() => drawings++);
  observer.observe(document.querySelector('.happened'), { subtree: true, childList: true, characterData: true });
  const frame = () => requestAnimationFrame(() => { frames++; if (!over) frame(); });
  frame();
  const { port1, port2 } = new MessageChannel();
  const task = () => new Promise((resolve) => { port1.onmessage = resolve; port2.postMessage(null); });
  const actor = { kind: 'session', id: 'ses_${'1'.padStart(26, '0')}', workspace_id: '${workspaceId}' };
  for (let number = 0; number < ${count}; number++) {
    feeds.at(-1).say({ type: 'event', seq: number, at: Date.now(), actor, event: 'abort', from: 'open', to: 'open', context: {}, outcomes: [{ type: 'unchanged' }], refused: false, request_id: null, by: null });
    await task();
  }
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  over = true;
  observer.disconnect();
  return [drawings, frames];
})()`;

async function storm(t: Test, page: Page, { url, house }: Console): Promise<void> {
  await page.goto(url(house.workspaceId, 'live'));
  await page.locator('.chart .state').first().waitFor();
  for (const count of [50, 1000]) {
    const [drawings, frames] = (await page.evaluate(burst(house.workspaceId, count))) as [number, number];
    t.ok(drawings >= 1 && drawings <= frames + 1, `${count} events: drawn ${drawings} times in ${frames} frames`);
  }
  t.ok((await page.locator('.happened li').count()) <= 60, 'what is listed has an end');
  const counted = await page.locator('.state[data-state="open"] .row', { hasText: 'abort' }).textContent();
  t.match(counted, /1,050/, 'each is counted');
}

async function stalled(t: Test, page: Page, { url, house, standIn }: Console): Promise<void> {
  const slow = await house.assistant({ model: { provider: 'synthetic', name: 'hang_at=3' } });
  const one = await house.session(slow.id);
  await page.clock.install();
  await page.goto(url(house.workspaceId, 'live', 'session', one.id));
  await page.locator('.state[data-state="open"][aria-current="true"]').waitFor();
  standIn.stall();
  const turn = await house.stream(`/sessions/${one.id}/chat`, { body: { message: 'Hi' } });
  await turn.next();
  t.equal(
    await page.locator('.state[aria-current="true"]').getAttribute('data-state'),
    'open',
    'nothing of it has come',
  );
  await page.clock.fastForward(20_000);
  await page.clock.fastForward(10_000);
  const said = page.getByText('The connection is lost. Reconnecting');
  await said.waitFor();
  await page.clock.fastForward(1000);
  await said.waitFor({ state: 'detached' });
  await page.locator('.state[data-state="streaming"][aria-current="true"]').waitFor();
  // A connection that is silent because nothing happens is probed, and stays.
  await page.clock.fastForward(20_000);
  await page.clock.fastForward(1000);
  await house.ask(`/sessions/${one.id}/turns/${turn.turnId}/abort`, { method: 'POST' });
  await page.locator('.state[data-state="open"][aria-current="true"]').waitFor();
  t.equal(await said.count(), 0);
  await turn.rest();
}
