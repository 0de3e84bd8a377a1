/** Persons who sign in to the console, for the tests of that. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Answer, Ask, House } from './house.ts';
import { rawAsk } from './raw.ts';

/** The header that our own page sends with a write. */
export const fromPage = { 'sec-fetch-site': 'same-origin' };

export const signIn = (house: House, token: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  house.ask('/console/api/sign-in', { key: null, body: { token }, headers });

/** The cookie of an answer, as a browser sends it: name and value. */
export const cookieOf = ({ headers }: Answer): string => headers.get('set-cookie')?.split(';')[0] ?? '';

/** Signs in with the operator token, or another: the cookie. */
export async function cookieFor(house: House, token = house.operatorToken): Promise<string> {
  const answer = await signIn(house, token);
  if (answer.status !== 204) throw new Error(`expected 204, got ${answer.status}: ${answer.text}`);
  return cookieOf(answer);
}

/** A request to the console with a cookie, by default from a page of ours. */
export const withCookie = (
  house: House,
  cookie: string,
  path: string,
  { headers = fromPage, ...ask }: Ask = {},
): Promise<Answer> => house.ask(`/console/api${path}`, { key: null, ...ask, headers: { ...headers, cookie } });

/** The same as lines that `fetch` does not send. */
export function rawSignIn(house: House, token: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const body = JSON.stringify({ token });
  return rawAsk(house.url, '/console/api/sign-in', {
    method: 'POST',
    body,
    headers: { 'Content-Length': String(body.length), ...headers },
  });
}

/** A socket that is open. */
export async function openInspect(house: House, headers: Readonly<Record<string, string>>): Promise<WebSocket> {
  const socket = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect`, { headers });
  await once(socket, 'open');
  return socket;
}

/** A link for a person of this name: its token. */
export async function linkFor(house: House, name: string): Promise<string> {
  const { json } = await house.console('/sign-in-links', { body: { name } });
  return tokenOf(json.url);
}

export const tokenOf = (url: string): string => new URL(url).hash.slice('#sign-in='.length);
