/** The charges of a turn in flight, which its record does not keep after the end. */
import type { Turn } from '../records.ts';

/** Removes the charges from a turn's record. */
export function withoutCharges(turn: Turn): Turn {
  if (turn.link === undefined && turn.reserved === undefined) return turn;
  const { link: _, reserved: __, ...rest } = turn;
  return rest;
}
