/** The cache of what pages read: kept by path, shown at once when a page is opened again, and read anew each time. */
import { batch, signal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiFailure, ask, patiently, query } from './api.ts';
import type { List } from './types.ts';

export interface Read<Value> {
  readonly value: Value | undefined;
  readonly failure: ApiFailure | null;
  readonly loading: boolean;
}

interface Entry<Value> {
  readonly read: Signal<Read<Value>>;
  /** Ends the request that is under way. */
  leave: AbortController | null;
}

const entries = new Map<string, Entry<unknown>>();
const entriesMax = 200;

function entryOf<Value>(path: string): Entry<Value> {
  let entry = entries.get(path);
  if (entry === undefined) {
    if (entries.size >= entriesMax) entries.delete(entries.keys().next().value!);
    entries.set(path, (entry = { read: signal({ value: undefined, failure: null, loading: false }), leave: null }));
  }
  return entry as Entry<Value>;
}

export async function refresh(path: string): Promise<void> {
  const entry = entryOf(path);
  entry.leave?.abort();
  const leave = (entry.leave = new AbortController());
  entry.read.value = { ...entry.read.peek(), loading: true };
  try {
    const value = await patiently(() => ask<unknown>(path, { signal: leave.signal }), leave.signal);
    if (entry.leave === leave) entry.read.value = { value, failure: null, loading: false };
  } catch (error) {
    if (leave.signal.aborted || entry.leave !== leave) return;
    if (!(error instanceof ApiFailure)) throw error;
    entry.read.value = {
      value: error.status === 404 ? undefined : entry.read.peek().value,
      failure: error,
      loading: false,
    };
  }
}

/** The value of a GET; nothing while `path` is null. */
export function useRead<Value>(path: string | null): Read<Value> {
  useEffect(() => void (path !== null && refresh(path)), [path]);
  return path === null ? { value: undefined, failure: null, loading: false } : entryOf<Value>(path).read.value;
}

/** Replaces the cached value by the answer to a write. */
export function put(path: string, value: unknown): void {
  const entry = entryOf(path);
  entry.leave?.abort();
  entry.read.value = { value, failure: null, loading: false };
}

export interface LoadedPages<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
  /** Number of items on all pages; null if there are more than are counted, undefined if not known. */
  readonly total?: number | null | undefined;
  readonly failure: ApiFailure | null;
  readonly loading: boolean;
  /** Whether the first page is here. */
  readonly begun: boolean;
}

/** An item of a list: most have an id, a version has its number. */
export type Listed = { readonly id: string } | { readonly number: number };

/** Distinguishes an item from all others of its list. */
export const keyOf = (item: Listed): string => ('id' in item ? item.id : String(item.number));

const lists = new Map<string, Signal<LoadedPages<unknown>>>();
/** Items of a page of a list. */
export const pageSize = 100;
const none: LoadedPages<never> = { items: [], next: null, failure: null, loading: false, begun: false };

function listOf<Item>(key: string): Signal<LoadedPages<Item>> {
  let list = lists.get(key);
  if (list === undefined) {
    if (lists.size >= entriesMax) lists.delete(lists.keys().next().value!);
    lists.set(key, (list = signal<LoadedPages<unknown>>(none)));
  }
  return list as Signal<LoadedPages<Item>>;
}

const filteredPath = (path: string, fields: Readonly<Record<string, string | null>>): string => path + query(fields);

/**
 * A list after its first page was read again: it brings new and changed items, and the others stay unless some between
 * might be missing.
 */
function withFirst<Item extends Listed>(
  { items, next, begun }: LoadedPages<Item>,
  read: List<Item>,
): LoadedPages<Item> {
  const keys = new Set(read.data.map(keyOf));
  const isRead = (item: Item): boolean => keys.has(keyOf(item));
  const kept = begun && items.length > pageSize && items.some(isRead) ? items.filter((item) => !isRead(item)) : [];
  return {
    items: [...read.data, ...kept],
    next: kept.length > 0 ? next : read.next_cursor,
    total: read.total,
    failure: null,
    loading: false,
    begun: true,
  };
}

/** Reads a list's next page, or its first one again. */
async function page<Item extends Listed>(
  path: string,
  fields: Readonly<Record<string, string | null>>,
  first: boolean,
  counts: boolean,
): Promise<void> {
  const list = listOf<Item>(filteredPath(path, fields));
  const { loading, next } = list.peek();
  // A caller that asks for more may not have seen yet that the list was complete.
  if (loading || (!first && next === null)) return;
  list.value = { ...list.peek(), loading: true };
  try {
    const read = await patiently(
      () =>
        ask<List<Item>>(
          path +
            query({ ...fields, limit: pageSize, after: first ? null : next, total: first && counts ? 'true' : null }),
        ),
      new AbortController().signal,
    );
    list.value = first
      ? withFirst(list.peek(), read)
      : {
          ...list.peek(),
          items: [...list.peek().items, ...read.data],
          next: read.next_cursor,
          failure: null,
          loading: false,
          begun: true,
        };
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    list.value = { ...list.peek(), failure: error, loading: false };
  }
}

export interface ListOf<Item> extends LoadedPages<Item> {
  readonly more: () => void;
  readonly again: () => void;
}

/** A list by pages: pages read stay, `more` reads the next one. `counts`: the total is asked for. */
export function useList<Item extends Listed>(
  path: string | null,
  fields: Readonly<Record<string, string | null>> = {},
  counts = false,
): ListOf<Item> {
  const key = filteredPath(path ?? '', fields);
  useEffect(() => void (path !== null && page<Item>(path, fields, true, counts)), [key]);
  const list = listOf<Item>(key).value;
  return {
    ...list,
    more: () => void page<Item>(path ?? '', fields, false, counts),
    again: () => void page<Item>(path ?? '', fields, true, counts),
  };
}

/** Changes an item in every list that holds it; null takes it out. */
export function changeInLists<Item extends { readonly id: string }>(id: string, item: Item | null): void {
  batch(() => {
    for (const list of lists.values()) {
      const { items } = list.peek() as LoadedPages<Item>;
      const place = items.findIndex((one) => one.id === id);
      if (place < 0) continue;
      list.value = { ...list.peek(), items: item === null ? items.toSpliced(place, 1) : items.with(place, item) };
    }
  });
}

/** Clears the cache after a sign-out, so that the next person sees nothing of it. */
export function forgetAll(): void {
  for (const { leave } of entries.values()) leave?.abort();
  entries.clear();
  lists.clear();
}
