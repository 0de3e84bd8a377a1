/** Other people's frameworks, as their own documentation sets them up; installed only when asked for (`bench/peers`). */
import type { Contender } from '../harness/contender.ts';

export const peers: readonly Contender[] = [];
