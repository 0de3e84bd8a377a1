/** Faults between the doctor and Redis: the network, TLS, passwords, rules. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { Scene } from '../../store/fixtures.ts';
import { appendOnly, whyNoRedis } from '../../store/redis-server.ts';
import { secureRedis } from '../../store/redis-tls.ts';
import { whyNoTls } from '../../tls.ts';
import { diagnose, type Diagnosed } from './diagnosis.ts';
import { examined, redis, stored } from './redis-support.ts';

const skip = whyNoRedis() ?? false;

/** Returns the words of a `redis-cli …` in an advice. */
const commandIn = (advice = ''): string[] => /redis-cli ([^,]*)/.exec(advice)![1]!.replaceAll("'", '').split(' ');

t.test('a client whose login is refused', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  await server.command('ACL', 'SETUSER', 'ada', 'on', '>pass', '~*', '&*', '+@all');
  const as = (user: string): Promise<Diagnosed> =>
    diagnose({ PARLEY_STORE: `redis://${user}127.0.0.1:${server.port}` });
  const right = await as('ada:pass@');
  t.same(right.unwell, []);
  t.equal(right.store, `redis://…@127.0.0.1:${server.port}`);
  const wrong = await as('ada:wrong@');
  t.same(wrong.unwell, ['fail reachable']);
  t.match(wrong.of('reachable'), { found: /refuses the user name or password/, advice: /PARLEY_STORE/ });
  await server.command('CONFIG', 'SET', 'requirepass', 'pass');
  t.match((await as('')).of('reachable'), { found: /requires a password, and PARLEY_STORE has none/ });
  t.notMatch(JSON.stringify([right, wrong]), 'wrong@');
});

t.test(
  'a client whose access rules allow too little is told the rule that lets the store work',
  { skip },
  async (t) => {
    const server = await redis(t, ...appendOnly);
    await server.command('ACL', 'SETUSER', 'ada', 'on', '>pass', '~parley:*', '+@read', '+eval');
    const url = `redis://ada:pass@127.0.0.1:${server.port}`;
    const refused = await diagnose({ PARLEY_STORE: url });
    t.match(refused.of('permissions'), { status: 'fail', found: /ada may not do evalsha, .*zadd/ });
    t.match(refused.of('info'), { status: 'warn', advice: /ACL SETUSER ada \+info/ });
    await server.command(...commandIn(refused.of('permissions').advice));
    const allowed = await diagnose({ PARLEY_STORE: url });
    t.same(allowed.unwell, ['warn info', 'warn scripts']);
    await server.command(...commandIn(allowed.of('scripts').advice));
    await server.command(...commandIn(allowed.of('info').advice));
    t.same((await diagnose({ PARLEY_STORE: url })).unwell, []);

    await stored(url, async (store) => {
      const unwatch = await store.watch(() => {});
      const scene = new Scene(store, Date.now());
      const turn = await scene.streaming();
      await turn.append(0, 'abc');
      t.equal((await store.turns.finish(turn.finishStep())).outcome, 'finished');
      await store.limits.takeBudgets(scene.workspaceId, 'key', [{ budget: 'requests', ceiling: 3 }], scene.nowMs);
      await store.sweep(scene.nowMs, 10);
      await unwatch();
    });

    await server.command('ACL', 'SETUSER', 'ada', 'resetkeys', '~other:*');
    t.match((await diagnose({ PARLEY_STORE: url })).of('permissions'), {
      status: 'fail',
      found: /or not with keys of parley:\*/,
      advice: /~parley:\*/,
    });
  },
);

t.test('a Redis that is slow once is asked again', { skip }, async (t) => {
  const server = await redis(t, ...appendOnly);
  let connections = 0;
  const way = createServer((socket) => {
    socket.on('error', () => {});
    if (connections++ === 0) return;
    const onward = connect(server.port, '127.0.0.1').on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  await once(way.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => void way.close());
  t.same((await diagnose({ PARLEY_STORE: `redis://127.0.0.1:${(way.address() as AddressInfo).port}` })).unwell, []);
  t.ok(connections > 1);
});

t.test('a Redis that hangs, is away, or is loading', { skip }, async (t) => {
  const server = await redis(
    t,
    ...appendOnly,
    '--key-load-delay',
    '20000',
    '--loading-process-events-interval-bytes',
    '1024',
  );
  server.signal('SIGSTOP');
  const hung = await examined(server);
  server.signal('SIGCONT');
  t.same(hung.unwell, ['fail reachable']);
  t.match(hung.of('reachable'), {
    found: /takes connections and did not answer within 1\.9 s/,
    advice: /hangs or is overloaded/,
  });

  await server.command('EVAL', "for i = 1, 300 do redis.call('SET', 'k' .. i, string.rep('x', 1024)) end", '0');
  await server.command('BGREWRITEAOF');
  await server.replies('aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0', 'INFO', 'persistence');
  await server.kill();
  const away = await examined(server);
  t.same(away.unwell, ['fail reachable']);
  t.match(away.of('reachable'), { found: `Nothing listens on 127.0.0.1:${server.port}.`, advice: /Start Redis there/ });

  const started = server.run().catch(() => {});
  let loading = await examined(server);
  while (loading.of('reachable').status !== 'ok') loading = await examined(server);
  t.same(loading.unwell, ['fail loading']);
  t.match(loading.of('loading').found, /still reading its data/);
  server.signal('SIGTERM');
  await started;
});

t.test('doctor names what is wrong with TLS', { skip: skip || (whyNoTls() ?? false) }, async (t) => {
  const server = await redis(t, ...appendOnly);
  t.match((await diagnose({ PARLEY_STORE: server.url.replace('redis:', 'rediss:') })).of('reachable'), {
    status: 'fail',
    advice: /write redis: instead of rediss:/,
  });

  const secure = await secureRedis(t);
  t.match((await diagnose({ PARLEY_STORE: secure.url })).of('reachable'), {
    status: 'fail',
    found: /not trusted here \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    advice: /NODE_EXTRA_CA_CERTS/,
  });
  t.match((await diagnose({ PARLEY_STORE: `redis://127.0.0.1:${secure.port}` })).of('reachable'), {
    status: 'fail',
    advice: /write rediss: instead of redis:/,
  });
});
