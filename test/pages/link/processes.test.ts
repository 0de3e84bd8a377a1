/** The link's limits over several processes on one Redis, and when one of them is killed in mid-turn (promise L1). */
import t, { type Test } from 'tap';
import { openHouse, type House } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { limitsOf, linked, statusOf, verdict, Visit } from './visits.ts';

const admissionsFew = 20;
/** Admissions at each process. With `PARLEY_ADMISSIONS` there are four processes. */
const admissions = Number(process.env['PARLEY_ADMISSIONS'] ?? admissionsFew);
/** Visitors at a process at one time. */
const lanes = 10;

const none = {
  ...{
    minutes_per_day: null,
    concurrent_visitors: null,
    messages_per_visitor_per_day: null,
    messages_per_address_per_hour: null,
  },
  ...{ places_per_address: null, minutes_per_address: null },
};

/** The same visitor, as another process sees one. */
const at = (house: House, visit: Visit): Visit =>
  Object.assign(Object.create(Visit.prototype) as Visit, visit, { house });

t.test('processes share the limits of a link', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const env = { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  const houses = (await Promise.all(
    Array.from({ length: admissions === admissionsFew ? 2 : 4 }, () => openHouse(t, { env })),
  )) as unknown as readonly [House, House];
  await t.test('a token and a limit are good at all of them', (t) => together(t, houses));
  await t.test('many admissions at all of them pass exactly as often as the limit says', (t) => exact(t, houses));
  await t.test('while the store is away each path answers so, as the document says', (t) => away(t, houses[0], redis));
  await t.test('a process killed in mid-turn leaks no place and no turn', (t) => killed(t, houses));
});

/** `ask` holds each answer to the OpenAPI document. */
async function away(t: Test, house: House, redis: RedisServer): Promise<void> {
  await linked(house, 'away');
  const visit = await Visit.to(house, 'away');
  const session = await visit.session();
  redis.signal('SIGSTOP');
  const [path, turn] = [`/sessions/${session.id}`, 'turn_00000000000000000000000000'];
  const answers = await Promise.all([
    house.ask('/p/unknown/about', { key: null }),
    house.ask('/p/unknown/visitors', { key: null, method: 'POST' }),
    visit.ask(path),
    visit.ask(`${path}/transcript`),
    visit.ask(`${path}/end`, { method: 'POST' }),
    visit.ask(`${path}/turns/${turn}/abort`, { method: 'POST' }),
    visit.ask(`${path}/turns/${turn}/events`),
    visit.say(session),
  ]).finally(() => redis.signal('SIGCONT'));
  t.same(
    answers.map(({ status }) => status),
    answers.map(() => 503),
  );
}

async function together(t: Test, [one, other]: readonly [House, House]): Promise<void> {
  const assistant = await linked(one, 'together', { limits: { ...none, messages_per_visitor_per_day: 12 } });
  const visit = await Visit.to(one, 'together');
  const sessions = await Promise.all(Array.from({ length: 6 }, () => at(other, visit).session()));
  const verdicts: number[] = [];
  for (let round = 0; round < 4; round++) {
    for (const [index, session] of sessions.entries())
      verdicts.push(verdict(await at([one, other][index % 2]!, visit).say(session))[0]);
  }
  t.equal(verdicts.filter((status) => status === 200).length, 12);
  t.equal(verdicts.filter((status) => status === 429).length, 12);
  t.equal((await statusOf(other, assistant)).refused.messages_per_visitor_per_day, 12);
  const many = await Promise.all(Array.from({ length: 8 }, () => Visit.to(one, 'together')));
  await limitsOf(one, assistant, { ...none, concurrent_visitors: 4 });
  const asked = await Promise.all(many.map(async (each) => verdict(await each.say(await each.session()))[0]));
  t.equal(asked.filter((status) => status === 200).length, 3, 'one place is the first visitor’s');
  t.equal((await statusOf(other, assistant)).visitors_present, 4);
}

/** Each of many visitors says one word, at all processes at once. A message charges a minute when it is accepted. */
async function exact(t: Test, houses: readonly House[]): Promise<void> {
  const ceiling = Math.ceil(admissions / 3);
  for (const limit of [
    'concurrent_visitors',
    'minutes_per_day',
    'places_per_address',
    'minutes_per_address',
  ] as const) {
    const slug = `exact-${limit.replaceAll('_', '-')}`;
    const assistant = await linked(houses[0]!, slug, { name: 'tokens=1', limits: { ...none, [limit]: ceiling } });
    const verdicts: number[] = [];
    const lane = async (house: House, count: number): Promise<void> => {
      for (let admission = 0; admission < count; admission++) {
        const visit = await Visit.to(house, slug);
        verdicts.push(verdict(await visit.say(await visit.session()))[0]);
      }
    };
    await Promise.all(houses.flatMap((house) => Array.from({ length: lanes }, () => lane(house, admissions / lanes))));
    t.equal(verdicts.filter((status) => status === 200).length, ceiling, `${limit}: of ${verdicts.length} admissions`);
    t.equal(verdicts.filter((status) => status === 429).length, houses.length * admissions - ceiling);
    t.equal((await statusOf(houses[1]!, assistant)).refused[limit], houses.length * admissions - ceiling);
  }
}

async function killed(t: Test, [one, other]: readonly [House, House]): Promise<void> {
  const assistant = await linked(one, 'killed', {
    name: 'tokens=1000000,delay_ms=5',
    limits: { ...none, concurrent_visitors: 1 },
  });
  const visit = await Visit.to(other, 'killed');
  const [session, second] = [await visit.session(), await visit.session()];
  const stream = await at(one, visit).stream(session);
  await stream.next();
  await stream.next();
  t.same(verdict(await visit.say(second)), [429, 1], 'one turn at a time, wherever it runs');
  await one.kill('SIGKILL');
  // Another process seals the dead one's turn.
  const transcript = await until(async () => {
    const messages = (await visit.ask(`/sessions/${session.id}/transcript`)).json.data;
    return messages.at(-1).status === 'streaming' ? null : messages;
  });
  t.match(transcript.at(-1), { status: 'partial', error_code: 'api_error' });
  const { visitors_present, minutes_used } = await statusOf(other, assistant);
  t.equal(visitors_present, 1, 'the clock runs on for a minute');
  t.ok(minutes_used >= 1 && minutes_used < 5, String(minutes_used));
  const next = await visit.stream(second);
  await next.next();
  next.leave();
  for (const { id } of [session, second]) await visit.ask(`/sessions/${id}/end`, { method: 'POST' });
  t.equal((await statusOf(other, assistant)).visitors_present, 0);
  const newcomer = await Visit.to(other, 'killed');
  const theirs = await newcomer.stream(await newcomer.session());
  await theirs.next();
  theirs.leave();
}
