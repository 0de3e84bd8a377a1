/** The sockets of transcriptions and calls: the runtime's, or instances of a class that the user gives. */

import { withoutSlashes } from './address.ts';

/** The parts of a WebSocket in use. */
export interface Socket {
  readonly bufferedAmount: number;
  /** Set to `arraybuffer` where binary messages come. */
  binaryType?: any;
  send(data: any): void;
  close(): void;
  addEventListener(type: string, listener: (event: any) => void): void;
}

/** Address of the socket at `path` of a server, whose own address may begin with http as well. */
export const socketAt = (server: string, path: string): string => withoutSlashes(server).replace(/^http/i, 'ws') + path;

/** A class of WebSockets, as browsers, Deno, Bun, workers and Node 22 have one. */
export type SocketClass = new (url: string) => Socket;
