/**
 * Ids for steps whose arguments alone do not distinguish a repeat from a new step. A step uses a lane of its target,
 * which it has alone until it settles, under a number that only grows; the target keeps, for each lane, the newest
 * number with its answer. A number that comes again gets the same answer. A number below the newest belongs to no
 * step any more: its sender got its answer, or stopped waiting. So a target keeps no more than the number of steps
 * that were ever under way at once.
 */
import type { Ids } from '../../base/ids.ts';

interface Lanes {
  readonly free: number[];
  made: number;
}

/** Characters of the process's random name: 50 bits. */
const senderCharacters = 10;

export class StepIds {
  readonly #name: string;
  readonly #busy = new Map<string, Lanes>();
  #number = 0;

  constructor(ids: Ids) {
    this.#name = ids.secret().slice(0, senderCharacters);
  }

  /**
   * Sends a step, perhaps several times, under one lane and number of its target; no other step uses the lane until it
   * settles.
   */
  async send<T>(target: string, step: (lane: string, number: number) => Promise<T>): Promise<T> {
    let lanes = this.#busy.get(target);
    if (lanes === undefined) this.#busy.set(target, (lanes = { free: [], made: 0 }));
    const lane = lanes.free.pop() ?? lanes.made++;
    try {
      return await step(`${this.#name}/${lane}`, ++this.#number);
    } finally {
      lanes.free.push(lane);
      if (lanes.free.length === lanes.made) this.#busy.delete(target);
    }
  }
}
