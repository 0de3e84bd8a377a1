/** The budgets of a key over HTTP (contract 5). Ceilings are so low that no request of a test is refilled meanwhile. */
import t, { type Test } from 'tap';
import { WheelClock } from '../../src/base/clock.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, type Answer, type Ask } from './house.ts';
import { isRated, isRefused, limitedFor, rateHeaders, refusals, unrated } from './refusal.ts';
import { until } from './talk.ts';

const clock = new WheelClock();

/** The ceiling and what remains of it. */
const told = ({ headers }: Answer) => rateHeaders.slice(0, 2).map((name) => Number(headers.get(name)));
const waitOf = ({ headers }: Answer) => Number(headers.get('retry-after'));

t.test('a limit refuses what exceeds it, and says when to retry', async (t) => {
  const world = await openWorld(t);
  await t.test('a bucket empties by one a request and refills at its ceiling a minute', (t) => arithmetic(t, world));
  await t.test('a caller that waits for Retry-After passes, and changed limits hold at once', (t) => waiting(t, world));
  await t.test('a refusal by one of two buckets waits for the other as well', (t) => both(t, world));
  await t.test('a lowered ceiling cuts what is left', (t) => lowered(t, world));
  await t.test('the default is 60, 30 and 10 a minute, and each is set by itself', (t) => defaults(t, world));
  await t.test('two keys have two budgets', (t) => separate(t, world));
  await t.test('concurrent requests share the bucket exactly', (t) => concurrent(t, world));
  await t.test('whatever comes after authentication is charged and says so', (t) => charged(t, world));
  await t.test('requests refused earlier, or that need no key, are not charged', (t) => free(t, world));
  await t.test('a full workspace leaves the key’s budget as it was', (t) => fullWorkspace(t, world));
});

t.test('a 503 tells a key what this process knows of its budget', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const house = await openHouse(t, {
    env: { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' },
  });
  const { key } = await house.newKey({ limits: { requests: 1000, speech: 5 } });
  const { retryAfter: _, ...unavailable } = refusals.draining;
  const { key: unused } = await house.newKey();
  await until(async () => (await house.ask('/sessions', { key })).status === 200);
  redis.signal('SIGSTOP');
  // The key may be asked for at the first answer, and is at the second, since each takes longer than a key is believed
  // without a read.
  for (const time of ['first', 'second']) {
    for (const [path, options, ceiling, least] of [
      ['/sessions', {}, 1000, 900],
      ['/speech', { body: {} }, 5, 5],
    ] as const) {
      const answer = await house.ask(path, { key, ...options });
      isRefused(t, answer, unavailable, `${path}, ${time}`);
      const [limit, remaining] = told(answer) as [number, number];
      t.equal(limit, ceiling, `${path}: of its own budget`);
      t.ok(remaining >= least && remaining <= ceiling, `${path}: ${remaining} left`);
    }
  }
  isRefused(
    t,
    await house.ask('/sessions', { key: unused }),
    unrated(unavailable),
    'a key that this process does not know',
  );
});

t.teardown(() => clock.stop());

type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld(t: Test) {
  const house = await openHouse(t);
  /** Makes a key with this ceiling, and the calls with it. */
  const limited = async (requests: number) => {
    const { id, key } = await house.newKey({ limits: { requests } });
    const ask = (path = '/assistants', options: Ask = {}) => house.ask(path, { key, ...options });
    const patch = (body: object) =>
      house.console(`/workspaces/${house.workspaceId}/keys/${id}`, { method: 'PATCH', body });
    return { id, key, ask, patch };
  };
  return { house, limited };
}

async function arithmetic(t: Test, { limited }: World): Promise<void> {
  const { ask } = await limited(3);
  const secondsEach = 60 / 3;
  let first = { before: 0, after: 0 };
  for (let count = 1; count <= 7; count++) {
    const before = Date.now();
    const answer = await ask();
    const after = Date.now();
    if (count === 1) first = { before, after };
    // Between the first request and this one.
    const [least, most] = [(before - first.after) / 1000, (after - first.before) / 1000];
    t.same(told(answer), [3, Math.max(0, 3 - count)], `request ${count}: remaining`);
    // No debt is deeper than 1 − 3: five requests bring it there, and later ones no further.
    const full = Number(answer.headers.get('x-ratelimit-reset'));
    const since = count <= 5 ? first : { before, after };
    const taken = Math.min(count, 5) * secondsEach * 1000;
    t.ok(
      full >= Math.ceil((since.before + taken) / 1000) && full <= Math.ceil((since.after + taken) / 1000),
      `request ${count}: full again at ${full}`,
    );
    if (count <= 3) {
      t.equal(answer.status, 200);
      continue;
    }
    const wait = waitOf(answer);
    isRefused(t, answer, limitedFor(wait), `request ${count}`);
    const [longest, shortest] =
      count <= 5 ? [(count - 2) * secondsEach - least, (count - 2) * secondsEach - most] : [60, 60];
    t.ok(wait >= Math.ceil(shortest) && wait <= Math.ceil(longest), `request ${count}: a wait of ${wait} s`);
  }
}

