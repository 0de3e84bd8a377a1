import type { Test } from 'tap';
import type { Outlet } from '../../../src/base/edge.ts';
import { bounds, gate, RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';

/**
 * The edge's contract for backpressure, which every engine must keep: a client reads more slowly than the server
 * writes.
 */
export async function slowReaders(t: Test, open: OpenEdge): Promise<void> {
  await heldBack(t, open);
  await leftAlone(t, open);
  await notHeldBack(t, open);
}

/** Pieces of a counting text, so that a lost, doubled or misplaced piece shows. */
const piece = (index: number, size: number): string => `:${index}`.padStart(size, 'x');

async function heldBack(t: Test, open: OpenEdge): Promise<void> {
  for (const size of [500, 20_000, 100_000]) {
    await t.test(`pieces of ${size}: held back, and none lost`, async (t) => {
      const count = Math.ceil(16_000_000 / size);
      const held = gate<number>();
      let sent = 0;
      let drains = 0;
      const { port } = await serve(t, open, {
        exchange: (exchange) => {
          const outlet = exchange.stream(200, {});
          const pump = (): void => {
            while (sent < count) if (!outlet.write(piece(sent++, size))) return held.open(sent);
            outlet.end('end');
          };
          outlet.onDrain(() => {
            drains++;
            pump();
          });
          // Later than the request, so that the engine does not gather the writes by itself.
          queueMicrotask(pump);
        },
      });
      const client = new RawClient(port);
      client.socket.pause();
      await client.send('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      const before = await held.promise;
      t.ok(before < count, 'the writer is asked to hold back');
      const pieces: Buffer[] = [];
      client.socket.removeAllListeners('data');
      client.socket.on('data', (data) => pieces.push(data));
      client.socket.resume();
      await client.closed;
      t.ok(drains > 0);
      const expected = Array.from({ length: count }, (_, index) => piece(index, size)).join('') + 'end';
      t.ok(unchunk(Buffer.concat(pieces).toString('latin1')) === expected, 'every piece, once, in order');
    });
  }
}

function unchunk(text: string): string {
  let at = text.indexOf('\r\n\r\n') + 4;
  let body = '';
  for (;;) {
    const line = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, line), 16);
    if (!(size > 0)) return body;
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
  }
}

async function leftAlone(t: Test, open: OpenEdge): Promise<void> {
  await t.test('buffered bytes arrive, though nothing more is written', async (t) => {
    for (const size of [500, 20_000]) {
      let sent = 0;
      const held = gate();
      const opened = gate<Outlet>();
      const { port } = await serve(t, open, {
        exchange: (exchange) => {
          const outlet = exchange.stream(200, {});
          opened.open(outlet);
          setImmediate(() => {
            while (outlet.write(piece(sent++, size)));
            held.open();
          });
        },
      });
      const client = new RawClient(port);
      client.socket.pause();
      await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await held.promise;
      client.socket.resume();
      const last = piece(sent - 1, 10);
      await client.until((text) => text.endsWith(last) || text.endsWith(`${last}\r\n`));
      (await opened.promise).end('end');
      await client.until((text) => text.endsWith('end\r\n0\r\n\r\n'));
      client.destroy();
    }
  });
}

async function notHeldBack(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a writer that ignores backpressure is cut', async (t) => {
    const outcome = gate<{ bytes: number; gone: boolean }>();
    const { port } = await serve(t, open, {
      exchange: (exchange) => {
        const outlet = exchange.stream(200, {});
        let refusedBytes = 0;
        for (let written = 0; !exchange.gone && written < 1e9; written += 10_000) {
          if (!outlet.write(piece(0, 10_000))) refusedBytes += 10_000;
        }
        outcome.open({ bytes: refusedBytes, gone: exchange.gone });
      },
    });
    const client = new RawClient(port);
    client.socket.pause();
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const { bytes, gone } = await outcome.promise;
    t.equal(gone, true);
    t.ok(bytes <= bounds.slowReaderBytesMax + 20_000, `${bytes} bytes`);
    client.socket.resume();
    await client.closed;
  });
}
