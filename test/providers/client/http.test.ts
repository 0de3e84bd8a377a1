import { EventEmitter, once } from 'node:events';
import t from 'tap';
import type { ProviderHttp, ProviderListener } from '../../../src/providers/client.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import { ask, client, closed, delta, done, eventStream, ManualClock, provider } from '../model/provider.ts';
import type { Hooks, Provider } from '../model/provider.ts';
import { answerOf, post, raw } from './raw.ts';

const serving = async (t: Hooks, answer: Provider['answer']): Promise<Provider> => {
  const server = await provider(answer);
  t.teardown(server.close);
  return server;
};

const answering: Provider['answer'] = (response) =>
  response.writeHead(200, eventStream).end(delta('ok', 'stop') + done);

t.test('redirects are reported as failures', async (t) => {
  const elsewhere = await serving(t, answering);
  const statuses = {
    credential: [401, 403],
    rate_limit: [429],
    redirect: [301, 302, 303, 307, 308],
    status: [402, 404, 409, 418, 500, 502, 503, 529],
  };
  const server = await serving(t, () => {});
  const model = openaiModel(client(t));
  for (const [failure, codes] of Object.entries(statuses)) {
    for (const code of codes) {
      server.answer = (response) =>
        response.writeHead(code, { location: `${elsewhere.baseUrl}/chat/completions` }).end('{"error":{}}');
      const heard = ask(model, { baseUrl: server.baseUrl });
      t.equal(await heard.settled, failure, String(code));
      t.same(heard.endings, [failure]);
    }
  }
  t.equal(elsewhere.sockets.length, 0);
});

t.test('connections are kept after an answer and after a refusal', async (t) => {
  const refusing: Provider['answer'] = (response) => response.writeHead(429, { 'content-length': 2 }).end('{}');
  for (const [answer, ending] of [
    [answering, 'end'],
    [refusing, 'rate_limit'],
  ] as const) {
    const server = await serving(t, answer);
    const model = openaiModel(client(t));
    for (let turn = 0; turn < 20; turn++) t.equal(await ask(model, { baseUrl: server.baseUrl }).settled, ending);
    // A connection is free only a moment after its answer, so a call made at once may open another.
    t.ok(server.sockets.length < 5, `${server.sockets.length} connections`);
  }
});

t.test('a refusal with an endless body loses its connection', async (t) => {
  const server = await serving(t, (response) => {
    response.writeHead(500);
    const flood = (): void => {
      while (!response.destroyed && response.write('x'.repeat(1024)));
    };
    response.on('drain', flood);
    flood();
  });
  const heard = ask(openaiModel(client(t, { errorBytesMax: 4096 })), { baseUrl: server.baseUrl });
  t.equal(await heard.settled, 'status');
  await closed(server.sockets[0]!);
  t.same(heard.endings, ['status']);
});

t.test('an answer that is over but whose connection stays busy is let go after the grace', async (t) => {
  const server = await serving(t, (response) => response.writeHead(200, eventStream).write(delta('ok', 'stop') + done));
  const heard = ask(openaiModel(client(t, { graceMs: 50 })), { baseUrl: server.baseUrl });
  t.equal(await heard.settled, 'end');
  await closed(server.sockets[0]!);
  t.same(heard.endings, ['end']);
});

/** Returns the client, and `came`, which resolves once its listener got the head of a response, or data. */
function telling(http: ProviderHttp): { http: ProviderHttp; came(what: 'head' | 'data'): Promise<unknown> } {
  const told = new EventEmitter();
  const post: ProviderHttp['post'] = (asked, listener, within) => {
    const watched: ProviderListener = {
      head: (...head) => (listener.head(...head), void told.emit('head')),
      data: (chunk) => (listener.data(chunk), void told.emit('data')),
      ended: () => listener.ended(),
      failed: (...failure) => listener.failed(...failure),
    };
    return http.post(asked, watched, within);
  };
  return { http: { ...http, post }, came: (what) => once(told, what) };
}

t.test('a silent provider is given up at each stage', async (t) => {
  const role = 'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n';
  const cases: [string, Provider['answer'], 'head' | 'data' | null, number, string][] = [
    ['no answer at all', () => {}, null, 100, 'first_output_timeout'],
    [
      'a head and no more',
      (response) => response.writeHead(200, eventStream).flushHeaders(),
      'head',
      100,
      'first_output_timeout',
    ],
    [
      'a role and no text',
      (response) => response.writeHead(200, eventStream).write(role),
      'data',
      100,
      'first_output_timeout',
    ],
    [
      'silence midway',
      (response) => response.writeHead(200, eventStream).write(delta('some')),
      'data',
      100,
      'idle_timeout',
    ],
    [
      'silence after the finish',
      (response) => response.writeHead(200, eventStream).write(delta('some', 'stop')),
      'data',
      50,
      'end',
    ],
  ];
  for (const [name, answer, last, waitMs, ending] of cases) {
    const clock = new ManualClock();
    const server = await serving(t, answer);
    const { http, came } = telling(client(t, { silenceMs: 100, graceMs: 50 }, { clock }));
    const coming = last === null ? server.reached(1) : came(last);
    const heard = ask(openaiModel(http), { baseUrl: server.baseUrl });
    await coming;
    clock.advance(waitMs - 1);
    t.same(heard.endings, [], `${name}: not yet`);
    clock.advance(1);
    t.same(heard.endings, [ending], name);
    await closed(server.sockets[0]!);
    t.same(heard.endings, [ending], `${name}: and no other`);
  }
});

