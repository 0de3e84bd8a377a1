/**
 * A model provider for the benchmarks: OpenAI's chat completions as a stream, on uWebSockets.js. The model's name says
 * how many tokens come and how fast (`text.ts`). The first token leaves with the head; each other one at its own time,
 * one write each. Prints its port.
 */
import { listenExclusivePort, loadEngine } from '../src/http/edge/uws/engine.ts';
import type { HttpResponse } from '../src/http/edge/uws/engine.ts';
import { modelName, shapeOf, tokenAt, type Shape } from './text.ts';

/** A stream under way. */
interface Stream {
  readonly response: HttpResponse;
  readonly shape: Shape;
  readonly frames: Frames;
  readonly startedAt: number;
  /** The next token's index and when it leaves. */
  next: number;
  dueAt: number;
  gone: boolean;
}

/** The events of a model's stream as bytes; a token's event is made once for every text there is. */
interface Frames {
  readonly head: string;
  token(index: number): string;
  readonly tail: string;
  /** Each event of an answer that is sent in many writes. */
  events(): string[];
}

const known = new Map<string, Frames>();

function framesOf(shape: Shape): Frames {
  const model = modelName(shape);
  const found = known.get(model);
  if (found !== undefined) return found;
  const frame = (rest: object): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model, ...rest })}\n\n`;
  const choice = (delta: object, finish: string | null): string =>
    frame({ choices: [{ index: 0, delta, finish_reason: finish }] });
  const tokens = new Map<string, string>();
  const token = (index: number): string => {
    const text = tokenAt(index);
    let made = tokens.get(text);
    if (made === undefined) tokens.set(text, (made = choice({ content: text }, null)));
    return made;
  };
  const usage = { prompt_tokens: 10, completion_tokens: shape.tokens, total_tokens: 10 + shape.tokens };
  const head = choice({ role: 'assistant', content: '' }, null);
  const ends = [choice({}, 'stop'), frame({ choices: [], usage }), 'data: [DONE]\n\n'];
  const events = (): string[] => [head, ...Array.from({ length: shape.tokens }, (_, index) => token(index)), ...ends];
  const frames = { head, token, tail: ends.join(''), events };
  known.set(model, frames);
  return frames;
}

/** Streams by the millisecond at which their next token leaves; a wait is always shorter than the wheel. */
const slots = 16_384;
const wheel: Stream[][] = Array.from({ length: slots }, () => []);
let live = 0;
let lastTick = 0;
let opened = 0;

function schedule(stream: Stream): void {
  const at = Math.max(Math.ceil(stream.dueAt), lastTick + 1);
  wheel[at % slots]!.push(stream);
}

function tick(): void {
  const now = Math.floor(performance.now());
  for (let at = lastTick + 1; at <= now; at++) {
    lastTick = at;
    const due = wheel[at % slots]!;
    if (due.length === 0) continue;
    wheel[at % slots] = [];
    for (const stream of due) advance(stream);
  }
  if (live > 0) setTimeout(tick, 1);
}

function advance(stream: Stream): void {
  if (stream.gone) return;
  const { response, frames, shape } = stream;
  response.cork(() => {
    const frame = frames.token(stream.next++);
    if (stream.next < shape.tokens) response.write(frame);
    else finish(stream, frame);
  });
  if (stream.next >= shape.tokens) return;
  stream.dueAt += 1000 / shape.rate;
  schedule(stream);
}

function finish(stream: Stream, last: string): void {
  stream.gone = true;
  live--;
  // Written before it is ended: an answer that is ended whole would be sent with a Content-Length, as no provider does.
  stream.response.write(last);
  stream.response.end(stream.frames.tail);
}

/** Later tokens of streams that begin together do not leave together: the golden ratio spreads them evenly. */
const phase = (): number => (opened++ * 0.618_033_988_75) % 1;

/** Sends the first event with the head, and each other one in a separate write: a cork makes one write. */
function sendEach(stream: Stream, [first, ...others]: string[]): void {
  const { response } = stream;
  stream.next = stream.shape.tokens;
  response.write(first!);
  setImmediate(() => {
    for (const event of others) if (!stream.gone) response.cork(() => void response.write(event));
    if (stream.gone) return;
    stream.gone = true;
    live--;
    response.cork(() => void response.end());
  });
}

function begin(response: HttpResponse, shape: Shape, stream: Stream): void {
  const { frames } = stream;
  response.cork(() => {
    response
      .writeStatus('200 OK')
      .writeHeader('content-type', 'text/event-stream')
      .writeHeader('cache-control', 'no-cache');
    const atOnce = shape.rate === 0 || shape.tokens === 1;
    if (atOnce && shape.writes === 'many') sendEach(stream, frames.events());
    else if (atOnce) {
      let all = frames.head;
      for (let index = 0; index < shape.tokens - 1; index++) all += frames.token(index);
      finish(stream, all + frames.token(shape.tokens - 1));
    } else response.write(frames.head + frames.token(0));
  });
  if (stream.gone || stream.next > 0) return;
  stream.next = 1;
  if (live === 1) {
    lastTick = Math.floor(performance.now());
    setTimeout(tick, 1);
  }
  schedule(stream);
}

const uws = await loadEngine();
const app = uws.App();
app.post('/v1/chat/completions', (response) => {
  let body = '';
  let stream: Stream | null = null;
  response.onAborted(() => {
    if (stream === null || stream.gone) return;
    stream.gone = true;
    live--;
  });
  response.onData((piece, isLast) => {
    body += Buffer.from(piece).toString();
    if (!isLast) return;
    const shape = shapeOf((JSON.parse(body) as { model: string }).model);
    if (shape === null)
      return void response.cork(() =>
        response.writeStatus('404 Not Found').end('{"error":{"message":"no such model"}}'),
      );
    const startedAt = performance.now();
    const wait = shape.rate === 0 ? 0 : 1000 / shape.rate;
    stream = {
      response,
      shape,
      frames: framesOf(shape),
      startedAt,
      next: 0,
      dueAt: startedAt + wait * (0.5 + phase() / 2),
      gone: false,
    };
    live++;
    begin(response, shape, stream);
  });
});
app.listen(
  '127.0.0.1',
  0,
  listenExclusivePort,
  (token) => void process.send?.({ port: token === false ? 0 : uws.us_socket_local_port(token) }),
);
