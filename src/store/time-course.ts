/**
 * The course of a store's time decides whether rows past their time may be deleted. A clock that is weeks ahead for a
 * minute makes everything look old, and a removal cannot be undone. So nothing is deleted soon after the clock was set,
 * nor soon after a standstill of the installation, which looks the same.
 */
import { limits } from '../base/limits.ts';

export interface TimeCourse {
  /** The time that was noted last, in milliseconds since the epoch. */
  readonly seenMs: number;
  /** Since when the time has moved evenly, in milliseconds since the epoch. */
  readonly evenSinceMs: number;
}

/** Milliseconds by which a clock may go back in a correction. */
export const correctionMsMax = 1000;

/** Returns the course after another reading; `course` is undefined before the first one. */
export function withTime(course: TimeCourse | undefined, nowMs: number): TimeCourse {
  const isEven =
    course !== undefined && nowMs >= course.seenMs - correctionMsMax && nowMs <= course.seenMs + limits.timeGapMsMax;
  return { seenMs: nowMs, evenSinceMs: isEven ? course.evenSinceMs : nowMs };
}

export const isTrusted = ({ seenMs, evenSinceMs }: TimeCourse): boolean => seenMs - evenSinceMs >= limits.timeTrustMs;
