/** Bounds a map whose most recently used entry is at its end. */
import { limits } from './limits.ts';

/**
 * Above `max` entries the oldest are removed, many at a time: to find its first entry a map skips all that were deleted
 * before it.
 */
export function keepNewest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  const kept = Math.floor(max * limits.cacheShareKept);
  for (const key of map.keys()) {
    if (map.size <= kept) return;
    map.delete(key);
  }
}
