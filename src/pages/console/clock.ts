/** The page's clock: the one place that asks the browser for the time. */
import { signal } from '@preact/signals';
import { realClock } from '../../client/clock.ts';

export const now = (): number => Date.now();
export const seconds = (): number => Math.floor(Date.now() / 1000);
export const { after } = realClock;

/**
 * Calls again and again, so long after the call before has settled, and not while the page is hidden. Returns the
 * function that ends it.
 */
export function repeatedly(milliseconds: number, call: () => Promise<void>): () => void {
  let ended = false;
  let cancel = () => {};
  const again = () => {
    if (ended) return;
    cancel = after(
      milliseconds,
      () => void (document.visibilityState === 'visible' ? call() : Promise.resolve()).then(again, again),
    );
  };
  again();
  return () => {
    ended = true;
    cancel();
  };
}

/** Unix seconds, for texts such as "3 minutes ago"; stands still while the page is not shown. */
export const tick = signal(seconds());
setInterval(() => {
  if (document.visibilityState === 'visible') tick.value = seconds();
}, 1000);

/** Local time in the format of a field for date and time; '' for null. */
export const dateOf = (unixSeconds: number | null): string =>
  unixSeconds === null
    ? ''
    : new Date(unixSeconds * 1000 - new Date(unixSeconds * 1000).getTimezoneOffset() * 60_000)
        .toISOString()
        .slice(0, 16);
