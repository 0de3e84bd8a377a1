/** Runs rows one after another against one server, and holds each to the two ceilings. */
import type { Edge } from '../hostile/judge.ts';
import type { Owner } from '../folders.ts';
import type { Row } from './rows.ts';
import { openRepeatWorld, type RepeatWorld } from './world.ts';

export interface Ceilings {
  readonly stoodMs: number;
  /** Null: memory is not held to any, and no garbage is collected to know it. */
  readonly megabytes: number | null;
}

/** The most that a row may cost, however often it is sent. */
export const ceilings = { stoodMs: 250, megabytes: 64 };

export interface Outcome {
  readonly name: string;
  readonly sent: number;
  readonly came: string;
  readonly stoodMs: number;
  /** Growth of the process, while all that the row opened was open. */
  readonly megabytes: number;
  readonly peakMegabytes: number;
  /** Reason why it did not hold; null if it did. */
  readonly failure: string | null;
}

/** Number of times that a row is sent before memory is measured, so that one-time allocations are made by then. */
const warmUp = 50;

async function runRow(world: RepeatWorld, row: Row, all: number, held: Ceilings): Promise<Outcome> {
  // The operator's own requests are here for their findings, not for a promise.
  const times = row.by === 'operator' ? Math.ceil(all / 10) : all;
  const { meter, house } = world;
  const inPlace = async (): Promise<void> => {};
  if (held.megabytes !== null) await row.send(world, Math.min(warmUp, times), inPlace);
  const before = await meter.read(house);
  let during = before;
  let isRead = false;
  const { sent, came, missed } = await row.send(world, times, async () => {
    during = await meter.read(house);
    isRead = true;
  });
  const after = await meter.read(house);
  if (!isRead) during = after;
  const stoodMs = Math.round(Math.max(during.stoodMs, after.stoodMs));
  const megabytes = Math.round(during.megabytes - before.megabytes);
  const peakMegabytes = Math.round(Math.max(during.peakMegabytes, after.peakMegabytes) - before.megabytes);
  const failures = [
    ...(missed !== null ? [missed] : []),
    ...(stoodMs > held.stoodMs ? [`the loop stood still for ${stoodMs} ms`] : []),
    ...(held.megabytes !== null && megabytes > held.megabytes ? [`the process grew by ${megabytes} MB`] : []),
  ];
  return { name: row.name, sent, came, stoodMs, megabytes, peakMegabytes, failure: failures.join(' and ') || null };
}

/** A server that a row has ended is followed by another one. */
export async function* repeat(
  t: Owner,
  edge: Edge,
  rows: readonly Row[],
  times: number,
  held: Ceilings = ceilings,
): AsyncGenerator<Outcome> {
  let world: RepeatWorld | null = null;
  for (const row of rows) {
    world ??= await openRepeatWorld(t, edge, held.megabytes !== null);
    try {
      yield await runRow(world, row, times, held);
    } catch (error) {
      yield {
        name: row.name,
        sent: 0,
        came: 'nothing',
        stoodMs: 0,
        megabytes: 0,
        peakMegabytes: 0,
        failure: String(error),
      };
      await world.house.kill('SIGKILL');
      world = null;
    }
  }
}
