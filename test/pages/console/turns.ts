/** The page of a turn: its past while it runs and afterwards, and the links that lead to it. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import type { House, Stream } from '../../api/house.ts';
import { settled, within, type Console } from './console.ts';

export async function turns(t: Test, console: Console): Promise<void> {
  await within(
    t,
    console,
    'what a turn did before its page was opened, does meanwhile and has done stands there, each once',
    running,
  );
  await within(t, console, 'what a turn did in another process stands there once it is over', elsewhere);
  await within(t, console, 'a turn that was withdrawn is reached from its session, and has its past', withdrawn);
  await within(t, console, "each reply leads to its turn's page", fromTranscript);
  await within(t, console, 'a turn whose steps are not known', unknown);
}

const rows = (page: Page) => page.getByRole('list', { name: /Steps/ }).getByRole('listitem');

/** The steps that the page lists, oldest first, once there are as many. */
async function listed(page: Page, count: number): Promise<string[]> {
  await rows(page)
    .nth(count - 1)
    .waitFor();
  const texts = await rows(page).locator('button > span').allInnerTexts();
  return texts.toReversed().map((text) => text.split('\n')[0]!);
}

const current = (page: Page) => page.locator('.state[aria-current="true"]');
const isIn = (page: Page, state: string): Promise<void> =>
  page.locator(`.state[data-state="${state}"][aria-current="true"]`).waitFor();

async function begun(house: House, model: string): Promise<{ id: string; turn: Stream }> {
  const assistant = await house.assistant({ name: model, model: { provider: 'synthetic', name: model } });
  const { id } = await house.session(assistant.id);
  return { id, turn: await house.stream(`/sessions/${id}/chat`, { body: { message: 'Hi' } }) };
}

