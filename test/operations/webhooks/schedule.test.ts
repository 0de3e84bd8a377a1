/** Outcomes of attempts to deliver an event (contract 17). */
import t from 'tap';
import { outcomeOf, retryAfterMs, type Attempt } from '../../../src/operations/webhooks/schedule.ts';

const nowMs = Date.UTC(2026, 10, 29, 8);
const hourMs = 3600_000;
const refused = (status = 500, retryAfter = ''): Attempt['answer'] => ({ status, retryAfter });
const outcome = (over: Partial<Attempt>) =>
  outcomeOf({ attempts: 1, answer: refused(), failingSinceMs: nowMs, nowMs, chance: 0.5, ...over });

t.test('each 2xx delivers, whatever the attempt and however long the webhook has failed', async (t) => {
  for (const status of [200, 201, 202, 204, 299])
    t.same(outcome({ answer: refused(status), attempts: 7, failingSinceMs: 0 }), { kind: 'delivered' }, `${status}`);
});

t.test('a failed attempt is repeated after 5 s, 5 min, 30 min, 2 h, 5 h and 10 h, then no more', async (t) => {
  const waits = [5000, 300_000, 1_800_000, 2 * hourMs, 5 * hourMs, 10 * hourMs];
  for (const answer of [null, ...[100, 300, 302, 400, 401, 404, 408, 429, 500, 503].map((status) => refused(status))]) {
    for (const [index, waitMs] of waits.entries())
      t.same(outcome({ answer, attempts: index + 1 }), { kind: 'retry', atMs: nowMs + waitMs });
    for (const attempts of [7, 8, 100])
      t.same(outcome({ answer, attempts }), { kind: 'failed', disables: false }, `${attempts}`);
  }
});

t.test('chance moves each wait by a tenth at most', async (t) => {
  t.same(outcome({ chance: 0 }), { kind: 'retry', atMs: nowMs + 4500 });
  t.same(outcome({ chance: 1 - 2 ** -53, attempts: 6 }), { kind: 'retry', atMs: nowMs + 11 * hourMs });
});

t.test('a Retry-After beyond the wait is obeyed up to 24 h, a shorter one is not', async (t) => {
  const cases: [string, number][] = [
    ['1', 5000],
    ['60', 60_000],
    ['86400', 24 * hourMs],
    ['86401', 24 * hourMs],
    ['999999999999999', 24 * hourMs],
    ['Sun, 29 Nov 2026 08:10:00 GMT', 600_000],
    ['Sun, 29 Nov 2026 07:00:00 GMT', 5000],
  ];
  for (const [retryAfter, waitMs] of cases)
    t.same(outcome({ answer: refused(503, retryAfter) }), { kind: 'retry', atMs: nowMs + waitMs }, retryAfter);
  t.same(outcome({ answer: refused(503, '60'), attempts: 7 }), { kind: 'failed', disables: false });
});

t.test('a Retry-After that is neither seconds nor a date of HTTP asks for nothing', async (t) => {
  for (const text of ['', '-5', '1.5', '1e3', ' 5', '5 s', '0x10', 'tomorrow', 'Sun, 99 Nov 2026 08:10:00 GMT'])
    t.equal(retryAfterMs(text, nowMs), 0, text);
  t.equal(retryAfterMs('120', nowMs), 120_000);
});

t.test('410, or a failure after 24 h of failures, disables the webhook', async (t) => {
  const disabled = { kind: 'failed', disables: true };
  t.same(outcome({ answer: refused(410), failingSinceMs: null }), disabled);
  t.same(outcome({ answer: refused(410, '60') }), disabled);
  t.same(outcome({ failingSinceMs: nowMs - 24 * hourMs }), disabled);
  t.same(outcome({ answer: null, failingSinceMs: nowMs - 24 * hourMs, attempts: 7 }), disabled);
  t.equal(outcome({ failingSinceMs: nowMs - 24 * hourMs + 1 }).kind, 'retry');
  t.equal(outcome({ failingSinceMs: null }).kind, 'retry');
});
