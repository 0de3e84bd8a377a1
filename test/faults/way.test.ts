/** The way does what its faults say, and nothing else to what passes. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { Way } from './way.ts';

/** An echo server, with the way to it. */
async function echoed(t: Test): Promise<{ way: Way; heard: string[]; client(): Promise<Socket> }> {
  const heard: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      heard.push(String(bytes));
      socket.write(bytes);
    });
    socket.on('end', () => socket.end());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const way = await Way.open(t, (server.address() as AddressInfo).port);
  t.teardown(() => void server.close());
  const client = async (): Promise<Socket> => {
    const socket = connect({ port: way.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    t.teardown(() => void socket.destroy());
    await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), closing(socket)]);
    return socket.setEncoding('utf8');
  };
  return { way, heard, client };
}

/** `once` would take the error before it for the end. */
const closing = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.once('close', () => resolve()));
const reply = async (socket: Socket): Promise<string> => String((await once(socket, 'data'))[0]);

t.test('delayed bytes keep their order when the delay is over', async (t) => {
  const { way, client } = await echoed(t);
  const socket = await client();
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  for (let count = 0; count < 30; count++) {
    way.delayMs = [20, 0, 5][count % 3]!;
    socket.write(`${count},`);
    await new Promise(setImmediate);
  }
  while (!text.endsWith('29,')) await once(socket, 'data');
  t.equal(text, Array.from({ length: 30 }, (_, count) => `${count},`).join(''));
});

t.test('a stall of one direction lets the other pass, and delivers all when it is mended', async (t) => {
  const { way, heard, client } = await echoed(t);
  const socket = await client();
  socket.write('a');
  t.equal(await reply(socket), 'a');
  way.stall(['back']);
  socket.write('b');
  while (heard.join('') !== 'ab') await new Promise(setImmediate);
  const late = reply(socket);
  way.mend();
  t.equal(await late, 'b');
});

t.test('a lost reply was executed', async (t) => {
  const { way, heard, client } = await echoed(t);
  const socket = await client();
  way.loseReply(2);
  socket.write('a');
  t.equal(await reply(socket), 'a');
  t.notOk(way.lost);
  const closed = closing(socket);
  socket.write('b');
  await closed;
  t.ok(way.lost);
  t.same(heard, ['a', 'b']);
});

t.test('closed, it takes no connection until it is mended; half closed, it ends what comes back', async (t) => {
  const { way, client } = await echoed(t);
  const socket = await client();
  const closed = closing(socket);
  socket.write('a');
  await reply(socket);
  way.close();
  await closed;
  // The connection is reset at once: whether it was made before is the system's affair.
  const refused = await client().catch(() => null);
  if (refused?.closed === false) await closing(refused);
  way.mend();
  const again = await client();
  again.write('b');
  t.equal(await reply(again), 'b');
  const ended = once(again, 'end');
  way.halfClose();
  await ended;
  t.ok(again.writable, 'what goes there still may');
});
