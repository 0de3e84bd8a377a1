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
  /** Answers that are not those of the budget. */
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
    const headers: Record<string, string> = { 'x-ratelimit-limit': String(ceiling), 'x-ratelimit-remaining': String(remaining(bucket)) };
    sent.push({ path, atMs: clock.now(), status: taken.passed ? 200 : 429 });
    if (taken.passed) return new Response(session, { headers });
    return new Response(failure('rate_limit_error', 'rate_limited'), { status: 429, headers: { ...headers, 'retry-after': String(retryAfterSeconds(bucket, ceiling)) } });
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
  return { parley, clock, sent, pass, set instead(answer: (path: string) => Response | null) { instead = answer; } };
}

const limited = (seconds: number, headers: Record<string, string> = {}): Response =>
  new Response(failure('rate_limit_error', 'rate_limited'), { status: 429, headers: { 'retry-after': String(seconds), ...headers } });

t.test('forty callers on a budget of ten: all pass, and after the first wait nobody is refused again', async (t) => {
  const { parley, sent, pass } = service(10);
  const calls = Promise.all(Array.from({ length: 40 }, () => parley.sessions.get('ses_1')));
  await pass(300_000);
  t.equal((await calls).length, 40);
  const refusals = sent.filter(({ status }) => status === 429);
  t.equal(refusals.length, 30, 'those that were under way together');
  t.equal(sent.length, 70);
  t.ok(sent.filter(({ atMs, status }) => status === 200 && atMs > refusals[0]!.atMs).every(({ atMs }) => atMs >= refusals[0]!.atMs + 60_000), 'none sooner than the wait that was asked for');
});

t.test('a call that comes meanwhile stands in the same wait', async (t) => {
  const world = service(60);
  let refusals = 1;
  world.instead = (path) => (path === '/sessions/ses_1' && refusals-- > 0 ? limited(5) : null);
  const first = world.parley.sessions.get('ses_1');
  await world.pass(1000);
  const second = world.parley.sessions.get('ses_2');
  await world.pass(3900);
  t.same(world.sent.map(({ path }) => path), ['/sessions/ses_1'], 'nothing within the wait');
  await world.pass(200);
  await Promise.all([first, second]);
  t.same(world.sent.map(({ path }) => path), ['/sessions/ses_1', '/sessions/ses_1', '/sessions/ses_2'], 'then one by one');
});

t.test("the workspace's turns in flight keep chats waiting, and nothing else", async (t) => {
  const world = service(60);
  let refusals = 1;
  world.instead = (path) => (path.endsWith('/chat') && refusals-- > 0 ? limited(1, { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '41' }) : null);
  const chat = world.parley.sessions.chat('ses_1', 'Hello').catch((error: unknown) => error);
  await world.pass(100);
  await world.parley.sessions.get('ses_1');
  t.same(world.sent.map(({ path }) => path), ['/sessions/ses_1/chat', '/sessions/ses_1']);
  await world.pass(10_000);
  t.equal((await chat as { code: string }).code, 'api_error', 'what answers here is no stream');
  t.equal(world.sent.filter(({ path }) => path.endsWith('/chat')).length, 4);
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

t.test('who leaves the line keeps nobody in it', async (t) => {
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
  t.same(world.sent.map(({ path }) => path), ['/sessions/ses_1', '/sessions/ses_1', '/sessions/ses_3']);
  t.equal(world.clock.timers, 0);
});
