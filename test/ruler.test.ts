/** The measuring programs: the provider and the load, in C and in Node, do the same and see the same. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { Instance } from '../bench/harness/contender.ts';
import { buildNative } from '../bench/harness/native.ts';
import { whyNoMeasure } from '../bench/harness/process.ts';
import { startRuler, type Ruler, type RulerName } from '../bench/harness/ruler.ts';
import { openaiFormat, parleyFormat } from '../bench/load/stream.ts';
import { modelName, shapeOf, tokenAt, type Shape } from '../bench/text.ts';

const skip = whyNoMeasure() ?? false;
const names: readonly RulerName[] = skip === false && buildNative() !== null ? ['C', 'Node'] : ['Node'];

/** Runs for each ruler that there can be here. */
function each(name: string, run: (t: Test, ruler: Ruler) => Promise<void>): void {
  for (const which of names) {
    t.test(`${name}: ${which}`, { skip }, async (t) => {
      const ruler = await startRuler(which);
      try {
        await run(t, ruler);
      } finally {
        await ruler.stop();
      }
    });
  }
}

/** All that the provider answers, without its date; a character for a byte. */
async function answerOf({ port }: Ruler, model: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  const body = JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Is "model":"tokens=9,rate=0" its name?' }],
  });
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: provider\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  let answer = '';
  for await (const piece of socket as AsyncIterable<string>) {
    answer += piece;
    if (answer.endsWith('\r\n0\r\n\r\n') || answer.startsWith('HTTP/1.1 404')) break;
  }
  return answer.replace(/\r\nDate: [^\r]+/, '');
}

/** The provider itself, as a contender. */
const provider = ({ port }: Ruler, shape: Shape): Instance & { readonly request: string } => {
  const body = JSON.stringify({ model: modelName(shape) });
  const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: provider\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  return {
    processes: [],
    ports: [port],
    format: openaiFormat,
    conversations: async () => [],
    stop: async () => {},
    request,
  };
};

t.test('a shape is the name of a model', async (t) => {
  const shapes: Shape[] = [
    { tokens: 3, rate: 0 },
    { tokens: 1, rate: 100, writes: 'one' },
    { tokens: 2, rate: 0, writes: 'many' },
  ];
  for (const shape of shapes) t.same(shapeOf(modelName(shape)), shape);
  for (const name of ['tokens=1', 'tokens=1,rate=0,writes=few', 'gpt']) t.equal(shapeOf(name), null);
});

t.test(
  'both providers answer with the same bytes',
  { skip: skip || (names.length < 2 && 'there is no compiler') },
  async (t) => {
    const [inC, inNode] = [await startRuler('C'), await startRuler('Node')];
    const models = [
      'tokens=1,rate=0',
      'tokens=600,rate=0,writes=one',
      'tokens=3,rate=0,writes=many',
      'tokens=20,rate=1000',
      'tokens=1,rate=5',
      'tokens=1,rate=0,writes=few',
      'gpt',
    ];
    for (const model of models) {
      const answer = await answerOf(inC, model);
      t.equal(answer.startsWith('HTTP/1.1 200 OK'), shapeOf(model) !== null, model);
      t.equal(answer, await answerOf(inNode, model), model);
    }
    await inC.stop();
    await inNode.stop();
  },
);

each('turns one after another, and each at its time', async (t, ruler) => {
  const shape: Shape = { tokens: 2, rate: 0, writes: 'many' };
  const instance = provider(ruler, shape);
  const requests = Array<string>(5).fill(instance.request);
  const { firstMs, wholeMs } = await ruler.load.converse(instance, requests, 3, 2, shape);
  t.equal(wholeMs.length, 15, 'three turns in each of five conversations');
  t.ok(firstMs.every((first, index) => first > 0 && first <= wholeMs[index]!));
  t.equal(
    (await ruler.load.converse(instance, requests, 3, 2, shape, performance.now())).wholeMs.length,
    0,
    'none begins when it is over',
  );
  const arrived = await ruler.load.arrive(instance, requests, 3, 2, shape, [0, 1, 1, 2, 30]);
  t.equal(arrived.wholeMs.length, 5);
  await t.rejects(ruler.load.arrive(instance, requests.slice(0, 1), 1, 1, shape, [0, 0]), /fewer conversations/);
  await ruler.load.repeat(ruler.port, instance.request.replace('completions', 'nothing..'), 404, 5, 2);
  await t.rejects(ruler.load.repeat(ruler.port, instance.request, 404, 5, 2), /Answered 200/);
});

