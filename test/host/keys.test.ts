/** A key's limits: its machine gets only the events that may move it, without a visible difference. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { makeKey } from '../../src/access/keys.ts';
import { checksum, randomIds } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { activeSnapshot, keyIdOf, Keys } from '../../src/host/keys.ts';
import { Inspector } from '../../src/actors/inspector.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { BudgetName, Key, Taken } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { key } from '../store/fixtures.ts';
import { Scene, withSteps } from './scene.ts';

type Command =
  | { kind: 'take'; budgets: BudgetName[] }
  | { kind: 'wait'; ms: number }
  | { kind: 'configure'; inSeconds: number | null }
  | { kind: 'watch' };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      budgets: fc.constantFrom<BudgetName[]>(['requests'], ['requests', 'speech']),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(10, 5_000, 40_000) }) },
  fc.record({ kind: fc.constant('configure' as const), inSeconds: fc.option(fc.constantFrom(-5, 30, 1000)) }),
  fc.constant({ kind: 'watch' as const }),
);

/** One process' view of a key; `watched` has its machine told of everything. */
async function view(watched: boolean) {
  const clock = new ManualClock();
  const store = memoryStore();
  await store.open(clock.now());
  const record: Key = key('wks_1', {
    limits: { requests: 3, speech: 1, transcriptionTokens: 1 },
    machine: activeSnapshot(null),
  });
  await store.catalog.create('key', record);
  const inspector = new Inspector();
  let leave: (() => void) | null = watched ? inspector.watch(() => {}) : null;
  const keys = new Keys(store, clock, inspector);
  return async (command: Command): Promise<unknown> => {
    const actor = (await keys.of('wks_1', record.id))!;
    if (command.kind === 'watch' && !watched) {
      leave?.();
      leave = leave === null ? inspector.watch(() => {}) : null;
    } else if (command.kind === 'wait') clock.advance(command.ms);
    else if (command.kind === 'take') await keys.take(actor, command.budgets);
    else if (command.kind === 'configure') {
      const expiresAt = command.inSeconds === null ? null : Math.floor(clock.now() / 1000) + command.inSeconds;
      await keys.configure('wks_1', record.id, (before) => ({ ...before, expiresAt }));
      return [actor.machine.state, actor.machine.context];
    }
    return actor.machine.state;
  };
}

t.test("a key's states equal those of a machine that gets every event", async (t) => {
  const seed = Number(process.env['PARLEY_TEST_SEED'] ?? 20_261_121);
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 40, size: 'max' }), async (commands) => {
      const [quiet, told] = [await view(false), await view(true)];
      for (const each of commands) t.strictSame(await quiet(each), await told(each));
      return t.passing();
    }),
    { numRuns: 200, seed },
  );
});

t.test("a cached budget has the last answer's level, and refills", async (t) => {
  const clock = new ManualClock();
  const store = memoryStore();
  await store.open(clock.now());
  const record: Key = key('wks_1', {
    limits: { requests: 60, speech: 2, transcriptionTokens: 1 },
    machine: activeSnapshot(null),
  });
  await store.catalog.create('key', record);
  const keys = new Keys(store, clock, new Inspector());
  const actor = (await keys.of('wks_1', record.id))!;
  const resetIn = (seconds: number): number => Math.ceil(clock.now() / 1000 + seconds);
  t.same(keys.standing(actor, 'speech'), { remaining: 2, resetAt: resetIn(0) }, 'nothing was charged');
  for (const remaining of [1, 0]) {
    const [, taken] = await keys.take(actor, ['requests', 'speech']);
    t.same(keys.standing(actor, 'speech'), { remaining, resetAt: taken!.resetAt });
  }
  const [{ remaining, resetAt }] = (await keys.take(actor, ['requests'])) as [Taken];
  t.same(keys.standing(actor, 'requests'), { remaining, resetAt });
  t.equal(keys.standing(actor, 'speech').remaining, 0, 'a charge to another budget changes nothing');
  await keys.configure('wks_1', record.id, (before) => ({ ...before, limits: { ...before.limits, requests: 5 } }));
  t.equal(keys.standing(actor, 'requests').remaining, 5, 'no more than a lowered ceiling');
  for (const left of [0, 1, 2]) {
    t.equal(keys.standing(actor, 'speech').remaining, left);
    clock.advance(31_000);
  }
  t.same(keys.standing(actor, 'requests'), { remaining: 5, resetAt: resetIn(0) });
});

