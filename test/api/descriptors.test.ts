/**
 * A process without a free descriptor: open connections work on, requests that need another one are refused as the
 * contract says, and nothing ends.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import t, { type Test } from 'tap';
import { RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { open, speaker } from '../providers/voice/talker.ts';
import { edge, edges, openHouse } from './house.ts';
import { Client, lineOf, openSupervised, portOf, streaming, told, workersUp } from './supervised.ts';
import { chatPath, onProvider, until } from './talk.ts';

const lacking = whyNoRedis();

const descriptors = 120;

/** Opens connections and sends nothing on them, until the server drops one: then all descriptors are in use. */
async function fill(t: Test, port: number): Promise<() => Promise<void>> {
  const idle: Socket[] = [];
  const full = new AbortController();
  while (!full.signal.aborted) {
    const some = Array.from({ length: 20 }, () =>
      connect(port, '127.0.0.1')
        .on('error', () => {})
        .once('close', () => full.abort()),
    );
    idle.push(...some);
    await Promise.all(some.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
  }
  const free = async (): Promise<void> => {
    const closed = idle.filter(({ closed }) => !closed).map((socket) => once(socket, 'close'));
    for (const socket of idle) socket.destroy();
    await Promise.all(closed);
  };
  t.teardown(free);
  return free;
}

/** The file or connection of each descriptor of a process: a number is used again for another one. */
const descriptorsOf = (pid: number): Map<number, string> =>
  new Map(readdirSync(`/proc/${pid}/fd`).map((fd) => [Number(fd), linkOf(`/proc/${pid}/fd/${fd}`)]));

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return 'closed';
  }
}

/** Sets how many descriptors a process may have while it runs. Those that are open stay open. */
const allow = (pid: number, count: number): void =>
  void execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${count}:`]);

/**
 * Leaves no free descriptor, even if some were closed meanwhile: the limit is set to the number that were open before
 * and still are.
 */
async function leaveNone(pid: number, lasting: ReadonlyMap<number, string>, clients: readonly Client[]): Promise<void> {
  allow(pid, descriptors);
  // uws closes a connection that was idle for ten seconds, and one that takes the last descriptor: each that is needed
  // must be there.
  await Promise.all(clients.map((each) => until(() => each.ask('/healthz').catch(() => null))));
  const now = descriptorsOf(pid);
  let all = 0;
  while (now.has(all) && now.get(all) === lasting.get(all)) all += 1;
  allow(pid, all);
}

const codeOf = (text: string): string => JSON.parse(text).error.code;

/** User and system time of a process so far, in hundredths of a second. */
const ticksOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return Number(fields[11]) + Number(fields[12]);
};

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((pid) => pid.trim() !== '')
    .map(Number);

for (const edge of edges) {
  t.test(edge, async (t) => {
    const house = await openHouse(t, {
      descriptors,
      env: { PARLEY_EDGE: edge, PARLEY_LOG: 'info', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' },
    });
    const port = portOf(house);
    const { provider, assistant: remote } = await onProvider(t, house, (response) => void response.destroy());
    const { id: speaking } = await speaker(house);
    const [session, ...remotes] = await Promise.all(
      [speaking, remote.id, remote.id, remote.id].map(async (id) => (await house.session(id)).id),
    );
    // Each has a connection before there are no more.
    const [client, ...others] = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const each = new Client(t, house);
        await each.ask('/healthz');
        return each;
      }),
    );
    // The stream lasts longer than a step of the load meter, which reads the process's memory at the end of each.
    const { stream } = await streaming(t, house, 'tokens=60,delay_ms=110', others.pop());
    const pid = house.child.pid!;
    const before = ticksOf(pid);
    const lasting = descriptorsOf(pid);
    // Neither the line nor the voice process that the token has started lasts to the end.
    const line = connect(port, '127.0.0.1');
    await once(line, 'connect');
    const { token } = JSON.parse((await client!.ask('/transcription-tokens', { assistant_id: speaking })).text);
    const free = await fill(t, port);

    const talker = open(`ws://127.0.0.1:${port}/transcription?token=${token}`, { createConnection: () => line });
    await talker.until('ready');
    const exhaust = (): Promise<void> => leaveNone(pid, lasting, [client!, ...others]);
    await exhaust();
    // Another voice process cannot be started.
    for (const child of childrenOf(pid)) process.kill(child, 'SIGKILL');
    await lineOf(house, ({ msg, why }) => msg === 'a voice process ended' && why === 'SIGKILL');
    talker.burst(Buffer.alloc(32_000));
    t.equal(await talker.closed, 1011, 'a transcription socket');
    t.equal(talker.heard.at(-1)?.code, 'voice_unavailable');

    const speech = { assistant_id: speaking, text: 'Hello.' };
    for (const what of ['at once', 'again']) {
      await exhaust();
      const { status, text } = await client!.ask('/speech', speech);
      t.same([status, codeOf(text)], [503, 'voice_unavailable'], `speech, ${what}`);
    }
    for (const [index, id] of remotes.entries()) {
      const { status, text } = await until(async () => {
        const before = provider.requests.length;
        await exhaust();
        const answer = await others[index]!.ask(chatPath(id), { message: 'Hello' });
        // A connection of this test that was let go of just now may have left its descriptor to the provider.
        return provider.requests.length === before && answer;
      });
      t.same([status, codeOf(text)], [503, 'assistant_unavailable'], 'a provider that cannot be connected to');
    }

    t.ok(await stream.over);
    t.match(stream.text, /event: turn\.completed/, 'the turn in flight has ended');
    await exhaust();
    t.match(
      await client!.ask(chatPath(session), { message: '2+2' }),
      { status: 200, text: /event: turn\.completed/ },
      'and another one begins and ends',
    );
    t.match(await client!.ask('/metrics'), { status: 200, text: /\nparley_unhandled_rejections_total 0\n/ });
    t.ok(ticksOf(pid) - before < 300, 'the event loop did not turn for nothing all the while');

    allow(pid, descriptors);
    await free();
    t.equal(
      await until(async () => (await client!.ask('/speech', speech)).status === 200),
      true,
      'with descriptors there is a voice again',
    );
    t.equal(house.stderr(), '');
  });
}

t.test(`${edge}: a supervisor that cannot fork tries again`, lacking === null ? {} : { skip: lacking }, async (t) => {
  const redis = await RedisServer.start();
  t.teardown(() => redis.stop());
  const house = await openSupervised(t, redis.url, 2, {
    descriptors,
    env: { PARLEY_MANAGEMENT_PORT: '0', PARLEY_ALLOW_VOLATILE: '1' },
  });
  const workers = await workersUp(house, 2);
  const free = await fill(t, (await lineOf(house, ({ msg }) => msg === 'management port listens')).port);
  process.kill(workers.get(2)!, 'SIGKILL');
  await lineOf(house, ({ msg, worker }) => msg === 'worker died' && worker === 4);
  t.match(
    told(house, 'worker died').slice(1, 3),
    [
      { worker: 3, code: 1 },
      { worker: 4, code: 1 },
    ],
    'it was tried twice in vain',
  );
  t.equal((await house.ask('/healthz')).status, 200, 'the other worker serves on');
  await free();
  await workersUp(house, 2);
  t.same(await house.stop(), { code: 0, signal: null });
  t.equal(house.stderr(), '');
});
