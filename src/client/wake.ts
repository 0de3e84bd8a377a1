/**
 * Reports when a browser's network or page comes back: a connection that was open before is often dead, without an
 * error.
 */

interface Page extends EventTarget {
  readonly visibilityState: string;
}

/**
 * Calls `run` each time the device is online again, or the page visible again, thawed or back from the browser's
 * history; does nothing outside browsers. The function returned ends it.
 */
export function onWake(run: () => void): () => void {
  const { navigator, document, addEventListener } = globalThis as unknown as {
    navigator?: { onLine?: boolean };
    document?: Page;
    addEventListener?: EventTarget['addEventListener'];
  };
  // Other runtimes have a global `addEventListener` as well, but for other events.
  if (typeof navigator?.onLine !== 'boolean') return () => {};
  const visible = (): void => {
    if (document!.visibilityState === 'visible') run();
  };
  const watching = new AbortController();
  for (const name of ['online', 'pageshow']) addEventListener?.call(globalThis, name, run, watching);
  document?.addEventListener('visibilitychange', visible, watching);
  document?.addEventListener('resume', run, watching);
  return () => watching.abort();
}

/** Whether this is a browser's page or worker, where everybody can read what the program knows. */
export function inBrowser(): boolean {
  const { window, importScripts } = globalThis as { window?: { document?: unknown }; importScripts?: unknown };
  return window?.document !== undefined || typeof importScripts === 'function';
}
