/** Lists that are live: what comes, moves and goes while their page is open stands in them, without a reload. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { actorKinds, type ActorKind } from '../../../machines/all.ts';
import { drawingOf } from '../../../src/pages/console/chart/drawing.ts';
import type { Stream } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { turnTo, within, type Console } from './console.ts';

export async function liveLists(t: Test, console: Console): Promise<void> {
  await within(t, console, 'Live on a phone begins with its list', onPhone);
  await within(t, console, 'Live lists sessions and turns that begin while it is open', onLive);
  await within(
    t,
    console,
    'Sessions announces the sessions that match its filters, and its rows follow their states',
    onSessions,
  );
  await within(t, console, 'a transcript shows a turn that is over before its session is read again', onTranscript);
  await within(t, console, "a key's page shows what a request takes of its budgets", onKey);
}

const rows = (page: Page, label: string) =>
  page.getByRole('table', { name: label }).locator('.group, [role="rowgroup"]').locator('[role="row"]:not(.names)');

async function onPhone(t: Test, page: Page, console: Console): Promise<void> {
  const { house, url } = console;
  await page.setViewportSize({ width: 360, height: 740 });
  for (const kind of ['session', 'turn', 'call'] as const) {
    await turnTo(page, console, url(house.workspaceId, `live?kind=${kind}`));
    const list = page.getByRole('region', { name: 'Actors' });
    await list.waitFor();
    // The heading may take another line while the page connects.
    await until(async () => (await list.boundingBox())!.y <= 370);
    t.pass(`${kind}: the list begins in the upper half of the window`);
    await page.getByText('State chart').click();
    t.ok(await page.locator('.chart .state').first().isVisible(), 'the chart is a click away');
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.locator('.work > .stack-wide > .chart').waitFor();
}

async function onLive(t: Test, page: Page, console: Console): Promise<void> {
  const { house, url } = console;
  const assistant = await house.assistant({ name: 'arriving', model: { provider: 'synthetic', name: 'hang_at=3' } });
  await turnTo(page, console, url(house.workspaceId, 'live'));
  await page.getByText(/sessions? awake/).waitFor();
  const begun: Stream[] = [];
  for (let number = 0; number < 3; number++) {
    const { id } = await house.session(assistant.id);
    begun.push(await house.stream(`/sessions/${id}/chat`, { body: { message: 'Hi' } }));
    await rows(page, 'Actors').filter({ hasText: id }).filter({ hasText: 'streaming' }).waitFor();
  }
  t.match(await page.locator('.happened li').first().textContent(), /open → streaming/, 'the events as well');
  await turnTo(page, console, url(house.workspaceId, 'live?kind=turn'));
  const { id } = await house.session(assistant.id);
  const late = await house.stream(`/sessions/${id}/chat`, { body: { message: 'Hi' } });
  const turn = rows(page, 'Actors').filter({ hasText: late.turnId });
  await turn.waitFor();
  await house.ask(`/sessions/${id}/turns/${late.turnId}/abort`, { method: 'POST' });
  await turn.waitFor({ state: 'detached' });
  for (const one of begun) one.leave();
  await late.rest();
}

async function onSessions(t: Test, page: Page, console: Console): Promise<void> {
  const { house, url } = console;
  const assistant = await house.assistant({ name: 'listed', model: { provider: 'synthetic', name: 'hang_at=3' } });
  const other = await house.assistant({ name: 'not listed' });
  const first = await house.session(assistant.id);
  for (const filter of ['', `?assistant_id=${assistant.id}&status=open`]) {
    await turnTo(page, console, url(house.workspaceId, `sessions${filter}`));
    const list = rows(page, 'Sessions');
    await list.filter({ hasText: first.id }).waitFor();
    await house.session(other.id);
    const { id } = await house.session(assistant.id);
    await page.getByRole('button', { name: filter === '' ? 'Show 2 new sessions' : 'Show 1 new session' }).click();
    const row = list.filter({ hasText: id });
    await row.filter({ hasText: 'open' }).waitFor();
    t.equal(await page.getByRole('button', { name: /new session/ }).count(), 0);
    const turn = await house.stream(`/sessions/${id}/chat`, { body: { message: 'Where is my order?' } });
    await row.filter({ hasText: 'streaming' }).waitFor();
    await house.ask(`/sessions/${id}/turns/${turn.turnId}/abort`, { method: 'POST' });
    await row.filter({ hasText: 'open' }).waitFor();
    await house.ask(`/sessions/${id}/end`, { method: 'POST' });
    await row.filter({ hasText: 'ended' }).waitFor();
    await turn.rest();
  }
  await turnTo(
    page,
    console,
    url(house.workspaceId, `sessions?assistant_id=${(await house.assistant({ name: 'empty' })).id}`),
  );
  await page.getByText('No session matches').waitFor();
  const { id: shop } = (await house.console('/workspaces', { body: { name: 'soon busy' } })).json;
  await turnTo(page, console, url(shop, 'sessions'));
  await page.getByText('No sessions yet').waitFor();
  const { id } = (await house.console(`/workspaces/${shop}/assistants`, { body: { name: 'first' } })).json;
  const trial = (await house.console(`/workspaces/${shop}/assistants/${id}/trials`, { method: 'POST' })).json;
  await page.getByRole('button', { name: 'Show 1 new session' }).click();
  await rows(page, 'Sessions').filter({ hasText: trial.id }).waitFor();
}

async function onTranscript(t: Test, page: Page, console: Console): Promise<void> {
  const { house, url } = console;
  const { id } = await house.session(
    (await house.assistant({ name: 'quick', model: { provider: 'synthetic', name: 'tokens=1' } })).id,
  );
  await turnTo(page, console, url(house.workspaceId, 'sessions', id));
  await page.getByText('Nothing was said yet.').waitFor();
  for (let turn = 1; turn <= 3; turn++) {
    const said = await house.stream(`/sessions/${id}/chat`, { body: { message: `Message ${turn}` } });
    await said.rest();
    await page
      .getByRole('article', { name: 'Visitor' })
      .filter({ hasText: `Message ${turn}` })
      .waitFor();
    await page
      .getByRole('article', { name: 'Assistant' })
      .nth(turn - 1)
      .waitFor();
  }
  t.equal(await page.getByRole('article').count(), 6, 'each message once');
}

async function onKey(t: Test, page: Page, console: Console): Promise<void> {
  const { house, url } = console;
  const key = await house.newKey({ name: 'in use', limits: { requests: 40 } });
  await turnTo(page, console, url(house.workspaceId, 'keys', key.id));
  await page.getByText('40 of 40').waitFor();
  for (let request = 0; request < 20; request++) await house.ask('/assistants', { key: key.key });
  await page.getByText(/^[12]\d of 40$/).waitFor();
  t.pass();
}

/**
 * Checks a page whose feed the test fills. Live and its first other kind are loaded by their addresses; the other kinds
 * are reached by a link.
 */
