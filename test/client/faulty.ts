/**
 * An HTTP proxy that injects the test's faults into each request: before the server has it, into the answer's head, or
 * into its body.
 */
import { once } from 'node:events';
import { createServer, request as askServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../folders.ts';

export type Fault =
  /** The connection is cut before the server has the request. */
  | { readonly kind: 'never sent' }
  /** The server has done its work, and nothing of the answer arrives. */
  | { readonly kind: 'no answer' }
  /** The same after the first bytes of the head. */
  | { readonly kind: 'half a head' }
  /** The head arrives and so many bytes of the body. */
  | { readonly kind: 'cut body'; readonly bytes: number }
  /** The same, and then silence without a cut. */
  | { readonly kind: 'silence'; readonly bytes: number }
  /** The answer never comes, and the connection stays. */
  | { readonly kind: 'hang' }
  /** Another answer instead of the server's, which does not get the request. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: string;
    };

export interface Asked {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly atMs: number;
}

export class Faulty {
  /**
   * The fault of a request; null lets it pass. Called with the request's `METHOD /path` and the number of such requests
   * before.
   */
  fault: (line: string, before: number) => Fault | null = () => null;
  readonly asked: Asked[] = [];
  #server = createServer((request, response) => this.#take(request, response));
  #to!: URL;

  static async open(t: Owner, to: string): Promise<Faulty> {
    const faulty = new Faulty();
    faulty.#to = new URL(to);
    faulty.#server.listen(0, '127.0.0.1');
    await once(faulty.#server, 'listening');
    t.teardown(async () => {
      faulty.#server.closeAllConnections();
      faulty.#server.close();
    });
    return faulty;
  }

  /** From now on to another server, or to the same one at its new address. */
  lead(to: string): void {
    this.#to = new URL(to);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends every connection. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /** Number of requests for a `METHOD /path`. */
  count(line: string): number {
    return this.asked.filter((one) => one.line === line).length;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const line = `${request.method} ${request.url!.split('?')[0]}`;
    const fault = this.fault(line, this.count(line));
    this.asked.push({ line, headers: request.headers, atMs: performance.now() });
    response.on('error', () => {});
    if (fault?.kind === 'never sent') return void request.socket.resetAndDestroy();
    if (fault?.kind === 'answer')
      return void response
        .writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers })
        .end(fault.body);
    this.#pass(request, response, fault);
  }

  #pass(request: IncomingMessage, response: ServerResponse, fault: Fault | null): void {
    const { method, url, headers, socket } = request;
    const onward = askServer(
      { host: this.#to.hostname, port: this.#to.port, method, path: url, headers, agent: false },
      (answer) => {
        if (fault?.kind === 'hang') return void answer.resume();
        if (fault?.kind === 'no answer' || fault?.kind === 'half a head') {
          if (fault.kind === 'half a head') socket.write('HTTP/1.1 20');
          return void answer
            .resume()
            .on('end', () => socket.destroySoon())
            .on('close', () => socket.destroySoon());
        }
        response.writeHead(answer.statusCode!, answer.headers);
        response.flushHeaders();
        let left = fault !== null && 'bytes' in fault ? fault.bytes : Infinity;
        answer.on('data', (bytes: Buffer) => {
          const some = bytes.subarray(0, Math.min(left, bytes.length));
          left -= some.length;
          if (some.length > 0) response.write(some);
          if (left === 0) this.#stop(fault!, answer, socket);
        });
        answer
          .on('end', () => (left > 0 || fault === null ? response.end() : undefined))
          .on('error', () => response.destroy());
        if (left === 0) this.#stop(fault!, answer, socket);
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  }

  #stop(fault: Fault, answer: IncomingMessage, socket: IncomingMessage['socket']): void {
    answer.removeAllListeners('data').resume();
    if (fault.kind === 'cut body') setImmediate(() => socket.destroySoon());
  }
}
