/** The halt of a rollout (contract 20): stores write it in the step of a turn, and the machine decides on it. */
import t from 'tap';
import { changeRelease } from '../../src/host/release.ts';
import { haltedRelease } from '../../src/store/releases.ts';
import type { Release } from '../../src/store/store.ts';

t.test('a store halts a rollout as the machine decides', async (t) => {
  const halt = { failedPercent: 5, afterTurns: 10 };
  const candidate = { version: 2, digest: 'two', percent: 10, halt, isHalted: false, since: 3 };
  const release: Release = { current: 1, newest: 2, digest: 'one', earlier: [], revision: 3, candidate };
  t.same(haltedRelease(release), changeRelease(release, { type: 'halt' }, null).release);
});
