/**
 * Faults of a provider, with a canary wherever its answer has room for one that is not the assistant's text, and
 * another one in what is stored with calls.
 */
import fc from 'fast-check';
import { changed, changes, cuts, inPieces } from '../hostile/changes.ts';
import { answer, type Script } from './provider.ts';

export type Dialect = 'openai' | 'anthropic';

const json = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** An error body with the canary in every field that some provider has. */
const failing = (c: string): object => ({
  type: 'error',
  object: 'error',
  error: {
    message: c,
    type: c,
    code: c,
    param: c,
    [c]: c,
    inner: { stack: `Error: ${c}\n    at ${c} (/srv/${c}.js:1:1)` },
  },
  message: c,
  detail: [{ loc: [c], msg: c, type: c }],
  request_id: c,
});

/** The texts in a provider's answer that none of its readers may see. */
export interface Canaries {
  /** A text in everything that is read and forgotten. */
  readonly provider: string;
  /**
   * A text in everything that the provider gets back with its calls: their ids, unknown fields, signatures of thoughts.
   */
  readonly opaque: string;
}

/** Readers see the name of a call: it is the model's output, like its text. */
const openaiChunk = ({ provider: c, opaque }: Canaries, content: unknown, finish: string | null = null): string =>
  json({
    id: c,
    object: 'chat.completion.chunk',
    model: c,
    system_fingerprint: c,
    choices: [
      {
        index: 0,
        delta: {
          role: c,
          content,
          reasoning_content: c,
          name: c,
          tool_calls: [{ id: opaque, function: { name: 'made_up', arguments: c }, [opaque]: opaque }],
          [opaque]: opaque,
        },
        logprobs: { content: [{ token: c }] },
        finish_reason: finish,
      },
    ],
    usage: { prompt_tokens: c, completion_tokens: [c], [c]: 1 },
  });

/** Blocks of a stream: harmless ones that only carry canaries, and ones that end it badly. */
const noise: Readonly<Record<Dialect, (of: Canaries) => string[]>> = {
  openai(of) {
    const { provider: c } = of;
    return [
      `: ${c}\n\n`,
      `id: ${c}\nretry: 1\n\n`,
      `${c}: ${c}\n\n`,
      openaiChunk(of, ''),
      openaiChunk(of, null),
      openaiChunk(of, { [c]: c }),
      openaiChunk(of, [
        { type: c, text: c },
        { type: 'image_url', text: c, image_url: { url: c } },
      ]),
      json({ choices: [], model: c, usage: { prompt_tokens: -1, completion_tokens: c } }),
      json({ [c]: c }),
    ];
  },
  anthropic: ({ provider: c, opaque }) => [
    `: ${c}\n\n`,
    `event: ${c}\nid: ${c}\n${json({ type: c, message: c })}`,
    json({
      type: 'message_start',
      message: { id: c, model: c, role: c, content: [{ type: 'text', text: '' }], usage: { input_tokens: c } },
    }),
    json({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: c, signature: opaque },
    }),
    json({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: c, text: c } }),
    json({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: c } }),
    json({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: opaque } }),
    json({ type: 'ping', [c]: c }),
  ],
};

const text: Readonly<Record<Dialect, (of: Canaries, reply: string) => string>> = {
  openai: openaiChunk,
  anthropic: ({ provider: c }, reply) =>
    json({ type: 'content_block_delta', index: 0, [c]: c, delta: { type: 'text_delta', text: reply, citations: [c] } }),
};

const endings: Readonly<Record<Dialect, (of: Canaries) => string[]>> = {
  openai: (of) => [
    openaiChunk(of, '', of.provider) + 'data: [DONE]\n\n',
    openaiChunk(of, '', 'error'),
    `data: [DONE] ${of.provider}\n\n`,
  ],
  anthropic: ({ provider: c }) => [
    json({ type: 'message_delta', delta: { stop_reason: c, stop_sequence: c }, usage: { output_tokens: c } }) +
      json({ type: 'message_stop', [c]: c }),
  ],
};

const badEndings = (c: string): string[] => [
  `event: error\n${json(failing(c))}`,
  json(failing(c)),
  json({ error: c }),
  `data: ${c}\n\n`,
  `data: {"${c}\n\n`,
  `data: ["${c}"]\n\n`,
  '',
];

