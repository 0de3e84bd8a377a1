/**
 * The slots of a cluster that are open: being moved from one primary to another, or left so by a move that was broken
 * off. A part of such a slot's keys is at each of the two, so a step in it could be neither right nor atomic, and none
 * is sent.
 *
 * A primary that knows of the move says so itself: a step declares one key that never exists, and for a key that is
 * gone it answers ASK, before the step runs. Nobody follows that. But a replica that takes its place in the middle
 * does not know of the move, nor does a primary after `SETSLOT STABLE`: they answer with the keys that are left. The
 * other primary still knows. So all primaries are asked, whenever the client's map of the slots has changed, and ten
 * times a second while steps are sent.
 *
 * A slot that was open counts as open until all of its keys are with its owner: `redis-cli --cluster fix` may make the
 * primary with most of them the owner, and has both forget the move for a moment before it moves the others.
 */
import type { Clock } from '../../../base/clock.ts';
import { textOfReply } from '../reply.ts';
import type { RedisReply } from '../reply.ts';
import { isQueryRefused } from '../server-config.ts';

/**
 * The age up to which answers are used, in milliseconds: at least this, and this for each primary, because every
 * process asks each of them.
 */
const freshMs = 100;
const freshMsEach = 20;

/**
 * A primary that takes longer to answer counts with its last answer, and is not waited for again until it has answered.
 */
const answerMs = 100;

/** Slots that are looked into at a time, of those that were open; the others stay so until the next look. */
const doubtedMax = 64;

type Ask = (words: readonly string[]) => Promise<RedisReply>;

/** A primary to ask; the same address is the same primary. */
export interface Primary {
  readonly address: string;
  readonly ask: Ask;
}

/** The cluster as its client knows it. */
export interface Cluster {
  /** The primaries with slots. */
  readonly primaries: () => readonly Primary[];
  /** Asks another primary at its address. */
  readonly askAt: (address: string, words: readonly string[]) => Promise<RedisReply>;
  /** The address of the primary that has a slot, as the client's map says. */
  readonly ownerOf: (slot: number) => string | undefined;
  /** Reads the map again, soon. */
  readonly readMap: () => void;
}

/** The parts of `CLUSTER NODES` that matter here. */
export interface Reported {
  /** The open slots of the queried node: a node does not report another node's slots. */
  readonly open: readonly number[];
  /** `host:port` of the primaries without slots. A slot may be on its way to one of them. */
  readonly slotless: readonly string[];
}

/**
 * Reads `CLUSTER NODES`: ID HOST:PORT@BUS[,NAME] FLAGS PRIMARY PING PONG EPOCH STATE SLOTS…, an open slot as
 * [SLOT->-ID] or [SLOT-<-ID].
 */
