/** `max_call_seconds` (contract 6): enforced to the second, whether or not the process was restarted. */
import t from 'tap';
import { WheelClock } from '../../src/base/clock.ts';
import { edge, leased, openHouse, textOf } from './house.ts';
import { activeTurn, begin, refused, sayInVain, sessionOf, synthetic, transcriptOf, until } from './talk.ts';

/**
 * Seconds for the requests before the deadline, on a busy machine; `test/turn/sessions.test.ts` tests the exact second,
 * with a manual clock.
 */
const seconds = 8;

/** The tests wait, so they wait together. */
t.jobs = 2;

const nowSeconds = (): number => Date.now() / 1000;

/** Waits for the deadline itself, since no server runs that could report it. */
const passed = (deadline: number): Promise<void> =>
  new Promise((resolve) => new WheelClock().after((deadline - nowSeconds()) * 1000, resolve));

t.test('a turn in flight is cut, and the session stays expired', { buffered: true }, async (t) => {
  const first = await openHouse(t, { env: { PARLEY_STORE: 'lmdb:./data' } });
  const hanging = await synthetic(first, 'tokens=9,hang_at=2', { max_call_seconds: seconds });
  const { id, stream } = await begin(first, hanging.id);
  const open = await sessionOf(first, id);
  t.match(open, { status: 'open', max_call_seconds: seconds, ended_at: null });
  t.equal(open.expires_at, open.created_at + seconds);
  const events = await stream.rest();
  const cutAt = nowSeconds();
  t.ok(cutAt >= open.expires_at, 'not before its time');
  t.equal(textOf(events), 'word word ');
  t.same(events.at(-1)!.event, 'error');
  t.same(events.at(-1)!.data, { code: 'session_expired', message: 'The session has expired.' });
  const expired = { ...open, status: 'expired', active_turn_id: null, ended_at: open.expires_at };
  t.same(await sessionOf(first, id), expired);
  t.match(await transcriptOf(first, id), [
    {},
    { content: 'word word ', status: 'partial', stop_reason: 'expired', error_code: 'session_expired' },
  ]);
  t.match((await first.ask(`/sessions/${id}/turns/${stream.turnId}/abort`, { method: 'POST' })).json, {
    status: 'failed',
    stop_reason: 'expired',
    error_code: 'session_expired',
    ended_at: open.expires_at,
  });
  refused(t, await sayInVain(first, id), 409, 'session_expired');
  t.same((await first.ask(`/sessions/${id}/end`, { method: 'POST' })).json, expired, 'ending it changes nothing');

  const idle = await first.session(hanging.id);
  const dying = await begin(first, hanging.id);
  await dying.stream.next();
  await dying.stream.next();
  const { expires_at: dyingAt } = await sessionOf(first, dying.id);
  await first.kill('SIGKILL');
  await passed(idle.expires_at);
  await passed(dyingAt);

  const second = await openHouse(t, { folder: first.folder, env: { PARLEY_STORE: 'lmdb:./data' } });
  t.match(
    await sessionOf(second, idle.id),
    { status: 'expired', ended_at: idle.expires_at },
    'it expired while nobody ran',
  );
  refused(t, await sayInVain(second, idle.id), 409, 'session_expired');
  if (leased) await until(async () => (await sessionOf(second, dying.id)).active_turn_id === null);
  const died = await sessionOf(second, dying.id);
  t.match(died, { status: 'expired', ended_at: died.expires_at, active_turn_id: null });
  t.match(await transcriptOf(second, dying.id), [
    {},
    { content: 'word word ', status: 'partial', stop_reason: 'expired', error_code: 'session_expired' },
  ]);
  for (const [status, count] of [
    ['expired', 3],
    ['open', 0],
  ] as const) {
    t.equal((await second.ask(`/sessions?status=${status}`)).json.data.length, count, status);
  }
});

t.test(
  `before the first output on ${edge} the waiting request, and any that joined it, gets a status`,
  { buffered: true },
  async (t) => {
    const house = await openHouse(t);
    const silent = await synthetic(house, 'tokens=3,first_ms=600000', { max_call_seconds: seconds });
    const { id } = await house.session(silent.id);
    const ask = { headers: { 'idempotency-key': 'one' } };
    const waiting = sayInVain(house, id, 'Hello', ask);
    const turnId = await activeTurn(house, id);
    const joined = sayInVain(house, id, 'Hello', ask);
    refused(t, await waiting, 409, 'session_expired');
    refused(t, await joined, 409, 'session_expired');
    refused(t, await sayInVain(house, id, 'Hello', ask), 409, 'session_expired');
    t.match(await transcriptOf(house, id), [
      { content: 'Hello' },
      { content: '', status: 'partial', stop_reason: 'expired', error_code: 'session_expired' },
    ]);
    const stream = await house.stream(`/sessions/${id}/turns/${turnId}/events`);
    t.match(
      await stream.rest(),
      [{ event: 'turn.started' }, { event: 'error', data: { code: 'session_expired' } }],
      'the turn itself is read as it was',
    );
  },
);
