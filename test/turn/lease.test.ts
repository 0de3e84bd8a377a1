/** The owner's lease on a turn (architecture, idea 4). */
import t from 'tap';
import { Lease } from '../../src/turn/lease.ts';
import type { AppendResult, Renewed, Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';

const leaseMs = 6000;

/** A lease on a store whose answers the test sets. */
function open() {
  const clock = new ManualClock();
  const told: string[] = [];
  const asked: string[] = [];
  const answers: { append: AppendResult; renew: Renewed | null; held?: Promise<void> } = {
    append: 'stored',
    renew: 'renewed',
  };
  const turns = {
    append: async ({ leaseUntilMs, nowMs }: { leaseUntilMs?: number; nowMs?: number }) => {
      asked.push(leaseUntilMs === undefined ? 'append' : `append ${leaseUntilMs - nowMs!}`);
      await answers.held;
      return answers.append;
    },
    renew: async (_place: unknown, _fence: unknown, leaseUntilMs: number, nowMs: number) => {
      asked.push(`renew ${leaseUntilMs - nowMs}`);
      if (answers.renew === null) throw new StoreUnavailable('away');
      return answers.renew;
    },
  };
  const store = { turns } as unknown as Store;
  const place = { workspaceId: 'w', sessionId: 's', turnId: 't' };
  const parts = {
    store,
    clock,
    place,
    fence: { epoch: 1, owner: 'me' },
    leaseMs,
    expiresAt: 1e10,
    begunAt: clock.monotonic(),
  };
  const lease: Lease = new Lease(parts, {
    stop: (reason) => told.push(reason),
    lost: () => {
      told.push('lost');
      lease.end();
    },
    fenced: () => {
      told.push('fenced');
      lease.end();
    },
  });
  /** Advances the time in steps that let pending requests be answered. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(100);
      await new Promise((resolve) => process.nextTick(resolve));
    }
  };
  return { clock, lease, told, asked, answers, pass };
}

t.test('a lease is renewed after each third, by the heartbeat or by an append', async (t) => {
  const { lease, told, asked, pass, clock } = open();
  await pass(6000);
  t.same(asked, ['renew 6000', 'renew 6000', 'renew 6000']);
  await pass(1000);
  t.equal(await lease.append(0, 'a'), 'stored');
  await pass(1900);
  t.same(asked.slice(3), ['append 6000'], 'the append has renewed it');
  t.same(told, []);
  lease.end();
  t.equal(clock.timers, 0);
});

t.test('pieces that follow each other closely renew the lease once in a twelfth of it', async (t) => {
  const { lease, asked, pass } = open();
  for (const position of [0, 1, 2, 3, 4, 5, 6]) {
    t.equal(await lease.append(position, 'a'), 'stored');
    await pass(100);
  }
  t.same(asked, ['append', 'append', 'append', 'append', 'append', 'append 6000', 'append']);
  await pass(1900);
  t.same(asked.length, 7, 'the heartbeat has nothing to do for a third of the lease');
  lease.end();
});

for (const [of, age, piece] of [
  ['which renews it', 500, 'append 6000'],
  ['which does not renew it', 0, 'append'],
] as const) {
  t.test(`a lease waits for an unanswered piece before it is renewed, ${of}`, async (t) => {
    const { lease, asked, answers, pass } = open();
    let answer!: () => void;
    answers.held = new Promise((resolve) => (answer = resolve));
    await pass(age);
    const appended = lease.append(0, 'a');
    await pass(3000);
    t.same(asked, [piece]);
    answer();
    t.equal(await appended, 'stored');
    await pass(1000);
    t.same(asked, [piece, 'renew 6000']);
    lease.end();
  });
}

t.test('a fenced owner loses the lease, and a stop request reaches an owner', async (t) => {
  const { lease, told, answers, pass } = open();
  answers.append = { stop: 'expired' };
  t.same(await lease.append(0, 'a'), { stop: 'expired' }, 'an append brings the request to stop with its answer');
  answers.renew = { stop: 'aborted' };
  await pass(2100);
  t.same(told, ['aborted']);
  answers.append = 'fenced';
  t.equal(await lease.append(1, 'b'), 'fenced');
  answers.renew = 'fenced';
  await pass(4000);
  t.same(told.at(-1), 'fenced');
});

t.test('a lease that cannot be renewed is abandoned before it runs out', async (t) => {
  const { told, answers, pass } = open();
  answers.renew = null;
  await pass(4800);
  t.same(told, []);
  await pass(1100);
  t.same(told, ['lost']);
  await pass(5000);
  t.same(told, ['lost'], 'once');
});
