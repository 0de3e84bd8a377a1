/** Two installations on one Redis, each with another database number, see nothing of each other (contract 11). */
import { once } from 'node:events';
import { createClient } from 'redis';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edge, openHouse, textOf, type House } from './house.ts';
import { abort, begin, say, synthetic, transcriptOf, turnPath } from './talk.ts';
import { patient } from '../run/speed.mjs';

const lacking = whyNoRedis();

/** The console's feed of a house, from its first picture on. */
class Feed {
  readonly messages: any[] = [];
  readonly #socket: WebSocket;

  private constructor(t: Test, house: House, query: string) {
    this.#socket = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect${query}`, {
      headers: { authorization: `Bearer ${house.operatorToken}` },
    });
    t.teardown(() => this.#socket.terminate());
    this.#socket.on('message', (data) => this.messages.push(JSON.parse(String(data))));
  }

  static async of(t: Test, house: House, query = ''): Promise<Feed> {
    const feed = new Feed(t, house, query);
    await once(feed.#socket, 'message');
    return feed;
  }

  async until(isThere: (message: any) => boolean): Promise<any> {
    for (;;) {
      const found = this.messages.find(isThere);
      if (found !== undefined) return found;
      await once(this.#socket, 'message');
    }
  }

  /** Asks all processes for their actors, and so has received everything that they sent before. */
  async picture(): Promise<any[]> {
    const known = this.messages.filter(({ type }) => type === 'actors').length;
    this.#socket.send('{"type":"sync"}');
    const isPicture = ({ type }: any): boolean => type === 'actors';
    while (this.messages.filter(isPicture).length === known) await once(this.#socket, 'message');
    return this.messages.filter(isPicture).at(-1).actors;
  }
}

const finishedIn =
  (id: string) =>
  (message: any): boolean =>
    message.type === 'event' && message.event === 'finished' && message.actor.id === id;

t.test(edge, { ...(lacking === null ? {} : { skip: lacking }) }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const env = { PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  const open = (database: number) => openHouse(t, { env: { ...env, PARLEY_STORE: `${redis.url}/${database}` } });
  // Each installation has two processes, so that messages between processes are sent.
  const [first, second, other] = [await open(0), await open(0), await open(1)];
  t.equal(other.workspaceId, first.workspaceId, 'the first workspace has the same id everywhere');

  await t.test('each console shows its own workspace only', async (t) => {
    const [own, foreign, formatted] = await Promise.all([
      Feed.of(t, second),
      Feed.of(t, other),
      Feed.of(t, other, `?format=stately&workspace=${first.workspaceId}`),
    ]);
    const assistant = await synthetic(first, 'tokens=3');
    const { id, stream } = await begin(first, assistant.id);
    await stream.rest();
    await own.until(finishedIn(id));
    t.ok((await own.picture()).some((actor) => actor.id === id));
    t.notOk((await foreign.picture()).some((actor) => actor.id === id));
    t.notMatch(JSON.stringify([...foreign.messages, ...formatted.messages]), new RegExp(`${id}|${assistant.id}`));
    const mine = await begin(other, (await synthetic(other, 'tokens=3')).id);
    await mine.stream.rest();
    await foreign.until(finishedIn(mine.id));
    await own.picture();
    t.notMatch(JSON.stringify(own.messages), new RegExp(mine.id), 'nor the other way round');
  });

  await t.test('with the same session and turn in both, what is done to one leaves the other alone', async (t) => {
    // The turn lasts until both databases have it, on a slow machine too.
    const assistant = await synthetic(first, `tokens=${patient(80)},delay_ms=25`);
    const { id, stream } = await begin(first, assistant.id);
    await stream.next();
    // Both databases have all of it now; the copy of the turn in flight has no owner among the processes of its
    // installation.
    const client = await createClient({ url: redis.url }).connect();
    // One script: a copy that a turn wrote to meanwhile would be a broken database.
    await client.eval(
      "for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 1, 'REPLACE') end",
    );
    client.destroy();
    const stopped = await abort(other, id, stream.turnId, { key: first.key });
    t.equal(stopped.json.status, 'aborted', stopped.text);
    const events = await stream.rest();
    t.equal(events.at(-1)!.event, 'turn.completed', 'it runs on in the first');
    const [, reply] = await transcriptOf(first, id);
    t.equal(reply.content, textOf(events));
    t.equal(reply.stop_reason, 'end');
  });

  await t.test('processes of one installation still hear each other', async (t) => {
    const assistant = await synthetic(first, 'tokens=100000,delay_ms=5');
    const { id } = await first.session(assistant.id);
    const stream = await say(first, id);
    const joined = await second.stream(`${turnPath(id, stream.turnId)}/events`);
    await joined.next();
    t.equal((await abort(second, id, stream.turnId)).json.status, 'aborted');
    t.equal((await joined.rest()).at(-1)!.event, 'turn.aborted');
    await stream.rest();
  });
});
