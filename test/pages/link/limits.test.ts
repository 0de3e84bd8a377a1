/** The link's limits at a server: charges, refusals and refunds (contract 9). */
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { openHouse, type House } from '../../api/house.ts';
import type { Owner } from '../../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { limitsOf, linked, statusOf, verdict, Visit } from './visits.ts';

const none = {
  ...{
    minutes_per_day: null,
    concurrent_visitors: null,
    messages_per_visitor_per_day: null,
    messages_per_address_per_hour: null,
  },
  ...{ places_per_address: null, minutes_per_address: null },
};
const noRefusals = Object.fromEntries(Object.keys(none).map((name) => [name, 0]));
const secondsToMidnight = (): number => 86_400 - (Math.floor(Date.now() / 1000) % 86_400);
const isToMidnight = (seconds: number | null): boolean =>
  seconds !== null && Math.abs(seconds - secondsToMidnight()) <= 30;

const cases: Record<string, (t: Test, house: House) => Promise<void>> = {};
/** The header of a trusted proxy with its client's address. */
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

cases['messages of a visitor in a day, over all sessions'] = async (t, house) => {
  const assistant = await linked(house, 'per-visitor', { limits: { ...none, messages_per_visitor_per_day: 2 } });
  const visit = await Visit.to(house, 'per-visitor');
  const [one, other] = [await visit.session(), await visit.session()];
  t.equal((await visit.say(one)).status, 200);
  t.equal((await visit.say(other)).status, 200);
  const refused = await visit.say(one);
  t.same(
    [refused.status, refused.json.error.code, refused.headers.get('x-ratelimit-limit')],
    [429, 'rate_limited', null],
  );
  t.ok(isToMidnight(verdict(refused)[1]), String(verdict(refused)[1]));
  t.equal(refused.json.error.message, `Rate limit exceeded. Retry in ${verdict(refused)[1]} seconds.`);
  t.equal((await visit.ask('/sessions', { body: {} })).status, 201, 'a session is no message');
  const newcomer = await Visit.to(house, 'per-visitor');
  t.equal((await newcomer.say(await newcomer.session())).status, 200, 'another visitor has messages of their own');
  t.same((await statusOf(house, assistant)).refused, { ...noRefusals, messages_per_visitor_per_day: 1 });
};

cases['messages and sessions of an address in an hour, and what a forged header gains'] = async (t, house) => {
  await linked(house, 'per-address', { limits: { ...none, messages_per_address_per_hour: 3 } });
  const visitFrom = (address: string) => Visit.to(house, 'per-address', from(address));
  const visit = await visitFrom('203.0.113.7');
  const session = await visit.session();
  t.equal((await visit.say(session)).status, 200);
  const second = await visitFrom('203.0.113.7');
  const opened = await second.session();
  const refused = await second.say(opened);
  const [status, seconds] = verdict(refused);
  t.equal(status, 429);
  t.ok(seconds! > 1100 && seconds! <= 1200, `one in three refills in twenty minutes: ${seconds}`);
  t.equal((await second.ask('/sessions', { body: {} })).status, 429);
  t.equal((await second.ask(`/sessions/${opened.id}`)).status, 200, 'reading costs nothing');
  // Only the address that the trusted proxy saw counts; addresses that a client wrote before it do not.
  t.equal((await (await visitFrom('198.51.100.1, 203.0.113.7')).ask('/sessions', { body: {} })).status, 429);
  t.equal(
    (await (await visitFrom('::ffff:203.0.113.7')).ask('/sessions', { body: {} })).status,
    429,
    'IPv4 in IPv6 is IPv4',
  );
  t.equal((await (await visitFrom('203.0.113.8')).ask('/sessions', { body: {} })).status, 201);
  for (const address of ['2001:db8:0:1234::1', '2001:db8:0:1234::2:3', '2001:db8:0:1211::9'])
    await (await visitFrom(address)).session();
  const rotated = ['2001:db8:0:1200::1', '2001:db8:0:12ff::1', '2001:db8:0:1277:1:2:3:4'];
  for (const address of rotated)
    t.equal(
      (await (await visitFrom(address)).ask('/sessions', { body: {} })).status,
      429,
      `${address} is in the same /56`,
    );
  t.equal(
    (await (await visitFrom('2001:db8:0:1300::1')).ask('/sessions', { body: {} })).status,
    201,
    'the next /56 is another line',
  );
};

cases['visitors at a time'] = async (t, house) => {
  const assistant = await linked(house, 'at-a-time', { limits: { ...none, concurrent_visitors: 1 } });
  const [one, other] = [await Visit.to(house, 'at-a-time'), await Visit.to(house, 'at-a-time')];
  const [first, more, theirs] = [await one.session(), await one.session(), await other.session()];
  t.equal((await one.say(first)).status, 200);
  t.equal((await one.say(more)).status, 200, 'who is present needs no second place');
  const [status, seconds] = verdict(await other.say(theirs));
  t.equal(status, 429);
  t.ok(seconds! >= 1 && seconds! <= 60, String(seconds));
  t.equal((await statusOf(house, assistant)).visitors_present, 1);
  await one.ask(`/sessions/${first.id}/end`, { method: 'POST' });
  t.equal((await other.say(theirs)).status, 429, 'the other session holds the place');
  await one.ask(`/sessions/${more.id}/end`, { method: 'POST' });
  t.equal((await statusOf(house, assistant)).visitors_present, 0);
  t.equal((await other.say(theirs)).status, 200);
};