t.test('a key is held while it lives here, by its own text, and as long as it is valid', async (t) => {
  const clock = new ManualClock();
  const store = memoryStore();
  await store.open(clock.now());
  const keys = new Keys(store, clock, new Inspector());
  const ids = randomIds(clock);
  const { text, publicId, digest } = makeKey(ids);
  const record: Key = key('wks_1', {
    id: keyIdOf(publicId),
    publicId,
    digest,
    expiresAt: Math.floor(clock.now() / 1000) + 60,
    machine: activeSnapshot(null),
  });
  await store.catalog.create('key', record);
  t.equal(keys.held(text), null, 'nobody has asked for it');
  const actor = await keys.authenticate(text);
  t.equal(keys.held(text), actor);
  const body = `ak_${publicId}_${ids.secret()}`;
  t.equal(keys.held(body + checksum(body)), null, 'another secret');
  clock.advance(30_000);
  t.equal(keys.held(text), actor);
  await keys.revoke('wks_1', record.id);
  t.equal(keys.held(text), null, 'revoked');
});

/** A key of sixty requests a minute, with the events that its watchers and its history get. */
async function limitedKey(watched: boolean) {
  const clock = new ManualClock();
  const store = memoryStore();
  await store.open(clock.now());
  const record: Key = key('wks_1', {
    limits: { requests: 60, speech: 1, transcriptionTokens: 1 },
    machine: activeSnapshot(null),
  });
  await store.catalog.create('key', record);
  const inspector = new Inspector();
  const shown: string[] = [];
  const watch = () =>
    inspector.watch(
      (inspected) =>
        inspected.type === 'event' &&
        inspected.from !== inspected.to &&
        shown.push(`${inspected.from} → ${inspected.to}`),
    );
  if (watched) watch();
  const keys = new Keys(store, clock, inspector);
  const actor = (await keys.of('wks_1', record.id))!;
  const moves = () =>
    (actor.refusals?.rows ?? [])
      .filter(({ from, to }) => from !== to)
      .map(({ event, from, to, data }) => `${event} ${from} → ${to} ${data?.type}`);
  return { clock, keys, actor, shown, watch, moves, take: () => keys.take(actor, ['requests']) };
}

t.test('a debt that is paid off is shown, live and in the history', async (t) => {
  for (const watched of [true, false]) {
    await t.test(watched ? 'with a watcher' : 'without one', async (t) => {
      const { clock, actor, shown, moves, take } = await limitedKey(watched);
      for (let time = 0; time < 61; time++) await take();
      t.equal(actor.machine.state, 'limited');
      const timers = clock.timers;
      for (let time = 0; time < 10; time++) await take();
      t.equal(clock.timers, timers, 'one timer, however often it is refused');
      clock.advance(30_000);
      t.same(moves(), ['request active → limited undefined', 'tick limited → active tick'], 'no request is needed');
      t.same(shown, watched ? ['active → limited', 'limited → active'] : []);
      t.equal(clock.timers, timers - 1);
      for (let time = 0; time < 60; time++) await take();
      t.equal(moves().length, 3);
    });
  }
  await t.test('a request may come before the timer of a debt', async (t) => {
    const { clock, keys, actor, watch, shown, moves } = await limitedKey(false);
    for (let time = 0; time < 61; time++) await keys.take(actor, ['requests']);
    clock.jump(61_000);
    watch();
    await keys.take(actor, ['requests']);
    t.same(moves(), ['request active → limited undefined', 'request limited → active request']);
    t.same(shown, ['limited → active']);
  });
});

t.test('a key of a workspace that another process has removed is unknown before any time has passed', async (t) => {
  const made = await Scene.open();
  const { host, store, workspaceId, assistantId } = made.beside(withSteps(made.store, { leaseMs: limits.leaseMs }));
  const { publicId, text, digest } = makeKey(randomIds(made.clock));
  await store.catalog.create(
    'key',
    key(workspaceId, { id: keyIdOf(publicId), publicId, digest, machine: activeSnapshot(null) }),
  );
  await host.start();
  t.teardown(() => host.close());
  // A key that was found by its text is read once more before it is relied on.
  for (let times = 0; times < 2; times++) await host.keys.authenticate(text);
  t.ok(await host.assistants.of(workspaceId, assistantId));
  await store.catalog.remove('workspace', workspaceId, workspaceId);
  await turnOfTheLoop();
  await t.rejects(async () => host.keys.authenticate(text), { code: 'invalid_api_key' });
  t.equal(await host.assistants.of(workspaceId, assistantId), null);
});

t.test('a key that has expired while the clock was ahead is valid again once the clock is right', async (t) => {
  const { host, store, clock, workspaceId } = await Scene.open();
  const { publicId, text, digest } = makeKey(randomIds(clock));
  const expiresAt = Math.floor(clock.now() / 1000) + 60;
  await store.catalog.create(
    'key',
    key(workspaceId, { id: keyIdOf(publicId), publicId, digest, expiresAt, machine: activeSnapshot(expiresAt) }),
  );
  const actor = await host.keys.authenticate(text);
  clock.jump(3_600_000);
  await t.rejects(async () => host.keys.authenticate(text), { code: 'expired_api_key' });
  t.equal(actor.machine.state, 'expired');
  clock.jump(-3_600_000);
  t.equal(await host.keys.authenticate(text), actor);
  t.equal(actor.machine.state, 'active');
});
