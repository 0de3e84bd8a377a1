/** Transcription sockets of a workspace that is deleted (contract 8). */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { edge, openHouse, type House } from '../../api/house.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { mint, open, silence, speaker, talk, type Talker } from './talker.ts';

const remove = async (t: Test, house: House): Promise<void> =>
  void t.equal((await house.console(`/workspaces/${house.workspaceId}`, { method: 'DELETE' })).status, 204);

/** Each socket got its error and its close, and is in no census any more. */
async function areEnded(t: Test, talkers: readonly Talker[], houses: readonly House[]): Promise<void> {
  for (const { heard, closed } of talkers) {
    t.equal(await closed, 1008);
    t.match(heard.at(-1), { type: 'error', code: 'session_ended' });
  }
  for (const house of houses)
    t.match((await house.ask('/metrics', { key: null })).text, /parley_actors\{kind="socket"\} 0\n/);
}

t.test(edge, async (t) => {
  const house = await openHouse(t);
  const { id } = await speaker(house);
  const { id: sessionId } = await house.session(id);
  const talkers = [await talk(house, id), await talk(house, id, { sessionId }), await talk(house, id)];
  talkers[0]!.burst(silence(2_000));
  // Tokens whose sockets are being opened meanwhile: they are refused, or closed like the others.
  const urls = await Promise.all(
    Array.from(
      { length: 8 },
      async () => `${house.url.replace('http', 'ws')}/transcription?token=${(await mint(house, id)).token}`,
    ),
  );
  const opening = urls.slice(0, 4).map((url) => open(url));
  await Promise.all([remove(t, house), ...urls.slice(4).map(async (url) => void opening.push(open(url)))]);
  await areEnded(t, talkers, []);
  for (const { heard, closed } of opening) {
    await closed;
    if (heard.length > 0) t.match(heard.at(-1), { type: 'error', code: 'session_ended' }, 'opened, and closed');
  }
  await areEnded(t, [], [house]);
  t.same(await house.stop(), { code: 0, signal: null }, 'a drain waits for nothing of it');
});

const lacking = whyNoRedis();

t.test(
  'a workspace removed in one process ends its sockets in every process',
  lacking === null ? {} : { skip: lacking },
  async (t) => {
    const redis = await RedisServer.start(...appendOnly);
    t.teardown(() => redis.stop());
    const env = { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
    const houses = await Promise.all([1, 2].map(() => openHouse(t, { env })));
    const [one, two] = houses as [House, House];
    const { id } = await speaker(one);
    const watcher = new WebSocket(`${two.url.replace('http', 'ws')}/console/api/inspect?workspace=${one.workspaceId}`, {
      headers: { authorization: `Bearer ${two.operatorToken}` },
    });
    await once(watcher, 'open');
    const talkers = [
      await talk(one, id),
      await talk(one, id, { opens: two.url }),
      await talk(one, id, { opens: two.url }),
    ];
    for (const talker of talkers) talker.burst(silence(2_000));
    const stream = await two.stream(
      `/sessions/${(await one.session((await one.assistant({ model: { provider: 'synthetic', name: 'tokens=100000,delay_ms=20' } })).id)).id}/chat`,
      { body: { message: 'Hello' } },
    );
    await remove(t, one);
    await areEnded(t, talkers, houses);
    await stream.rest().then(
      (events) => t.match(events.at(-1)!.event, /error|turn\.aborted/, 'a turn in flight there ends'),
      () => t.pass('a turn in flight there is cut'),
    );
    t.equal(watcher.readyState, WebSocket.OPEN, "the operator's watcher lives on");
    watcher.terminate();
  },
);
