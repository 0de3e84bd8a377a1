/** Functions that the answers of both engines share. */
import type { Outlet, ResponseHeaders } from '../../base/edge.ts';

const notHeaderText = /[^\t\x20-\x7e\x80-\xff]/;

/** Throws a TypeError for a header that would not arrive unchanged: values are Latin-1 without control characters. */
export function checkHeaders(headers: ResponseHeaders): void {
  let values = '';
  for (const name in headers) values += headers[name]!;
  if (!notHeaderText.test(values)) return;
  const name = Object.keys(headers).find((name) => notHeaderText.test(String(headers[name])));
  throw new TypeError(`The response header ${name} cannot be sent.`);
}

/** Statuses that never have a body or a `content-length`. */
export const bodiless = (status: number): boolean => status === 204 || status === 304;

/** The framing headers of a stream for HEAD, as GET would get them; some clients close the connection without them. */
export const streamFraming: ResponseHeaders = { 'transfer-encoding': 'chunked' };

/**
 * An outlet that sends nothing: the answer to HEAD accepts every piece (`takes` true); that to a client who has gone
 * accepts none.
 */
export const silentOutlet = (takes: boolean): Outlet => ({
  write: () => takes,
  onDrain: () => {},
  end: () => {},
  cut: () => {},
});
