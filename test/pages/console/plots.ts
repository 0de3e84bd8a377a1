/** The axes of plots over any time: no label stands twice. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { overflow } from '../../browser.ts';
import { turnAway, turnTo, type Console } from './console.ts';

export async function plots(t: Test, console: Console): Promise<void> {
  const { page, complaints, context } = await console.open();
  await page.addInitScript(keeping);
  for (const steps of [1, 2, 8, 60, 720])
    await t.test(`Load after ${steps * 5} s`, (t) => ofAge(t, page, console, steps));
  await t.test('Load of a quiet server', (t) => quiet(t, page, console));
  t.same(complaints, []);
  await context.close();
}

/** Records the texts written on each canvas since it was cleared last: place, text, width, and the canvas's width. */
const keeping = `
const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.clearRect = function (...box) { this.canvas.texts = []; return clearRect.apply(this, box); };
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) { (this.canvas.texts ??= []).push([Math.round(x), Math.round(y), text, this.measureText(text).width, this.canvas.width]); return fillText.call(this, text, x, y, ...rest); };
const { arc } = Path2D.prototype;
window.dots = 0;
Path2D.prototype.arc = function (...circle) { dots++; return arc.apply(this, circle); };`;

type Text = readonly [x: number, y: number, text: string, width: number, canvas: number];

const last = Math.floor(new Date(2026, 8, 21, 18, 46, 40).getTime() / 1000);
const busy = (at: number) => ({
  requests: at % 7,
  refused: at % 2,
  turns_in_flight: at % 3,
  open_calls: at % 4,
  voice_to_voice_p50_ms: 500 + (at % 50),
  voice_to_voice_p99_ms: 700 + (at % 50),
  events: 11 * at,
  first_output_p50_ms: 0.1 + at / 900,
  first_output_p99_ms: 0.3 + at / 500,
  loop_lag_ms: 0.02 * (at % 5),
  store_ms: 0.01 * (at % 4),
  memory_bytes: (90 + (at % 9)) * 2 ** 20,
});
const idle = {
  requests: 0,
  refused: 0,
  turns_in_flight: 0,
  open_calls: 0,
  voice_to_voice_p50_ms: null,
  voice_to_voice_p99_ms: null,
  events: 0,
  first_output_p50_ms: null,
  first_output_p99_ms: null,
  loop_lag_ms: null,
  store_ms: null,
  memory_bytes: null,
};
const loadOf = (stepOf: (at: number) => object) => ({
  object: 'load',
  step_seconds: 5,
  data: Array.from({ length: 720 }, (_, at) => ({ start: last - (719 - at) * 5, ...stepOf(at) })),
});

/** Resolves with the texts of the plots once Load has drawn them. */
async function drawn(page: Page): Promise<readonly (readonly Text[])[]> {
  await page.evaluate(
    `new Promise((resolve) => { const look = () => [...document.querySelectorAll('canvas')].filter(({ texts }) => texts?.length > 2).length === 9 ? requestAnimationFrame(() => requestAnimationFrame(resolve)) : setTimeout(look, 20); look(); })`,
  );
  return (await page.evaluate(
    `[...document.querySelectorAll('canvas')].map(({ texts }) => texts)`,
  )) as readonly (readonly Text[])[];
}

/** One turn now and then. */
async function quiet(t: Test, page: Page, console: Console): Promise<void> {
  const stop = console.standIn.answer(/api\/load$/, 200, () =>
    loadOf((at) => ({
      ...busy(at),
      turns_in_flight: Number(at % 100 === 0),
      ...(at % 100 > 0 && { first_output_p50_ms: null, first_output_p99_ms: null }),
    })),
  );
  await page.goto(console.url('load'));
  const [, turns] = await drawn(page);
  t.notMatch(turns!.map(([, , text]) => text).join(' '), /\d\.\d/, 'no half of a turn');
  t.ok(Number(await page.evaluate('dots')) > 0, 'a value without neighbours is a point');
  stop();
}

async function ofAge(t: Test, page: Page, console: Console, steps: number): Promise<void> {
  const stop = console.standIn.answer(/api\/load$/, 200, () => loadOf((at) => (at < 720 - steps ? idle : busy(at))));
  await page.goto(console.url('load'));
  for (const width of [360, 1440]) {
    await turnAway(page, console);
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate('dots = 0');
    await turnTo(page, console, console.url('load'));
    for (const texts of await drawn(page)) {
      const foot = Math.max(...texts.map(([, y]) => y));
      const [times, values] = [texts.filter(([, y]) => y === foot), texts.filter(([, y]) => y !== foot)];
      for (const axis of [times, values]) {
        const said = axis.map(([, , text]) => text);
        t.ok(said.length > 0 && new Set(said).size === said.length, `${width} px: ${said.join(' ')}`);
      }
      const sorted = times.toSorted(([one], [other]) => one - other);
      t.ok(
        sorted.every(([x, , , wide], at) => at === 0 || x - sorted[at - 1]![0] >= wide),
        'no time covers another',
      );
      t.ok(
        times.every(([x, , , wide, canvas]) => x - wide / 2 >= 0 && x + wide / 2 <= canvas),
        'and none is cut',
      );
    }
    t.equal(await page.evaluate('dots > 0'), steps === 1, 'a point only where no line can be');
    t.ok(Number(await page.evaluate(overflow)) <= 0);
  }
  stop();
}
