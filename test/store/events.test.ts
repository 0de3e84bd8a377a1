/** The numbers of a session's events. */
import t from 'tap';
import {
  endedIn,
  eventCountOf,
  numbersOf,
  shownNumber,
  storedNumber,
  withoutEvents,
} from '../../src/store/records/events.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { Scene } from './fixtures.ts';

const scene = new Scene(memoryStore(), 1_790_000_000_000);
const session = scene.session({ messageCount: 5, eventCount: 9 });
const turn = (sequence?: number, unasked = false) => ({
  ...scene.beginStep(session, 1).turn,
  messageIndex: 4,
  ...(unasked && { unasked: true as const }),
  ...(sequence !== undefined && { sequence }),
});

t.test(
  'a session that has had no turn, or that an earlier version stored, has an event for each message',
  async (t) => {
    t.equal(eventCountOf(scene.session({ messageCount: 3 })), 3);
    t.equal(eventCountOf(session), 9);
    t.same(numbersOf(turn(), session), { from: 4, count: 2 });
    t.same(numbersOf(turn(undefined, true), session), { from: 5, count: 1 });
  },
);

t.test('a turn has four events, and three without a message of the user', async (t) => {
  t.same(numbersOf(turn(6), session), { from: 6, count: 4 });
  t.same(numbersOf(turn(6, true), session), { from: 6, count: 3 });
});

t.test('the last turn gives its numbers back when it is withdrawn', async (t) => {
  t.same(withoutEvents(session, turn(6), true), { eventCount: 5 });
});

t.test('numbers of a turn that was withdrawn after another had begun are left out', async (t) => {
  const first = { ...session, eventCount: 20, ...withoutEvents(session, turn(12), false) };
  const both = { ...first, ...withoutEvents(first, turn(2, true), false) };
  t.same(both.withdrawnEvents, [
    { from: 2, count: 3 },
    { from: 12, count: 4 },
  ]);
  const stored = [1, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20];
  t.same(
    stored.map((number) => shownNumber(both, number)),
    stored.map((_, index) => index + 1),
  );
  t.same(
    stored.map((_, index) => storedNumber(both, index + 1)),
    stored,
  );
});

t.test('events of the desk during a turn come before its end, and stay where it is withdrawn', async (t) => {
  const begun = turn(6);
  const attended = { ...session, eventCount: 13, turnEnd: { turnId: begun.id, number: 11 } };
  t.same(numbersOf(begun, attended), { from: 6, count: 7 });
  t.same(numbersOf({ ...begun, id: 'turn_other' }, attended), { from: 6, count: 4 });
  const sealed = endedIn(begun, attended);
  t.same(numbersOf(sealed, session), { from: 6, count: 7 }, 'the turn keeps the number of its end');
  t.equal(endedIn(begun, session), begun);
  const without = { ...attended, ...withoutEvents(attended, begun, false) };
  t.same(without.withdrawnEvents, [
    { from: 6, count: 2 },
    { from: 11, count: 2 },
  ]);
  t.same(
    [5, 8, 9, 10, 13].map((number) => shownNumber(without, number)),
    [5, 6, 7, 8, 9],
  );
});

t.test('a session keeps a bounded number of ranges', async (t) => {
  let kept = session;
  for (let count = 0; count < 150; count++) kept = { ...kept, ...withoutEvents(kept, turn(4 * count + 1), false) };
  t.equal(kept.withdrawnEvents?.length, 100);
  t.equal(shownNumber(kept, 601), 1);
});