const headers = (c: string): string[] => [
  `X-${c}: ${c}`,
  `X-Request-Id: ${c}`,
  `Server: ${c}`,
  `Set-Cookie: ${c}=${c}`,
  `Retry-After: ${c}`,
  `WWW-Authenticate: Bearer realm="${c}"`,
  `Openai-Organization: ${c}`,
  `X-RateLimit-Limit: ${c}`,
];

const bodies = (c: string): [type: string, body: string][] => [
  ['application/json', JSON.stringify(failing(c))],
  ['application/json', JSON.stringify([failing(c)])],
  ['application/json', JSON.stringify(failing(c)).slice(0, -3)],
  ['application/json', JSON.stringify({ choices: [{ message: { role: c, tool_calls: [c] } }], content: c })],
  ['text/html', `<h1>${c}</h1><pre>Traceback ${c}</pre>`],
  ['text/plain', c],
  [c, c],
];

/** Heads and framings that cannot be read. */
const unreadable = (c: string): string[] => [
  `${c} ${c} ${c}\r\n\r\n`,
  `HTTP/1.1 ${c} ${c}\r\n\r\n`,
  `HTTP/1.1 200 OK\r\n${c}\r\n\r\n${c}`,
  `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${c}\r\n${c}`,
  `HTTP/1.1 200 OK\r\nContent-Length: ${c}\r\n\r\n${c}`,
  `HTTP/1.1 200 OK\r\nX: ${c.repeat(1000)}\r\n\r\n`,
  `HTTP/1.1 103 Early\r\nLink: <${c}>\r\n\r\nHTTP/1.1 500 ${c}\r\nX: ${c}\r\n\r\n${c}`,
  `HTTP/1.1 200 OK\r\nContent-Encoding: ${c}\r\nContent-Type: text/event-stream\r\n\r\n${c}`,
  c,
];

export interface Fault {
  readonly dialect: Dialect;
  readonly script: Script;
}

const statuses = [
  200, 201, 204, 206, 300, 301, 307, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 451, 500, 502, 503, 504,
  529, 599,
];

/** Any fault of a provider; where it says something that is the assistant's, it says `reply`. */
export const faults = (of: Canaries, reply: string): fc.Arbitrary<Fault> =>
  fc.constantFrom<Dialect>('openai', 'anthropic').chain((dialect) => {
    const c = of.provider;
    const ending = fc.constantFrom<Script['ending']>('end', 'reset');
    const someHeaders = fc.subarray(headers(c));
    const status = fc.constantFrom(...statuses).map((code) => `${code} ${c}`);
    const whole = fc
      .record({ status, headers: someHeaders, body: fc.constantFrom(...bodies(c)) })
      .map(({ body: [type, text], ...head }) => answer([text], { ...head, type }));
    const said = fc.constantFrom(text[dialect](of, reply), '');
    const stream = fc
      .record({
        headers: someHeaders,
        before: fc.subarray(noise[dialect](of)),
        said,
        after: fc.subarray(noise[dialect](of)),
        last: fc.constantFrom(...endings[dialect](of), ...badEndings(c)),
      })
      .map(({ headers, before, said, after, last }) => answer([...before, said, ...after, last], { headers }));
    // A change of bytes might turn any other text into the assistant's, so there is no canary in this one.
    const bent = fc
      .record({ changes, cuts })
      .map(({ changes, cuts }) =>
        inPieces(
          changes.reduce(changed, goodAnswer(dialect, { provider: 'z', opaque: 'z' }, 'said').pieces.join('')),
          cuts,
        ),
      );
    const pieces = fc.oneof(
      whole,
      { arbitrary: stream, weight: 2 },
      { arbitrary: bent, weight: 2 },
      fc.constantFrom(...unreadable(c)).map((bytes) => [bytes]),
    );
    return fc.record({ pieces, ending }).map((script) => ({ dialect, script }));
  });

/** An answer that goes well, with canaries all around what is said. */
export const goodAnswer = (dialect: Dialect, of: Canaries, reply: string): Script => ({
  pieces: answer([...noise[dialect](of), text[dialect](of, reply), endings[dialect](of)[0]!], {
    headers: headers(of.provider),
    status: `200 ${of.provider}`,
  }),
  ending: 'end',
});
