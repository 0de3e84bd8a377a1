/**
 * Ids for steps that nothing in them tells apart from a second sending. A step goes in a lane of what it changes, one at
 * a time, under a number that only grows; what is changed keeps of each lane the newest number with its answer. A number
 * that comes again is answered again, and one that others have passed is of nobody any more: its sender had its answer, or
 * has given it up. So what is kept is as much as the steps that were ever under way at once.
 */
import type { Ids } from '../../ids.ts';

interface Lanes {
  readonly free: number[];
  made: number;
}

/** Of the process's random name: 50 bits. */
const senderCharacters = 10;

export class Sender {
  readonly #name: string;
  readonly #busy = new Map<string, Lanes>();
  #number = 0;

  constructor(ids: Ids) {
    this.#name = ids.secret().slice(0, senderCharacters);
  }

  /** Sends a step, perhaps several times, under one lane and number of its target's; until it is settled no other has the lane. */
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
