/** Cookies of the console: read from a request, written into an answer. */
import type { RequestHead } from '../base/edge.ts';

/** The cookies of a request, by name and value. */
export const cookiesOf = (head: RequestHead): (readonly [string, string])[] =>
  head.headers('cookie').flatMap((line) =>
    line.split(';').flatMap((pair) => {
      const at = pair.indexOf('=');
      return at > 0 ? [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const] : [];
    }),
  );

/** Returns the value of a cookie, or null without it. The first of two with one name counts. */
export const cookieOf = (head: RequestHead, name: string): string | null =>
  cookiesOf(head).find((cookie) => cookie[0] === name)?.[1] ?? null;

/**
 * The header `Set-Cookie` of a cookie that a browser sends to this host alone, and shows to no script: from its own
 * pages alone, or (`Lax`) also when another site leads the browser here. 0 seconds remove it.
 */
export const cookieText = (
  name: string,
  value: string,
  seconds: number,
  sameSite: 'Strict' | 'Lax' = 'Strict',
): string => `${name}=${value}; Secure; HttpOnly; SameSite=${sameSite}; Path=/; Max-Age=${seconds}`;
