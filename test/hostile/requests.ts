/**
 * Requests of every kind of ill will: each row of the table of routes, with its path, headers, body, framing and bytes
 * changed.
 */
import fc from 'fast-check';
import type { Route } from '../../src/http/request.ts';
import { routes } from '../../src/http/routes.ts';
import { changed, changes, cuts, inPieces, type Pieces } from './changes.ts';
import { bodyOf, nastyBodies, nastyPaths, nastyValues, headerNames, queryNames } from './nasty.ts';
import type { World } from './world.ts';

type Header = readonly [name: string, value: string];
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

const wildText = fc.oneof(
  { arbitrary: fc.constantFrom(...nastyValues), weight: 3 },
  fc.string({ unit: 'binary', maxLength: 40 }).map(latin1),
  fc.string({ maxLength: 40 }),
  fc.integer().map(String),
);

/** The path of a row with real ids, and perhaps with one of its segments changed. */
const pathOf = ({ path, method }: Route, { ids }: World): fc.Arbitrary<string> => {
  // The workspace that the other rows need is not deleted.
  const spared = method === 'DELETE' && path.endsWith('{w}');
  const whole = path.replace(
    /(\w+)\/\{\w+\}/g,
    (_, kind: keyof World['ids']) => `${kind}/${spared ? 'wks_none' : ids[kind]}`,
  );
  const oneChanged = fc.tuple(fc.nat(6), wildText.map(encodeURIComponent)).map(([index, text]) => {
    const segments = whole.split('/');
    segments[1 + (index % (segments.length - 1))] = text;
    return segments.join('/');
  });
  const raw = fc
    .tuple(fc.nat(60), fc.constantFrom(...nastyPaths))
    .map(([at, text]) => whole.slice(0, at) + text + whole.slice(at));
  return fc.oneof({ arbitrary: fc.constant(whole), weight: 4 }, oneChanged, raw);
};

const query = fc.oneof(
  { arbitrary: fc.constant(''), weight: 2 },
  fc
    .array(fc.tuple(fc.constantFrom(...queryNames), wildText), { maxLength: 4 })
    .map((pairs) => `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`),
  fc.constantFrom(...nastyPaths).map((text) => `?${text}`),
);

const sender = ({ caller }: Route, { house }: World): fc.Arbitrary<Header[]> => {
  const token = caller === 'operator' ? house.operatorToken : house.key;
  const right: Header[] = [['Authorization', `Bearer ${token}`]];
  return fc.oneof(
    {
      arbitrary: fc.constantFrom<Header[]>(right, [['x-api-key', token]], [...right, ['X-Api-Key', token]]),
      weight: 6,
    },
    fc.constantFrom<Header[]>(
      [],
      [...right, ...right],
      [['Authorization', `bearer   ${token}\t`]],
      [['Authorization', `Basic ${token}`]],
      [['X-Api-Key', `${token}\xa0`]],
    ),
    wildText.map((value): Header[] => [['Authorization', value]]),
    wildText.map((value): Header[] => [...right, ['X-Api-Key', value]]),
  );
};

const wildHeaders = fc.oneof(
  { arbitrary: fc.constant<Header[]>([]), weight: 3 },
  fc.array(fc.tuple(fc.constantFrom(...headerNames), wildText), { maxLength: 5 }),
  fc.array(fc.tuple(fc.string({ maxLength: 12 }), wildText), { maxLength: 3 }),
);

/** The body that a row takes, with a value of it changed; any JSON; and what only looks like JSON. */
const body = (route: Route, world: World): fc.Arbitrary<string> => {
  const sample = bodyOf(route, world);
  const names = Object.keys(sample);
  const otherValue = fc
    .tuple(fc.constantFrom(...names, 'other'), fc.jsonValue())
    .map(([name, value]) => JSON.stringify({ ...sample, [name]: value }));
  const deeper = fc
    .tuple(fc.constantFrom(...names), fc.dictionary(fc.string({ maxLength: 12 }), fc.jsonValue(), { maxKeys: 4 }))
    .map(([name, value]) => JSON.stringify({ ...sample, [name]: value }));
  const odd = fc.constantFrom(...nastyBodies);
  const cut = fc.nat(200).map((at) => JSON.stringify(sample).slice(0, at));
  return fc
    .oneof(
      { arbitrary: fc.constant(JSON.stringify(sample)), weight: 2 },
      otherValue,
      deeper,
      fc.json().map(String),
      cut,
    )
    .map(latin1)
    .chain((text) => fc.oneof({ arbitrary: fc.constant(text), weight: 5 }, odd));
};

/** Announces the length of a body: mostly correctly. */
function framed(text: string, how: string): { headers: Header[]; body: string } {
  const chunk = (piece: string): string => (piece === '' ? '' : `${piece.length.toString(16)}\r\n${piece}\r\n`);
  const half = Math.ceil(text.length / 2);
  if (how === 'chunked')
    return {
      headers: [['Transfer-Encoding', 'chunked']],
      body: `${chunk(text.slice(0, half))}${chunk(text.slice(half))}0\r\n\r\n`,
    };
  if (how === 'extended')
    return {
      headers: [['Transfer-Encoding', 'chunked']],
      body: `${text.length.toString(16)};a="b"\r\n${text}\r\n0\r\nX: y\r\n\r\n`,
    };
  const length = text.length + (how === 'long' ? 1 : how === 'short' ? -1 : 0);
  return { headers: how === 'none' ? [] : [['Content-Length', String(length)]], body: text };
}

const framing = fc.oneof(
  { arbitrary: fc.constantFrom('length', 'chunked'), weight: 12 },
  fc.constantFrom('extended', 'long', 'short', 'none'),
);

const methods = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'get',
  'X',
  'G@T',
];

/** Any request to the world, for one of the rows. */
export const hostileRequests = (world: World, rows: readonly Route[] = routes): fc.Arbitrary<Pieces> =>
  fc.constantFrom(...rows).chain((route) =>
    fc
      .record({
        method: fc.oneof(
          { arbitrary: fc.constant<string>(route.method), weight: 8 },
          fc.constantFrom(...methods.filter((method) => method !== 'DELETE')),
        ),
        ...{ path: pathOf(route, world), query, sender: sender(route, world), wild: wildHeaders },
        body:
          route.method === 'GET'
            ? fc.oneof({ arbitrary: fc.constant(null), weight: 4 }, body(route, world))
            : body(route, world),
        ...{ framing, changes, cuts },
      })
      .map(({ method, path, query, sender, wild, body, framing, changes, cuts }) => {
        const sent = body === null ? { headers: [], body: '' } : framed(body, framing);
        const lines = [['Host', 'x'], ...sender, ...wild, ...sent.headers].map(
          ([name, value]) => `${name}: ${value}\r\n`,
        );
        return inPieces(
          changes.reduce(changed, `${method} ${path}${query} HTTP/1.1\r\n${lines.join('')}\r\n${sent.body}`),
          cuts,
        );
      })
      .filter((sent) => sent.length > 0),
  );
