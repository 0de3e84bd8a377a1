/**
 * Everything that somebody can send again and again, a few times, every other row on each engine: `npm run repeat`
 * sends all of it to both, a hundred thousand times.
 */
import t from 'tap';
import type { Edge } from '../hostile/judge.ts';
import { ceilings, repeat, type Ceilings } from './run.ts';
import { rows } from './rows.ts';

/**
 * A busy machine may take several times as long for the same work: here only work that grows with what is sent exceeds
 * the ceiling. What so few leave behind is little.
 */
const held: Ceilings = { stoodMs: 4 * ceilings.stoodMs, megabytes: null };

export function repeatFewTimes(edge: Edge): void {
  const own = rows.filter((_, index) => index % 2 === (edge === 'uws' ? 0 : 1));
  t.test(edge, async (t) => {
    for await (const { name, failure } of repeat(t, edge, own, 100, held)) t.equal(failure, null, name);
  });
}
