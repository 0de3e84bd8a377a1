/** The framing of an event stream (contract 7). These are only texts, because other parts send them. */

/**
 * Headers of an event stream. Without the last two, caches on the way keep it, and nginx holds events back.
 */
export const eventStreamHeaders = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  ...more,
});

/**
 * One event: `event:`, `id:` and one `data:` line. `data` is JSON text as `JSON.stringify` writes it without
 * indentation: it contains no line break, so it stays on one line.
 */
export const eventFrame = (event: string, id: string | number, data: string): string =>
  `event: ${event}\nid: ${id}\ndata: ${data}\n\n`;

/**
 * A comment line, which a client ignores: it shows that the stream is alive, or sends a head before the first event.
 */
export const comment = (text: string): string => `: ${text}\n\n`;

/**
 * Sends where a stream begins, before its first event: the `Last-Event-ID` of an `EventSource`, and the same as a comment
 * for parsers that do not report an id without an event.
 */
export const startFrame = (id: number): string => `: after ${id}\nid: ${id}\n\n`;
