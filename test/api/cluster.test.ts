/** Two processes on a Redis Cluster with `replicated` durability: a primary dies, and no acknowledged write is lost. */
import t, { type Test } from 'tap';
import { RedisCluster, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, textOf, type House } from './house.ts';
import { say, sessionOf, synthetic, transcriptOf, until } from './talk.ts';

const lacking = whyNoRedis();

/** A turn whose client got `turn.completed`. */
interface Told {
  readonly turnId: string;
  readonly text: string;
}

/** A whole turn, or null if it was refused or failed. */
async function converse(house: House, sessionId: string): Promise<Told | null> {
  const stream = await say(house, sessionId).catch(() => null);
  const events = stream === null ? [] : await stream.rest();
  return events.at(-1)?.event === 'turn.completed' ? { turnId: stream!.turnId, text: textOf(events) } : null;
}

async function openHouses(t: Test, cluster: RedisCluster): Promise<[House, House]> {
  const env = {
    PARLEY_STORE: cluster.url,
    PARLEY_DURABILITY: 'replicated',
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
    PARLEY_LOG: 'silent',
  };
  return [await openHouse(t, { env }), await openHouse(t, { env })];
}

t.test('a primary dies', { ...(lacking === null ? {} : { skip: lacking }) }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  const [one, two] = await openHouses(t, cluster);
  const assistant = await synthetic(one, 'tokens=5,unicode=1');
  const sessions = await Promise.all([one, two, one, two].map((house) => house.session(assistant.id)));
  const told = new Map<string, Told[]>(sessions.map(({ id }) => [id, []]));
  for (const house of [one, two]) {
    for (const { id } of sessions) told.get(id)!.push((await converse(house, id))!);
  }
  t.notOk([...told.values()].flat().includes(null!), 'all answer');

  const primary = await cluster.primaryOf(one.workspaceId);
  await primary.kill();
  // The replica takes its place and has no replica: writes that a replica must confirm wait until the dead server is
  // back.
  await until(async () => (await cluster.primaries()).length === 3);
  await primary.run();
  for (const house of [one, two]) {
    for (const { id } of sessions) told.get(id)!.push(await until(() => converse(house, id)));
  }
  for (const { id } of sessions) {
    const transcript = await until(async () => (await transcriptOf(two, id)) ?? null);
    const answers = transcript.filter(({ role, status }) => role === 'assistant' && status === 'completed');
    for (const { turnId, text } of told.get(id)!)
      t.equal(answers.find(({ turn_id }) => turn_id === turnId)?.content, text, 'what was told as completed is there');
    t.match(await sessionOf(one, id), { status: 'open', active_turn_id: null });
  }
  t.ok(await until(async () => (await one.ask('/readyz', { key: null })).status === 200));
});
