/** The time, and what is done later. Nothing else of the page reads a clock. */

export const now = (): number => Date.now();

/** Calls `run` after `ms` milliseconds; the function returned cancels it. */
export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

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

/** A time in milliseconds as people say it: the hour, with the day where it is not today. Rounded up, so that nobody comes too early. */
export function timeOfDay(at: number, language: string, roundUp = false): string {
  const minute = 60_000;
  const date = new Date(roundUp ? Math.ceil(at / minute) * minute : at);
  const isToday = date.toDateString() === new Date(now()).toDateString();
  return new Intl.DateTimeFormat(language, { hour: 'numeric', minute: '2-digit', ...(!isToday && { weekday: 'long' }) }).format(date);
}
