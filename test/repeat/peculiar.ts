/**
 * Special ways to repeat a request: unknown names, answers that are never read, keys and bodies that are new each time.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { requestOf, requests, sentOf } from './requests.ts';
import type { Row, Sent } from './rows.ts';
import { bytesOf, eachOf, Statuses, type Ask } from './sender.ts';
import { refusing, type RepeatWorld } from './world.ts';

const json = { 'content-type': 'application/json' };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const unknownKey = (time: number): string => `ak_${String(time).padStart(26, '0')}_${'s'.repeat(32)}`;
const connections = 20;
const inOneWrite = 50;

/**
 * Writes requests on connections that are never read. Where the server closes one, another is opened, a few times; the
 * rest of the requests waits for a reader.
 */
async function unread({ port }: RepeatWorld, times: number, asked: Ask, held: () => Promise<void>): Promise<Sent> {
  const each = Math.ceil(times / connections);
  const request = bytesOf(asked);
  const bytes = Buffer.from(request.repeat(inOneWrite));
  let opened = 0;
  let passed = 0;
  const taken = (socket: Socket): number => socket.bytesWritten - socket.writableLength;
  const open = (): Socket => {
    opened++;
    const socket = connect(port, '127.0.0.1')
      .on('error', () => {})
      .pause();
    socket.on('close', () => (passed += taken(socket)));
    for (let left = each; left > 0; left -= inOneWrite) socket.write(left < inOneWrite ? request.repeat(left) : bytes);
    return socket;
  };
  let sockets = Array.from({ length: connections }, open);
  const isMoving = ({ destroyed, writableLength }: Socket): boolean => destroyed || writableLength > 0;
  const sum = (): number => sockets.reduce((all, socket) => all + (socket.destroyed ? 0 : taken(socket)), passed);
  // Only the system reports what the server reads: it is polled until it moves no more.
  for (let before = -1, same = 0; same < 10 && sockets.some(isMoving); before = sum()) {
    same = sum() === before ? same + 1 : 0;
    await after(50);
    if (opened < 10 * connections) sockets = sockets.map((socket) => (socket.destroyed ? open() : socket));
  }
  await held();
  const written = Math.floor(sum() / Buffer.byteLength(request));
  for (const socket of sockets) socket.destroy();
  return {
    sent: each * opened,
    came: `${written} written on ${opened} connections`,
    missed: written > 0 ? null : 'none was written',
  };
}

async function turnsInFlight({ house }: RepeatWorld): Promise<number> {
  const metrics = await (await fetch(`${house.url}/metrics`)).text();
  return Number(/^parley_turns_in_flight (\d+)/m.exec(metrics)?.[1] ?? 0);
}

const row = (name: string, by: Row['by'], send: Row['send']): Row => ({ name, by, covers: null, send });

const unreadRow = (name: string, by: Row['by'], asked: (world: RepeatWorld) => Ask): Row =>
  row(`unread: ${name}`, by, (world, times, held) => unread(world, times, asked(world), held));

const repeated = (name: string, by: Row['by'], status: number, make: (world: RepeatWorld, time: number) => Ask): Row =>
  row(name, by, (world, times) => requests(world, times, (time) => make(world, time), status));

const posted = (path: string, token: string, body: object | string, idempotencyKey?: string): Ask => ({
  method: 'POST',
  path,
  headers: { ...json, ...bearer(token), ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }) },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** Names of 250 KB in all, which must be sorted when two bodies are compared. */
const manyNames = JSON.stringify({
  message: 'Hello',
  surplus: Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`name${at}`, 'value'])),
});
/** 240 KB that a session takes: its visitor's fields, in the longest form that JSON has for a character. */
const allFields = (assistantId: string): string =>
  `{"assistant_id":"${assistantId}","visitor":{${Array.from({ length: 20 }, (_, at) => `"field${at}":"${'\\ud83d\\ude00'.repeat(990)}"`).join()}}}`;

/** Large bodies: a hundredth of the others, and more than the issue of a hundred connections. */
const large = (name: string, status: number, make: (world: RepeatWorld, time: number) => Ask): Row =>
  row(`250 KB with an Idempotency-Key: ${name}`, 'key', (world, times) =>
    requests(world, Math.ceil(times / 50), (time) => make(world, time), status),
  );

const bodiesAtOnce = 16;