async function running(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id, turn } = await begun(house, 'hang_at=3');
  // The first words are sent once they are stored.
  await turn.next();
  await page.goto(url(house.workspaceId, 'live', 'turn', `${turn.turnId}?session=${id}`));
  await isIn(page, 'answering');
  const early = ['output waiting → starting', 'stored starting → answering'];
  t.same(await listed(page, 2), early, 'steps from before');
  await page.getByRole('button', { name: 'Abort the turn' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Abort the turn' }).click();
  await isIn(page, 'aborted');
  await page.getByText('over', { exact: true }).waitFor();
  await turn.rest();
  const all = [...early, 'stop answering → sealing', 'sealed sealing → aborted'];
  t.same(await listed(page, 4), all, 'and those that it saw');
  await page.reload();
  await isIn(page, 'aborted');
  t.same(await listed(page, 4), all, 'and once it is over');
  await page.getByRole('slider').focus();
  for (const [at, state] of [
    ['3', 'sealing'],
    ['2', 'answering'],
    ['1', 'starting'],
  ]) {
    await page.keyboard.press('ArrowLeft');
    t.same([new URL(page.url()).searchParams.get('at'), await current(page).getAttribute('data-state')], [at, state]);
    const context = await page.getByRole('region', { name: 'Context' }).textContent();
    t.match(context, state === 'sealing' ? /ending aborted/ : /ending null/, 'with the context of that moment');
    t.match(context, state === 'starting' ? /begun false/ : /begun true/);
  }
  t.equal(new URL(page.url()).searchParams.get('session'), id, 'the address keeps the session');

  await page.goto(url(house.workspaceId, 'live', 'turn', turn.turnId));
  await page.getByText('The steps of a turn are kept with its session, which this address does not name.').waitFor();
  t.equal(await current(page).count(), 0, 'without its session nothing is known of it');
}

const lists = (data: readonly object[]) => () => ({ object: 'list', data, has_more: false, next_cursor: null });
const history = /\/turns\/\w+\/history\?/;

async function elsewhere(t: Test, page: Page, { url, house, standIn }: Console): Promise<void> {
  const { id, turn } = await begun(house, 'hang_at=3');
  await turn.next();
  const stop = standIn.answer(history, 200, lists([]));
  await page.goto(url(house.workspaceId, 'live', 'turn', `${turn.turnId}?session=${id}`));
  await page.getByText('It runs in another process: its earlier steps appear here once it is over.').waitFor();
  await isIn(page, 'answering');
  stop();
  await house.ask(`/sessions/${id}/turns/${turn.turnId}/abort`, { method: 'POST' });
  await isIn(page, 'aborted');
  t.same(await listed(page, 4), [
    'output waiting → starting',
    'stored starting → answering',
    'stop answering → sealing',
    'sealed sealing → aborted',
  ]);
  t.equal(await page.getByText('another process').count(), 0);
  await turn.rest();
}

async function withdrawn(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const assistant = await house.assistant({
    name: 'failing',
    model: { provider: 'synthetic', name: 'tokens=1,fail_at=0' },
  });
  const { id } = await house.session(assistant.id);
  t.equal((await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hi' } })).status, 503);
  await page.goto(url(house.workspaceId, 'live', 'session', id));
  t.same(await listed(page, 3), ['create open', 'chat open → streaming', 'finished streaming → open']);
  const links = page.getByRole('link', { name: /Turn of step/ });
  t.same(
    await Promise.all((await links.all()).map((link) => link.getAttribute('aria-label'))),
    ['Turn of step 3', 'Turn of step 2'],
    'the steps that name it lead to it',
  );
  await links.first().click();
  await isIn(page, 'withdrawn');
  t.same(await listed(page, 2), ['failed waiting → withdrawing', 'withdrawn withdrawing → withdrawn']);
  await page.getByRole('link', { name: 'Session', exact: true }).click();
  await isIn(page, 'open');
}

async function fromTranscript(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id, turn } = await begun(house, 'tokens=2,delay_ms=5');
  await turn.rest();
  await page.goto(url(house.workspaceId, 'sessions', id));
  const reply = page.getByRole('article', { name: 'Assistant' });
  await reply.waitFor();
  t.equal(await page.getByRole('article').getByRole('link').count(), 1, 'what the visitor said has none');
  await reply.focus();
  await page.keyboard.press('Tab');
  t.equal(
    await page.evaluate('getComputedStyle(document.activeElement.parentElement).opacity'),
    '1',
    'it is seen where it has the focus',
  );
  await page.keyboard.press('Enter');
  await isIn(page, 'completed');
  t.same(new URL(page.url()).search, `?session=${id}`);
  t.match(await page.locator('.head code').textContent(), turn.turnId);
}

async function unknown(t: Test, page: Page, { url, house, standIn }: Console, complaints: string[]): Promise<void> {
  const { id, turn } = await begun(house, 'tokens=2,delay_ms=5');
  await turn.rest();
  const path = `/sessions/${id}/turns/${turn.turnId}/history`;
  const { data } = (await house.console(`/workspaces/${house.workspaceId}${path}`)).json;
  const address = url(house.workspaceId, 'live', 'turn', `${turn.turnId}?session=${id}`);
  for (const [known, note] of [
    [[], 'Its steps are not known: '],
    [data.slice(2), 'It is over, but its last steps are not known: '],
  ] as const) {
    const stop = standIn.answer(history, 200, lists(known));
    await page.goto(address);
    await settled(page);
    await page.getByText(note).waitFor();
    t.equal(await current(page).count(), 0, 'it is shown in no state');
    stop();
  }
  await page.getByRole('slider').focus();
  await page.keyboard.press('ArrowLeft');
  await isIn(page, 'starting');
  await page.goto(url(house.workspaceId, 'live', 'turn', `turn_${'0'.repeat(26)}?session=${id}`));
  t.match(await page.getByRole('alert').textContent(), /turn/i, 'one that the session does not have is a failure');
  t.match(complaints.splice(0), [/404/]);
}