cases['one address takes half of the places, with silent voice sockets too, and half of the minutes'] = async (
  t,
  house,
) => {
  const spoken = {
    channels: { voice: true, link: true, widget: true },
    voice: { provider: 'synthetic', name: 'audio_ms=50' },
  };
  const assistant = await linked(house, 'half', spoken);
  const listens = async (address: string): Promise<[number, number | null]> => {
    const visit = await Visit.to(house, 'half', from(address));
    const session = await visit.session();
    const token = await visit.ask('/transcription-tokens', { body: { session_id: session.id } });
    if (token.status === 201) await opened(t, token.json.url, from(address));
    return verdict(token);
  };
  const verdicts: (readonly [number, number | null])[] = [];
  for (let visitor = 0; visitor < 25; visitor++) verdicts.push(await listens('203.0.113.20'));
  t.equal(verdicts.filter(([status]) => status === 201).length, 12);
  t.ok(
    verdicts.every(([status, seconds]) => status === 201 || (status === 429 && seconds! >= 1 && seconds! <= 60)),
    String(verdicts.at(-1)),
  );
  t.same((await statusOf(house, assistant)).refused, { ...noRefusals, places_per_address: 13 });
  t.same(await listens('203.0.113.21'), [201, null], 'another address gets in');
  t.equal((await statusOf(house, assistant)).visitors_present, 13);

  await limitsOf(house, assistant, { ...none, minutes_per_address: 2 });
  const [here, there] = [
    await Visit.to(house, 'half', from('203.0.113.22')),
    await Visit.to(house, 'half', from('203.0.113.23')),
  ];
  for (const status of [200, 200, 429]) t.equal((await here.say(await here.session())).status, status);
  const refused = await here.say(await here.session());
  t.ok(isToMidnight(verdict(refused)[1]), String(verdict(refused)[1]));
  t.equal((await there.say(await there.session())).status, 200);
  t.equal((await statusOf(house, assistant)).refused.minutes_per_address, 2);
  t.match(
    (await house.ask('/metrics', { key: null })).text,
    /parley_limited_total\{budget="places_per_address"\} 13\n[^]*parley_limited_total\{budget="minutes_per_address"\} 2\n/,
  );
};

/** A voice socket on which nobody speaks. */
async function opened(t: Test, url: string, { headers }: ReturnType<typeof from>): Promise<void> {
  const socket = new WebSocket(url, { headers });
  t.teardown(() => socket.terminate());
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
}

cases['minutes of a day: a message charges one at once, an end gives back what lies ahead'] = async (t, house) => {
  const assistant = await linked(house, 'minutes', { limits: { ...none, minutes_per_day: 1 } });
  const [one, other] = [await Visit.to(house, 'minutes'), await Visit.to(house, 'minutes')];
  const [first, theirs] = [await one.session(), await other.session()];
  t.equal((await one.say(first)).status, 200);
  const used = (await statusOf(house, assistant)).minutes_used;
  t.ok(used >= 1 && used <= 1.3, String(used));
  for (const refused of [await other.say(theirs), await one.say(first)])
    t.ok(refused.status === 429 && isToMidnight(verdict(refused)[1]));
  await one.ask(`/sessions/${first.id}/end`, { method: 'POST' });
  t.ok((await statusOf(house, assistant)).minutes_used <= 0.3);
  t.equal((await other.say(theirs)).status, 200);
  t.equal((await statusOf(house, assistant)).refused.minutes_per_day, 2);
};

cases['0 lets nobody in, null everybody'] = async (t, house) => {
  const assistant = await linked(house, 'zero', { limits: none });
  const visit = await Visit.to(house, 'zero');
  const session = await visit.session();
  for (const name of Object.keys(none)) {
    await limitsOf(house, assistant, { ...none, [name]: 0 });
    const refused = await visit.say(session);
    t.ok(refused.status === 429 && isToMidnight(verdict(refused)[1]), `${name}: ${verdict(refused).join(' ')}`);
    await limitsOf(house, assistant, none);
    t.equal((await visit.say(session)).status, 200, name);
  }
};

cases['all or none: what one limit refuses, no other is charged'] = async (t, house) => {
  const limits = {
    minutes_per_day: 2,
    concurrent_visitors: 2,
    messages_per_visitor_per_day: 1,
    messages_per_address_per_hour: 4,
  };
  const assistant = await linked(house, 'all-or-none', { limits });
  const visit = await Visit.to(house, 'all-or-none', from('192.0.2.99'));
  const session = await visit.session();
  t.equal((await visit.say(session)).status, 200);
  const before = await statusOf(house, assistant);
  for (let again = 0; again < 5; again++) t.equal((await visit.say(session)).status, 429);
  const { minutes_used, refused } = await statusOf(house, assistant);
  t.same([minutes_used, refused.messages_per_visitor_per_day], [before.minutes_used, 5]);
  const other = await Visit.to(house, 'all-or-none', from('192.0.2.99'));
  t.equal(
    (await other.say(await other.session())).status,
    200,
    'the address has paid for two sessions and two messages',
  );
  t.equal((await other.ask('/sessions', { body: {} })).status, 429);
};

