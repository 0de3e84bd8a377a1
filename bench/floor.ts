/**
 * The floor, F: the least that relaying a streamed answer costs here. uWebSockets.js takes the request, one `node:net`
 * connection of a pool carries it to the provider, each event's text is cut out and framed again as ours, with its
 * position, and the events of one read leave in one write. No authentication, no limits, no session, no store, no log,
 * no metrics, no time-outs. `POST /chat {model, message}`; `GET /answer` is one fixed answer.
 */
import { connect, type Socket } from 'node:net';
import { listenExclusivePort, loadEngine } from '../src/http/edge/uws/engine.ts';
import type { HttpResponse } from '../src/http/edge/uws/engine.ts';

const upstreamPort = Number(process.argv[2]);
const [quote, backslash, letterU] = [34, 92, 117];
/** The beginning of a low surrogate's hex digits: the second half of a character that JSON escapes in two. */
const secondHalf = /[dD][c-fC-F]/y;

/** A relayed answer under way. */
class Relay {
  readonly #response: HttpResponse;
  /** Code points of the text so far. */
  position = 0;
  #begun = false;
  gone = false;

  constructor(response: HttpResponse) {
    this.#response = response;
    response.onAborted(() => (this.gone = true));
  }

  send(frames: string | Buffer, last: boolean): void {
    if (this.gone) return;
    this.gone = last;
    this.#response.cork(() => {
      if (!this.#begun)
        this.#response
          .writeStatus('200 OK')
          .writeHeader('content-type', 'text/event-stream')
          .writeHeader('cache-control', 'no-store');
      this.#begun = true;
      if (last) this.#response.end(frames);
      else this.#response.write(frames);
    });
  }

  cut(): void {
    if (!this.gone) this.#response.close();
  }
}

/** Bytes are consumed before the next read, so one buffer does for all connections. */
const shared = Buffer.allocUnsafe(64 * 1024);
const content = '"content":"';

const idle: Upstream[] = [];

/** A kept connection to the provider, one answer at a time. */
class Upstream {
  readonly #socket: Socket;
  #relay: Relay | null = null;
  /** The bytes of an incomplete head or chunk. */
  #rest = '';
  #inBody = false;
  /** The answer's last event has come. */
  #completed = false;
  /** True while all frames are ASCII. */
  #plain = true;
  #request = '';
  #answered = false;

  constructor() {
    const callback = (length: number): boolean => {
      this.#take(shared.toString('latin1', 0, length));
      return true;
    };
    this.#socket = connect({
      port: upstreamPort,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: shared, callback },
    });
    this.#socket.on('error', () => {});
    // The provider ends connections that were idle for a while.
    this.#socket.on('close', () => {
      const at = idle.indexOf(this);
      if (at >= 0) idle.splice(at, 1);
      // A connection that ended just as it was used has answered nothing yet: the request goes to a new one.
      if (this.#relay === null) return;
      if (this.#answered) this.#relay.cut();
      else new Upstream().send(this.#request, this.#relay);
    });
  }

  send(request: string, relay: Relay): void {
    this.#relay = relay;
    this.#request = request;
    this.#answered = false;
    this.#socket.write(request);
  }

  #take(came: string): void {
    this.#answered = true;
    const text = this.#rest === '' ? came : this.#rest + came;
    let at = 0;
    if (!this.#inBody) {
      at = text.indexOf('\r\n\r\n') + 4;
      if (at < 4) return void (this.#rest = text);
      this.#inBody = true;
    }
    let [frames, over] = ['', false];
    this.#plain = true;
    for (let line = text.indexOf('\r\n', at); line >= 0; line = text.indexOf('\r\n', at)) {
      const [from, size] = [line + 2, parseInt(text.slice(at, line), 16)];
      if (text.length < from + size + 2) break;
      at = from + size + 2;
      if (size === 0) over = true;
      else frames += this.#framesOf(text, from, from + size);
    }
    this.#rest = at === text.length ? '' : text.slice(at);
    // A character stands for a byte here.
    if (frames !== '') this.#relay!.send(this.#plain ? frames : Buffer.from(frames, 'latin1'), this.#completed);
    if (over) this.#done();
  }

  /** A chunk of this provider holds whole events. */
  #framesOf(text: string, from: number, to: number): string {
    let frames = '';
    for (let [at, end] = [from, from]; at < to; at = end + 2) {
      end = text.indexOf('\n\n', at);
      const found = text.indexOf(content, at);
      if (found >= 0 && found < end) frames += this.#frameOf(text, found + content.length);
      else if (text.startsWith('data: [DONE]', at)) {
        frames += `event: turn.completed\nid: ${this.#relay!.position}\ndata: {"stop_reason":"end"}\n\n`;
        this.#completed = true;
      }
    }
    return frames;
  }

  /** The frame of the text that begins there, a JSON string in UTF-8, a character for a byte. */
  #frameOf(text: string, from: number): string {
    const relay = this.#relay!;
    let at = from;
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(++at)) {
      if ((code & 0x80) !== 0) this.#plain = false;
      // The further bytes of a character.
      if ((code & 0xc0) === 0x80) continue;
      relay.position++;
      if (code !== backslash || text.charCodeAt(++at) !== letterU) continue;
      secondHalf.lastIndex = at + 1;
      if (secondHalf.test(text)) relay.position--;
      at += 4;
    }
    return at === from
      ? ''
      : `event: message.delta\nid: ${relay.position}\ndata: {"text":"${text.slice(from, at)}"}\n\n`;
  }

  #done(): void {
    if (!this.#completed) this.#relay!.cut();
    this.#completed = false;
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
    const asked = JSON.stringify({
      model,
      messages: [{ role: 'user', content: message }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: upstream\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(asked)}\r\n\r\n${asked}`;
    (idle.pop() ?? new Upstream()).send(request, relay);
  });
});
app.get('/answer', (response) => {
  response.cork(() =>
    response.writeStatus('200 OK').writeHeader('content-type', 'application/json').end('{"status":"ok"}'),
  );
});
app.listen(
  '127.0.0.1',
  0,
  listenExclusivePort,
  (token) => void process.send?.({ port: token === false ? 0 : uws.us_socket_local_port(token) }),
);
