/** A bound for a map whose most recently used entry is its last. */
import { limits } from './limits.ts';

/**
 * Deletes the oldest entries of a map with more than `max`, many at a time: to find its first entry a map skips all
 * entries that were deleted before it.
 */
export function evictOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  const kept = Math.floor(max * limits.cacheShareKept);
  for (const key of map.keys()) {
    if (map.size <= kept) return;
    map.delete(key);
  }
}