cases['a turn that is withdrawn gives back what it took'] = async (t, house) => {
  const limits = {
    minutes_per_day: 1,
    concurrent_visitors: 1,
    messages_per_visitor_per_day: 1,
    messages_per_address_per_hour: 3,
  };
  const assistant = await linked(house, 'withdrawn', { name: 'fail_at=0', limits });
  const visit = await Visit.to(house, 'withdrawn', from('192.0.2.98'));
  const session = await visit.session();
  for (let again = 0; again < 3; again++) t.equal((await visit.say(session)).json.error.code, 'assistant_unavailable');
  t.same(
    [(await statusOf(house, assistant)).minutes_used, (await statusOf(house, assistant)).visitors_present],
    [0, 0],
  );
  await house.revise(assistant.id, { model: { provider: 'synthetic', name: 'tokens=1' } });
  const answering = await visit.session();
  t.equal((await visit.say(answering)).status, 200);
  t.equal((await visit.say(answering)).status, 429);
};

cases['one turn at a time, whatever the session'] = async (t, house) => {
  await linked(house, 'one-turn', { name: 'tokens=1000000,delay_ms=1', limits: none });
  const visit = await Visit.to(house, 'one-turn');
  const [one, other] = [await visit.session(), await visit.session()];
  const stream = await visit.stream(one);
  await stream.next();
  t.equal((await visit.say(one)).json.error.code, 'turn_in_progress', 'on the same session it is a conflict');
  t.same(verdict(await visit.say(other)), [429, 1]);
  const someone = await Visit.to(house, 'one-turn');
  const theirs = await someone.stream(await someone.session());
  await theirs.next();
  await someone.ask(`/sessions/${(await someone.session()).id}/end`, { method: 'POST' });
  t.equal(
    (await visit.ask(`/sessions/${one.id}/turns/${stream.turnId}/abort`, { method: 'POST' })).json.status,
    'aborted',
  );
  await stream.rest();
  const next = await visit.stream(other);
  await next.next();
  next.leave();
  theirs.leave();
  const metrics = await house.ask('/metrics', { key: null });
  t.match(metrics.text, /parley_limited_total\{budget="visitor_turn"\} 1\n/);
  t.match(metrics.text, /parley_limited_total\{budget="messages_per_address_per_hour"\} [1-9]/);
  t.match(metrics.text, /parley_turns_in_flight 2\n/);
};

const noRedis = whyNoRedis();
for (const [store, skip] of [
  ['memory', false],
  ['redis', noRedis ?? false],
] as const) {
  t.test(`on ${store}`, { skip }, async (t) => {
    const house = await openHouse(t, {
      env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1', ...(store === 'redis' && (await onRedis(t))) },
    });
    for (const [name, run] of Object.entries(cases)) await t.test(name, (t) => run(t, house));
  });
}

async function onRedis(t: Owner): Promise<Record<string, string>> {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  return { PARLEY_STORE: server.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
}

t.test('link and API have separate limits', async (t) => {
  const house = await openHouse(t);
  const narrow = await narrowWorkspace(house);
  const visit = await Visit.to(house, 'apart');
  const busy = await house.stream(`/sessions/${narrow.session.id}/chat`, { key: narrow.key, body: { message: 'Hi' } });
  await busy.next();
  const session = await visit.session();
  const link = await visit.stream(session);
  await link.next();
  t.pass('the workspace has one slot, which the API has taken; the link has its turn all the same');
  await house.ask(`/sessions/${narrow.session.id}/turns/${busy.turnId}/abort`, { key: narrow.key, method: 'POST' });
  await busy.rest();
  const again = await house.stream(`/sessions/${narrow.session.id}/chat`, { key: narrow.key, body: { message: 'Hi' } });
  await again.next();
  t.pass('and takes no slot from the API');
  again.leave();
  link.leave();
  const turns = await visit.ask(`/sessions/${session.id}/end`, { method: 'POST' });
  t.equal(turns.json.status, 'ended');
  // A key's turn on a visitor's session is the API's: no limit of the link has a say.
  const theirs = await visit.session();
  await house.ask(`/sessions/${narrow.session.id}/end`, { key: narrow.key, method: 'POST' });
  const byKey = await house.stream(`/sessions/${theirs.id}/chat`, { key: narrow.key, body: { message: 'Hi' } });
  await byKey.next();
  byKey.leave();
  t.equal((await statusOf(house, narrow.assistant)).refused.minutes_per_day, 0);
});

/** One slot for turns, and an assistant that replies without end. */
async function narrowWorkspace(house: House) {
  await house.console(`/workspaces/${house.workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: 1 } });
  const assistant = await linked(house, 'apart', { name: 'tokens=1000000,delay_ms=1' });
  const { key } = await house.newKey();
  return { assistant, key, session: await house.session(assistant.id) };
}
