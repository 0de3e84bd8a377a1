/** The waits of a 429 are shared by what uses the same budget, are never cut short, and end without a herd. */
import t from 'tap';
import { Parley, type ParleyOptions } from '../../src/client/parley.ts';
import { RateLimitError } from '../../src/client/failure.ts';
import { full, remaining, retryAfterSeconds, take, type Bucket } from '../../machines/budget.ts';
import { failure, HandClock } from './scene.ts';

interface Sent {
  readonly path: string;
  readonly atMs: number;
  readonly status: number;
}

/** A service with one budget, by the arithmetic of the server's own, on the clock of its client. */
function service(ceiling: number, options: Partial<ParleyOptions> = {}) {
  const clock = new HandClock();
  const sent: Sent[] = [];
  let bucket: Bucket = full(ceiling, clock.now());
  /** Answers in place of the budget's. */
  let instead = (_path: string): Response | null => null;
  const session = JSON.stringify({ object: 'session', id: 'ses_1' });
  const ask = async (url: string): Promise<Response> => {
    const path = new URL(url).pathname;
    const own = instead(path);
    if (own !== null) {
      sent.push({ path, atMs: clock.now(), status: own.status });
      return own;
    }
    const taken = take(bucket, ceiling, clock.now());
    bucket = taken.bucket;
    const headers: Record<string, string> = {
      'x-ratelimit-limit': String(ceiling),
      'x-ratelimit-remaining': String(remaining(bucket)),
    };
    sent.push({ path, atMs: clock.now(), status: taken.passed ? 200 : 429 });
    if (taken.passed) return new Response(session, { headers });
    return new Response(failure('rate_limit_error', 'rate_limited'), {
      status: 429,
      headers: { ...headers, 'retry-after': String(retryAfterSeconds(bucket, ceiling)) },
    });
  };
  const parley = new Parley({ url: 'http://service', key: 'ak_1', clock, fetch: ask, ...options });
  /** Lets everything happen that needs no time, then moves the clock. */
  const pass = async (ms: number, stepMs = 100): Promise<void> => {
    for (let gone = 0; gone < ms; gone += stepMs) {
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
      clock.advance(stepMs);
    }
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  };
  return {
    parley,
    clock,
    sent,
    pass,
    set instead(answer: (path: string) => Response | null) {
      instead = answer;
    },
  };
}

const limited = (seconds: number, headers: Record<string, string> = {}): Response =>
  new Response(failure('rate_limit_error', 'rate_limited'), {
    status: 429,
    headers: { 'retry-after': String(seconds), ...headers },
  });

t.test('forty callers on a budget of ten: all pass, and after the first wait nobody is refused again', async (t) => {
  const { parley, sent, pass } = service(10);
  const calls = Promise.all(Array.from({ length: 40 }, () => parley.sessions.get('ses_1')));
  await pass(300_000);
  t.equal((await calls).length, 40);
  const refusals = sent.filter(({ status }) => status === 429);
  t.equal(refusals.length, 30, 'those that were under way together');
  t.equal(sent.length, 70);
  t.ok(
    sent
      .filter(({ atMs, status }) => status === 200 && atMs > refusals[0]!.atMs)
      .every(({ atMs }) => atMs >= refusals[0]!.atMs + 60_000),
    'none sooner than the wait that was asked for',
  );
});

t.test('a call that comes meanwhile stands in the same wait', async (t) => {
  const world = service(60);
  let refusals = 1;
  world.instead = (path) => (path === '/sessions/ses_1' && refusals-- > 0 ? limited(5) : null);
  const first = world.parley.sessions.get('ses_1');
  await world.pass(1000);
  const second = world.parley.sessions.get('ses_2');
  await world.pass(3900);
  t.same(
    world.sent.map(({ path }) => path),
    ['/sessions/ses_1'],
    'nothing within the wait',
  );
  await world.pass(200);
  await Promise.all([first, second]);
  t.same(
    world.sent.map(({ path }) => path),
    ['/sessions/ses_1', '/sessions/ses_1', '/sessions/ses_2'],
    'then one by one',
  );
});

t.test("the workspace's turns in flight keep chats waiting, and nothing else", async (t) => {
  const world = service(60);
  let refusals = 1;
  world.instead = (path) =>
    path.endsWith('/chat') && refusals-- > 0
      ? limited(1, { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '41' })
      : null;
  const chat = world.parley.sessions.chat('ses_1', 'Hello').catch((error: unknown) => error);
  await world.pass(100);
  await world.parley.sessions.get('ses_1');
  t.same(
    world.sent.map(({ path }) => path),
    ['/sessions/ses_1/chat', '/sessions/ses_1'],
  );
  await world.pass(10_000);
  t.equal(((await chat) as { code: string }).code, 'api_error', 'what answers here is no stream');
  t.equal(world.sent.filter(({ path }) => path.endsWith('/chat')).length, 4);
});

