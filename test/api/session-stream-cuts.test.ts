/**
 * A reader of a session's stream that is cut again and again and resumes in any process (contract 23):
 * `PARLEY_STREAM_CUTS=1000 npm test -- test/api/session-stream-cuts.test.ts` for the full number.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, type House, type Stream, type StreamEvent } from './house.ts';
import { abort, answered, answering, end, onProvider, say, sayInVain, transcriptOf, until } from './talk.ts';

const cuts = Number(process.env['PARLEY_STREAM_CUTS'] ?? 60);
const lacking = whyNoRedis();
const env = { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };

t.test('one process on LMDB', async (t) => {
  const store = { PARLEY_STORE: `lmdb:${join(await temporaryFolder(t), 'data')}` };
  const house = await openHouse(t, { env: { ...env, ...store } });
  await resumesWithoutGap(t, [house]);
});

t.test('two processes on one Redis', lacking === null ? {} : { skip: lacking }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const open = () => openHouse(t, { env: { ...env, PARLEY_STORE: redis.url } });
  await resumesWithoutGap(t, [await open(), await open()]);
});

/** Opens the stream; a place that an earlier reader has just left may still be taken. */
const follow = (house: House, id: string, after: number): Promise<Stream> =>
  until(() =>
    house.stream(`/sessions/${id}/events?after=${after}`).catch((error: Error) => {
      if (error.message.includes('got 429')) return null;
      throw error;
    }),
  );

async function resumesWithoutGap(t: Test, houses: readonly House[]): Promise<void> {
  let kind = 0;
  const { assistant } = await onProvider(t, houses[0]!, (response) => {
    if (kind === 1) response.writeHead(500).end('{}');
    else if (kind === 2) answering(response, 'Half a re');
    else answered(response, ['Fine', ', thanks']);
  });
  const { id } = await houses[0]!.session(assistant.id);
  let isOver = false;
  let turns = 0;
  const talking = (async () => {
    while (!isOver) {
      const house = houses[turns % houses.length]!;
      kind = turns++ % 3;
      if (kind === 1) t.equal((await sayInVain(house, id)).status, 503);
      else {
        const stream = await say(house, id);
        if (kind === 2) await abort(houses[turns % houses.length]!, id, stream.turnId);
        await stream.rest();
      }
    }
  })();
  const seen: StreamEvent[] = [];
  const read = async (stream: Stream, count: number): Promise<void> => {
    for (let left = count; left > 0; left--) {
      const event = await stream.next();
      if (event === undefined) return;
      seen.push(event);
    }
  };
  for (let cut = 0; cut < cuts; cut++) {
    const house = houses[(cut * 7) % 5 < 3 ? 0 : houses.length - 1]!;
    const stream = await follow(house, id, seen.length);
    await read(stream, cut % 4);
    stream.leave();
  }
  isOver = true;
  await talking;
  await end(houses[0]!, id);
  await read(await follow(houses.at(-1)!, id, seen.length), Infinity);
  t.same(
    seen.map((event) => Number(event.id)),
    seen.map((_, index) => index + 1),
    `${seen.length} events of ${turns} chats over ${cuts} cuts without gap or repeat`,
  );
  for (const house of houses) t.same(await (await follow(house, id, 0)).rest(), seen, 'as one reader has them');
  const messages = seen.filter(({ event }) => event === 'message.created').map(({ data }) => data);
  const transcript = await transcriptOf(houses[0]!, id);
  t.same(messages.slice(0, transcript.length), transcript, 'the messages of the transcript, in its order');
  t.equal(seen.filter(({ event }) => event === 'turn.started').length, messages.length / 2, 'and their turns');
}
