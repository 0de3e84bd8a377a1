/** The store's time as each of its processes estimates it, independent of their wall clocks. */
import fc from 'fast-check';
import t from 'tap';
import { WheelClock, type Clock } from '../../src/base/clock.ts';
import { StoreClock } from '../../src/store/clock.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { RedisServer, appendOnly, whyNoRedis } from './redis-server.ts';
import { openStore, toldTheTime } from './redis-stores.ts';
import { redisTimeMs } from '../../src/store/redis/time.ts';

t.test("the clock gives its own time until the store's is known, then the store's", async (t) => {
  const own = new ManualClock();
  const time = new StoreClock(own);
  t.equal(time.now(), own.now());
  time.noteTime(5_000_000, own.monotonic(), own.monotonic());
  t.equal(time.now(), 5_000_000);
  own.advance(1500);
  own.jump(-60_000);
  t.equal(time.now(), 5_001_500);
  t.equal(time.monotonic(), own.monotonic());
});

t.test('a reply that was long under way does not make it less exact', async (t) => {
  const own = new ManualClock();
  const time = new StoreClock(own);
  const at = own.monotonic();
  own.advance(2);
  time.noteTime(5_000_001, at, own.monotonic());
  t.equal(time.now(), 5_000_002);
  const asked = own.monotonic();
  own.advance(400);
  // Redis got the query at once and answered late: half of the round trip is 198 ms off.
  time.noteTime(5_000_003, asked, own.monotonic());
  t.equal(time.now(), 5_000_402);
});

t.test('a clock of the store’s that was set is taken over at once, forth and back', async (t) => {
  const own = new ManualClock();
  const time = new StoreClock(own);
  time.noteTime(5_000_000, own.monotonic(), own.monotonic());
  for (const storeMs of [9_000_000, 4_000_000]) {
    const asked = own.monotonic();
    own.advance(10);
    time.noteTime(storeMs, asked, own.monotonic());
    t.equal(time.now(), storeMs + 5);
  }
});

const look = fc.record({
  waitMs: fc.integer({ min: 0, max: 10_000 }),
  thereMs: fc.integer({ min: 0, max: 900 }),
  backMs: fc.integer({ min: 0, max: 900 }),
});

t.test('it is never further off than half of its quickest round trip, and what clocks drift', async () => {
  fc.assert(
    fc.property(
      fc.array(look, { minLength: 1, maxLength: 30 }),
      fc.integer({ min: -300_000, max: 300_000 }),
      fc.integer({ min: -5, max: 5 }),
      (looks, aheadMs, drift) => {
        const own = new ManualClock();
        const time = new StoreClock(own);
        const started = own.monotonic();
        // The store's clock goes up to a two-thousandth too fast or too slow.
        const store = (): number => own.monotonic() + aheadMs + ((own.monotonic() - started) * drift) / 10_000;
        let least = Infinity;
        for (const { waitMs, thereMs, backMs } of looks) {
          own.advance(waitMs);
          const asked = own.monotonic();
          own.advance(thereMs);
          const said = store();
          own.advance(backMs);
          time.noteTime(said, asked, own.monotonic());
          const roundTrip = own.monotonic() - asked;
          least = Math.min(least + (waitMs + roundTrip) / 1000, roundTrip / 2);
          if (Math.abs(time.now() - store()) > least + 2 + (own.monotonic() - asked) / 1000) return false;
        }
        return true;
      },
    ),
    { seed: 11, numRuns: 2000 },
  );
});

/** A clock like this machine's, with another wall clock, that reads Redis's time without waiting. */
class Skewed implements Clock {
  readonly #wheel = new WheelClock();
  readonly #aheadMs: number;

  constructor(aheadMs: number) {
    this.#aheadMs = aheadMs;
  }

  now = (): number => this.#wheel.now() + this.#aheadMs;
  monotonic = (): number => this.#wheel.monotonic();
  after = (delayMs: number, callback: () => void) => this.#wheel.after(delayMs === redisTimeMs ? 0 : delayMs, callback);
  stop = (): void => this.#wheel.stop();
}

t.test('processes on one Redis give the same time', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const times: StoreClock[] = [];
  for (const aheadMs of [-60_000, 60_000]) {
    const clock = new Skewed(aheadMs);
    const time = new StoreClock(clock);
    const { dispose } = await openStore(server.url, { clock, time });
    t.teardown(async () => {
      await dispose();
      clock.stop();
    });
    const before = Date.now();
    const given = time.now();
    t.ok(given >= before - 250 && given <= Date.now() + 250, 'that of Redis as soon as the store is open');
    times.push(time);
  }
  t.ok(Math.abs(times[0]!.now() - times[1]!.now()) <= 250);
});

t.test('a Redis whose clock is set is heard of', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  await server.command('SET', 'now', '5000000');
  const clock = new Skewed(0);
  const time = new StoreClock(clock);
  const { store, dispose } = await openStore(server.url, { clock, time, scripts: toldTheTime });
  t.teardown(async () => {
    await dispose();
    clock.stop();
    await server.stop();
  });
  t.ok(time.now() >= 5_000_000 && time.now() < 5_060_000);
  await server.command('SET', 'now', '9000000');
  while (time.now() < 9_000_000) await store.ping();
  t.ok(time.now() < 9_060_000);
});
