/** The queue of a voice process: callers share it fairly under any load. */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { CallerShares } from '../../../src/providers/voice/caller-shares.ts';
import { FairQueue, voiceOrdersMax, voiceOrdersOfCallerMax } from '../../../src/providers/voice/fair-queue.ts';
import { ManualClock } from '../model/provider.ts';

type Urgency = 'final' | 'speech' | 'ahead' | 'partial';

interface Job {
  readonly name: string;
  readonly caller: string;
  readonly urgency: Urgency;
  readonly ms: number;
}

const opened = (): FairQueue<Urgency, Job> => new FairQueue([['final'], ['speech', 'ahead'], ['partial']]);

/** An order of the caller that its name begins with. */
const job = (name: string, urgency: Urgency = 'speech', ms = 100): Job => ({ name, caller: name[0]!, urgency, ms });

/** Runs what waits, one order at a time, and names the orders as they were taken. */
function run(queue: FairQueue<Urgency, Job>, then: (taken: Job) => void = () => {}): string {
  const taken: string[] = [];
  for (let next = queue.take(); next !== null; next = queue.take()) {
    taken.push(next.name);
    then(next);
    queue.ended(next, next.ms);
  }
  return taken.join(' ');
}

const jobs = (names: string, urgency: Urgency = 'speech', ms = 100): Job[] =>
  names.split(' ').map((name) => job(name, urgency, ms));

function queueOf(...all: Job[]): FairQueue<Urgency, Job> {
  const queue = opened();
  for (const [at, each] of all.entries()) queue.push(each, at);
  return queue;
}

t.test('callers take turns, however many orders each has', (t) => {
  t.equal(run(queueOf(...jobs('a1 a2 a3 a4 a5 a6 b1 b2 c1'))), 'a1 b1 c1 a2 b2 a3 a4 a5 a6');
  t.equal(run(queueOf(...jobs('a1 a2 a3'))), 'a1 a2 a3', 'a caller alone has all of the time');
  t.end();
});

t.test('long orders cost a caller its turns', (t) => {
  t.equal(
    run(queueOf(...jobs('a1 a2', 'speech', 1_000), ...jobs('b1 b2 b3 b4 b5 b6 b7'))),
    'a1 b1 b2 b3 b4 b5 b6 b7 a2',
  );
  t.equal(
    run(queueOf(...jobs('a1 a2 a3', 'speech', 300), ...jobs('b1 b2 b3 b4 b5 b6 b7'))),
    'a1 b1 b2 b3 a2 b4 b5 b6 a3 b7',
  );
  t.end();
});

t.test('a caller that comes anew waits for one order, and has no claim on the time before', (t) => {
  const queue = queueOf(...jobs('a1 a2 a3 a4 a5 a6 a7 a8'));
  const comes = new Map([['a4', jobs('b1 b2 b3 b4')]]);
  t.equal(
    run(queue, ({ name }) => comes.get(name)?.forEach((each) => queue.push(each, 0))),
    'a1 a2 a3 a4 b1 a5 b2 a6 b3 a7 b4 a8',
  );
  t.end();
});

t.test('callers of one order each keep nobody waiting for longer than a round', (t) => {
  const queue = queueOf(...jobs('a1 b1 c1 d1'));
  let times = 0;
  const taken = run(
    queue,
    (done) => times++ < 12 && done.caller !== 'd' && queue.push({ ...done, name: `${done.caller}${times}` }, 0),
  );
  t.ok(taken.indexOf('d1') <= 'a1 b1 c1 d1'.indexOf('d1'), taken);
  t.end();
});

t.test(
  'speech that is waited for comes before that made ahead within a caller, and keeps no other caller waiting',
  (t) => {
    t.equal(run(queueOf(job('a1', 'ahead'), job('a2'), job('a3', 'ahead'), job('a4'))), 'a2 a4 a1 a3');
    const queue = queueOf(job('b1', 'ahead'), ...jobs('a1 a2 a3'));
    t.equal(run(queue), 'b1 a1 a2 a3');
    t.end();
  },
);

t.test('finals come before partials, whoever sends them', (t) => {
  t.equal(run(queueOf(job('a1', 'partial'), job('b1', 'partial'), ...jobs('b2 b3 a2', 'final'))), 'a2 b2 b3 a1 b1');
  t.end();
});

t.test('several processes do not all serve one caller while another waits', (t) => {
  const queue = queueOf(...jobs('a1 a2 a3 b1'));
  const [first, second] = [queue.take()!, queue.take()!];
  t.same([first.name, second.name], ['a1', 'b1']);
  queue.ended(first, 100);
  queue.ended(second, 100);
  t.equal(run(queue), 'a2 a3');
  t.end();
});

t.test('an order may be taken out, and one whose process has ended comes first again', (t) => {
  const all = jobs('a1 a2 a3');
  const queue = queueOf(...all);
  t.equal(queue.remove(all[1]!), true);
  t.equal(queue.remove(all[1]!), false, 'once');
  const taken = queue.take()!;
  t.equal(queue.remove(taken), false, 'one that runs does not wait');
  queue.push(taken, 0, true);
  queue.ended(taken, 100);
  t.equal(run(queue), 'a1 a3');
  queue.push(all[0]!, 0);
  t.same(queue.drain(), [all[0]]);
  t.equal(queue.take(), null);
  t.end();
});

t.test('the waiting orders are counted, and the oldest is known', (t) => {
  const queue = queueOf(...jobs('a1 b1 b2', 'final'), job('a2', 'partial'));
  t.same([queue.count('final'), queue.count('partial'), queue.count('speech')], [3, 1, 0]);
  t.same([queue.oldest('final'), queue.oldest('partial'), queue.oldest('speech')], [0, 3, null]);
  queue.take();
  t.same([queue.count('final'), queue.oldest('final')], [2, 1]);
  t.end();
});

t.test('a caller fills its own part of the queue, and not that of others', (t) => {
  const queue = opened();
  for (let number = 0; number < voiceOrdersOfCallerMax; number++) {
    t.equal(queue.isFull('a'), false);
    queue.push(job('a'), 0);
  }
  t.same([queue.isFull('a'), queue.isFull('b')], [true, false]);
  for (let number = voiceOrdersOfCallerMax; number < voiceOrdersMax; number++)
    queue.push({ ...job('b'), caller: `b${number}` }, 0);
  t.equal(queue.isFull('c'), true, 'all of them together have a bound as well');
  t.end();
});

t.test('the caller that has more than half of the time is known, until the next stretch of time', (t) => {
  const clock = new ManualClock();
  const shares = new CallerShares(clock);
  const stretch = (spent: Readonly<Record<string, number>>): string | null => {
    for (const [caller, ms] of Object.entries(spent)) shares.note(caller, ms);
    clock.advance(limits.voiceShareMs);
    return shares.dominant;
  };
  t.equal(shares.dominant, null);
  t.equal(stretch({ a: 501, b: 499 }), 'a');
  t.equal(stretch({ a: 500, b: 500 }), null);
  t.equal(stretch({ a: 300, b: 400, c: 200 }), null);
  t.equal(stretch({ b: 10 }), 'b');
  t.equal(stretch({}), null);
  t.end();
});
