/**
 * Every event that a watcher is sent was committed. PARLEY_TRUTH_COMMANDS and PARLEY_TRUTH_OUTAGES make the run longer,
 * PARLEY_TEST_SEED makes it another.
 */
import t from 'tap';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { runTruth } from './truth.ts';

const size = (name: string, least: number): number => Number(process.env[name] ?? least);

t.test('a watched chart never shows a state that was not committed', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const { wrong, counts } = await runTruth(t, redis, {
    seed: size('PARLEY_TEST_SEED', 14),
    commands: size('PARLEY_TRUTH_COMMANDS', 40),
    outages: size('PARLEY_TRUTH_OUTAGES', 1),
  });
  t.comment(JSON.stringify(counts));
  t.same(wrong, []);
  for (const each of ['200', 'rate_limited', 'shown', '503']) t.ok((counts[each] ?? 0) > 0, `${each} happened`);
});
