/**
 * The floor, F: the least that relaying a streamed answer costs here. uWebSockets.js takes the request, one `node:net` connection
 * of a pool carries it to the provider, and each event is parsed and written again in our framing, one write each. No authentication,
 * no limits, no session, no store, no log, no metrics, no time-outs. `POST /chat {model, message}`; `GET /answer` is one fixed answer.
 */
import { connect, type Socket } from 'node:net';
import { listenExclusivePort, loadEngine } from '../src/edge/uws/engine.ts';
import type { HttpResponse } from '../src/edge/uws/engine.ts';

const upstreamPort = Number(process.argv[2]);
const eventHead = 'data: ';

/** A relayed answer under way. */
class Relay {
  readonly #response: HttpResponse;
  #position = 0;
  #begun = false;
  gone = false;

  constructor(response: HttpResponse) {
    this.#response = response;
    response.onAborted(() => (this.gone = true));
  }

  event(data: string): void {
    if (this.gone) return;
    if (data === '[DONE]') return this.#send(`event: turn.completed\nid: ${this.#position}\ndata: {"stop_reason":"end"}\n\n`, true);
    const chunk = JSON.parse(data) as { choices: { delta: { content?: string } }[] };
    const text = chunk.choices[0]?.delta.content;
    if (text === undefined || text === '') return;
    this.#position += codePoints(text);
    this.#send(`event: message.delta\nid: ${this.#position}\ndata: ${JSON.stringify({ text })}\n\n`, false);
  }

  cut(): void {
    if (!this.gone) this.#response.close();
  }

  #send(frame: string, last: boolean): void {
    this.#response.cork(() => {
      if (!this.#begun) this.#response.writeStatus('200 OK').writeHeader('content-type', 'text/event-stream').writeHeader('cache-control', 'no-store');
      this.#begun = true;
      if (last) this.#response.end(frame);
      else this.#response.write(frame);
    });
    if (last) this.gone = true;
  }
}

function codePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length; index++) if ((text.charCodeAt(index) & 0xfc00) === 0xdc00) count--;
  return count;
}

const idle: Upstream[] = [];

/** A kept connection to the provider, one answer at a time. */
class Upstream {
  readonly #socket: Socket;
  #relay: Relay | null = null;
  #rest: Buffer = Buffer.alloc(0);
  #lines = '';
  #inBody = false;
  #body = '';
  #answered = false;

  constructor() {
    this.#socket = connect(upstreamPort, '127.0.0.1').setNoDelay(true);
    this.#socket.on('data', (data) => this.#take(data));
    this.#socket.on('error', () => {});
    // The provider ends connections that were idle for a while.
    this.#socket.on('close', () => {
      const at = idle.indexOf(this);
      if (at >= 0) idle.splice(at, 1);
      // One that ended just as it was used has answered nothing yet: the request goes to a new one.
      if (this.#relay === null) return;
      if (this.#answered) this.#relay.cut();
      else new Upstream().send(this.#body, this.#relay);
    });
  }

  send(body: string, relay: Relay): void {
    this.#relay = relay;
    this.#body = body;
    this.#answered = false;
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: upstream\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
    this.#socket.write(head + body);
  }

  #take(data: Buffer): void {
    this.#answered = true;
    const bytes = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    let at = 0;
    if (!this.#inBody) {
      at = bytes.indexOf('\r\n\r\n') + 4;
      if (at < 4) return void (this.#rest = bytes);
      this.#inBody = true;
    }
    for (;;) {
      const lineEnd = bytes.indexOf('\r\n', at);
      if (lineEnd < 0) break;
      const size = parseInt(bytes.toString('latin1', at, lineEnd), 16);
      const from = lineEnd + 2;
      if (bytes.length < from + size + 2) break;
      at = from + size + 2;
      if (size === 0) this.#done();
      else this.#events(bytes.toString('utf8', from, from + size));
    }
    this.#rest = at === bytes.length ? Buffer.alloc(0) : bytes.subarray(at);
  }

  /** A chunk of this provider holds whole events. */
  #events(text: string): void {
    const lines = this.#lines + text;
    let at = 0;
    for (let end = lines.indexOf('\n\n', at); end >= 0; end = lines.indexOf('\n\n', at)) {
      this.#relay!.event(lines.slice(at + eventHead.length, end));
      at = end + 2;
    }
    this.#lines = lines.slice(at);
  }

  #done(): void {
    this.#inBody = false;
    this.#relay = null;
    idle.push(this);
  }
}

const uws = await loadEngine();
const app = uws.App();
app.post('/chat', (response) => {
  const relay = new Relay(response);
  let body = '';
  response.onData((piece, isLast) => {
    body += Buffer.from(piece).toString();
    if (!isLast) return;
    const { model, message } = JSON.parse(body) as { model: string; message: string };
    const request = JSON.stringify({ model, messages: [{ role: 'user', content: message }], stream: true, stream_options: { include_usage: true } });
    (idle.pop() ?? new Upstream()).send(request, relay);
  });
});
app.get('/answer', (response) => {
  response.cork(() => response.writeStatus('200 OK').writeHeader('content-type', 'application/json').end('{"status":"ok"}'));
});
app.listen('127.0.0.1', 0, listenExclusivePort, (token) => void process.send?.({ port: token === false ? 0 : uws.us_socket_local_port(token) }));