async function waiting(t: Test, { limited }: World): Promise<void> {
  const { ask, patch } = await limited(3);
  // Five requests make the deepest debt that a ceiling of three allows: two.
  for (let count = 1; count <= 5; count++) await ask();
  isRefused(t, await ask(), limitedFor(60), 'the longest wait there is');
  t.equal((await patch({ limits: { requests: 120 } })).json.limits.requests, 120);
  const early = await ask();
  const wait = waitOf(early);
  isRefused(t, early, limitedFor(wait), 'refilled by two a second now');
  t.same(told(early), [120, 0]);
  t.ok(wait <= 2, `a wait of ${wait} s`);
  await new Promise<void>((resolve) => clock.after(wait * 1000, resolve));
  t.equal((await ask()).status, 200);
}

/** A request to speak is charged to two buckets, also with a faulty body. */
async function both(t: Test, { house }: World): Promise<void> {
  for (const [path, limits] of [
    ['/speech', { requests: 60, speech: 1 }],
    ['/transcription-tokens', { requests: 60, transcription_tokens: 1 }],
  ] as const) {
    const { key } = await house.newKey({ limits });
    const ask = (path: string, method: 'GET' | 'POST') =>
      house.ask(path, { key, method, ...(method === 'POST' && { body: {} }) });
    t.same(told(await ask(path, 'POST')), [1, 0]);
    const before = Date.now();
    while ((await ask('/assistants', 'GET')).status === 200);
    const refused = await ask(path, 'POST');
    const wait = waitOf(refused);
    isRefused(t, refused, limitedFor(wait), path);
    t.equal(told(refused)[0], 60, 'the bucket that refused');
    t.ok(wait <= 60 && wait >= 59 - (Date.now() - before) / 1000, `a wait of ${wait} s`);
  }
}

async function lowered(t: Test, { limited }: World): Promise<void> {
  const { ask, patch } = await limited(1000);
  t.same(told(await ask()), [1000, 999]);
  await patch({ limits: { requests: 2 } });
  t.same(told(await ask()), [2, 1]);
}

async function defaults(t: Test, { house }: World): Promise<void> {
  const made = await house.newKey({ limits: undefined });
  t.same(made.limits, { requests: 60, speech: 30, transcription_tokens: 10, tokens_per_day: null });
  t.same(told(await house.ask('/assistants', { key: made.key })), [60, 59]);
  t.same((await house.newKey({ limits: { speech: 5 } })).limits, {
    requests: 60,
    speech: 5,
    transcription_tokens: 10,
    tokens_per_day: null,
  });
}

async function separate(t: Test, { limited }: World): Promise<void> {
  const [one, other] = [await limited(2), await limited(2)];
  for (const remaining of [1, 0]) t.same(told(await one.ask()), [2, remaining]);
  t.equal((await one.ask()).status, 429);
  t.same(told(await other.ask()), [2, 1]);
}

async function concurrent(t: Test, { limited }: World): Promise<void> {
  const { ask } = await limited(5);
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask()));
  t.equal(answers.filter(({ status }) => status === 200).length, 5);
  t.equal(answers.filter(({ status }) => status === 429).length, 7);
  t.same(
    answers
      .filter(({ status }) => status === 200)
      .map((answer) => told(answer)[1])
      .sort((a, b) => Number(a) - Number(b)),
    [0, 1, 2, 3, 4],
  );
}

