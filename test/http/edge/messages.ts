import type { Test } from 'tap';
import type { Socket } from '../../../src/base/edge.ts';
import { bounds, gate, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';
import { Client, silent } from './socket-client.ts';

/** The edge's contract for WebSocket messages, which every engine must keep. */
export async function messages(t: Test, open: OpenEdge): Promise<void> {
  await t.test('text and bytes, both ways, whole', async (t) => {
    const { port } = await serve(t, open, {
      upgrade: (upgrade) => {
        let socket!: Socket;
        upgrade.accept({ ...silent, opened: (opened) => (socket = opened), message: (data) => void socket.send(data) });
      },
    });
    const client = new Client(port);
    await client.opened;
    const bytes = Buffer.alloc(bounds.socketMessageBytesMax, 'x');
    client.socket.send('čaj 🍵');
    client.socket.send('');
    client.socket.send(Buffer.from([0, 255]));
    client.socket.send(bytes);
    client.socket.send('in ', { fin: false });
    client.socket.send('parts', { fin: true });
    t.same(await client.received(5), ['čaj 🍵', '', Buffer.from([0, 255]), bytes, 'in parts']);
    client.socket.close();
    await client.closed;
  });

  await t.test('a text that is not UTF-8 is told apart, where the engine hands it on', async (t) => {
    for (const unreadable of [true, false]) {
      const code = gate<number>();
      let own!: Socket;
      const { port } = await serve(t, open, {
        upgrade: (upgrade) =>
          upgrade.accept({
            opened: (socket) => (own = socket),
            message: () => t.fail('it was handed on'),
            ...(unreadable && { unreadable: () => (own.send('what?'), own.close(1008)) }),
            closed: code.open,
          }),
      });
      const client = new Client(port);
      await client.opened;
      client.socket.send(Buffer.from('{"a":"\xff"}', 'latin1'), { binary: false });
      const closed = await client.closed;
      // The engine cuts the socket here.
      if (closed === 1006) continue;
      t.equal(closed, unreadable ? 1008 : 1007);
      t.same(client.messages, unreadable ? ['what?'] : []);
      t.equal(await code.promise, closed);
    }
  });

  await tooLarge(t, open);
}

async function tooLarge(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a message over the bound closes with 1009', async (t) => {
    const code = gate<number>();
    const { port } = await serve(t, open, {
      upgrade: (upgrade) =>
        upgrade.accept({ opened: () => {}, message: () => t.fail('it was handed on'), closed: code.open }),
    });
    const client = new Client(port);
    await client.opened;
    client.socket.send(Buffer.alloc(bounds.socketMessageBytesMax + 1));
    t.equal(await client.closed, 1009);
    t.equal(await code.promise, 1009);
  });

  await t.test('one far over the bound is not even taken in', async (t) => {
    const code = gate<number>();
    const { port } = await serve(t, open, {
      upgrade: (upgrade) =>
        upgrade.accept({ opened: () => {}, message: () => t.fail('it was handed on'), closed: code.open }),
    });
    const client = new Client(port);
    await client.opened;
    client.socket.send(Buffer.alloc(20 * bounds.socketMessageBytesMax));
    t.equal(await code.promise, 1009);
    await client.closed;
  });

  await t.test('the error for a message that is too large goes out before the close', async (t) => {
    for (const times of [2, 20]) {
      const code = gate<number>();
      let own!: Socket;
      let told = 0;
      const tooLarge = (): boolean => {
        told++;
        own.send('too large');
        return false;
      };
      const { port } = await serve(t, open, {
        upgrade: (upgrade) =>
          upgrade.accept({ ...silent, opened: (socket) => (own = socket), tooLarge, closed: code.open }),
      });
      const client = new Client(port);
      await client.opened;
      client.socket.send(Buffer.alloc(times * bounds.socketMessageBytesMax));
      const closed = await client.closed;
      t.equal(await code.promise, 1009);
      // Far over the bound an engine may cut the socket by itself.
      if (times === 20 && closed === 1006) continue;
      t.same([closed, told, client.messages], [1009, 1, ['too large']]);
    }
  });

  await t.test('a client that closes with 1009 has sent nothing that is too large', async (t) => {
    const code = gate<number>();
    const tooLarge = (): boolean => {
      t.fail('it was told of one');
      return false;
    };
    const { port } = await serve(t, open, {
      upgrade: (upgrade) => upgrade.accept({ ...silent, tooLarge, closed: code.open }),
    });
    const client = new Client(port);
    await client.opened;
    client.socket.close(1009);
    t.equal(await code.promise, 1009);
    t.equal(await client.closed, 1009);
  });
}