t.test('each piece begins the idle wait anew', async (t) => {
  const clock = new ManualClock();
  let send: (text: string) => void = () => {};
  const server = await serving(t, (response) => {
    response.writeHead(200, eventStream);
    send = (text) => void response.write(text);
    send(delta('1'));
  });
  const heard = ask(openaiModel(client(t, { silenceMs: 100 }, { clock })), { baseUrl: server.baseUrl });
  await heard.hears('1');
  for (const piece of ['2', '3', '4']) {
    clock.advance(99);
    send(delta(piece));
    await heard.hears(piece);
  }
  t.same(heard.endings, []);
  clock.advance(99);
  t.same(heard.endings, [], 'not yet');
  clock.advance(1);
  t.same(heard.endings, ['idle_timeout']);
  t.equal(clock.timers, 0);
});

t.test('a name server or a host that never answers', async (t) => {
  const clock = new ManualClock();
  let asked: () => void = () => {};
  const lookedUp = new Promise<void>((resolve) => (asked = resolve));
  const heard = ask(openaiModel(client(t, { connectMs: 100 }, { clock, lookup: () => asked() })), {
    baseUrl: 'http://silent.test/v1',
  });
  await lookedUp;
  clock.advance(100);
  t.equal(await heard.settled, 'connect');
  t.equal(clock.timers, 0);
});

t.test('a connection that breaks', async (t) => {
  const cases: [string, Provider['answer'], string, string][] = [
    ['before the head', (response) => response.socket!.destroy(), 'cut', ''],
    [
      'midway',
      (response) => response.writeHead(200, eventStream).write(delta('some'), () => response.socket!.destroy()),
      'cut',
      'some',
    ],
    [
      'by a reset',
      (response) => response.writeHead(200, eventStream).write(delta('some'), () => response.socket!.resetAndDestroy()),
      'cut',
      '',
    ],
    [
      'after the finish',
      (response) => response.writeHead(200, eventStream).write(delta('all', 'stop'), () => response.socket!.destroy()),
      'end',
      'all',
    ],
    [
      'within JSON',
      (response) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-length': 99 })
          .write('{"a":', () => response.socket!.destroy()),
      'cut',
      '',
    ],
    ['what is no HTTP', (response) => response.socket!.end('SSH-2.0-x\r\n\r\n'), 'malformed', ''],
  ];
  for (const [name, answer, ending, said] of cases) {
    const server = await serving(t, answer);
    const heard = ask(openaiModel(client(t)), { baseUrl: server.baseUrl });
    t.equal(await heard.settled, ending, name);
    if (name !== 'by a reset') t.equal(heard.said, said, name);
    t.same(heard.endings, [ending], name);
  }
});

t.test('cancelling closes the connection to the provider, whatever it is doing', async (t) => {
  const begun: [string, Provider['answer']][] = [
    ['before the head', () => {}],
    ['midway', (response) => response.writeHead(200, eventStream).write(delta('some'))],
  ];
  for (const [name, answer] of begun) {
    const server = await serving(t, answer);
    const heard = ask(openaiModel(client(t)), { baseUrl: server.baseUrl });
    await (name === 'midway' ? heard.hears('some') : server.reached(1));
    heard.asked.cancel();
    await closed(server.sockets[0]!);
    heard.asked.cancel();
    t.same(heard.endings, [], name);
  }
});

