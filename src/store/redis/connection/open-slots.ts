/**
 * The slots of a cluster that are open: being moved from one primary to another, or left so by a move that was broken off. A part of
 * such a slot's keys is at each of the two, so a step in it could be neither right nor atomic, and none is sent.
 *
 * A primary that knows of the move says so itself: a step declares one key that never exists, and for a key that is gone it answers
 * ASK, before the step runs. Nobody follows that. But a replica that takes its place in the middle does not know of the move, nor
 * does a primary that was told to forget it (`SETSLOT STABLE`): they answer with the keys that are left. The other primary still
 * knows. So all primaries are asked, whenever the client's map of the slots has changed, and once a second.
 */
import type { Clock } from '../../../base/clock.ts';
import { textOfReply } from '../reply.ts';
import type { RedisReply } from '../reply.ts';

/** How old the answers may be, in milliseconds: for a slot that is closed, and for one that is open. */
const closedMs = 1_000;
const openMs = 100;

/** A primary that takes longer to answer counts with its last answer. */
const answerMs = 400;

/** A primary to ask; the same address is the same primary. */
export interface Primary {
  readonly address: string;
  readonly ask: () => Promise<RedisReply>;
}

/** The parts of `CLUSTER NODES` that matter here. */
export interface Reported {
  /** The open slots of the node that was asked: a node tells of no other's. */
  readonly open: readonly number[];
  /** `host:port` of the primaries without slots. A slot may be on its way to one of them. */
  readonly slotless: readonly string[];
}

/** Reads `CLUSTER NODES`: ID HOST:PORT@BUS[,NAME] FLAGS PRIMARY PING PONG EPOCH STATE SLOTS…, an open slot as [SLOT->-ID] or [SLOT-<-ID]. */
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
    } else if (flags.includes('master') && slots.length === 0 && state === 'connected' && !/fail|handshake|noaddr/.test(flagged)) {
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
  readonly open: Set<number>;
}

export class OpenSlots {
  readonly #clock: Clock;
  readonly #primaries: () => readonly Primary[];
  readonly #askSlotless: (address: string) => Promise<RedisReply>;
  /** The last answer of each primary, by address. */
  #reported: ReadonlyMap<string, Reported> = new Map();
  #last: Look | null = null;
  #underWay: { readonly map: object; readonly done: Promise<void> } | null = null;

  /** `primaries` are those with slots; `askSlotless` asks one without at its address. */
  constructor(clock: Clock, primaries: () => readonly Primary[], askSlotless: (address: string) => Promise<RedisReply>) {
    this.#clock = clock;
    this.#primaries = primaries;
    this.#askSlotless = askSlotless;
  }

  /** Null if a step may be sent to the slot where the map has it; else a promise that resolves once it may, or rejects because the slot is open. */
  admit(slot: number, map: object): Promise<void> | null {
    const last = this.#last;
    const ageMs = last?.map === map ? this.#clock.monotonic() - last.at : Infinity;
    const isOpen = last?.open.has(slot) === true;
    if (ageMs > (isOpen ? openMs : closedMs)) return this.#look(map).then(() => this.#refuseOpen(slot));
    if (isOpen) return this.#refuseOpen(slot);
    // The next answers are there before these are too old.
    if (ageMs > closedMs / 2) void this.#look(map);
    return null;
  }

  /** Notes that a primary has answered a step in the slot with ASK. */
  noteOpen(slot: number): void {
    this.#last?.open.add(slot);
  }

  async #refuseOpen(slot: number): Promise<void> {
    if (this.#last?.open.has(slot)) throw new Error(`Slot ${slot} of the Redis Cluster is being moved, or its move was broken off (redis-cli --cluster fix).`);
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
    const known = this.#primaries();
    const reported = new Map(await Promise.all(known.map((primary) => this.#hear(primary))));
    const addresses = new Set([...reported.values()].flatMap(({ slotless }) => slotless));
    const others = [...addresses].filter((address) => !reported.has(address));
    for (const [address, report] of await Promise.all(others.map((address) => this.#hear({ address, ask: () => this.#askSlotless(address) })))) reported.set(address, report);
    this.#reported = reported;
    this.#last = { map, at, open: new Set([...reported.values()].flatMap(({ open }) => open)) };
  }

  /** Resolves with the last answer of a primary that does not answer in time, or may not be asked. */
  #hear({ address, ask }: Primary): Promise<readonly [string, Reported]> {
    const last = this.#reported.get(address) ?? nothing;
    return new Promise((resolve) => {
      const deadline = this.#clock.after(answerMs, () => resolve([address, last]));
      void ask()
        .then((text) => reportedIn(textOfReply(text)), () => last)
        .then((report) => {
          deadline.cancel();
          resolve([address, report]);
        });
    });
  }
}

const nothing: Reported = { open: [], slotless: [] };
