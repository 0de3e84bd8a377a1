/** Connections to providers: when they are used again, when never, and when a request is sent twice. */
import t from 'tap';
import { ok } from '../model/answers.ts';
import { client, closed, ManualClock } from '../model/provider.ts';
import { answerOf, post, raw } from './raw.ts';
import type { Raw } from './raw.ts';
import { providerKeptMsMax, providerKeptMax } from '../../../src/providers/client/pool.ts';
import { providerRepeatMsMax } from '../../../src/providers/client/exchange.ts';

const answering: Raw['answer'] = ({ socket, connection }) => void socket.write(answerOf(`connection ${connection}`));
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

t.test('one connection after another request, and a request for itself while it has one', async (t) => {
  const server = await raw(t, answering);
  const http = client(t);
  for (let turn = 0; turn < 3; turn++) {
    const told = post(http, server.baseUrl);
    t.equal(await told.settled, 'ended');
    t.equal(told.body, 'connection 0');
  }
  const [one, other] = [post(http, server.baseUrl), post(http, server.baseUrl)];
  await Promise.all([one.settled, other.settled]);
  t.same([one.body, other.body].sort(), ['connection 0', 'connection 1']);
});

t.test('an ending is told when the connection is free already', async (t) => {
  const server = await raw(t, answering);
  const http = client(t);
  await new Promise<void>((resolve) => {
    const again = (left: number): void => {
      const told = post(http, server.baseUrl);
      told.ended = () => (left === 0 ? resolve() : again(left - 1));
    };
    again(5);
  });
  t.equal(server.sockets.length, 1);
});

t.test('the connection used last is used first', async (t) => {
  const server = await raw(t, () => {});
  const http = client(t);
  const first = post(http, server.baseUrl);
  await server.reached(1);
  const second = post(http, server.baseUrl);
  await server.reached(2);
  answering(server.arrivals[0]!);
  await first.settled;
  answering(server.arrivals[1]!);
  await second.settled;
  server.answer = answering;
  const third = post(http, server.baseUrl);
  await third.settled;
  t.equal(third.body, 'connection 1');
});

t.test('origins do not share', async (t) => {
  const servers = [await raw(t, answering), await raw(t, answering)];
  const http = client(t);
  for (const { baseUrl } of [...servers, ...servers]) t.equal(await post(http, baseUrl).settled, 'ended');
  t.same(
    servers.map(({ sockets, arrivals }) => [sockets.length, arrivals.length]),
    [
      [1, 2],
      [1, 2],
    ],
  );
  t.equal(await post(http, servers[0]!.baseUrl.replace('/v1', '/other/')).settled, 'ended', 'another path');
  t.equal(servers[0]!.sockets.length, 1);
});

