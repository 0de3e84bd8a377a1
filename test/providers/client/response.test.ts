import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import t from 'tap';
import { ResponseParser } from '../../../src/providers/client/response.ts';
import { ok, readIn, vectors } from '../model/answers.ts';
import type { Reading } from '../model/answers.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

t.test('answers and what they come to', async (t) => {
  for (const [name, [text, ending, body = '']] of Object.entries(vectors)) {
    const reading = readIn(bytesOf(text), []);
    t.equal(reading.ending, ending, name);
    t.equal(reading.body, body, `${name}: the body`);
  }
});

t.test('the fields read from a head', async (t) => {
  const head = (text: string) => readIn(bytesOf(`${text}\r\n`), []).head;
  t.same(head(`${ok}Content-Type: Text/HTML; charset=UTF-8\r\nCONTENT-ENCODING: GZip\r\ncontent-length: 7\r\n`), {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    contentEncoding: 'gzip',
    mcpSession: '',
    location: '',
    retryAfter: '',
    body: 7,
    keptMs: Infinity,
  });
  t.equal(head(`${ok}content-encoding: identity\r\ncontent-encoding: gzip\r\n`)?.contentEncoding, 'identity, gzip');
  t.equal(head(`${ok}Mcp-Session-Id:  aB-1 \r\n`)?.mcpSession, 'aB-1');
  t.equal(head(`${ok}Location: /Mcp/\r\n`)?.location, '/Mcp/');
  t.equal(head('HTTP/1.1 599 Odd\r\n')?.status, 599);
});

t.test('how long the connection may be kept', async (t) => {
  const length = 'content-length: 0\r\n';
  const kept: [string, number][] = [
    [`${ok}${length}`, Infinity],
    [`${ok}${length}connection: close\r\n`, 0],
    [`${ok}${length}Connection: Upgrade , Close\r\n`, 0],
    [`${ok}${length}connection: keep-alive\r\nconnection: close\r\n`, 0],
    [`${ok}${length}connection: closed\r\n`, Infinity],
    [`${ok}${length}keep-alive: timeout=5\r\n`, 4000],
    [`${ok}${length}Keep-Alive: max=9, TIMEOUT=30\r\n`, 29_000],
    [`${ok}${length}keep-alive: timeout="7"\r\n`, 6000],
    [`${ok}${length}keep-alive: timeout=1\r\n`, 0],
    [`${ok}${length}keep-alive: timeout=0\r\n`, 0],
    [`${ok}${length}keep-alive: timeout=soon\r\n`, Infinity],
    [`${ok}${length}keep-alive: timeout=9\r\nkeep-alive: timeout=3\r\nkeep-alive: timeout=6\r\n`, 2000],
    [ok, 0],
    [`HTTP/1.0 200 OK\r\n${length}`, 0],
    [`HTTP/1.0 200 OK\r\n${length}connection: keep-alive\r\n`, Infinity],
    ['HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n', 0],
    ['HTTP/1.1 204 No Content\r\n', Infinity],
  ];
  for (const [text, keptMs] of kept) t.equal(readIn(bytesOf(`${text}\r\n`), []).head?.keptMs, keptMs, text);
});

t.test('the end of an answer is found, before the bytes after it', async (t) => {
  t.equal(readIn(bytesOf(vectors['more than the answer']![0]), []).surplus, ok.length);
  t.equal(readIn(bytesOf(vectors['more than the last chunk']![0]), []).surplus, 2);
  t.equal(readIn(bytesOf(vectors['trailers']![0]), []).surplus, 0);
});

t.test('data is not copied, and an ending does not wait for the next read', async (t) => {
  const bytes = bytesOf(`${ok}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`);
  const seen: unknown[] = [];
  const parser = new ResponseParser({
    head: () => seen.push('head'),
    data: (chunk) => seen.push(chunk.buffer === bytes.buffer, chunk.byteOffset - bytes.byteOffset),
    ended: () => seen.push('ended'),
    malformed: () => seen.push('malformed'),
  });
  t.equal(parser.feed(bytes, bytes.length), bytes.length);
  t.same(seen, ['head', true, bytes.indexOf('hello'), 'ended']);
});