export async function everyKind(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const say = (message: object) => page.evaluate(`feeds.at(-1).say(${JSON.stringify(message)})`);
  for (const [index, kind] of actorKinds.entries()) {
    await t.test(kind, async (t) => {
      const address = url(house.workspaceId, kind === 'session' ? 'live' : `live?kind=${kind}`);
      await (index < 2 ? page.goto(address) : turnTo(page, console, address));
      await page
        .getByRole('navigation', { name: 'Kinds of actors' })
        .locator('[aria-current]')
        .filter({ hasText: '0' })
        .waitFor();
      await arrivals(t, page, house.workspaceId, kind, say);
    });
  }
}

async function arrivals(
  t: Test,
  page: Page,
  workspace: string,
  kind: ActorKind,
  say: (message: object) => Promise<unknown>,
): Promise<void> {
  const [first, second] = drawingOf(kind).cards.map(({ name }) => name) as [string, string | undefined];
  const actorOf = (number: number) => ({ kind, id: `${kind}_${number}`, workspace_id: workspace });
  for (let number = 1; number <= 3; number++) {
    await say({ type: 'activated', at: number, actor: actorOf(number), state: first });
    await rows(page, 'Actors')
      .filter({ hasText: `${kind}_${number}` })
      .waitFor();
  }
  t.equal(await rows(page, 'Actors').count(), 3);
  if (second !== undefined) {
    await say({
      type: 'event',
      seq: 1,
      at: 9,
      actor: actorOf(2),
      event: 'x',
      from: first,
      to: second,
      context: {},
      outcomes: [],
      refused: false,
      request_id: null,
      by: null,
      data: { type: 'x' },
    });
    await rows(page, 'Actors')
      .filter({ hasText: `${kind}_2` })
      .filter({ hasText: second })
      .waitFor();
  }
  await say({ type: 'passivated', at: 10, actor: actorOf(1), state: first });
  await rows(page, 'Actors')
    .filter({ hasText: `${kind}_1` })
    .waitFor({ state: 'detached' });
  await say({ type: 'dropped', count: 7 });
  await page.locator('.happened').getByText('7 left out').waitFor();
  await say({ type: 'actors', at: 11, actors: [{ ...actorOf(4), state: first, context: null }] });
  await rows(page, 'Actors')
    .filter({ hasText: `${kind}_4` })
    .waitFor();
  t.equal(await rows(page, 'Actors').count(), 1, 'after a loss the list is that of the feed');
}