/** Sends large bodies, a few at a time: all that are sent together end at the same moment. */
const atOnce = (name: string, status: number, make: (world: RepeatWorld, time: number) => Ask): Row =>
  row(`${bodiesAtOnce} bodies of 250 KB at a time: ${name}`, 'key', async (world, times) => {
    const statuses = new Statuses();
    const rounds = Math.ceil(times / 200 / bodiesAtOnce);
    for (let round = 0; round < rounds; round++) {
      const asked = Array.from({ length: bodiesAtOnce }, (_, at) =>
        Buffer.from(bytesOf(make(world, round * bodiesAtOnce + at))),
      );
      const sockets = asked.map(() =>
        connect({ port: world.port, host: '127.0.0.1', noDelay: true }).on('error', () => {}),
      );
      const write = (at: number, bytes: Buffer): Promise<void> =>
        new Promise((resolve) => void sockets[at]!.write(bytes, () => resolve()));
      await Promise.all(asked.map((bytes, at) => write(at, bytes.subarray(0, -1))));
      // The bytes that another connection sent before have reached the server by the second answer.
      for (let look = 0; look < 2; look++) await fetch(`${world.house.url}/healthz`).then((answer) => answer.text());
      const answers = sockets.map((socket) =>
        once(socket, 'data').then(
          ([bytes]) => Number((bytes as Buffer).toString('latin1', 9, 12)),
          () => 0,
        ),
      );
      for (const at of sockets.keys()) void write(at, asked[at]!.subarray(-1));
      for (const answer of answers) statuses.add(await answer);
      for (const socket of sockets) socket.destroy();
    }
    return sentOf(statuses, rounds * bodiesAtOnce, status);
  });

/** 250 KB of brackets. */
const nested = `{"message":"Hello","surplus":${'['.repeat(120_000)}${']'.repeat(120_000)}}`;

/** A visitor comes, opens a session and says something. */
async function visits({ port }: RepeatWorld, times: number, slugs: readonly string[], wanted: number): Promise<Sent> {
  const statuses = new Statuses();
  await eachOf(port, times, async (ask, time) => {
    const path = `/p/${slugs[time % slugs.length]}`;
    const { text } = await ask({ method: 'POST', path: `${path}/visitors`, headers: json, body: '{"channel":"link"}' });
    const { token } = JSON.parse(text) as { token: string };
    const opened = await ask(posted(`${path}/sessions`, token, '{}'));
    const said =
      opened.status === 201
        ? await ask(
            posted(`${path}/sessions/${(JSON.parse(opened.text) as { id: string }).id}/chat`, token, {
              message: 'Hello',
            }),
          )
        : opened;
    statuses.add(said.status);
  });
  return sentOf(statuses, times, wanted);
}

