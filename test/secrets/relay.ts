/** A relay before a server that keeps every byte that it sends, under the name of the current step. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Owner } from '../folders.ts';

export class Relay {
  #place = 'before';
  #kept: { place: string; socket: Socket; bytes: Buffer }[] = [];

  /** Takes the server's URL and gives its own. */
  async stand(t: Owner, url: string): Promise<string> {
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = connect(Number(new URL(url).port), '127.0.0.1');
      for (const socket of [client, upstream])
        sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
      upstream.on('data', (bytes: Buffer) => this.#kept.push({ place: this.#place, socket: client, bytes }));
      client.pipe(upstream).pipe(client);
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => client.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** All that comes while this runs is kept under the name. One at a time. */
  async during<T>(place: string, run: () => Promise<T>): Promise<T> {
    const before = this.#place;
    this.#place = place;
    try {
      return await run();
    } finally {
      this.#place = before;
    }
  }

  /** The bytes received, by name: each connection's in order, as they came and without the framing of chunks. */
  get kept(): Map<string, Buffer> {
    const streams = new Map<string, Map<Socket, Buffer[]>>();
    for (const { place, socket, bytes } of this.#kept) {
      const bySocket = streams.get(place) ?? new Map<Socket, Buffer[]>();
      const pieces = bySocket.get(socket) ?? [];
      pieces.push(bytes);
      streams.set(place, bySocket.set(socket, pieces));
    }
    return new Map(
      [...streams].map(([place, bySocket]) => [place, Buffer.concat([...bySocket.values()].flatMap(bothWays))]),
    );
  }
}

function bothWays(pieces: Buffer[]): Buffer[] {
  const bytes = Buffer.concat(pieces);
  return [bytes, Buffer.from(bytes.toString('latin1').replace(/\r\n[0-9a-f]+\r\n/gi, ''), 'latin1')];
}
