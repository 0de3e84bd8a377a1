/** The CPU time of a turn, measured over conversations that follow one another. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Shape } from '../text.ts';
import type { Measurement, Size } from './question.ts';
import { median } from './statistics.ts';
import { loadCore, openWindow } from './window.ts';

export interface Conversing {
  /** The requests of new conversations: in longer ones a turn sends the provider more. */
  requests(): Promise<string[]>;
  /** A conversation has so many turns, then the next one begins. */
  readonly turnsEach: number;
  readonly abreast: number;
  readonly shape: Shape;
}

export interface TurnCost {
  readonly figures: Record<string, number>;
  /** The time of each turn. */
  readonly wholeMs: readonly number[];
  /** The length of all windows. */
  readonly seconds: number;
}

export const cpuPerTurn = 'CPU per turn';

/**
 * CPU time is counted in hundredths of a second: a contender that is done with all conversations sooner begins again.
 */
const leastSeconds: Readonly<Record<Size, number>> = { full: 2, quick: 1, smoke: 0 };
/**
 * Waits for writes that follow an answer, which count for the turn, and for writes that follow a new session, which
 * count for none.
 */
const settled = (size: Size): Promise<void> => pause(size === 'smoke' ? 0 : 200);

export async function costOfTurns(
  measurement: Measurement,
  { requests, turnsEach, abreast, shape }: Conversing,
): Promise<TurnCost> {
  const { instance, size, surroundings } = measurement;
  const wholeMs: number[] = [];
  const all = { seconds: 0, microseconds: 0, loadCore: 0 };
  do {
    const begun = await requests();
    await settled(size);
    const used = openWindow(measurement);
    wholeMs.push(...(await surroundings.load.converse(instance, begun, turnsEach, abreast, shape)).wholeMs);
    const { seconds, loadCore: share } = used();
    await settled(size);
    all.seconds += seconds;
    all.loadCore += share * seconds;
    all.microseconds += used().microseconds;
  } while (all.seconds < leastSeconds[size]);
  const figures = {
    [cpuPerTurn]: all.microseconds / wholeMs.length,
    [loadCore.name]: all.loadCore / all.seconds,
    'whole turn p50': median(wholeMs),
  };
  return { figures, wholeMs, seconds: all.seconds };
}
