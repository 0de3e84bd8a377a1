/** The benchmarks run, at a smoke size. */
import t from 'tap';
import { idleSessions } from '../bench/idle-sessions.ts';

t.test('idle sessions', async (t) => {
  const sessions: number[] = [];
  await idleSessions(2000, (at) => {
    sessions.push(at.sessions);
    t.ok(at.heapBytes > 0);
  });
  t.same(sessions, [200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2000]);
});
