import { connect } from 'node:net';
import { listenExclusivePort } from './engine.ts';
import type { App, UwsModule, HttpResponse } from './engine.ts';

/**
 * A response that stays unanswered for the life of its edge, on a connection of the process to itself. The engine
 * writes a warning to standard error for writes outside a cork, and in the cork of its response a request must not
 * become a socket (`UwsUpgrade`); in the cork of another response it can. To connect, the loopback device listens for a
 * moment.
 */
export class Anchor {
  #app: App;
  #response: HttpResponse | null = null;
  #stopListening = (): void => {};

  private constructor(app: App) {
    this.#app = app;
  }

  /** Resolves without a response if the process cannot connect to itself: then the engine writes its warnings. */
  static async open(engine: UwsModule): Promise<Anchor> {
    const anchor = new Anchor(engine.App());
    await new Promise<void>((resolve) => {
      anchor.#app.any('/*', (response) => {
        response.onAborted(() => (anchor.#response = null));
        anchor.#response = response;
        resolve();
      });
      anchor.#app.listen('127.0.0.1', 0, listenExclusivePort, (token) => {
        if (token === false) return resolve();
        const socket = connect(engine.us_socket_local_port(token), '127.0.0.1').unref();
        socket.on('error', resolve).on('close', resolve);
        socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
        // A connection that the engine has not accepted ends with the socket that listens.
        anchor.#stopListening = () => engine.us_listen_socket_close(token);
      });
    });
    anchor.#stopListening();
    return anchor;
  }

  /** Calls `write` within the cork. */
  cork(write: () => void): void {
    if (this.#response === null) write();
    else this.#response.cork(write);
  }

  close(): void {
    this.#app.close();
  }
}
