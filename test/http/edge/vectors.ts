/** Requests as bytes that two readers could understand differently, each with another request hidden in it. */

export interface Vectors {
  /** Heads whose framing is ambiguous: neither they nor what follows may run. */
  readonly ambiguous: Readonly<Record<string, string>>;
  /** Requests that a parser may refuse or an engine may not understand; they must neither run nor harm. */
  readonly unreadable: Readonly<Record<string, string>>;
  /**
   * Bodies that cannot be read, or that readers have disagreed about: the outer request may run, the hidden one not.
   */
  readonly bodies: Readonly<Record<string, string>>;
}

/**
 * Vectors that an engine lets through without a way for us to detect them: uWebSockets.js trims bytes from 0x80 on like
 * spaces, and takes a line without a name for the end of the head. nginx and haproxy pass on neither, which
 * test/hostile/smuggling.test.ts holds them to.
 */
export const passedOver: Readonly<Record<'uws' | 'node', readonly string[]>> = {
  node: [],
  uws: ['the length "\xa00"', 'a line without a name'],
};

/**
 * `post` and `get` begin the outer request's first line, as `POST /outer`; `lines` are more header lines of it, each
 * with its line end; `smuggled` is the request that must never run.
 */
export function vectors(post: string, get: string, lines: string, smuggled: string): Vectors {
  const outer = (more: string, rest: string): string => `${post} HTTP/1.1\r\nHost: x\r\n${lines}${more}\r\n\r\n${rest}`;
  return {
    ambiguous: { ...lengths(outer, post, lines, smuggled), ...encodings(outer, smuggled) },
    unreadable: unreadable(get, lines, smuggled),
    bodies: {
      ...Object.fromEntries(
        oddChunks(smuggled).map(([name, body]) => [name, outer('Transfer-Encoding: chunked', body)]),
      ),
      'a length beyond 32 bits': outer('Content-Length: 4294967296', smuggled),
      'a length with zeros before it': outer(`Content-Length: 000${smuggled.length}`, smuggled),
      'chunks in capitals within which it is': outer(
        'Transfer-Encoding: Chunked',
        `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
      ),
    },
  };
}

type Outer = (lines: string, rest: string) => string;

function lengths(outer: Outer, post: string, lines: string, smuggled: string): Record<string, string> {
  const size = smuggled.length;
  return {
    'two lengths that differ': outer(`Content-Length: 0\r\nContent-Length: ${size}`, smuggled),
    'two lengths that differ, the other way round': outer(`Content-Length: ${size}\r\nContent-Length: 0`, smuggled),
    'the same length twice': outer('Content-Length: 0\r\nContent-Length: 0', smuggled),
    'two lengths on one line': outer(`Content-Length: 0, ${size}`, smuggled),
    'an empty length': outer('Content-Length:', smuggled),
    'an empty length before a full one': outer(`Content-Length: \r\nContent-Length: ${size}`, smuggled),
    ...Object.fromEntries(
      oddLengths(size).map((value) => [
        `the length ${JSON.stringify(value)}`,
        outer(`Content-Length: ${value}`, smuggled),
      ]),
    ),
    'a space before the colon of a length': outer(`Content-Length : ${size}`, smuggled),
    'a length on a folded line': outer(`Content-Length:\r\n ${size}`, smuggled),
    'a folded line that is a length': outer(`X: y\r\n Content-Length: ${size}`, smuggled),
    'bare line feeds': `${post} HTTP/1.1\nHost: x\n${lines}Content-Length: ${size}\n\n${smuggled}`,
    'a bare line feed in the head': outer(`X: y\nContent-Length: ${size}`, smuggled),
    'a bare carriage return in a value': outer(`X: y\rContent-Length: ${size}`, smuggled),
    'a NUL in a value': outer(`X: y\x00\r\nContent-Length: 0`, smuggled),
  };
}

/** Values of Content-Length that are invalid, or that some parsers reject. */
const oddLengths = (size: number): string[] => [
  ...[
    `+${size}`,
    '-1',
    '-0',
    '0x0',
    '0 0',
    '0\t0',
    '0;',
    '0,',
    ',0',
    '0,0',
    `${size}.0`,
    `${size}e0`,
    '"0"',
    "'0'",
    '0_0',
    'zero',
    '\x0b0',
    '0\x0c',
    '\xa00',
    '0\x00',
  ],
  ...['18446744073709551616', '18446744073709551615', '9223372036854775808', '9'.repeat(40), '0b0', '٠'].map((value) =>
    Buffer.from(value).toString('latin1'),
  ),
];

/** Values of Transfer-Encoding other than `chunked`, in any case. */
const oddEncodings = [
  ...[
    'chunked, identity',
    'identity, chunked',
    'gzip, chunked',
    'chunked, chunked',
    'chunked,',
    ',chunked',
    'chunked;q=1',
    'chunked; a',
    'identity',
    'xchunked',
    'chunkedx',
  ],
  ...[
    '"chunked"',
    "'chunked'",
    'chunked\x00',
    '\x00chunked',
    '\x0bchunked',
    '\x0cchunked',
    'chunked\x0b',
    'chu\x00nked',
    'chunked identity',
    'cow',
    'chunk',
    '*',
    '1',
  ],
];

function encodings(outer: Outer, smuggled: string): Record<string, string> {
  const chunked = `0\r\n\r\n${smuggled}`;
  const names = [
    'Transfer-Encoding ',
    'Transfer-Encoding\t',
    ' Transfer-Encoding',
    'Transfer-Encoding\x00',
    'Transfer-Encoding\x0b',
    '\x00Transfer-Encoding',
    'Transfer-Encoding\xa0',
  ];
  return {
    ...Object.fromEntries(
      oddEncodings.map((value) => [
        `the encoding ${JSON.stringify(value)}`,
        outer(`Transfer-Encoding: ${value}`, chunked),
      ]),
    ),
    ...Object.fromEntries(
      names.map((name) => [
        `the name ${JSON.stringify(name)}`,
        outer(`${name}: chunked\r\nContent-Length: 5`, chunked),
      ]),
    ),
    'a length and chunks': outer(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked`, chunked),
    'chunks and a length': outer('Transfer-Encoding: chunked\r\nContent-Length: 5', chunked),
    'chunks and a length of the whole': outer(
      `Transfer-Encoding: chunked\r\nContent-Length: ${chunked.length}`,
      chunked,
    ),
    'chunks in capitals and a length': outer('TRANSFER-ENCODING: CHUNKED\r\nContent-Length: 5', chunked),
    'chunks and an empty length': outer('Transfer-Encoding: chunked\r\nContent-Length:', chunked),
    'an empty encoding': outer('Transfer-Encoding:', chunked),
    'an empty encoding and a length': outer('Transfer-Encoding:\r\nContent-Length: 5', chunked),
    'the encoding twice, once in capitals': outer('Transfer-Encoding: Chunked\r\nTransfer-Encoding: chunked', chunked),
    ...Object.fromEntries(
      [
        'Chunked, Chunked',
        'Gzip, Chunked',
        'Chunked;q=1',
        'XChunked',
        'Chunked\x0b',
        'C\u017fhunked',
        'CHUN\u212aED',
      ].map((value) => [
        `the encoding ${JSON.stringify(value)}`,
        outer(`Transfer-Encoding: ${Buffer.from(value).toString('latin1')}`, chunked),
      ]),
    ),
    'the encoding twice': outer('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', chunked),
    'the encoding twice, differently': outer('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', chunked),
    'the encoding twice, the other way round': outer(
      'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
      chunked,
    ),
    'the encoding twice, first something': outer(
      'Transfer-Encoding: x\r\nTransfer-encoding: chunked\r\nContent-Length: 5',
      chunked,
    ),
    'the encoding on a folded line': outer('Transfer-Encoding:\r\n chunked', chunked),
    'the encoding on a line folded by a tab': outer('Transfer-Encoding:\r\n\tchunked\r\nContent-Length: 5', chunked),
    'the encoding behind a folded line': outer(
      'X: y\r\n z\r\nTransfer-Encoding: chunked\r\nContent-Length: 5',
      chunked,
    ),
    'the encoding behind a bare line feed': outer('X: y\nTransfer-Encoding: chunked\r\nContent-Length: 5', chunked),
    'the encoding behind a bare carriage return': outer(
      'X: y\rTransfer-Encoding: chunked\r\nContent-Length: 5',
      chunked,
    ),
  };
}

const unreadable = (get: string, lines: string, smuggled: string): Record<string, string> => {
  const head = (more: string, version = '1.1'): string =>
    `${get} HTTP/${version}\r\nHost: x\r\n${lines}${more}\r\n${smuggled}`;
  return {
    'no host': `${get} HTTP/1.1\r\n\r\n${smuggled}`,
    'two hosts': head('Host: y\r\n'),
    'garbage for a first line': `\x16\x03\x01\x02\x00\x01\x00\r\n\r\n${smuggled}`,
    'words for a first line': `hello there general\r\nHost: x\r\n\r\n${smuggled}`,
    'HTTP/2.0': head('', '2.0'),
    'HTTP/0.9': head('', '0.9'),
    'HTTP/1.2': head('', '1.2'),
    'HTTP/1.11': head('', '1.11'),
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a head that is too large': head(`X: ${'x'.repeat(17_000)}\r\n`),
    'many lines that are too large': head(`X: ${'x'.repeat(1000)}\r\n`.repeat(17)),
    'too many lines': head('X: y\r\n'.repeat(101)),
    'far too many lines': head('X: y\r\n'.repeat(500)),
    'a line without a colon': head('nothing\r\n'),
    'a line without a name': head(': x\r\n'),
    'a NUL in a name': head('X\x00: y\r\n'),
  };
};

/** Bodies in chunks; the request stands behind bytes that a lenient reader takes for their end. */
const oddChunks = (smuggled: string): [name: string, body: string][] => {
  const whole = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
  const sizes = [
    'zz',
    '-1',
    '+0',
    '0x0',
    '0_0',
    '',
    ' ',
    '\t0',
    '"0"',
    '0,',
    '٠',
    '0\x00',
    'fffffffffffffffff',
    '10000000000000000',
    '100000000',
    '8000000000000000',
  ];
  return [
    ...sizes.map((size): [string, string] => [
      `the size ${JSON.stringify(size)}`,
      Buffer.from(`${size}\r\n\r\n${smuggled}`).toString('latin1'),
    ]),
    ['more than its size', `3\r\nabcdef\r\n0\r\n\r\n${smuggled}`],
    ['less than its size', `f\r\nabc\r\n0\r\n\r\n`],
    ['no line end behind the data', `3\r\nabc0\r\n\r\n${smuggled}`],
    ['two bytes that are none behind the data', `3\r\nabcxx0\r\n\r\n${smuggled}`],
    ['a line feed alone behind the data', `3\r\nabc\n0\r\n\r\n${smuggled}`],
    ['a line feed in an extension', `3;a\nbc\r\n0\r\n\r\n${smuggled}`],
    ['a carriage return in an extension', `3;a\rbc\r\nabc\r\n0\r\n\r\n${smuggled}`],
    ['the request within a chunk', whole],
    ['the request within an extension', `0;${smuggled.replaceAll('\r\n', ' ')}\r\n\r\n`],
    ['the request among the trailers', `0\r\n${smuggled}\r\n`],
    ['a trailer that is a length', `0\r\nContent-Length: ${smuggled.length}\r\n\r\n`],
  ];
};