t.test('stopping from within a call: nothing more is told', async (t) => {
  const texts = [
    `${ok}content-length: 2\r\n\r\nhi`,
    `${ok}transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    `${ok}content-length: 0\r\n\r\n`,
    `${ok}\r\nhi`,
  ];
  for (const text of texts) {
    for (const when of ['head', 'data']) {
      const seen: string[] = [];
      const hear = (what: string) => () => {
        seen.push(what);
        if (what === when) parser.stop();
      };
      const parser: ResponseParser = new ResponseParser({
        head: hear('head'),
        data: hear('data'),
        ended: hear('ended'),
        malformed: hear('malformed'),
      });
      parser.feed(bytesOf(text), text.length);
      parser.finish();
      t.same(
        seen,
        when === 'head' ? ['head'] : text.includes('hi') ? ['head', 'data'] : ['head', 'ended'],
        `${when}: ${text}`,
      );
    }
  }
});

/** The kind of ending, too, must not depend on where the reads fall. */
const splits = (length: number) =>
  fc.array(fc.nat({ max: length }), { maxLength: 40 }).map((cuts) => cuts.sort((a, b) => a - b));

t.test('however the bytes are split, the calls are the same', async (t) => {
  for (const [name, [text]] of Object.entries(vectors)) {
    const bytes = bytesOf(text);
    t.same(readIn(bytes, Array.from(bytes.keys())), readIn(bytes, []), `${name}: byte by byte`);
    fc.assert(
      fc.property(splits(bytes.length), (cuts) => assert.deepEqual(readIn(bytes, cuts), readIn(bytes, []))),
      { numRuns: 20 },
    );
  }
});

const bodies = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), { maxLength: 12 });

t.test('any body arrives as it was sent', async () => {
  const property = fc.property(bodies, fc.array(fc.nat({ max: 4000 }), { maxLength: 30 }), (pieces, cuts) => {
    const chunks = pieces.map((piece) => Buffer.from(piece));
    const whole = Buffer.concat(chunks);
    const framed = chunks.map((chunk) =>
      Buffer.concat([bytesOf(`${chunk.length.toString(16)}\r\n`), chunk, bytesOf('\r\n')]),
    );
    const answers = [
      Buffer.concat([bytesOf(`${ok}transfer-encoding: chunked\r\n\r\n`), ...framed, bytesOf('0\r\n\r\n')]),
      Buffer.concat([bytesOf(`${ok}content-length: ${whole.length}\r\n\r\n`), whole]),
      Buffer.concat([bytesOf(`${ok}\r\n`), whole]),
    ];
    return answers.every((bytes) => {
      const { body, ending } = readIn(
        bytes,
        cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b),
      );
      return ending === 'ended' && body === whole.toString('latin1');
    });
  });
  fc.assert(property, { numRuns: 200 });
});

/** Small harm to the bytes: one replaced, put in, taken out, or a stretch repeated. */
const harms = fc.array(
  fc.tuple(fc.nat({ max: 3 }), fc.nat(), fc.constantFrom(...bytesOf('\r\n\0 \t:;,0159aAfFxX-+\x7f\x80\xff'))),
  { minLength: 1, maxLength: 4 },
);
const short = Object.values(vectors)
  .map(([text]) => text)
  .filter((text) => text.length < 500);

function harmed(text: string, harm: readonly (readonly [number, number, number])[]): Buffer {
  let bytes = bytesOf(text);
  for (const [kind, place, byte] of harm) {
    const at = place % (bytes.length + 1);
    const middle = [Buffer.of(byte), Buffer.of(byte), Buffer.alloc(0), bytes.subarray(Math.max(0, at - 7), at + 7)][
      kind
    ]!;
    bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(kind === 0 || kind === 2 ? at + 1 : at)]);
  }
  return bytes;
}

t.test('harmed answers: no throw, no hang, one ending, and the same one for every split', async () => {
  const property = fc.property(fc.constantFrom(...short), harms, splits(500), (text, harm, cuts) => {
    const bytes = harmed(text, harm);
    assert.deepEqual(
      readIn(
        bytes,
        cuts.filter((cut) => cut < bytes.length),
      ),
      readIn(bytes, []),
    );
  });
  fc.assert(property, { numRuns: 2000 });
});

interface Other {
  readonly status: number;
  readonly body: string;
  readonly ending: Reading['ending'];
}

/** The same bytes as Node's own client reads them. */
function readByNode(bytes: Buffer): Promise<Other> {
  return new Promise((resolve) => {
    const line = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    let status = 0;
    let body = '';
    const settle = (ending: Reading['ending']): void => {
      resolve({ status, body, ending });
      line.destroy();
    };
    const failed = (error: NodeJS.ErrnoException): void => settle(error.code?.startsWith('HPE_') ? 'malformed' : 'cut');
    const agent = new Agent();
    agent.createConnection = () => line;
    const sent = request({ agent, method: 'POST', host: 'a.test' }, (response) => {
      status = response.statusCode!;
      response.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
      response.on('error', failed).on('end', () => settle('ended'));
    });
    sent.on('error', failed).on('upgrade', () => settle('malformed'));
    sent.end(() => {
      line.push(bytes);
      line.push(null);
    });
  });
}

/**
 * Forms that the standard lets a client accept and Node refuses: a tab after a length, some characters in an extension
 * and white space before it, a line feed alone, a length given twice, a later minor version, interim answers of
 * HTTP/1.0, a folded length. Everything else that we accept, Node accepts, and reads alike.
 */
const apart = /\t|;|(?<!\r)\n|content-length[^]*(?:content-length|,)|HTTP\/1\.(?:[2-9]|0 1)|\n /i;

async function readsAlike(bytes: Buffer): Promise<void> {
  const { head, body, ending, surplus } = readIn(bytes, []);
  if (ending !== 'ended') return;
  const other = await readByNode(bytes.subarray(0, bytes.length - surplus));
  if (other.ending === 'malformed' && apart.test(bytes.toString('latin1'))) return;
  assert.deepEqual(other, { status: head!.status, body, ending });
}

t.test('what is accepted, harmed or not, reads as Node reads it', async () => {
  for (const [text] of Object.values(vectors)) await readsAlike(bytesOf(text));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...short), harms, (text, harm) => readsAlike(harmed(text, harm))),
    { numRuns: 1000 },
  );
});
