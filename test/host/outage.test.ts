/** A store that goes away and comes back, as the log and the metrics show it. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { Host } from '../../src/host.ts';
import { randomIds } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { openMetrics } from '../../src/metrics/metrics.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { withSteps } from './scene.ts';

t.test('an outage of the store is logged once at its beginning and once at its end', async (t) => {
  const sound = memoryStore();
  await sound.open(0);
  const clock = new ManualClock();
  let fault: Error | null = null;
  const answer = async <T>(call: () => Promise<T>): Promise<T> => {
    if (fault !== null) throw fault;
    return call();
  };
  let idle = false;
  const store = withSteps(sound, {
    leaseMs: limits.leaseMs,
    ping: () => answer(() => sound.ping()),
    sweep: (nowMs, limit) => answer(() => sound.sweep(nowMs, limit)),
    // A look that has nothing to ask is answered whether the store is there or not.
    orphans: (nowMs, limit) => (idle ? Promise.resolve([]) : answer(() => sound.turns.orphans(nowMs, limit))),
  });
  const lines: { level: string; msg: string; away_seconds?: number }[] = [];
  const log = pino(
    { formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const host = new Host(store, clock, randomIds(clock), log, 1000);
  const metrics = openMetrics(
    () => ({}),
    () => 0,
    () => 0,
    () => host.outage,
  );
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= limits.orphansMs) {
      clock.advance(limits.orphansMs);
      await turnOfTheLoop();
    }
  };
  await host.start();
  await pass(5000);
  t.same(lines, []);
  t.match(await metrics.text(), /^parley_store_outages_total 0$/m);

  fault = new StoreUnavailable('away');
  await pass(2 * limits.sweepMs);
  idle = true;
  await pass(limits.sweepMs);
  t.equal(lines.length, 1);
  t.match(lines, [
    { level: 'error', msg: 'The store does not answer. Requests that need it get 503 until it is back.' },
  ]);
  t.match(await metrics.text(), /^parley_store_outages_total 1$/m);
  t.match(await metrics.text(), /^parley_store_away_seconds 1[78]\d(\.\d)?$/m);

  fault = null;
  await pass(2 * limits.sweepMs);
  t.equal(lines.length, 2);
  t.match(lines.slice(1), [{ level: 'warn', msg: 'The store answers again.', away_seconds: Number }]);
  t.match(await metrics.text(), /^parley_store_away_seconds 0$/m);

  idle = false;
  fault = new TypeError('a fault of ours');
  await pass(2 * limits.orphansMs);
  const failed = 'Background work on the store failed. It is repeated.';
  t.match(
    lines.slice(2).map(({ msg }) => msg),
    [failed, failed],
  );
  host.close();
  await sound.close();
});
