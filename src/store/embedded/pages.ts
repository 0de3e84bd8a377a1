/** Pages of rows in key order. */
import type { Page, PageRequest } from '../store.ts';
import { endOf, justAfter } from './keys.ts';

/** The keys with a prefix after the cursor, which need not exist. */
export function span(prefix: string, after: string | null, order: PageRequest['order']): [from: string, to: string] {
  if (after === null) return [prefix, endOf(prefix)];
  return order === 'asc' ? [justAfter(prefix + after), endOf(prefix)] : [prefix, prefix + after];
}

/** The first `limit` items, and the last one's cursor if there are more. */
export function pageOf<T>(source: Iterable<T>, limit: number, cursorOf: (item: T) => string): Page<T> {
  const items: T[] = [];
  for (const item of source) {
    if (items.length === limit) return { items, next: cursorOf(items.at(-1)!) };
    items.push(item);
  }
  return { items, next: null };
}
