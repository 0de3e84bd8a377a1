/**
 * Calls back when the signal is aborted, at once if it is already; returns a function that removes the callback. A
 * signal may outlive thousands of callers.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) callback();
  else signal.addEventListener('abort', callback, { once: true });
  return () => signal.removeEventListener('abort', callback);
}
