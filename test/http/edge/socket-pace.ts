import type { Test } from 'tap';
import type { WebSocket } from 'ws';
import { WheelClock } from '../../../src/base/clock.ts';
import type { Socket, SocketListener } from '../../../src/base/edge.ts';
import { bounds, deaf, gate } from './harness.ts';
import type { OpenEdge } from './harness.ts';
import { Client, silent } from './socket-client.ts';

/** A clock whose durations stand still until `passedMs` is moved. */
class Stopped extends WheelClock {
  passedMs = 0;
  override monotonic(): number {
    return this.passedMs;
  }
}

const sends: readonly [string, (client: Client) => void][] = [
  ['text messages', ({ socket }) => socket.send('a')],
  ['pings', ({ socket }) => socket.ping('a')],
  ['both by turns', each((client, index) => (index % 2 === 0 ? client.socket.send('a') : client.socket.ping()))],
  ['texts in two parts', ({ socket }) => (socket.send('a', { fin: false }), socket.send('b'))],
];

/** Text messages and pings that come faster than the pace, on every engine (contract 8). */
export async function socketPace(t: Test, open: OpenEdge): Promise<void> {
  for (const [name, send] of sends) {
    await t.test(`${name}: as many at once as the pace has, and then as many as it refills`, async (t) => {
      const { client, clock, told, code } = await paced(t, open);
      for (let sent = 0; sent < bounds.socketTextsMax; sent++) send(client);
      await roundTrip(client);
      t.same([told.length, client.messages.at(-1)], [0, 'bytes']);
      clock.passedMs = 500;
      for (let sent = 0; sent < bounds.socketTextsPerSecond / 2; sent++) send(client);
      await roundTrip(client);
      t.same(told, []);
      send(client);
      send(client);
      t.equal(await client.closed, 1008);
      t.same(told, ['tooFast'], 'told once');
      t.equal(client.messages.at(-1), 'too fast', 'what is said of it goes out before the close');
      t.equal(await code, 1008);
    });
  }

  await t.test('seventy pings in one write are answered', async (t) => {
    const { client } = await paced(t, open);
    let pongs = 0;
    const all = new Promise<void>((resolve) => client.socket.on('pong', () => ++pongs === 70 && resolve()));
    together(client, () => {
      for (let sent = 0; sent < 70; sent++) client.socket.ping();
    });
    await all;
    client.socket.close();
    t.equal(await client.closed, 1005);
  });

  await t.test('after the refusal nothing is handed on and nothing answered, however much came with it', async (t) => {
    const { client, heard } = await paced(t, open);
    let pongs = 0;
    client.socket.on('pong', () => pongs++);
    together(client, () => {
      for (let sent = 0; sent < 2_000; sent++) client.socket.send('a');
      for (let sent = 0; sent < 2_000; sent++) client.socket.ping();
      for (let sent = 0; sent < 2_000; sent++) client.socket.send(Buffer.from('b'));
    });
    t.equal(await client.closed, 1008);
    t.same([heard.length, pongs], [bounds.socketTextsMax, 0]);
  });

  await behindSlowReader(t, open);

  await t.test('bytes and answers to pings are unlimited', async (t) => {
    const { client, told } = await paced(t, open);
    for (let sent = 0; sent < 3 * bounds.socketTextsMax; sent++) {
      client.socket.send(Buffer.from('b'));
      client.socket.pong();
    }
    await roundTrip(client);
    t.same(told, []);
    client.socket.close();
    await client.closed;
  });

  await t.test('a listener that ignores it keeps the socket', async (t) => {
    const { client, told, heard } = await paced(t, open, true);
    for (let sent = 0; sent < 2 * bounds.socketTextsMax; sent++) client.socket.send('a');
    await roundTrip(client);
    t.equal(told.length, bounds.socketTextsMax);
    t.equal(heard.filter((data) => data === 'a').length, bounds.socketTextsMax);
    client.socket.close();
    t.equal(await client.closed, 1005);
  });
}

async function behindSlowReader(t: Test, open: OpenEdge): Promise<void> {
  await t.test('what is said of it goes out behind all that waits for a slow reader', async (t) => {
    const { client, own, refused } = await paced(t, open);
    client.socket.pause();
    const large = 'x'.repeat(32 * 1024 * 1024);
    t.equal(own().send(large), false);
    for (let sent = 0; sent <= bounds.socketTextsMax; sent++) client.socket.send('a');
    await refused;
    client.socket.resume();
    t.equal(await client.closed, 1008);
    t.same(
      client.messages.map((message) => message.length),
      [large.length, 'too fast'.length],
    );
  });
}

/** A socket whose listener records messages, answers bytes, and notes reports of the pace. */
async function paced(
  t: Test,
  open: OpenEdge,
  ignores = false,
): Promise<{
  client: Client;
  clock: Stopped;
  told: string[];
  heard: (string | Uint8Array)[];
  code: Promise<number>;
  refused: Promise<void>;
  own(): Socket;
}> {
  const clock = new Stopped();
  const code = gate<number>();
  const refused = gate();
  const told: string[] = [];
  const heard: (string | Uint8Array)[] = [];
  let own!: Socket;
  const listener: SocketListener = {
    ...silent,
    opened: (socket) => (own = socket),
    message(data) {
      heard.push(data);
      if (typeof data !== 'string' && data.length > 1) own.send('bytes');
    },
    tooFast() {
      told.push('tooFast');
      if (!ignores) own.send('too fast');
      refused.open();
      return ignores;
    },
    closed: code.open,
  };
  const edge = await open({ ...deaf, upgrade: (upgrade) => upgrade.accept(listener) }, bounds, clock);
  const port = await edge.listen('127.0.0.1', 0);
  t.teardown(async () => {
    await edge.close(0);
    clock.stop();
  });
  const client = new Client(port);
  await client.opened;
  return { client, clock, told, heard, code: code.promise, refused: refused.promise, own: () => own };
}

/** Resolves when all that was sent before has been heard. */
async function roundTrip(client: Client): Promise<void> {
  const before = client.messages.length;
  client.socket.send(Buffer.from('bytes'));
  await client.received(before + 1);
}

function each(send: (client: Client, index: number) => void): (client: Client) => void {
  let index = 0;
  return (client) => send(client, index++);
}

/** Everything that `send` sends goes to the kernel in one write. */
function together({ socket }: Client, send: () => void): void {
  const { _socket: connection } = socket as WebSocket & { _socket: { cork(): void; uncork(): void } };
  connection.cork();
  send();
  connection.uncork();
}
