/** The time, and what is done later. Nothing else of the page reads a clock. */
import { realClock, type Clock } from '../../client/clock.ts';

export const now = (): number => Date.now();

let latest = 0;

/**
 * The client's clock: while a device sleeps the usual one stands still, and a connection that is long dead would look
 * fresh.
 */
export const wallClock: Clock = { ...realClock, now: () => (latest = Math.max(latest, now())) };

/** Calls `run` after `ms` milliseconds; the function returned cancels it. */
export const { after } = realClock;

/** Calls `run` before the next picture, however often it is asked for until then. */
export function onceAFrame(run: () => void): () => void {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      run();
    });
  };
}

/** A time in milliseconds as people say it: the hour, with the day where it is not today. */
export function timeOfDay(at: number, language: string): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(now()).toDateString();
  // British and American clocks differ, and so do others within a language.
  const locale = navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language;
  return new Intl.DateTimeFormat(locale, {
    hour: 'numeric',
    minute: '2-digit',
    ...(!isToday && { weekday: 'long' }),
  }).format(date);
}

const minuteMs = 60_000;

/** The minute at which to come back. The client waits for the rest, less than half a minute, which nobody notices. */
export const comingMinute = (at: number): number => Math.ceil((at - minuteMs / 2) / minuteMs) * minuteMs;
