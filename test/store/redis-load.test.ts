/** The board on which processes that share a Redis read each other's load. */
import t from 'tap';
import type { LoadBoard, LoadRow } from '../../src/metrics/load.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const row = (process: string, start: number): LoadRow => ({
  process,
  start,
  requests: 1,
  refused: 0,
  events: 0,
  storeSteps: 0,
  storeSeconds: 0.25,
  turnsInFlight: 0,
  openCalls: 0,
  memoryBytes: 7,
  lagMs: 0.5,
  firstOutputs: [[3, 4]],
  voiceToVoice: [],
});

t.test('rows of an hour, of all processes', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const [one, other] = [await openStore(server.url, { prefix: 'x:' }), await openStore(server.url, { prefix: 'x:' })];
  t.teardown(() => Promise.all([one.dispose(), other.dispose()]));
  const [board, second] = [one, other].map(({ store }) => (store as unknown as { loadBoard: LoadBoard }).loadBoard) as [
    LoadBoard,
    LoadBoard,
  ];
  t.same(await board.read(0), []);
  const rows = [row('one', 10_000), row('one', 10_005), row('other', 10_005)];
  for (const each of rows) await board.put(each);
  await board.put(rows[0]!);
  t.same(await second.read(0), rows, 'each once, as it was');
  t.same(await second.read(10_005), rows.slice(1));
  await second.put(row('other', 10_000 + 3600));
  t.same(
    (await board.read(0)).map(({ start }) => start),
    [10_005, 10_005, 13_600],
    'what is older than an hour goes',
  );
});
