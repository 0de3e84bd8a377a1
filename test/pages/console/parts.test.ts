/** Counts that the console makes for its pages: the axes of plots over any time, and what a public link may cost. */
import t from 'tap';
import { worstDay } from '../../../src/pages/console/parts/link-cost.ts';
import { durationPattern, durationText, durationSeconds } from '../../../src/pages/console/parts/duration.ts';
import { badOrigins } from '../../../src/pages/console/parts/origins.ts';
import { moment } from '../../../src/pages/console/format.ts';
import { increments, labelOf, rangeOf } from '../../../src/pages/console/parts/time-axis.ts';

const hour = 3600;

t.test('labels are as fine as the steps between them', (t) => {
  // Noon of a day of the place, so that no midnight is near.
  const noon = new Date(2026, 8, 21, 12).getTime() / 1000;
  for (const step of increments) {
    const labels = Array.from({ length: 8 }, (_, index) => labelOf(noon + index * step, step, noon));
    // From half a day on the hours come again, beside the name of another day.
    if (step < 3 * hour || step >= 24 * hour)
      t.equal(new Set(labels).size, labels.length, `${step} s: ${labels.join(' ')}`);
  }
  const midnight = new Date(2026, 8, 22).getTime() / 1000;
  t.same(
    [
      [midnight, 60],
      [midnight, 5],
      [midnight + 60, 60],
      [midnight + 5, 5],
    ].map(([at, step]) => labelOf(at!, step!, noon)),
    ['22 Sept', '22 Sept', '00:01', '00:00:05'],
  );
  t.end();
});

t.test('a date has its year where that is another one', (t) => {
  const [now, midnight] = [new Date(2026, 10, 28, 12), new Date(2025, 10, 28)].map((date) => date.getTime() / 1000) as [
    number,
    number,
  ];
  t.same(
    [moment(now, now), moment(midnight, now), moment(midnight, midnight)],
    ['28 Nov, 12:00', '28 Nov 2025, 00:00', '28 Nov, 00:00'],
  );
  t.same(
    [labelOf(midnight, 3600, now), labelOf(midnight, 86_400, now), labelOf(midnight, 86_400, midnight)],
    ['28 Nov 2025', '28 Nov 2025', '28 Nov'],
  );
  t.end();
});

t.test('a plot is never without width', (t) => {
  t.same(rangeOf([100], false), [100, 101]);
  t.same(rangeOf([100, 105], false), [100, 105]);
  t.same(rangeOf([100, 105], true), [100, 110], 'the last bar has its width');
  t.same(rangeOf([100], true), [100, 100 + 24 * hour], 'a single bar is a day');
  t.ok(rangeOf([], false)[1] > 0);
  t.end();
});

t.test('the lines of a text that are no origins are named', (t) => {
  t.same(badOrigins('*\n\n ftp://nowhere\nhttps://a.example\nx'), ['ftp://nowhere', 'x']);
  t.end();
});

t.test('what the worst day may cost', async (t) => {
  const said = (limits: object, fields = {}) =>
    worstDay({ provider: 'openai', outputTokens: '', linkLimits: limits, ...fields });
  t.match(
    said({}),
    /for 600 minutes, and for up to 150 more .* 4\.5 million output tokens\. What the model reads comes on top/,
  );
  t.match(said({}, { outputTokens: '500' }), /A reply has at most 500 tokens\./);
  t.match(said({}, { provider: 'scripted' }), /4\.5 million output tokens\. The embedded model costs nothing\.$/);
  t.match(
    said({ minutes_per_day: 'none', concurrent_visitors: '1' }),
    /1 visitor is answered without a pause .* 8\.6 million/,
  );
  t.match(
    said({ minutes_per_day: '10', concurrent_visitors: 'none' }),
    /for 10 minutes\. .* 60,000 output tokens, and the turns that still run then/,
  );
  t.match(
    said({ minutes_per_day: '5000', concurrent_visitors: '1' }),
    /8\.6 million/,
    'a day has no more minutes than it has',
  );
  t.match(said({ minutes_per_day: 'none', concurrent_visitors: 'none' }), /Nothing bounds/);
  t.match(said({ messages_per_visitor_per_day: '0' }), /nobody is answered/);
});

t.test('a duration field takes what people write', (t) => {
  const texts = ['1 h', '90 min', '1 h 30 min', '1h30m', '3600', ' 2 d ', '45 s'];
  t.same(texts.map(durationSeconds), [3600, 5400, 5400, 5400, 3600, 172_800, 45]);
  const accepted = new RegExp(`^(?:${durationPattern})$`, 'v');
  t.same(
    [...texts, '', 'h', '1 hour', '-1', '1.5 h', '1 h x'].map((text) => accepted.test(text)),
    [...texts.map(() => true), ...Array(6).fill(false)],
  );
  t.same(['', '1 hour', '-1', '1.5 h'].map(durationSeconds), [NaN, NaN, NaN, NaN]);
  t.end();
});

t.test('a duration is written in its largest units', (t) => {
  const seconds = [0, 20, 60, 3600, 5400, 86_400, 90_061];
  t.same(seconds.map(durationText), ['0 s', '20 s', '1 min', '1 h', '1 h 30 min', '1 d', '1 d 1 h 1 min 1 s']);
  t.same(seconds.map(durationText).map(durationSeconds), seconds);
  t.end();
});
