/** Whether slow clients slow others down. */
import { whyMissing } from '../installed.ts';
import { healthy } from './barrage.ts';
import { askAndNeverRead, beginWriting, longTurn } from './slow.ts';
import { attacks, beginAttack } from './slowhttptest.ts';
import type { World } from './world.ts';

/** Returns the 99th percentile of so many requests, one after another, in milliseconds. */
async function slowestMs(world: World, times: number): Promise<number> {
  const took: number[] = [];
  for (let index = 0; index < times; index++) {
    const begun = performance.now();
    await healthy(world);
    took.push(performance.now() - begun);
  }
  return took.sort((a, b) => a - b)[Math.floor(times * 0.99)]!;
}

/** Clients that are connected from when it resolves until the function that it resolves with is called. */
type Crowd = () => Promise<() => unknown>;

/**
 * Measures the wait of others before and during slow clients: ours, and slowhttptest's if it is installed. Yields both;
 * throws if it is more than twice as long.
 */
export async function* slowness(world: World, times: number): AsyncGenerator<string> {
  const replay = await longTurn(world);
  const ours: Crowd = async () => {
    const clients = [...(await beginWriting(world, 1000)), ...(await askAndNeverRead(world, replay, 200))];
    return () => clients.forEach((client) => client.destroy());
  };
  const crowds = new Map([['1,200 slow clients of ours', ours]]);
  const missing = whyMissing('slowhttptest');
  if (missing !== null) yield missing;
  for (const attack of missing === null ? attacks : [])
    crowds.set(`1,000 of slowhttptest's ${attack}`, () => beginAttack(world, attack, 1000, 19));
  await slowestMs(world, times);
  for (const [name, come] of crowds) {
    const before = await slowestMs(world, times);
    const leave = await come();
    const during = await slowestMs(world, times).finally(leave);
    const words = `99 of 100 requests took ${before.toFixed(1)} ms at most, and ${during.toFixed(1)} ms with ${name}`;
    if (during > 2 * before) throw new Error(words);
    yield words;
  }
}
