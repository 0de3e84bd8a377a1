/** What the answers of both engines have in common. */
import type { Outlet, ResponseHeaders } from '../edge.ts';

const notHeaderText = /[^\t\x20-\x7e\x80-\xff]/;

/** Throws a TypeError for a header that would not arrive as it is: values are Latin-1 without control characters. */
export function checkHeaders(headers: ResponseHeaders): void {
  for (const name in headers) {
    if (notHeaderText.test(headers[name]!)) throw new TypeError(`The response header ${name} cannot be sent.`);
  }
}

/** Statuses that never have a body, nor a length of one. */
export const bodiless = (status: number): boolean => status === 204 || status === 304;

/** What HEAD is told of a stream, as GET would be; some clients close the connection without it. */
export const streamFraming: ResponseHeaders = { 'transfer-encoding': 'chunked' };

/** An outlet to nobody: the answer to HEAD takes every piece (`takes` true); that to a client who has gone takes none. */
export const silentOutlet = (takes: boolean): Outlet => ({
  write: () => takes,
  onDrain: () => {},
  end: () => {},
  cut: () => {},
});
