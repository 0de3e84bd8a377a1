/**
 * P4: a primary is killed, its replica lagging or not; acknowledged steps may be lost or undone only as documented, and
 * no texts are mixed.
 */
import { durabilities, failover, type Durability } from '../../bench/failover.ts';
import { RedisCluster } from '../store/redis-server.ts';
import type { Experiment } from './experiment.ts';
import { lackingRedis } from './ground.ts';

const of = (durability: Durability): Experiment => ({
  promise: 'P4',
  name: durability,
  does: `kill -9 of a primary whose replica may be stopped, durability ${durability}`,
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: lackingRedis,
  async open(t) {
    const cluster = await RedisCluster.start();
    t.teardown(() => cluster.stop());
    return async (trial) => {
      await cluster.settles();
      const stoppedMs = trial.random.chance(0.5) ? trial.random.between(50, 800) : 0;
      const { acknowledged, refused, failed, lost, mixed, forgotten, done, undone, firstMs, isReplaced } =
        await failover(cluster, durability, stoppedMs);
      trial.must(isReplaced, 'no replica took the place of the primary');
      trial.must(mixed === 0, `${mixed} replies hold text of another turn`);
      trial.must(lost === 0 || durability === 'committed', `${lost} of ${acknowledged} acknowledged turns are lost`);
      trial.must(
        undone.length === 0 || durability === 'committed',
        `of ${done} steps that were answered these are undone: ${undone.join(', ')}`,
      );
      trial.must(
        forgotten === 0 || durability !== 'replicated-output',
        `${forgotten} replies have less text than could be seen`,
      );
      const counts = {
        'turns acknowledged': acknowledged,
        refused,
        failed,
        lost,
        'with less text than seen': forgotten,
        'other steps acknowledged': done,
        undone: undone.length,
      };
      for (const [what, count] of Object.entries(counts)) trial.count(what, count);
      trial.count(stoppedMs > 0 ? 'replicas stopped' : 'replicas that kept up');
      trial.took('until heard again', firstMs);
    };
  },
});

export const failsOver: readonly Experiment[] = durabilities.map(of);