t.test('a request is written once it is permitted, or never', async (t) => {
  const server = await raw(t, ({ socket }) => void socket.write(answerOf('hi')));
  const http = client(t);
  const asking = () => {
    let answer!: (isPermitted: boolean | Promise<boolean>) => void;
    const permission = new Promise<boolean>((resolve) => (answer = resolve));
    let reach!: () => void;
    const asked = new Promise<void>((resolve) => (reach = resolve));
    const told = post(http, server.baseUrl, { once: true, mayWrite: () => (reach(), permission) });
    return { told, asked, answer };
  };
  const first = asking();
  await first.asked;
  t.equal(server.arrivals.length, 0, 'it waits on an open connection');
  first.answer(true);
  t.equal(await first.told.settled, 'ended');
  for (const refuses of [() => false, () => Promise.reject(new Error('away'))]) {
    const refused = asking();
    await refused.asked;
    refused.answer(refuses());
    t.equal(await refused.told.settled, 'connect', 'as one that could not connect');
  }
  const cancelled = asking();
  await cancelled.asked;
  cancelled.told.call.cancel();
  cancelled.answer(true);
  const lost = asking();
  await lost.asked;
  while (server.sockets.length < 5) await new Promise(setImmediate);
  server.sockets[4]!.destroy();
  t.equal(await lost.told.settled, 'connect', 'the server has closed the connection meanwhile');
  lost.answer(true);
  await Promise.all(server.sockets.slice(1).map((socket) => closed(socket)));
  t.equal(server.arrivals.length, 1, 'no other request was written');
});

t.test('cancelling from within a piece: the rest of the same read is not heard', async (t) => {
  const server = await serving(t, (response) =>
    response.writeHead(200, eventStream).end(delta('1') + delta('2') + delta('3', 'stop') + done),
  );
  const heard = ask(openaiModel(client(t)), { baseUrl: server.baseUrl });
  heard.text = (piece) => {
    heard.pieces.push(piece);
    heard.asked.cancel();
  };
  await server.reached(1);
  await closed(server.sockets[0]!);
  t.same(heard.pieces, ['1']);
  t.same(heard.endings, []);
});

t.test('a hundred answers at once', async (t) => {
  const server = await serving(t, (response, { body }) =>
    response.writeHead(200, eventStream).end(delta(body.model) + delta('.', 'stop') + done),
  );
  const model = openaiModel(client(t));
  const all = Array.from({ length: 100 }, (_, index) => ask(model, { baseUrl: server.baseUrl, name: `m${index}` }));
  for (const [index, heard] of all.entries()) {
    t.equal(await heard.settled, 'end');
    t.equal(heard.said, `m${index}.`);
  }
});

t.test('closing the client fails what is in flight and what comes after', async (t) => {
  const server = await serving(t, () => {});
  const http = client(t);
  const model = openaiModel(http);
  const heard = ask(model, { baseUrl: server.baseUrl });
  await server.reached(1);
  await http.close();
  t.equal(await heard.settled, 'connect');
  t.equal(await ask(model, { baseUrl: server.baseUrl }).settled, 'connect');
});

t.test('closing the client while it connects leaves nothing behind', async (t) => {
  const clock = new ManualClock();
  let asked: () => void = () => {};
  const lookedUp = new Promise<void>((resolve) => (asked = resolve));
  const http = client(t, {}, { clock, lookup: () => asked() });
  const heard = ask(openaiModel(http), { baseUrl: 'http://silent.test/v1' });
  await lookedUp;
  await http.close();
  t.equal(await heard.settled, 'connect');
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(clock.timers, 0);
});

/** Resolves with how a look-up ended. */
const lookedUp = (
  http: ReturnType<typeof client>,
  baseUrl: string,
  headers: Record<string, string> = {},
): Promise<string> =>
  new Promise((resolve) => {
    const call = http.get(
      { baseUrl, path: '/models', headers },
      { head: () => (call.release(), resolve('head')), data() {}, ended() {}, failed: resolve },
    );
  });

t.test('a look-up has no body, and the guards and bounds of a post', async (t) => {
  const server = await serving(t, (response) => response.writeHead(200, { 'content-length': 2 }).end('{}'));
  const http = client(t);
  for (let time = 0; time < 3; time++)
    t.equal(await lookedUp(http, server.baseUrl, { accept: 'application/json' }), 'head');
  t.match(server.requests[0], {
    method: 'GET',
    path: '/v1/models',
    body: null,
    headers: { accept: 'application/json', 'content-length': undefined },
  });
  await ask(openaiModel(http), { baseUrl: server.baseUrl }).settled;
  t.equal(server.requests.at(-1)!.method, 'POST');
  t.equal(await lookedUp(http, server.baseUrl, { 'x-key': 'a\nb' }), 'credential');
  t.equal(await lookedUp(client(t, {}, { allowPrivate: false }), server.baseUrl), 'address');
});

t.test('a look-up waits ten seconds for a head, where a reply may take a minute', async (t) => {
  const clock = new ManualClock();
  const server = await serving(t, () => {});
  const http = client(t, {}, { clock });
  const ended = lookedUp(http, server.baseUrl);
  await server.reached(1);
  let over = false;
  void ended.then(() => (over = true));
  clock.advance(9_999);
  await new Promise((resolve) => setImmediate(resolve));
  t.notOk(over);
  clock.advance(1);
  t.equal(await ended, 'first_output_timeout');
});