each('an arrival that finds no connection free waits, and that counts', async (t, ruler) => {
  const shape: Shape = { tokens: 2, rate: 20 };
  const instance = provider(ruler, shape);
  const { firstMs, wholeMs } = await ruler.load.arrive(instance, [instance.request], 2, 1, shape, [0, 0]);
  t.ok(firstMs[1]! > wholeMs[0]!, `${firstMs[1]} ms after both were due, and ${wholeMs[0]} until the first was over`);
});

each('streams are counted from mark to mark', async (t, ruler) => {
  const shape: Shape = { tokens: 200, rate: 100 };
  const instance = provider(ruler, shape);
  const streams = ruler.load.stream(instance, Array<string>(50).fill(instance.request), shape, 1);
  await streams.begun();
  const first = await streams.mark();
  t.ok(first.tokens >= 50 && first.deltas >= 50);
  const last = await streams.mark();
  t.ok(last.tokens >= first.tokens && last.tokens <= 50 * shape.tokens && last.lateP50 <= last.lateP99);
  await streams.done;
  t.equal((await streams.mark()).tokens, 50 * shape.tokens, 'all of them, where they are over');
});

/** A server that answers every request with these bytes, some at a time. */
async function answering(t: Test, pieces: readonly string[]): Promise<Instance> {
  const server = createServer((socket) => {
    socket.setNoDelay(true).on('error', () => {});
    socket.on('data', () => {
      const rest = [...pieces];
      const next = (): void =>
        void (rest.length > 0 && socket.write(rest.shift()!, 'latin1', () => setImmediate(next)));
      next();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return {
    processes: [],
    ports: [(server.address() as AddressInfo).port],
    format: parleyFormat,
    conversations: async () => [],
    stop: async () => {},
  };
}

const delta = (text: string): string => `event: message.delta\nid: 1\ndata: ${JSON.stringify({ text })}\n\n`;
const completed = 'event: turn.completed\nid: 1\ndata: {}\n\n';
const count = 30;
const tokens = Array.from({ length: count }, (_, index) => tokenAt(index));
const whole = tokens.map(delta);

function response(events: readonly string[], status = 200): string {
  const body = Buffer.from(events.join('')).toString('latin1');
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function chunked(events: readonly string[]): string {
  const chunks = events
    .map((event) => Buffer.from(event).toString('latin1'))
    .map((bytes) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`);
  return `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`;
}

const cut = (text: string, every: number): string[] => text.match(new RegExp(`[^]{1,${every}}`, 'g'))!;

const cases: readonly (readonly [what: string, pieces: readonly string[], expected: RegExp | null])[] = [
  ['as it should be', [chunked([...whole, completed])], null],
  ['with its length', [response([...whole, completed])], null],
  ['cut anywhere', cut(chunked([...whole, completed]), 7), null],
  [
    'many tokens in a frame',
    [chunked([delta(tokens.slice(0, 7).join('')), delta(tokens.slice(7).join('')), completed])],
    null,
  ],
  ['the first token lost', [chunked([...whole.slice(1), completed])], /Not the text at 0/],
  ['the last token lost', [chunked([...whole.slice(0, -1), completed])], /characters came/],
  ['a token doubled', [chunked([whole[0]!, ...whole, completed])], /Not the text/],
  ['no end', [chunked(whole)], /0 terminal/],
  ['two ends', [chunked([...whole, completed, completed])], /2 terminal/],
  ['a failure', [chunked(['event: error\nid: 0\ndata: {"code":"api_error"}\n\n'])], /The answer failed/],
  ['another status', [response(['{"error":1}'], 503)], /Answered 503/],
];

each('the load sees what is lost, doubled, refused or left open', async (t, ruler) => {
  for (const [what, pieces, expected] of cases) {
    const instance = await answering(t, pieces);
    const shape: Shape = { tokens: count, rate: 0 };
    const asked = ruler.load.converse(instance, ['POST / HTTP/1.1\r\n\r\n'], 2, 1, shape);
    if (expected === null) t.equal((await asked).wholeMs.length, 2, what);
    else await t.rejects(asked, expected, what);
    const streams = ruler.load.stream(instance, ['POST / HTTP/1.1\r\n\r\n'], shape);
    if (expected === null) await streams.done;
    else await t.rejects(streams.done, expected, what);
  }
});
