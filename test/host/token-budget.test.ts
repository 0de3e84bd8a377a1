/** The token budget of a key: its reservation, its settlement and its renewal (contract 19). */
import t from 'tap';
import { reservationOf, secondsToRenewal, settlementOf, standingTokens } from '../../src/host/token-budget.ts';

const dayMs = 86_400_000;
const midnight = 20_000 * dayMs;
const budget = { keyId: 'key_1', tokensPerDay: 5000 };

t.test('a reservation is of the UTC day in which the turn begins', async (t) => {
  for (const at of [midnight, midnight + 1, midnight + dayMs - 1]) {
    const { asked, reserved } = reservationOf(budget, 1200, at);
    t.same(asked, { kind: 'quota', name: 'key_1/tokens', ceiling: 5000, periodMs: dayMs, cost: 1200 });
    t.same(reserved, { keyId: 'key_1', dayMs: midnight, tokens: 1200 });
  }
});

t.test('a settlement replaces the reservation by the used tokens, in the same day', async (t) => {
  const { reserved } = reservationOf(budget, 1200, midnight + 5);
  const settled = { kind: 'counter', name: 'key_1/tokens', periodMs: dayMs, sinceMs: midnight };
  t.same(settlementOf(reserved, 30), { ...settled, cost: -1170 });
  t.same(settlementOf(reserved, 1300), { ...settled, cost: 100 });
  t.same(settlementOf(reserved, 0), { ...settled, cost: -1200 });
});

t.test('a refused turn waits until 00:00 UTC', async (t) => {
  t.equal(secondsToRenewal({ passed: false, waitMs: 1 }, midnight + dayMs - 1), 1);
  t.equal(secondsToRenewal({ passed: false, waitMs: dayMs }, midnight), 86_400);
  t.equal(secondsToRenewal({ passed: false, waitMs: null }, midnight + dayMs - 1500), 2, 'also if it never fits');
});

t.test('the standing is what is left of the day, and its end', async (t) => {
  t.same(standingTokens(5000, 1200, midnight + 7), { remaining: 3800, resetAt: (midnight + dayMs) / 1000 });
  t.same(standingTokens(5000, 5100, midnight), { remaining: 0, resetAt: (midnight + dayMs) / 1000 });
});
