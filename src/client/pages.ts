/** A list of the API: iterate over its items, page after page, or take one page, or all items at once. */
import type { CallOptions, Requester } from './requester.ts';
import type { List, PageQuery } from './types.ts';

/** A page's largest size, which spares requests where every page is wanted. */
const itemsMax = 100;

export class Pages<T, Q extends PageQuery = PageQuery> implements AsyncIterable<T> {
  readonly #requester: Requester;
  readonly #path: string;
  readonly #query: Q & CallOptions;

  /** Call options may stand among the parameters as well. */
  constructor(requester: Requester, path: string, query: Q & CallOptions) {
    this.#requester = requester;
    this.#path = path;
    this.#query = query;
  }

  /** One page: the list object as the API answers it. */
  page(query: Partial<Q> & CallOptions = {}, options: CallOptions = {}): Promise<List<T>> {
    const { signal, timeoutMs, ...parameters } = { ...this.#query, ...query, ...options };
    return this.#requester.json('list', { path: this.#path, query: parameters, ...given({ signal, timeoutMs }) });
  }

  async all(options: CallOptions = {}): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this.#items(options)) items.push(item);
    return items;
  }

  [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    return this.#items({});
  }

  async *#items(options: CallOptions): AsyncGenerator<T, void, undefined> {
    let after = this.#query.after;
    do {
      const page = await this.page({ limit: itemsMax, ...this.#query, ...(after && { after }) }, options);
      yield* page.data;
      after = (page.has_more && page.next_cursor) || undefined;
    } while (after !== undefined);
  }
}

/** A list that may be awaited: `await` gives its first page, the list object. */
export class AwaitablePages<T, Q extends PageQuery = PageQuery> extends Pages<T, Q> implements PromiseLike<List<T>> {
  readonly then: PromiseLike<List<T>>['then'] = (...handlers) => this.page().then(...handlers);
}

/** Returns the options that are set. */
export const given = ({ signal, timeoutMs }: CallOptions): CallOptions => ({
  ...(signal && { signal }),
  ...(timeoutMs !== undefined && { timeoutMs }),
});
