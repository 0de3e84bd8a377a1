/** The pictures of a turn on its chart: while it streams, after it was aborted, and as another process took it over. */
import type { Locator, Page } from 'playwright-core';
import { begunTurn, turnKind, type TurnEvent } from '../../../machines/turn.ts';
import { decide } from '../../../src/pages/console/chart/copy.ts';
import type { HistoryRow } from '../../../src/pages/console/types.ts';
import type { Console } from './console.ts';
import { sheetOf } from '../link/call-sheets.ts';

/** Pixels of a card that are shown. */
const cardMax = 300;

/** The turns side by side: each with its head, its history and the card of its state. */
export async function takeTurnPicture({ house, standIn, browser, open, url }: Console, file: string): Promise<void> {
  const assistant = await house.assistant({
    name: 'stories',
    model: { provider: 'synthetic', name: 'hang_at=40,delay_ms=5,tokens=200' },
  });
  const begin = async (): Promise<{ id: string; turnId: string }> => {
    const { id } = await house.session(assistant.id);
    const turn = await house.stream(`/sessions/${id}/chat`, { body: { message: 'Tell me a story.' } });
    await turn.next();
    return { id, turnId: turn.turnId };
  };
  const [streams, aborted, left] = [await begin(), await begin(), await begin()];
  for (const { id, turnId } of [aborted, left])
    await house.ask(`/sessions/${id}/turns/${turnId}/abort`, { method: 'POST' });
  // A second process is not at hand: the machine says what such a turn goes through.
  standIn.answer(new RegExp(`/turns/${left.turnId}/history`), 200, () => ({
    object: 'list',
    data: takenOver().toReversed(),
    has_more: false,
    next_cursor: null,
  }));
  const columns = [];
  for (const [{ id, turnId }, state, at] of [
    [streams, 'answering', ''],
    [aborted, 'aborted', ''],
    [left, 'following', '&at=3'],
  ] as const) {
    const { page, complaints, context } = await open({ width: 420 });
    await page.goto(url(house.workspaceId, 'live', 'turn', `${turnId}?session=${id}${at}`));
    const card = page.locator(`.state[data-state="${state}"][aria-current="true"]`);
    await card.waitFor();
    columns.push({
      ground: '#fafaf8',
      pictures: [
        await page.locator('header.head').screenshot(),
        await page.locator('.past').screenshot(),
        await topOf(page, card),
      ],
    });
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
    await context.close();
  }
  await sheetOf(browser, columns, file);
}

/** The upper part of a card, above the bar at the bottom of the page. */
async function topOf(page: Page, card: Locator): Promise<Buffer> {
  await card.evaluate((element) => element.scrollIntoView({ block: 'start' }));
  const { x, y, width, height } = (await card.boundingBox())!;
  return page.screenshot({
    clip: { x: x - 4, y: Math.max(0, y - 4), width: width + 8, height: Math.min(cardMax, height + 8) },
  });
}

/** The history of a turn whose lease another process took while it answered. */
function takenOver(): HistoryRow[] {
  const begunAt = Date.UTC(2026, 10, 27, 9, 30);
  const events: readonly (readonly [number, TurnEvent['type'], object])[] = [
    [120, 'output', {}],
    [130, 'stored', {}],
    [4_300, 'taken', { until: begunAt + 34_300 }],
    [5_400, 'fate', { end: 'completed' }],
  ];
  let standing = { state: 'waiting', context: begunTurn({ runsUntil: begunAt + 600_000, shared: true }) as unknown };
  return events.map(([ms, type, fields], index): HistoryRow => {
    const data = { type, at: begunAt + ms, ...fields };
    const { state, context, outcomes } = decide('turn', standing, data);
    const row = {
      seq: index + 1,
      at: Math.floor(data.at / 1000),
      event: type,
      from: standing.state,
      to: state,
      outcomes: [...outcomes],
      refused: false,
      request_id: null,
      by: null,
      count: 1,
      data,
      context: context as Record<string, unknown>,
      version: turnKind.version,
    };
    standing = { state, context };
    return row;
  });
}
