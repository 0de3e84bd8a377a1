/** Cookies of the console: read from a request, written into an answer. */
import type { RequestHead } from '../base/edge.ts';

/** Returns the value of a cookie, or null without it. The first of two with one name counts. */
export function cookieOf(head: RequestHead, name: string): string | null {
  for (const line of head.headers('cookie')) {
    for (const pair of line.split(';')) {
      const at = pair.indexOf('=');
      if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
    }
  }
  return null;
}

/**
 * The header `Set-Cookie` of a cookie that a browser sends to this host alone, from its own pages alone, and shows to
 * no script. 0 seconds remove it.
 */
export const cookieText = (name: string, value: string, seconds: number): string =>
  `${name}=${value}; Secure; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}`;