async function charged(t: Test, { house, limited }: World): Promise<void> {
  const assistant = await house.assistant();
  const session = await house.session(assistant.id);
  const etag = (await house.ask(`/assistants/${assistant.id}`)).headers.get('etag')!;
  const asked: [status: number, path: string, options?: Ask][] = [
    [200, '/assistants'],
    [200, '/assistants', { method: 'HEAD' }],
    [200, `/assistants/${assistant.id}`],
    [304, `/assistants/${assistant.id}`, { headers: { 'if-none-match': etag } }],
    [404, '/assistants/asst_none'],
    [201, '/sessions', { body: { assistant_id: assistant.id } }],
    [200, '/sessions'],
    [404, '/sessions/ses_none'],
    [422, '/sessions', { body: {} }],
    [422, '/sessions?limit=0'],
    [400, '/sessions', { body: '{' }],
    [400, '/sessions', { body: { assistant_id: assistant.id }, headers: { 'idempotency-key': '' } }],
    [404, `/sessions/${session.id}/turns/turn_none/abort`, { method: 'POST' }],
    [200, `/sessions/${session.id}/transcript`],
    [200, '/usage'],
    [422, '/usage?start=2&end=1'],
    [200, `/sessions/${session.id}/end`, { method: 'POST' }],
    [409, `/sessions/${session.id}/chat`, { body: { message: 'Hi' } }],
  ];
  for (const [status, path, options] of asked) {
    const { ask } = await limited(2);
    const answer = await ask(path, options);
    const name = `${options?.method ?? ''} ${path} → ${status}`;
    t.equal(answer.status, status, name);
    isRated(t, answer, true, name);
    t.same(told(answer), [2, 1], name);
    t.match(answer.headers.get('x-request-id'), /^req_/, name);
  }
  const talk = await house.session(assistant.id);
  const { key } = await limited(2);
  const stream = await house.stream(`/sessions/${talk.id}/chat`, { key, body: { message: 'Hi' } });
  t.same(
    rateHeaders.slice(0, 2).map((name) => stream.headers.get(name)),
    ['2', '1'],
    'a stream',
  );
  await stream.rest();
}

async function free(t: Test, { limited }: World): Promise<void> {
  const { key, ask } = await limited(2);
  const free: [status: number, path: string, options?: Ask][] = [
    [200, '/healthz'],
    [200, '/readyz'],
    [200, '/metrics'],
    [200, '/openapi.json'],
    [404, '/nowhere'],
    [404, '/sessions', { method: 'DELETE' }],
    [400, '/assistants', { headers: { 'x-api-key': 'another' } }],
    [401, '/assistants', { key: key.slice(0, -1) }],
    [401, '/console/api/workspaces'],
  ];
  for (const [status, path, options] of free) {
    const answer = await ask(path, options);
    t.equal(answer.status, status, path);
    isRated(t, answer, false, `${path} → ${status}`);
    t.match(answer.headers.get('x-request-id'), /^req_/, path);
  }
  t.same(told(await ask()), [2, 1], 'the whole budget is left for this one');
}

async function fullWorkspace(t: Test, { house }: World): Promise<void> {
  const workspace = (await house.console('/workspaces', { body: { name: 'small', turns_in_flight_max: 1 } })).json;
  const inside = `/workspaces/${workspace.id}`;
  const model = { provider: 'synthetic', name: 'hang_at=1' };
  const assistant = (await house.console(`${inside}/assistants`, { body: { name: 'a', model } })).json;
  await house.console(`${inside}/assistants/${assistant.id}/publish`, { method: 'POST' });
  const { key } = (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json;
  const { key: counted } = (await house.console(`${inside}/keys`, { body: { name: 'c', limits: { requests: 2 } } }))
    .json;
  const sessions = [];
  for (const _ of [1, 2])
    sessions.push((await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json.id);
  const stream = await house.stream(`/sessions/${sessions[0]}/chat`, { key, body: { message: 'Hi' } });
  for (const remaining of [1, 0]) {
    const answer = await house.ask(`/sessions/${sessions[1]}/chat`, { key: counted, body: { message: 'Hi' } });
    isRefused(t, answer, limitedFor(1), 'the slot is taken');
    t.same(told(answer), [2, remaining], 'the headers are those of the request bucket');
  }
  isRefused(t, await house.ask(`/sessions/${sessions[0]}/chat`, { key, body: { message: 'Hi' } }), refusals.inProgress);
  await house.ask(`/sessions/${sessions[0]}/turns/${stream.turnId}/abort`, { key, method: 'POST' });
  t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted');
}
