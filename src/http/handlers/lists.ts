/**
 * Answers with lists. No page is longer than `answerBytesMax`, because an answer that is no stream is held in memory
 * until its reader has taken it.
 */
import { jsonText } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { jsonType, type Reply } from '../request.ts';
import type { Page, PageRequest } from '../../store/store.ts';

export interface PageFields {
  readonly limit?: number;
  readonly after?: string;
  readonly order?: string;
}

/** The page that a query requests. */
export const pageRequest = (query: PageFields, order: 'asc' | 'desc'): PageRequest => ({
  limit: query.limit ?? limits.listDefault,
  after: query.after ?? null,
  order: query.order === 'asc' || query.order === 'desc' ? query.order : order,
});

/** A page as it is sent: each item in JSON. */
export interface WrittenPage<T> {
  readonly items: readonly T[];
  readonly texts: readonly string[];
  readonly next: string | null;
}

export const jsonHeaders = { 'content-type': jsonType };

/**
 * The requested page. It has fewer items if they are long, but at least one. Each read from the store is bounded too.
 */
export async function writePage<T>(
  wanted: PageRequest,
  read: (page: PageRequest) => Page<T> | Promise<Page<T>>,
  view: (item: T) => unknown,
): Promise<WrittenPage<T>> {
  const items: T[] = [];
  const texts: string[] = [];
  let bytes = 0;
  for (let { after, limit: most } = wanted; ;) {
    const page = await read({ ...wanted, after, limit: Math.min(most - texts.length, limits.listDefault) });
    const fresh = page.items.map((item) => jsonText(view(item)));
    let sum = bytes;
    const fitting = fresh.findIndex(
      (text, index) => (sum += Buffer.byteLength(text)) > limits.answerBytesMax && texts.length + index > 0,
    );
    // If none of these items fits, the page ends with the items before them.
    if (fitting === 0) return { items, texts, next: after };
    if (fitting > 0) {
      // Reads again with a smaller limit, because items and cursor must come from one read.
      most = texts.length + fitting;
      continue;
    }
    bytes = sum;
    items.push(...page.items);
    texts.push(...fresh);
    after = page.next;
    if (after === null || texts.length >= most) return { items, texts, next: after };
  }
}

/**
 * The text before a list's items, and the text after them. `total`: how many items all pages have; null where they are
 * too many to count.
 */
export const frameOf = (next: string | null, total?: number | null): readonly [string, string] => [
  '{"object":"list","data":[',
  `],"has_more":${next !== null},"next_cursor":${jsonText(next)}${total === undefined ? '' : `,"total":${total}`}}`,
];

export function listReply({ texts, next }: WrittenPage<unknown>, total?: number | null): Reply {
  const [before, behind] = frameOf(next, total);
  return { status: 200, headers: jsonHeaders, text: `${before}${texts.join(',')}${behind}` };
}

/** A page of a list in memory, whose first item comes first in the default order. The cursors are indexes. */
export function listOfAll<T>(
  all: readonly T[],
  query: PageFields,
  order: 'asc' | 'desc',
  view: (item: T) => unknown,
): Promise<Reply> {
  const wanted = pageRequest(query, order);
  const ordered = wanted.order === order ? all : [...all].reverse();
  const read = ({ after, limit }: PageRequest): Page<T> => {
    const from = Number(after ?? 0);
    return {
      items: ordered.slice(from, from + limit),
      next: from + limit < ordered.length ? String(from + limit) : null,
    };
  };
  return list(wanted, read, view);
}

export async function list<T>(
  wanted: PageRequest,
  read: (page: PageRequest) => Page<T> | Promise<Page<T>>,
  view: (item: T) => unknown,
): Promise<Reply> {
  return listReply(await writePage(wanted, read, view));
}
