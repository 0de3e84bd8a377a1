/** Load shedding of voice as its processes become busier (contract 8, "Overload"), and its end. */
import t from 'tap';
import type { Clock } from '../../../src/base/clock.ts';
import { LoadShedding } from '../../../src/providers/voice/load-shedding.ts';

t.test('partials become rarer, then stop, then new sockets are refused; and back', async (t) => {
  const waiting = { final: 0, speech: 0, ahead: 0, partial: 0 } as const;
  const processes = { load: { waiting, busy: 0, finalWaitsMs: 0, dominant: null as string | null } };
  const time = { now: 0 };
  const shedding = new LoadShedding(processes, { monotonic: () => time.now } as Clock);
  const at = (busy: number, finalWaitsMs = 0): unknown[] => {
    processes.load = { waiting, busy, finalWaitsMs, dominant: null };
    return [shedding.level, shedding.stretchFor('a'), shedding.isFullFor('a')];
  };
  t.same(at(0.29), ['none', 1, false]);
  t.same(at(0.3), ['partials_rarer', 2, false]);
  t.same(at(0.45), ['partials_rarer', 4, false]);
  t.same(at(0.6), ['partials_off', Infinity, false]);
  t.same(at(0.85), ['partials_off', Infinity, false], 'busy for a moment');
  time.now = 4_999;
  t.same(at(0.85), ['partials_off', Infinity, false]);
  time.now = 5_000;
  t.same(at(0.85), ['full', Infinity, true], 'busy for five seconds');
  t.same(at(0.84), ['partials_off', Infinity, false], 'at once when it is less');
  t.same(at(0.85), ['partials_off', Infinity, false], 'and the seconds begin again');
  t.same(at(0, 1_001), ['full', 1, true], 'finals that wait for longer than a second');
  t.same(at(0, 1_000), ['none', 1, false]);
});

t.test('a load that is mostly of one caller takes partials and sockets from that caller alone', (t) => {
  const waiting = { final: 9, speech: 0, ahead: 0, partial: 0 } as const;
  const shedding = new LoadShedding({ load: { waiting, busy: 0.95, finalWaitsMs: 2_000, dominant: 'a' } }, {
    monotonic: () => 0,
  } as Clock);
  t.same([shedding.stretchFor('a'), shedding.isFullFor('a')], [Infinity, true]);
  t.same([shedding.stretchFor('b'), shedding.isFullFor('b')], [1, false]);
  t.equal(shedding.level, 'full', 'what the metrics show');
  t.end();
});
