/** The readers of sessions in one process. */
import t from 'tap';
import { SessionFollowers } from '../../src/host/session-followers.ts';

t.test(
  'five followers of a session and a thousand in all are admitted, and a place is free once one stops',
  async (t) => {
    const followers = new SessionFollowers();
    const stops = Array.from({ length: 1000 }, (_, index) => followers.follow(`ses_${index >> 2}`, () => {}));
    t.notOk(stops.includes(null));
    t.equal(
      followers.follow('ses_new', () => {}),
      null,
      'of the process',
    );
    for (const stop of stops.slice(0, 4)) stop!();
    stops[0]!();
    t.equal(followers.size, 996, 'a stop counts once');
    for (let count = 0; count < 4; count++)
      t.type(
        followers.follow('ses_0', () => {}),
        'function',
      );
    stops.at(-1)!();
    stops.at(-2)!();
    t.type(
      followers.follow('ses_0', () => {}),
      'function',
    );
    t.equal(
      followers.follow('ses_0', () => {}),
      null,
      'of the session',
    );
  },
);

t.test('a move wakes the followers of its session, and a missed notice wakes all', async (t) => {
  const followers = new SessionFollowers();
  const woken: string[] = [];
  followers.follow('ses_1', () => woken.push('one'));
  const stop = followers.follow('ses_1', () => woken.push('again'))!;
  followers.follow('ses_2', () => woken.push('two'));
  followers.wake('ses_1');
  followers.wake('ses_3');
  t.same(woken.splice(0), ['one', 'again']);
  stop();
  followers.wakeAll();
  t.same(woken, ['one', 'two']);
});
