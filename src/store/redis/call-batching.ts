/**
 * Calls that are ready at one moment go to Redis as one: a call costs more than most steps themselves, here and in
 * Redis.
 */

interface Bounds<Item> {
  readonly itemsMax: number;
  /** The sum of the sizes of several items in one call; a larger item has a separate call. */
  readonly sizeMax?: number;
  sizeOf?(item: Item): number;
  /** Whether one of a call's items may be why it failed. */
  mayBeOneItems?(error: unknown): boolean;
}

/** A call that takes further items until it is full or sent. */
interface Call<Item, Answer> {
  readonly items: Item[];
  size: number;
  readonly answers: Promise<readonly Answer[]>;
}

export class CallBatching<Item, Answer> {
  readonly #send: (target: string, items: readonly Item[]) => Promise<readonly Answer[]>;
  readonly #bounds: Bounds<Item>;
  /** The call of each target that takes further items. */
  readonly #open = new Map<string, Call<Item, Answer>>();

  /** `send` resolves with the answer of each item, in order. */
  constructor(send: (target: string, items: readonly Item[]) => Promise<readonly Answer[]>, bounds: Bounds<Item>) {
    this.#send = send;
    this.#bounds = bounds;
  }

  /**
   * Adds an item to a call that is sent once all that is ready now has been added to it; resolves with the item's own
   * answer. If the call fails, all its items fail; each is sent again by itself if one of them may be why.
   */
  add(target: string, item: Item): Promise<Answer> {
    const { itemsMax, sizeMax = Infinity, sizeOf, mayBeOneItems } = this.#bounds;
    const size = sizeOf?.(item) ?? 0;
    let call = this.#open.get(target);
    if (call === undefined || call.items.length === itemsMax || call.size + size > sizeMax) call = this.#begin(target);
    const { items, answers } = call;
    const at = items.push(item) - 1;
    call.size += size;
    return answers.then(
      (answers) => answers[at]!,
      async (error: unknown) => {
        if (items.length === 1 || mayBeOneItems?.(error) !== true) throw error;
        return (await this.#send(target, [item]))[0]!;
      },
    );
  }

  #begin(target: string): Call<Item, Answer> {
    const answers = Promise.resolve().then(() => {
      if (this.#open.get(target) === call) this.#open.delete(target);
      return this.#send(target, call.items);
    });
    const call: Call<Item, Answer> = { items: [], size: 0, answers };
    this.#open.set(target, call);
    return call;
  }
}