export const peculiarRows: readonly Row[] = [
  ...['/openapi.json', '/metrics', '/healthz', '/docs', '/widget.js', '/nothing', '/p/repeat'].map((path) =>
    unreadRow(path, 'nobody', () => ({ path })),
  ),
  unreadRow('HEAD /openapi.json', 'nobody', () => ({ method: 'HEAD', path: '/openapi.json' })),
  unreadRow('OPTIONS', 'nobody', () => ({
    method: 'OPTIONS',
    path: '/p/repeat/about',
    headers: { origin: 'https://shop.example', 'access-control-request-method': 'GET' },
  })),
  unreadRow('refused upgrades', 'nobody', () => ({
    path: '/transcription?token=none',
    headers: {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    },
  })),
  unreadRow('/assistants', 'key', ({ house }) => ({ path: '/assistants', headers: bearer(house.key) })),
  unreadRow('POST /sessions', 'key', ({ house, ids }) =>
    posted('/sessions', house.key, { assistant_id: ids.assistants }),
  ),
  unreadRow('events of a turn', 'key', ({ house, ids }) => ({
    path: `/sessions/${ids.sessions}/turns/${ids.turns}/events`,
    headers: bearer(house.key),
  })),
  unreadRow('speech', 'key', ({ house, speaker }) =>
    posted('/speech', house.key, {
      assistant_id: speaker,
      text: 'Hello. And more. And the rest of it.',
      format: 'pcm',
    }),
  ),
  row('unread: long replies', 'key', async (world, times, held) => {
    const { house, talkative } = world;
    const sessions = await Promise.all(
      Array.from({ length: connections }, async () => (await house.session(talkative)).id as string),
    );
    const sockets = sessions.map((id) => {
      const socket = connect(world.port, '127.0.0.1')
        .on('error', () => {})
        .pause();
      socket.write(
        bytesOf(posted(`/sessions/${id}/chat`, house.key, { message: 'Hello' })).repeat(Math.ceil(times / connections)),
      );
      return socket;
    });
    // Waits until no turn runs any more, or as long as slow readers may hold one up.
    for (let looks = 0; looks < 40 && (looks === 0 || (await turnsInFlight(world)) > 0); looks++) await after(50);
    await held();
    for (const socket of sockets) socket.destroy();
    return { sent: times, came: 'unread', missed: null };
  }),
  repeated('unknown slugs', 'nobody', 404, (_, time) => ({ path: `/p/nobody-${time}/about` })),
  repeated('unknown slugs that none can be', 'nobody', 404, (_, time) => ({
    path: `/p/${'X'.repeat(4_000)}${time}/about`,
  })),
  repeated('unknown keys', 'nobody', 401, (_, time) => ({ path: '/assistants', headers: bearer(unknownKey(time)) })),
  row('unknown keys of one address', 'nobody', (world, times) =>
    requests(
      world,
      Math.max(times, 700),
      (time) => ({ path: '/assistants', headers: bearer(unknownKey(time)) }),
      429,
      false,
    ),
  ),
  repeated('unknown paths', 'nobody', 404, (_, time) => ({ path: `/nothing/${time}` })),
  repeated('unknown methods', 'nobody', 404, (_, time) => ({
    method: ['PROPFIND', 'PUT', 'LOCK'][time % 3]!,
    path: `/assistants/${time}`,
  })),
  repeated('unknown tokens of visitors', 'nobody', 401, (_, time) => ({
    path: '/p/repeat/sessions/ses_1',
    headers: bearer(`vt_${time}`),
  })),
  repeated('unknown tokens of sockets', 'nobody', 401, (_, time) => ({
    path: `/transcription?token=${time}`,
    headers: {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    },
  })),
  repeated('unknown cookies', 'nobody', 401, (_, time) => ({
    path: '/console/api/me',
    headers: { cookie: `__Host-parley=${time}`, 'sec-fetch-site': 'same-origin' },
  })),
  repeated('unknown sessions', 'key', 404, ({ house }, time) => ({
    path: `/sessions/ses_${time}`,
    headers: bearer(house.key),
  })),
  repeated('unknown assistants', 'key', 404, ({ house }, time) => ({
    path: `/assistants/asst_${time}`,
    headers: bearer(house.key),
  })),
  repeated('another Idempotency-Key each time', 'key', 201, (world, time) => {
    const asked = requestOf(
      'key',
      { method: 'POST', path: '/sessions' },
      { assistant_id: world.ids.assistants },
      world,
      time,
    );
    return { ...asked, headers: { ...asked.headers, 'idempotency-key': `k${time}` } };
  }),
  large('an unknown session', 404, ({ house }, time) =>
    posted(`/sessions/ses_${time}/chat`, house.key, manyNames, `b${time}`),
  ),
  large('the same session', 200, ({ house, ids }, time) =>
    posted(`/sessions/${ids.sessions}/chat`, house.key, manyNames, `c${time}`),
  ),
  large('a new session', 201, ({ house, asking }, time) =>
    posted('/sessions', house.key, allFields(asking), `d${time}`),
  ),
  large('the same key', 422, ({ house, ids }, time) =>
    posted('/sessions', house.key, manyNames.replace('{', `{"assistant_id":"${ids.assistants}","time":${time},`), 'e'),
  ),
  atOnce('names', 404, ({ house }) => posted('/sessions/ses_none/chat', house.key, manyNames)),
  atOnce('brackets', 404, ({ house }) => posted('/sessions/ses_none/chat', house.key, nested)),
  atOnce('brackets under a key that was used', 422, ({ house, ids }, time) =>
    posted('/sessions', house.key, nested.replace('{', `{"assistant_id":"${ids.assistants}","time":${time},`), 'f'),
  ),
  // Each takes three requests.
  row('refused visitors', 'visitor', (world, times) =>
    visits(
      world,
      Math.ceil(times * 0.12),
      refusing.map(({ slug }) => slug),
      429,
    ),
  ),
  row('turns in sessions of their own', 'key', async ({ house, ids, port }, times) => {
    const statuses = new Statuses();
    const turns = Math.ceil(times * 0.12);
    await eachOf(port, turns, async (ask) => {
      const { text } = await ask(posted('/sessions', house.key, { assistant_id: ids.assistants }));
      statuses.add(
        (
          await ask(
            posted(`/sessions/${(JSON.parse(text) as { id: string }).id}/chat`, house.key, { message: 'Hello' }),
          )
        ).status,
      );
    });
    return sentOf(statuses, turns, 200);
  }),
  row('admitted visitors', 'visitor', (world, times) => visits(world, Math.ceil(times * 0.12), ['repeat'], 200)),
];