export function reportedIn(text: string): Reported {
  const open: number[] = [];
  const slotless: string[] = [];
  for (const line of text.split('\n')) {
    const [, place = '', flagged = '', , , , , state, ...slots] = line.trim().split(' ');
    const flags = flagged.split(',');
    if (flags.includes('myself')) {
      for (const slot of slots) {
        const number = /^\[(\d+)-[<>]-/.exec(slot)?.[1];
        if (number !== undefined) open.push(Number(number));
      }
    } else if (
      flags.includes('master') &&
      slots.length === 0 &&
      state === 'connected' &&
      !/fail|handshake|noaddr/.test(flagged)
    ) {
      const [, host = '', port = '', name = ''] = /^(.*):(\d+)@\d+(?:,([^,]*))?/.exec(place) ?? [];
      slotless.push(`${name || host}:${port}`);
    }
  }
  return { open, slotless };
}

/** The answers of all primaries at one time. */
interface Look {
  /** The client's map of the slots by which they were asked. */
  readonly map: object;
  readonly at: number;
  readonly freshMs: number;
  readonly open: Set<number>;
}

export class OpenSlots {
  readonly #clock: Clock;
  readonly #cluster: Cluster;
  /** The last answer of each primary, by address. */
  #reported: ReadonlyMap<string, Reported> = new Map();
  /** Addresses of primaries that have not answered yet. */
  readonly #silent = new Set<string>();
  /** Slots for which a primary has answered ASK since the last look began. */
  readonly #noted = new Set<number>();
  #last: Look | null = null;
  #underWay: { readonly map: object; readonly done: Promise<void> } | null = null;

  constructor(clock: Clock, cluster: Cluster) {
    this.#clock = clock;
    this.#cluster = cluster;
  }

  /**
   * Null if a step may be sent to the slot where the map has it; else a promise that resolves once it may, or rejects
   * because the slot is open.
   */
  admit(slot: number, map: object): Promise<void> | null {
    const last = this.#last;
    const ageMs = last?.map === map ? this.#clock.monotonic() - last.at : Infinity;
    if (last === null || ageMs > last.freshMs) return this.#look(map).then(() => this.#refuseOpen(slot));
    if (this.#isOpen(slot)) return this.#refuseOpen(slot);
    // The next answers are there before these are too old.
    if (ageMs > last.freshMs * 0.8) void this.#look(map);
    return null;
  }

  /** Notes that a primary has answered a step in the slot with ASK. */
  noteOpen(slot: number): void {
    this.#noted.add(slot);
  }

  #isOpen(slot: number): boolean {
    return this.#last?.open.has(slot) === true || this.#noted.has(slot);
  }

  async #refuseOpen(slot: number): Promise<void> {
    if (this.#isOpen(slot))
      throw new Error(
        `Slot ${slot} of the Redis Cluster is being moved, or its move was broken off (redis-cli --cluster fix).`,
      );
  }

  #look(map: object): Promise<void> {
    if (this.#underWay?.map !== map) {
      const done = this.#ask(map).finally(() => {
        if (this.#underWay?.done === done) this.#underWay = null;
      });
      this.#underWay = { map, done };
    }
    return this.#underWay.done;
  }

  async #ask(map: object): Promise<void> {
    const at = this.#clock.monotonic();
    const doubted = new Set([...(this.#last?.open ?? []), ...this.#noted]);
    const primaries = this.#cluster.primaries();
    const reported = new Map(await Promise.all(primaries.map((primary) => this.#hear(primary))));
    const addresses = new Set([...reported.values()].flatMap(({ slotless }) => slotless));
    const others = [...addresses]
      .filter((address) => !reported.has(address))
      .map((address) => ({ address, ask: (words: readonly string[]) => this.#cluster.askAt(address, words) }));
    for (const [address, report] of await Promise.all(others.map((primary) => this.#hear(primary))))
      reported.set(address, report);
    const open = new Set([...reported.values()].flatMap((report) => report.open));
    for (const slot of open) doubted.delete(slot);
    const split = await this.#split([...doubted], [...primaries, ...others]);
    for (const slot of [...open, ...doubted]) this.#noted.delete(slot);
    for (const slot of split) open.add(slot);
    // The slot may have a new owner by now, and no step is sent to learn that from the old one.
    if (split.length > 0) this.#cluster.readMap();
    this.#reported = reported;
    this.#last = { map, at, freshMs: Math.max(freshMs, freshMsEach * reported.size), open };
  }

  /** Returns the formerly open slots whose keys are not all known to be with their owners. */
  async #split(doubted: readonly number[], primaries: readonly Primary[]): Promise<number[]> {
    const whole = await Promise.all(
      doubted.slice(0, doubtedMax).map(async (slot) => {
        const others = primaries.filter(({ address }) => address !== this.#cluster.ownerOf(slot));
        const counts = await Promise.all(
          others.map(({ ask }) =>
            this.#within(ask(['CLUSTER', 'COUNTKEYSINSLOT', String(slot)]).catch(noneIfRefused), null),
          ),
        );
        return counts.every((count) => count === 0);
      }),
    );
    return doubted.filter((_, index) => whole[index] !== true);
  }

  /** Resolves with the last answer of a primary that does not answer in time, or may not be asked. */
  async #hear({ address, ask }: Primary): Promise<readonly [string, Reported]> {
    const last = this.#reported.get(address) ?? nothing;
    if (this.#silent.has(address)) return [address, last];
    this.#silent.add(address);
    const report = ask(nodes)
      .then(
        (text) => reportedIn(textOfReply(text)),
        () => last,
      )
      .finally(() => this.#silent.delete(address));
    return [address, await this.#within(report, last)];
  }

  /** The answer, or another one if it does not come in time. */
  #within<T>(answer: Promise<T>, late: T): Promise<T> {
    return new Promise((resolve) => {
      const deadline = this.#clock.after(answerMs, () => resolve(late));
      void answer.then(resolve, () => resolve(late)).finally(() => deadline.cancel());
    });
  }
}

const nodes = ['CLUSTER', 'NODES'];

/** A user that may not count the keys does without. */
function noneIfRefused(error: Error): RedisReply {
  return isQueryRefused(error) ? 0 : null;
}

const nothing: Reported = { open: [], slotless: [] };