t.test('the reasons not to reuse a connection', async (t) => {
  const answers: [string, string, string][] = [
    ['connection: close', answerOf('hi', 'Connection: close\r\n'), 'ended'],
    ['a server that closes within the second', answerOf('hi', 'Keep-Alive: timeout=1\r\n'), 'ended'],
    ['HTTP/1.0', answerOf('hi').replace('1.1', '1.0'), 'ended'],
    ['bytes after the answer', `${answerOf('hi')}!`, 'ended'],
    ['another answer after the answer', answerOf('hi') + answerOf('ho'), 'ended'],
    ['bytes after the last chunk', `${chunked}0\r\n\r\n\r\n`, 'ended'],
    ['what is malformed', `${chunked}2\r\nhi!`, 'malformed'],
    ['a refusal that closes', `HTTP/1.1 429 Slow\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, 'rate_limit'],
    ['switching protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n', 'malformed'],
  ];
  for (const [name, answer, ending] of answers) {
    const server = await raw(t, ({ socket }) => void socket.write(answer));
    const http = client(t, {}, { clock: new ManualClock() });
    const told = post(http, server.baseUrl);
    t.equal(await told.settled, ending, name);
    await closed(server.sockets[0]!);
    server.answer = answering;
    t.equal(await post(http, server.baseUrl).settled, 'ended', name);
    t.equal(server.sockets.length, 2, name);
    t.same(told.endings, [ending], name);
  }
});

t.test('an answer to a request that is still being written', async (t) => {
  const server = await raw(t, () => {});
  const http = client(t);
  const told = post(http, server.baseUrl, { body: new Uint8Array(64 * 1024 * 1024) });
  while (server.sockets.length === 0) await new Promise((resolve) => setImmediate(resolve));
  server.sockets[0]!.pause().write(answerOf('enough'));
  t.equal(await told.settled, 'ended');
  server.sockets[0]!.resume();
  await closed(server.sockets[0]!);
});

t.test('a connection is kept for as long as the server says, less a second, and not beyond the bound', async (t) => {
  for (const [header, keptMs] of [
    ['Keep-Alive: timeout=5\r\n', 4000],
    ['Keep-Alive: timeout=600\r\n', providerKeptMsMax],
    ['', providerKeptMsMax],
  ] as const) {
    const clock = new ManualClock();
    const server = await raw(t, ({ socket }) => void socket.write(answerOf('hi', header)));
    const http = client(t, {}, { clock });
    await post(http, server.baseUrl).settled;
    clock.advance(keptMs - 1);
    await post(http, server.baseUrl).settled;
    t.equal(server.sockets.length, 1, 'used again');
    t.equal(clock.timers, 1, 'one timer for all that is kept');
    clock.advance(keptMs);
    await closed(server.sockets[0]!);
    t.equal(clock.timers, 0);
    await post(http, server.baseUrl).settled;
    t.equal(server.sockets.length, 2);
  }
});

t.test('each kept connection has its own time, whichever comes first', async (t) => {
  for (const seconds of [
    [20, 10],
    [10, 20],
  ]) {
    const clock = new ManualClock();
    const server = await raw(t, () => {});
    const http = client(t, {}, { clock });
    const both = [post(http, server.baseUrl), post(http, server.baseUrl)];
    await server.reached(2);
    for (const [index, second] of seconds.entries()) {
      server.sockets[index]!.write(answerOf('hi', `Keep-Alive: timeout=${second}\r\n`));
      await both[index]!.settled;
    }
    clock.advance(9000);
    await closed(server.sockets[seconds.indexOf(10)]!);
    const long = server.sockets[seconds.indexOf(20)]!;
    t.equal(long.closed, false);
    clock.advance(10_000);
    await closed(long);
  }
});

t.test('connections kept for one origin are bounded', async (t) => {
  const server = await raw(t, () => {});
  const http = client(t);
  const extra = 3;
  const all = Array.from({ length: providerKeptMax + extra }, () => post(http, server.baseUrl));
  await server.reached(all.length);
  server.arrivals.forEach(answering);
  for (const told of all) t.equal(await told.settled, 'ended');
  const open = () => server.sockets.filter((socket) => !socket.closed);
  while (open().length > providerKeptMax) await Promise.race(open().map(closed));
  const again = Array.from({ length: providerKeptMax }, () => post(http, server.baseUrl));
  server.answer = answering;
  for (const told of again) t.equal(await told.settled, 'ended');
  t.equal(server.sockets.length, all.length, 'and those are used again');
});

t.test('a kept connection that closes, or speaks out of turn, is dropped at once', async (t) => {
  const ways: [string, (server: Raw) => void][] = [
    ['closed', ({ sockets }) => sockets[0]!.end()],
    ['reset', ({ sockets }) => sockets[0]!.resetAndDestroy()],
    ['a whole answer', ({ sockets }) => sockets[0]!.write(answerOf('to another request'))],
    ['a line end', ({ sockets }) => sockets[0]!.write('\r\n')],
  ];
  for (const [name, act] of ways) {
    const server = await raw(t, answering);
    const http = client(t);
    await post(http, server.baseUrl).settled;
    act(server);
    await closed(server.sockets[0]!);
    await new Promise((resolve) => setImmediate(resolve));
    const told = post(http, server.baseUrl);
    t.equal(await told.settled, 'ended', name);
    t.equal(told.body, 'connection 1', name);
    t.equal(server.arrivals.length, 2, `${name}: nothing was sent on the old one`);
  }
});

/** A server that has kept a connection and breaks it when the next request comes; the answer to those after that. */
const breaking =
  (way: (arrival: Parameters<Raw['answer']>[0]) => void): Raw['answer'] =>
  (arrival) =>
    arrival.request === 1 ? way(arrival) : answering(arrival);

t.test('a request on a kept connection that breaks before a byte came is sent once more, on a new one', async (t) => {
  const ways: [string, Raw['answer']][] = [
    ['closed', ({ socket }) => socket.destroy()],
    ['half closed', ({ socket }) => void socket.end()],
    ['reset', ({ socket }) => void socket.resetAndDestroy()],
  ];
  for (const [name, way] of ways) {
    const server = await raw(t, breaking(way));
    const http = client(t);
    await post(http, server.baseUrl).settled;
    const told = post(http, server.baseUrl, { body: '{"a":1}' });
    t.equal(await told.settled, 'ended', name);
    t.equal(told.body, 'connection 1', name);
    t.same(
      server.arrivals.map(({ connection }) => connection),
      [0, 0, 1],
      name,
    );
    t.equal(server.arrivals[2]!.text, server.arrivals[1]!.text, name);
    t.same(told.endings, ['ended'], name);
  }
});

t.test('a request is sent twice at most', async (t) => {
  const server = await raw(t, (arrival) => (arrival.request === 0 ? answering(arrival) : arrival.socket.destroy()));
  const http = client(t);
  await post(http, server.baseUrl).settled;
  t.equal(await post(http, server.baseUrl).settled, 'cut');
  t.equal(server.arrivals.length, 3);
});

t.test('a repeated request goes out on a new connection', async (t) => {
  const server = await raw(t, () => {});
  const http = client(t);
  const both = [post(http, server.baseUrl), post(http, server.baseUrl)];
  await server.reached(2);
  server.arrivals.forEach(answering);
  await Promise.all(both.map(({ settled }) => settled));
  server.answer = ({ socket, connection }) =>
    connection === 2 ? void socket.write(answerOf('new')) : socket.destroy();
  const told = post(http, server.baseUrl);
  t.equal(await told.settled, 'ended');
  t.equal(told.body, 'new');
});

t.test('a request that may have run is sent once', async (t) => {
  const cases: [string, Raw['answer']][] = [
    ['a byte had come', ({ socket }) => socket.write('H', () => socket.destroy())],
    [
      'an interim answer had come',
      ({ socket }) => socket.write('HTTP/1.1 100 Continue\r\n\r\n', () => socket.destroy()),
    ],
    ['a head had come', ({ socket }) => socket.write(chunked, () => socket.destroy())],
    ['what came was malformed', ({ socket }) => socket.write('?\r\n')],
  ];
  for (const [name, way] of cases) {
    const server = await raw(t, breaking(way));
    const http = client(t);
    await post(http, server.baseUrl).settled;
    t.equal(await post(http, server.baseUrl).settled, name.endsWith('malformed') ? 'malformed' : 'cut', name);
    t.equal(server.arrivals.length, 2, name);
  }
  const fresh = await raw(t, ({ socket }) => socket.destroy());
  t.equal(await post(client(t), fresh.baseUrl).settled, 'cut', 'on a new connection');
  t.equal(fresh.arrivals.length, 1);
});

t.test('a request that the server had for longer than a packet takes is not sent again', async (t) => {
  for (const [waitedMs, requests] of [
    [providerRepeatMsMax, 3],
    [providerRepeatMsMax + 1, 2],
  ] as const) {
    const clock = new ManualClock();
    const server = await raw(
      t,
      breaking(() => {}),
    );
    const http = client(t, {}, { clock });
    await post(http, server.baseUrl).settled;
    const told = post(http, server.baseUrl);
    await server.reached(2);
    clock.advance(waitedMs);
    server.sockets[0]!.destroy();
    t.equal(await told.settled, requests === 3 ? 'ended' : 'cut');
    t.equal(server.arrivals.length, requests);
  }
});

t.test('an abandoned request is sent once', async (t) => {
  const server = await raw(
    t,
    breaking(() => {}),
  );
  const http = client(t);
  await post(http, server.baseUrl).settled;
  const told = post(http, server.baseUrl);
  await server.reached(2);
  told.call.cancel();
  await closed(server.sockets[0]!);
  t.equal(await post(http, server.baseUrl).settled, 'ended');
  t.equal(server.arrivals.length, 3);
  t.same(told.endings, []);
});

t.test('a call that is over does not touch the connection that went to another', async (t) => {
  const server = await raw(t, answering);
  const http = client(t);
  const first = post(http, server.baseUrl);
  await first.settled;
  server.answer = () => {};
  const second = post(http, server.baseUrl);
  await server.reached(2);
  first.call.cancel();
  first.call.release();
  answering(server.arrivals[1]!);
  t.equal(await second.settled, 'ended');
  t.equal(second.body, 'connection 0');
});

t.test('a released answer is drained, and its connection reused', async (t) => {
  const server = await raw(t, ({ socket }) => void socket.write(`${chunked}2\r\nhi\r\n`));
  const http = client(t);
  const told = post(http, server.baseUrl);
  await told.has('hi');
  told.call.release();
  server.sockets[0]!.write('4\r\nmore\r\n0\r\n\r\n');
  server.answer = answering;
  // The rest may arrive after the next request has opened another connection.
  await post(http, server.baseUrl).settled;
  const both = [post(http, server.baseUrl), post(http, server.baseUrl)];
  await Promise.all(both.map(({ settled }) => settled));
  t.same(both.map(({ body }) => body).filter((body) => body === 'connection 0').length, 1);
  t.equal(told.body, 'hi');
  t.same(told.endings, []);
});

t.test('closing takes kept connections, busy ones and those that connect', async (t) => {
  const server = await raw(t, answering);
  const clock = new ManualClock();
  const http = client(t, {}, { clock, lookup: () => {} });
  await post(http, server.baseUrl).settled;
  server.answer = () => {};
  const [busy, other] = [post(http, server.baseUrl), post(http, server.baseUrl)];
  await server.reached(3);
  answering(server.arrivals[1]!);
  await busy.settled;
  const connecting = post(http, `http://silent.test:${server.port}/`);
  await Promise.resolve();
  await Promise.all([http.close(), http.close()]);
  t.same([busy.endings, other.endings, connecting.endings], [['ended'], ['connect'], ['connect']]);
  await Promise.all(server.sockets.map(closed));
  t.equal(clock.timers, 0);
  t.equal(await post(http, server.baseUrl).settled, 'connect');
});
