/** A bound for a map whose most recently used entry is its last. */
import { limits } from './limits.ts';

/**
 * Deletes the oldest entries of a map with more than `max`, many at a time: to find its first entry a map skips all
 * entries that were deleted before it. A small map may keep `max` of them.
 */
export function evictOldest<Key>(
  map: Map<Key, unknown>,
  max: number,
  kept = Math.floor(max * limits.cacheShareKept),
): void {
  if (map.size <= max) return;
  for (const key of map.keys()) {
    if (map.size <= kept) return;
    map.delete(key);
  }
}