/**
 * Sends a 429 to speech with this ceiling, after the client has seen the headers of its two budgets if given; resolves
 * with whether another call stood in the same wait.
 */
async function shared(
  refusing: number,
  { requests, speech }: { requests?: number; speech?: number },
): Promise<boolean> {
  const world = service(1000);
  const audio = { 'content-type': 'audio/wav', 'x-audio-sample-rate': '16000', 'x-ratelimit-remaining': '9' };
  const session = { 'x-ratelimit-limit': String(requests), 'x-ratelimit-remaining': '9' };
  let refusals = 0;
  let refuse = (): void => {};
  const refused = new Promise<void>((resolve) => (refuse = resolve));
  world.instead = (path) => {
    if (path !== '/speech')
      return requests === undefined ? null : new Response('{"object":"session","id":"ses_1"}', { headers: session });
    if (refusals-- > 0) {
      refuse();
      return limited(5, { 'x-ratelimit-limit': String(refusing), 'x-ratelimit-remaining': '0' });
    }
    return new Response('RIFF', {
      headers: { ...audio, ...(speech !== undefined && { 'x-ratelimit-limit': String(speech) }) },
    });
  };
  const say = async (): Promise<void> =>
    void (await (await world.parley.speech({ assistant_id: 'asst_1', text: 'Hello' })).bytes());
  if (requests !== undefined) await world.parley.sessions.get('ses_1');
  if (speech !== undefined) await say();
  const before = world.sent.length;
  refusals = 1;
  const spoken = say();
  await refused;
  await world.pass(1000);
  const other = world.parley.sessions.get('ses_2');
  await world.pass(1000);
  const paths = world.sent.slice(before).map(({ path }) => path);
  await world.pass(10_000);
  await Promise.all([spoken, other]);
  return !paths.includes('/sessions/ses_2');
}

t.test('speech that the request budget refuses keeps every call waiting, and its own budget no other', async (t) => {
  t.equal(await shared(60, { requests: 60, speech: 30 }), true, 'the ceiling of the requests');
  t.equal(await shared(30, { requests: 60, speech: 30 }), false, 'its own');
  t.equal(await shared(60, { requests: 60 }), true, 'its own is not known yet');
  t.equal(await shared(30, {}), false, 'nothing is known: the defaults');
  t.equal(await shared(60, {}), true);
  t.equal(await shared(500, { requests: 500, speech: 500 }), true, 'it cannot be told');
  t.equal(await shared(40, { requests: 60, speech: 30 }), true, 'one of them was changed');
  t.equal(await shared(20, { requests: 30, speech: 20 }), false, 'as the key has them, not the defaults');
  t.equal(await shared(30, { requests: 30, speech: 20 }), true);
});

t.test('a wait that is too long is thrown at once, to those that come later as well, until it is over', async (t) => {
  const world = service(60);
  let refusals = 1;
  world.instead = () => (refusals-- > 0 ? limited(90) : null);
  await t.rejects(world.parley.sessions.get('ses_1'), { code: 'rate_limited', retryAfterSeconds: 90 });
  await world.pass(10_000);
  const error = await world.parley.sessions.get('ses_1').catch((thrown: unknown) => thrown as RateLimitError);
  t.ok(error instanceof RateLimitError);
  t.match(error, { code: 'rate_limited', type: 'rate_limit_error', status: 429, retryAfterSeconds: 80 });
  t.equal(world.sent.length, 1, 'nothing was sent');
  await world.pass(20_000);
  const third = world.parley.sessions.get('ses_1');
  await world.pass(60_500);
  t.match(await third, { id: 'ses_1' });
});

t.test('a call that leaves the line frees its place', async (t) => {
  const world = service(60);
  let refusals = 1;
  world.instead = () => (refusals-- > 0 ? limited(5) : null);
  const first = world.parley.sessions.get('ses_1');
  await world.pass(100);
  const leaving = new AbortController();
  const second = t.rejects(world.parley.sessions.get('ses_2', { signal: leaving.signal }), { message: 'enough' });
  const third = world.parley.sessions.get('ses_3');
  await world.pass(100);
  leaving.abort(new Error('enough'));
  await second;
  await world.pass(5_000);
  await Promise.all([first, third]);
  t.same(
    world.sent.map(({ path }) => path),
    ['/sessions/ses_1', '/sessions/ses_1', '/sessions/ses_3'],
  );
  t.equal(world.clock.timers, 0);
});
