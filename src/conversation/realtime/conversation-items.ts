/** The items of a conversation as an OpenAI Realtime client reads them: those that it can retrieve, in their order. */
import { evictOldest } from '../../base/evict-oldest.ts';

interface Item {
  readonly id: string;
  readonly content: readonly object[];
}

/** Items that can be retrieved. */
const itemsKept = 200;

export class ConversationItems {
  readonly #send: (type: string, fields: object) => void;
  readonly #items = new Map<string, object>();
  /** The newest item, which comes before the next one. */
  previous: string | null = null;

  constructor(send: (type: string, fields: object) => void) {
    this.#send = send;
  }

  get(id: string): object | undefined {
    return this.#items.get(id);
  }

  keep(item: Item): void {
    this.#items.delete(item.id);
    this.#items.set(item.id, item);
    evictOldest(this.#items, itemsKept);
  }

  /** Adds an item of the person, whole from its beginning. */
  add(itemId: string, content: object): void {
    const item = userItem(itemId, content);
    this.keep(item);
    this.#send('conversation.item.added', { previous_item_id: this.previous, item });
    this.#send('conversation.item.done', { previous_item_id: this.previous, item });
    this.previous = item.id;
  }
}

export const userItem = (id: string, content: object) => ({
  ...{ id, object: 'realtime.item', type: 'message', status: 'completed', role: 'user' },
  content: [content],
});
