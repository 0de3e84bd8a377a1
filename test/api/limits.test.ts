/** The budgets of a key over HTTP (specification 8, contract 5). Ceilings are so low that no request of a test is refilled meanwhile. */
import t from 'tap';
import { WheelClock } from '../../src/clock.ts';
import { openHouse, type Answer, type Ask } from './house.ts';
import { isRated, isRefused, limitedFor, rateHeaders, refusals } from './refusal.ts';

const clock = new WheelClock();

/** Remaining of a ceiling. */
const told = ({ headers }: Answer) => rateHeaders.slice(0, 2).map((name) => Number(headers.get(name)));
const waitOf = ({ headers }: Answer) => Number(headers.get('retry-after'));

t.test('limits', async (t) => {
  const house = await openHouse(t);
  const limited = async (requests: number) => {
    const { id, key } = await house.newKey({ limits: { requests } });
    const ask = (path = '/assistants', options: Ask = {}) => house.ask(path, { key, ...options });
    const patch = (body: object) => house.console(`/workspaces/${house.workspaceId}/keys/${id}`, { method: 'PATCH', body });
    return { id, key, ask, patch };
  };

  await t.test('a bucket empties by one a request and refills at its ceiling a minute', async (t) => {
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
      t.ok(full >= Math.ceil((since.before + taken) / 1000) && full <= Math.ceil((since.after + taken) / 1000), `request ${count}: full again at ${full}`);
      if (count <= 3) {
        t.equal(answer.status, 200);
        continue;
      }
      const wait = waitOf(answer);
      isRefused(t, answer, limitedFor(wait), `request ${count}`);
      const [longest, shortest] = count <= 5 ? [(count - 2) * secondsEach - least, (count - 2) * secondsEach - most] : [60, 60];
      t.ok(wait >= Math.ceil(shortest) && wait <= Math.ceil(longest), `request ${count}: a wait of ${wait} s`);
    }
  });

  await t.test('who waits as long as told passes, and changed limits hold at once', async (t) => {
    const { ask, patch } = await limited(1);
    t.same(told(await ask()), [1, 0]);
    isRefused(t, await ask(), limitedFor(60), 'the longest wait there is');
    t.equal((await patch({ limits: { requests: 120 } })).json.limits.requests, 120);
    const early = await ask();
    isRefused(t, early, limitedFor(1), 'two a second are refilled now');
    t.same(told(early), [120, 0]);
    await new Promise<void>((resolve) => clock.after(waitOf(early) * 1000, resolve));
    t.equal((await ask()).status, 200);
    await patch({ limits: { requests: 1 } });
    const lowered = await ask();
    t.equal(Number(lowered.headers.get('x-ratelimit-limit')), 1);
  });

  await t.test('a lowered ceiling cuts what is left', async (t) => {
    const { ask, patch } = await limited(1000);
    t.same(told(await ask()), [1000, 999]);
    await patch({ limits: { requests: 2 } });
    t.same(told(await ask()), [2, 1]);
  });

  await t.test('the default is 60, 30 and 10 a minute, and each is set by itself', async (t) => {
    const made = await house.newKey({ limits: undefined });
    t.same(made.limits, { requests: 60, speech: 30, transcription_tokens: 10 });
    t.same(told(await house.ask('/assistants', { key: made.key })), [60, 59]);
    t.same((await house.newKey({ limits: { speech: 5 } })).limits, { requests: 60, speech: 5, transcription_tokens: 10 });
  });

  await t.test('two keys have two budgets', async (t) => {
    const [one, other] = [await limited(2), await limited(2)];
    for (const remaining of [1, 0]) t.same(told(await one.ask()), [2, remaining]);
    t.equal((await one.ask()).status, 429);
    t.same(told(await other.ask()), [2, 1]);
  });

  await t.test('concurrent requests share the bucket exactly', async (t) => {
    const { ask } = await limited(5);
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask()));
    t.equal(answers.filter(({ status }) => status === 200).length, 5);
    t.equal(answers.filter(({ status }) => status === 429).length, 7);
    t.same(answers.filter(({ status }) => status === 200).map((answer) => told(answer)[1]).sort(), [0, 1, 2, 3, 4]);
  });

  await t.test('whatever comes after authentication is charged and says so', async (t) => {
    const ceiling = 50;
    const { key, ask } = await limited(ceiling);
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
    let remaining = ceiling;
    for (const [status, path, options] of asked) {
      const answer = await ask(path, options);
      const name = `${options?.method ?? ''} ${path} → ${status}`;
      t.equal(answer.status, status, name);
      isRated(t, answer, true, name);
      t.same(told(answer), [ceiling, --remaining], name);
      t.match(answer.headers.get('x-request-id'), /^req_/, name);
    }
    const talk = await house.session(assistant.id);
    const stream = await house.stream(`/sessions/${talk.id}/chat`, { key, body: { message: 'Hi' } });
    t.equal(Number(stream.headers.get('x-ratelimit-remaining')), --remaining, 'a stream');
    await stream.rest();
  });

  await t.test('what comes before, and what needs no key, is not', async (t) => {
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
  });

  await t.test('the full workspace does not put the key into debt', async (t) => {
    const workspace = (await house.console('/workspaces', { body: { name: 'small', turns_in_flight_max: 1 } })).json;
    const inside = `/workspaces/${workspace.id}`;
    const model = { provider: 'synthetic', name: 'hang_at=1' };
    const assistant = (await house.console(`${inside}/assistants`, { body: { name: 'a', model } })).json;
    await house.console(`${inside}/assistants/${assistant.id}/publish`, { method: 'POST' });
    const { key } = (await house.console(`${inside}/keys`, { body: { name: 'k', limits: { requests: 10 } } })).json;
    const sessions = [];
    for (const _ of [1, 2]) sessions.push((await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json.id);
    const stream = await house.stream(`/sessions/${sessions[0]}/chat`, { key, body: { message: 'Hi' } });
    for (const remaining of [6, 5]) {
      const answer = await house.ask(`/sessions/${sessions[1]}/chat`, { key, body: { message: 'Hi' } });
      isRefused(t, answer, limitedFor(1), 'the slot is taken');
      t.same(told(answer), [10, remaining], 'the headers are those of the request bucket');
    }
    isRefused(t, await house.ask(`/sessions/${sessions[0]}/chat`, { key, body: { message: 'Hi' } }), refusals.inProgress);
    await house.ask(`/sessions/${sessions[0]}/turns/${stream.turnId}/abort`, { key, method: 'POST' });
    t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted');
  });
});

t.teardown(() => clock.stop());
