/** The benchmarks run, at a smoke size. */
import t from 'tap';
import { failovers, type Failover } from '../bench/failover.ts';
import { idleSessions } from '../bench/idle-sessions.ts';
import { whyNoRedis } from './store/redis-server.ts';

t.test('idle sessions', async (t) => {
  const sessions: number[] = [];
  await idleSessions(2000, (at) => {
    sessions.push(at.sessions);
    t.ok(at.heapBytes > 0);
  });
  t.same(sessions, [200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2000]);
});

t.test('failovers', { skip: whyNoRedis() ?? false }, async (t) => {
  const reported: Failover[] = [];
  await failovers(1, 'replicated', (each) => reported.push(each));
  t.match(reported, [{ lost: 0, mixed: 0 }]);
  t.ok(reported[0]!.acknowledged > 0 && reported[0]!.firstMs > 0 && reported[0]!.failed + reported[0]!.refused > 0);
});
