/** The client before a real server, with faults on the way between them, and a clock whose waits end at once. */
import type { Test } from 'tap';
import { Parley, type ParleyOptions } from '../../src/client/parley.ts';
import type { Clock } from '../../src/client/clock.ts';
import type { Retry } from '../../src/client/requester.ts';
import { openHouse, type House, type HouseOptions } from '../api/house.ts';
import { synthetic } from '../api/talk.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { Faulty } from './faulty.ts';

/** The client's clock, moved by hand. */
export class HandClock implements Clock {
  readonly #clock = new ManualClock();
  /** The value that `random` returns. */
  chance = 0.5;
  now = (): number => this.#clock.monotonic();
  random = (): number => this.chance;

  after(ms: number, run: () => void): () => void {
    const timer = this.#clock.after(ms, run);
    return () => timer.cancel();
  }

  advance(ms: number): void {
    this.#clock.advance(ms);
  }

  get timers(): number {
    return this.#clock.timers;
  }
}

export interface Hurried {
  readonly parley: Parley;
  readonly clock: HandClock;
  /** Every wait for another attempt so far. */
  readonly waits: Retry[];
}

/** A client whose clock jumps to the end of each wait for another attempt. */
export function hurried(url: string, key: string, options: Partial<ParleyOptions> = {}): Hurried {
  const clock = new HandClock();
  const waits: Retry[] = [];
  const onRetry = (retry: Retry): void => {
    waits.push(retry);
    setImmediate(() => clock.advance(retry.waitMs));
  };
  return { parley: new Parley({ url, key, clock, onRetry, ...options }), clock, waits };
}

/** A `fetch` that counts the heads that came. */
export function countingFetch(): { readonly fetch: typeof fetch; readonly heads: () => number } {
  let heads = 0;
  const counting: typeof fetch = async (...given) => {
    const response = await fetch(...given);
    heads++;
    return response;
  };
  return { fetch: counting, heads: () => heads };
}

export interface Scene {
  readonly house: House;
  readonly way: Faulty;
  readonly assistantId: string;
  /** Returns a new client on this way. */
  client(options?: Partial<ParleyOptions>): Hurried;
}

/** A server with an assistant that says 20 words, unless the model's name says otherwise. */
export async function openScene(t: Test, model = 'tokens=20', options: HouseOptions = {}): Promise<Scene> {
  const house = await openHouse(t, options);
  const way = await Faulty.open(t, house.url);
  const { id } = await synthetic(house, model);
  return { house, way, assistantId: id, client: (more) => hurried(way.url, house.key, more) };
}

/** The body of a failure as the API writes it. */
export const failure = (type: string, code: string, message = 'It went wrong.'): string =>
  JSON.stringify({ error: { type, code, message }, request_id: `req_${'a'.repeat(26)}` });
