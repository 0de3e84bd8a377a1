/** `npm run soak` for a few seconds on each store, and a server that forgets must be found out. */
import t from 'tap';
import { whyNoRedis } from '../store/redis-server.ts';
import { soak } from './soak.ts';

for (const store of ['lmdb', 'redis'] as const) {
  const lacking = store === 'redis' ? whyNoRedis() : null;
  t.test(`${store}: guests lose nothing over a restart`, { skip: lacking ?? false }, async (t) => {
    const found = await soak(t, { store, seconds: 6, processes: 2, guests: 4, restartSeconds: 2, seed: 5 });
    t.same(found.wrong, []);
    t.ok(found.restarts >= 1 && found.tally.turns > 4, `${found.restarts} restarts, ${found.tally.turns} turns`);
  });
}
