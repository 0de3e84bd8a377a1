/**
 * The look at all primaries for slots that are open: what they report, when they are asked, and whose last answer
 * counts.
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { ManualClock } from '../providers/model/provider.ts';
import { OpenSlots, reportedIn } from '../../src/store/redis/connection/open-slots.ts';
import type { RedisReply } from '../../src/store/redis/reply.ts';

const line = (flags: string, slots = '', { place = '127.0.0.1:7000@17000', state = 'connected' } = {}): string =>
  `07c37df ${place} ${flags} - 0 1426238317239 4 ${state}${slots && ` ${slots}`}\n`;

t.test('a report has the open slots of the node itself and the primaries without slots', async (t) => {
  const text = [
    line('myself,master', '0-5460 [5461->-292f8b36] [7000-<-e7d1eecc]'),
    line('master', '5461-10922 [1->-292f8b36]'),
    line('master', '', { place: '10.0.0.9:7001@17001,node-nine.example' }),
    line('master', '', { place: '::1:7002@17002' }),
    line('slave', ''),
    line('master,fail', '', { place: '10.0.0.1:1@2' }),
    line('handshake,master', '', { place: '10.0.0.2:1@2' }),
    line('master', '', { place: '10.0.0.3:1@2', state: 'disconnected' }),
  ].join('');
  t.same(reportedIn(text), { open: [5461, 7000], slotless: ['node-nine.example:7001', '::1:7002'] });
  t.same(reportedIn(''), { open: [], slotless: [] });
});

/** Primaries that answer as the test says, with the keys of slot 7 that each has, and a clock beside them. */
function scene(answers: Record<string, string | Error | null>, keys: Record<string, number | Error> = {}) {
  const asked: string[] = [];
  const clock = new ManualClock();
  const ask =
    (address: string) =>
    async ([, what]: readonly string[]): Promise<RedisReply> => {
      if (what === 'COUNTKEYSINSLOT') {
        const count = keys[address] ?? 0;
        if (typeof count === 'number') return count;
        throw count;
      }
      asked.push(address);
      const answer = answers[address]!;
      if (answer === null) return new Promise(() => {});
      if (answer instanceof Error) throw answer;
      return Buffer.from(answer);
    };
  const primaries = ['a', 'b'].map((address) => ({ address, ask: ask(address) }));
  const cluster = {
    primaries: () => primaries,
    askAt: (address: string, words: readonly string[]) => ask(address)(words),
    ownerOf: () => 'a',
    readMap: () => void asked.push('map'),
  };
  const open = new OpenSlots(clock, cluster);
  const admits = async (slot: number, map: object): Promise<boolean> =>
    Promise.resolve(open.admit(slot, map)).then(
      () => true,
      () => false,
    );
  return { open, clock, asked, admits };
}

const closed = line('myself,master', '0-8000');

t.test('primaries are asked when the map has changed, and ten times a second', async (t) => {
  const map = [{}, {}] as const;
  const { open, clock, asked, admits } = scene({ a: closed, b: closed });
  t.same(await Promise.all([admits(1, map[0]), admits(2, map[0])]), [true, true]);
  t.same(asked.splice(0), ['a', 'b'], 'steps of one time share a look');
  t.equal(open.admit(1, map[0]), null, 'what is known to be closed costs no wait');
  t.equal(await admits(1, map[1]), true);
  t.same(asked.splice(0), ['a', 'b'], 'another map is another look');
  clock.advance(90);
  t.equal(open.admit(1, map[1]), null);
  await turnOfTheLoop();
  t.same(asked.splice(0), ['a', 'b'], 'the next look begins before the last one is too old');
  clock.advance(101);
  t.not(open.admit(1, map[1]), null);
  await turnOfTheLoop();
  t.same(asked.splice(0), ['a', 'b']);
});

t.test('a slot that one primary reports as open is refused until none does', async (t) => {
  const map = {};
  const answers: Record<string, string> = { a: closed, b: line('myself,master', '[7->-x]') };
  const { clock, asked, admits } = scene(answers);
  t.equal(await admits(7, map), false);
  t.equal(await admits(8, map), true);
  answers['b'] = closed;
  t.equal(await admits(7, map), false, 'the answer is used for a moment');
  asked.length = 0;
  clock.advance(101);
  t.equal(await admits(7, map), true);
  t.same(asked, ['a', 'b']);
});

t.test('a slot is open once a primary has answered a step with ASK', async (t) => {
  const map = {};
  const { open, clock, admits } = scene({ a: closed, b: closed });
  t.equal(await admits(7, map), true);
  open.noteOpen(7);
  t.equal(await admits(7, map), false);
  clock.advance(101);
  t.equal(await admits(7, map), true, 'and is asked for again soon');
});

t.test('every primary is queried, also one without slots', async (t) => {
  const answers = {
    a: closed + line('master', '', { place: 'c:7000@17000' }),
    b: closed,
    'c:7000': line('myself,master', '[7-<-x]'),
  };
  const { asked, admits } = scene(answers);
  t.equal(await admits(7, {}), false);
  t.same(asked, ['a', 'b', 'c:7000']);
});

t.test('the last answer of a primary that does not answer counts, and it is waited for once', async (t) => {
  const map = {};
  const answers: Record<string, string | Error | null> = {
    a: new Error('NOPERM'),
    b: line('myself,master', '[7-<-x]'),
  };
  const { clock, asked, admits } = scene(answers);
  t.equal(await admits(7, map), false);
  answers['b'] = null;
  clock.advance(101);
  const later = [admits(7, map), admits(8, map)];
  await turnOfTheLoop();
  clock.advance(400);
  t.same(await Promise.all(later), [false, true]);
  asked.length = 0;
  t.same(await Promise.all([admits(7, map), admits(8, map)]), [false, true]);
  t.same(asked, ['a'], 'nobody waits for it again');
});

t.test('a slot that was open is refused until its owner has all of its keys', async (t) => {
  const map = {};
  const answers: Record<string, string> = { a: closed, b: line('myself,master', '[7-<-x]') };
  const keys: Record<string, number | Error> = { a: 3, b: 2 };
  const { clock, asked, admits } = scene(answers, keys);
  t.equal(await admits(7, map), false);
  t.notOk(asked.includes('map'));
  answers['b'] = closed;
  for (const count of [2, new Error('The connection is lost.')]) {
    keys['b'] = count;
    clock.advance(101);
    t.equal(await admits(7, map), false);
    t.equal(await admits(8, map), true);
    t.equal(asked.at(-1), 'map', 'its owner may be another one by now');
  }
  for (const count of [0, new Error('NOPERM this user has no permissions')]) {
    keys['b'] = count;
    clock.advance(101);
    t.equal(await admits(7, map), true);
  }
});
