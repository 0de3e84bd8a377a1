/** The events of a session over cuts: each once, in order, until the end. */
import t from 'tap';
import type { SessionEvent } from '../../src/client/types.ts';
import { end, say, until } from '../api/talk.ts';
import { Random } from '../simulate/random.ts';
import { openScene } from './scene.ts';

const { house, way, assistantId, client } = await openScene(t, 'tokens=2');
const { parley } = client();

t.test('events come once and in order over cuts at random bytes, until the session ends', async (t) => {
  const { id } = await house.session(assistantId);
  for (let turn = 0; turn < 10; turn++) await (await say(house, id)).rest();
  await end(house, id);
  const whole: SessionEvent[] = [];
  for await (const event of parley.sessions.events(id, { after: 0 })) whole.push(event);
  t.equal(whole.length, 41);
  t.match(whole.at(-1), { type: 'session.ended', status: 'ended' });
  const random = new Random(1);
  let cuts = 0;
  way.fault = (line) => {
    if (!line.includes('/events') || cuts === 30) return null;
    cuts++;
    return { kind: 'cut body', bytes: Math.floor(random.next() * 3000) };
  };
  const events = parley.sessions.events(id, { after: 0 });
  const seen: SessionEvent[] = [];
  for await (const event of events) seen.push(event);
  way.fault = () => null;
  t.ok(cuts > 5, `${cuts} cuts`);
  t.same(seen, whole);
  t.equal(events.cursor, 41);
  for await (const event of events) t.fail(`after the end: ${event.type}`);
  for await (const event of parley.sessions.events(id)) t.fail(`from now on: ${event.type}`);
});

t.test('events from now on are complete although the connection is cut within the first', async (t) => {
  const { id } = await house.session(assistantId);
  await (await say(house, id)).rest();
  way.fault = (line) => {
    if (!line.includes('/events')) return null;
    way.fault = () => null;
    return { kind: 'cut body', bytes: 40 };
  };
  const events = parley.sessions.events(id);
  const reading = (async () => {
    const seen: string[] = [];
    for await (const { type } of events) {
      seen.push(type);
      if (type === 'turn.ended') return seen;
    }
    return seen;
  })();
  await until(async () => events.cursor !== null);
  await (await say(house, id)).rest();
  t.same(await reading, ['message.created', 'turn.started', 'message.created', 'turn.ended']);
});

t.test('an iteration that is left continues from its cursor', async (t) => {
  const { id } = await house.session(assistantId);
  const events = parley.sessions.events(id, { after: 0 });
  await (await say(house, id)).rest();
  for await (const { type } of events) if (type === 'turn.started') break;
  t.equal(events.cursor, 2);
  await end(house, id);
  const rest: string[] = [];
  for await (const { type } of events) rest.push(type);
  t.same(rest, ['message.created', 'turn.ended', 'session.ended']);
});

t.test('a cursor beyond the end and an unknown session are thrown', async (t) => {
  const { id } = await house.session(assistantId);
  const read = async (session: string, after: number) => {
    for await (const _ of parley.sessions.events(session, { after }));
  };
  await t.rejects(read(id, 7), { code: 'invalid_request', status: 422 });
  await t.rejects(read('ses_unknown', 0), { code: 'session_not_found' });
});

t.test('an abort ends the wait for events', async (t) => {
  const { id } = await house.session(assistantId);
  const leaving = new AbortController();
  const events = parley.sessions.events(id, { after: 0, signal: leaving.signal });
  await (await say(house, id)).rest();
  const reading = (async () => {
    for await (const { type } of events) if (type === 'turn.ended') leaving.abort(new Error('enough'));
  })();
  await t.rejects(reading, { message: 'enough' });
});
