/**
 * The axis of time of a plot: from where to where it goes, where it has labels, and what they say. Times are Unix
 * seconds.
 */
import { isSameYear } from '../format.ts';

const [minute, hour, day] = [60, 3600, 86_400];

/** Between two labels, nothing finer than a label can say. */
export const increments: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minute),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hour),
  ...[1, 2, 5, 7, 14, 28, 90].map((days) => days * day),
];

/**
 * Returns the range of the axis. A bar stands to the right of its time, including the last; a single point gets a
 * second.
 */
export function rangeOf(times: ArrayLike<number>, bars: boolean): [number, number] {
  const [first = 0, last = first] = [times[0], times[times.length - 1]];
  if (bars) return [first, last + (times.length > 1 ? times[1]! - first : day)];
  return [first, Math.max(last, first + 1)];
}

const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const minutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const daysOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/**
 * Returns a label as fine as the step between labels, so that no two are equal. Midnight is labelled with its day, and
 * with the year if it is not the year of `now`.
 */
export function labelOf(at: number, step: number, now: number): string {
  const date = new Date(at * 1000);
  const isMidnight = date.getHours() + date.getMinutes() + date.getSeconds() === 0;
  if (step >= day || isMidnight) return (isSameYear(at, now) ? days : daysOfYear).format(date);
  return (step < minute ? seconds : minutes).format(date);
}
