/** Words that have broken servers before, and the body that each row of the table of routes takes. */
import type { Route } from '../../src/http/request.ts';
import type { World } from './world.ts';

export const nastyValues = [
  ...[
    '',
    ' ',
    '\t',
    'x'.repeat(3000),
    '\0',
    '\x7f',
    '\xff',
    '\xa0x\xa0',
    '\r',
    '\n',
    'a\r\n b',
    'a\r\nX-Injected: 1',
    '"',
    "'",
    '\\',
  ],
  ...[
    '0',
    '-1',
    '-0',
    '1e9',
    '1.5',
    '0x10',
    '101',
    '99999999999999999999',
    'NaN',
    'Infinity',
    'null',
    'true',
    '[]',
    '{}',
    '*',
    ',',
    ';',
    '%',
    '%00',
    '%ff',
  ],
  ...[
    'Bearer',
    'Bearer ',
    'bearer x y',
    'chunked',
    'identity',
    'gzip, chunked',
    '100-continue',
    'close',
    'keep-alive',
    'upgrade',
    'websocket',
    'h2c',
    '13',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '../../etc/passwd',
    '${jndi:ldap://x}',
    '{{7*7}}',
    "' OR 1=1--",
    '<script>',
    '\u202e',
  ],
].map((text) => Buffer.from(text, /^[\0-\xff]*$/.test(text) ? 'latin1' : 'utf8').toString('latin1'));

export const nastyPaths = [
  ...[
    '/',
    '//',
    '/.',
    '/..',
    '/%2e%2e',
    '/%2f',
    '%',
    '%zz',
    '%00',
    '%ff',
    '%252f',
    ';a=b',
    '#',
    '?',
    '??',
    '&',
    '\\',
    ' ',
    '\t',
    '\0',
    '\xff',
    '\xc3\xa9',
    '*',
  ],
  ...[
    'http://x',
    'http://x/',
    'https://a@b:1/',
    '//x/',
    '.json',
    '__proto__',
    'constructor',
    '=',
    '&&=',
    '[]=1',
    'limit=1&limit=x',
    'a%5b%5d',
    'x'.repeat(5000),
    '/x'.repeat(500),
  ],
];

export const queryNames = [
  'limit',
  'after',
  'order',
  'assistant_id',
  'status',
  'start',
  'end',
  'bucket',
  'token',
  '__proto__',
  'constructor',
  '',
];

export const headerNames = [
  ...[
    'Authorization',
    'X-Api-Key',
    'Content-Type',
    'Content-Length',
    'Transfer-Encoding',
    'Host',
    'Connection',
    'Upgrade',
    'Expect',
    'Idempotency-Key',
  ],
  ...[
    'Last-Event-ID',
    'If-None-Match',
    'X-Forwarded-For',
    'Forwarded',
    'TE',
    'Trailer',
    'Keep-Alive',
    'Cookie',
    'Accept',
    'Accept-Encoding',
    'Content-Encoding',
  ],
  ...[
    'Range',
    'Origin',
    'Sec-WebSocket-Key',
    'Sec-WebSocket-Version',
    'Sec-WebSocket-Protocol',
    'HTTP2-Settings',
    'X-HTTP-Method-Override',
    'X-Original-URL',
  ],
  ...[
    'X-Request-Id',
    'Proxy-Connection',
    'Date',
    '__proto__',
    'Content-Length ',
    'Transfer-Encoding\t',
    ':authority',
    '',
  ],
];

const deep = (open: string, close: string, inner: string): string => open.repeat(5000) + inner + close.repeat(5000);

/** Bodies as Latin-1. */
export const nastyBodies = [
  ...[
    '',
    ' ',
    'null',
    'true',
    '1',
    '"x"',
    '[]',
    '{',
    '}',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    'NaN',
    'undefined',
    '//',
    '{}{}',
    '\0',
    '{"a":"\0"}',
    '{"message":"\x01"}',
  ],
  ...[
    '\xef\xbb\xbf{}',
    '\xff\xfe{\0}\0',
    '{"a":"\xff"}',
    '{"message":"\xc3\x28"}',
    '{"message":"\xed\xa0\x80"}',
    '{"message":"\\ud800"}',
    '{"\\ud800":1}',
    '{"visitor":{"\\ud800":"x"}}',
  ],
  ...[
    '{"__proto__":{"a":1}}',
    '{"visitor":{"__proto__":"x"}}',
    '{"metadata":{"__proto__":"x"}}',
    '{"constructor":{"prototype":1}}',
    '{"metadata":{"toString":"x","hasOwnProperty":"y"}}',
  ],
  ...[
    '{"message":1e400}',
    '{"message":-0}',
    '{"message":123456789012345678901234567890}',
    '{"message":"a","message":2}',
    '{"message":""}',
    `{"message":"${'x'.repeat(8001)}"}`,
  ],
  ...[
    deep('[', ']', ''),
    deep('{"a":', '}', '1'),
    deep('[', '', ''),
    `{"metadata":${deep('{"a":', '}', '1')}}`,
    `{"visitor":${deep('[', ']', '')}}`,
  ],
  ...[
    `{"metadata":{${Array.from({ length: 2000 }, (_, index) => `"k${index}":"v"`).join()}}}`,
    `{"${'k'.repeat(20_000)}":1}`,
    `{"visitor":{"${'k'.repeat(20_000)}":1}}`,
    `"${'x'.repeat(262_144)}"`,
  ],
];

/** A body that the route takes; for a route without one, the body of a message. */
export function bodyOf({ method, path }: Route, { ids }: World): Record<string, unknown> {
  const end = path.split('/').at(-1)!;
  if (method === 'POST' && path === '/sessions')
    return { assistant_id: ids.assistants, visitor: { email: 'a@example.com' }, metadata: { a: 'b' } };
  if (path === '/speech') return { assistant_id: ids.assistants, text: 'Hello', format: 'wav' };
  if (path === '/transcription-tokens') return { assistant_id: ids.assistants, session_id: ids.sessions };
  if (!path.startsWith('/console')) return { message: 'Hello' };
  if (path.includes('/assistants'))
    return {
      name: 'A',
      description: 'D',
      channels: { voice: false },
      visitor_fields: [],
      max_call_seconds: 60,
      model: { provider: 'scripted', name: 'scripted' },
      voice: null,
      link: null,
    };
  if (path.includes('/keys')) return { name: 'K', assistant_ids: null, expires_at: null, limits: { requests: 10 } };
  if (path.includes('/credentials'))
    return { kind: 'model', provider: 'openai', base_url: 'https://example.com/v1', api_key: 'k' };
  return { name: end, retention_days: 3, turns_in_flight_max: 9 };
}
