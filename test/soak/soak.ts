/**
 * An installation under mixed load, restarted again and again: everything acknowledged to its guests must be there at
 * the end, once.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { residentBytes } from '../../bench/harness/process.ts';
import type { House } from '../api/house.ts';
import { Ground, until } from '../faults/ground.ts';
import type { Owner } from '../folders.ts';
import { Random } from '../simulate/random.ts';
import { Guest, Tally } from './guest.ts';

export interface SoakOptions {
  readonly store: 'lmdb' | 'redis';
  readonly seconds: number;
  /**
   * Workers under a supervisor, replaced one after another; the embedded store has one server, which is stopped and
   * started.
   */
  readonly processes: number;
  readonly guests: number;
  readonly restartSeconds: number;
  readonly seed: number;
  onSecond?(second: number, found: Found): void;
}

export interface Found {
  readonly tally: Tally;
  restarts: number;
  /** Resident memory of all server processes together, in MB, by the second. */
  readonly residentMb: number[];
  readonly wrong: string[];
}

export async function soak(t: Owner, options: SoakOptions): Promise<Found> {
  const { store, seconds, guests, seed } = options;
  const ground = await Ground.open(t, store);
  const start = (): Promise<House> =>
    ground.server({ PARLEY_LOG: 'info', ...(store === 'redis' && { PARLEY_PROCESSES: String(options.processes) }) });
  const first = await start();
  const scene = { house: first, key: first.key };
  const found: Found = { tally: new Tally(), restarts: 0, residentMb: [], wrong: [] };
  const ending = new AbortController();
  const lives = Array.from({ length: guests }, async (_, index) => {
    const name = `g${seed}x${index}`;
    const guest = new Guest(scene, ground.assistantId, found.tally, name);
    const random = new Random(seed + index);
    for (let visit = 0; !ending.signal.aborted; visit++) {
      await stay(guest, random, `${name}v${visit}`).catch((error: Error) => found.wrong.push(error.message));
    }
  });
  const restarts = (async () => {
    for (;;) {
      await pause(options.restartSeconds * 1000, undefined, { signal: ending.signal }).catch(() => {});
      if (ending.signal.aborted) return;
      await restart(scene, store, start);
      found.restarts++;
    }
  })();
  const startedAt = performance.now();
  for (let second = 0; second < seconds;) {
    await pause(1000);
    second = Math.floor((performance.now() - startedAt) / 1000);
    const resident = residentBytes([scene.house]) / 1024 ** 2;
    // Between two servers the figure is 0.
    if (resident > 0) found.residentMb.push(resident);
    options.onSecond?.(Math.min(second, seconds), found);
  }
  ending.abort();
  await Promise.all([...lives, restarts]);
  await checkEnd(scene.house, found);
  await scene.house.stop();
  return found;
}

/** One conversation, of the kinds that there are. */
async function stay(guest: Guest, random: Random, tag: string): Promise<void> {
  const id = await guest.session();
  const seen: string[] = [];
  const turns = random.between(1, 6);
  for (let number = 0; number < turns; number++) {
    const said = { tag: `${tag}n${number}`, words: random.between(1, 120), delayMs: random.pick([0, 0, 5, 20]) };
    const what = random.between(0, 9);
    if (what === 0) seen.push(await guest.cut(id, { ...said, words: 400, delayMs: 10 }, 'abort'));
    else if (what === 1) await guest.look();
    else seen.push(await guest.turn(id, said, what < 4));
  }
  if (random.between(0, 3) === 0) seen.push(await guest.cut(id, { tag: `${tag}last`, words: 400, delayMs: 10 }, 'end'));
  else await guest.end(id);
  await guest.remembers(id, seen);
}

async function restart(scene: { house: House }, store: 'lmdb' | 'redis', start: () => Promise<House>): Promise<void> {
  if (store === 'lmdb') {
    await scene.house.stop();
    scene.house = await start();
    return;
  }
  const done = (): number => scene.house.stdout().split('"rolling restart done"').length;
  const before = done();
  scene.house.child.kill('SIGHUP');
  await until(() => done() > before);
}

/** Every turn was counted once, and nothing is left of any. */
async function checkEnd(house: House, { tally, wrong }: Found): Promise<void> {
  const must = (holds: boolean, otherwise: string): unknown => holds || wrong.push(otherwise);
  const { json } = await house.ask('/usage');
  const total = (field: string): number =>
    json.data.reduce((sum: number, bucket: Record<string, number>) => sum + bucket[field]!, 0);
  must(
    total('turns') === tally.turns,
    `${tally.turns} turns were seen to their end, and ${total('turns')} are counted`,
  );
  must(
    total('sessions') === tally.sessions,
    `${tally.sessions} sessions were made, and ${total('sessions')} are counted`,
  );
  const { text } = await house.ask('/metrics');
  const inFlight = /^parley_turns_in_flight (\d+)$/m.exec(text)?.[1];
  must(inFlight === '0', `${inFlight} turns are in flight at the end`);
  must(!house.stdout().includes('worker died'), 'a worker died');
}
