/** The framing of an event stream (contract 7). Who frames and who sends are different parts, so these are only texts. */

/**
 * One event: `event:`, `id:` and one `data:` line. `data` is JSON text; JSON written by `JSON.stringify` without
 * indentation holds no line break, which is what keeps it on its one line.
 */
export const eventFrame = (event: string, id: string | number, data: string): string =>
  `event: ${event}\nid: ${id}\ndata: ${data}\n\n`;

/** A comment line, which a client ignores: it shows that the stream lives, or makes a head leave without an event. */
export const comment = (text: string): string => `: ${text}\n\n`;
