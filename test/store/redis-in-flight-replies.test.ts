import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { InFlightReplies } from '../../src/store/redis/in-flight-replies.ts';

interface Settle {
  readonly resolve: (text: string) => void;
  readonly reject: (error: Error) => void;
}

/** A connection whose replies come when the test lets them, and a clock beside it. */
function connection(): {
  at(ms: number): void;
  ask(): Promise<string>;
  reply(failed?: boolean): void;
  readonly sent: number;
} {
  let now = 0;
  let sent = 0;
  const owed = new InFlightReplies({ monotonic: () => now });
  const waiting: Settle[] = [];
  return {
    at: (ms) => (now = ms),
    ask: () =>
      owed.ask(() => {
        sent++;
        return new Promise<string>((resolve, reject) => waiting.push({ resolve, reject }));
      }),
    reply(failed = false) {
      const { resolve, reject } = waiting.shift()!;
      if (failed) reject(new Error('closed'));
      else resolve('a reply');
    },
    get sent() {
      return sent;
    },
  };
}

const replacedMs = limits.redisPingMs + limits.redisSilenceMs + limits.redisReconnectMsMax;
const silent = new StoreUnavailable('Redis has stopped answering.');

t.test('a connection that owes a reply for too long gets no command until it replies', async (t) => {
  const redis = connection();
  const first = redis.ask();
  redis.at(limits.redisCallMs);
  const second = redis.ask();
  redis.at(limits.redisCallMs + 1);
  await t.rejects(redis.ask(), silent);
  t.equal(redis.sent, 2, 'nothing is written to it');
  redis.reply();
  t.equal(await first, 'a reply');
  const third = redis.ask();
  redis.at(2 * limits.redisCallMs + 2);
  await t.rejects(redis.ask(), silent, 'it has again that long for the next');
  redis.reply();
  redis.reply();
  t.same(await Promise.all([second, third]), ['a reply', 'a reply']);
});

t.test('a connection without requests in flight may be silent', async (t) => {
  const redis = connection();
  const first = redis.ask();
  redis.reply();
  await first;
  redis.at(1_000_000);
  const second = redis.ask();
  redis.at(1_000_000 + limits.redisCallMs);
  const third = redis.ask();
  redis.reply();
  redis.reply();
  t.same(await Promise.all([second, third]), ['a reply', 'a reply']);
});

t.test('a closed connection owes no reply', async (t) => {
  const redis = connection();
  const lost = redis.ask();
  redis.at(limits.redisCallMs + 1);
  redis.reply(true);
  await t.rejects(lost, new Error('closed'));
  const next = redis.ask();
  redis.reply();
  t.equal(await next, 'a reply');
});

t.test('a reply that never comes counts for as long as its connection can last', async (t) => {
  const redis = connection();
  const never = redis.ask();
  redis.at(replacedMs);
  await t.rejects(redis.ask(), silent, 'its own ping may have kept it');
  redis.at(replacedMs + 1);
  const next = redis.ask();
  redis.reply();
  await never;
  redis.at(replacedMs + limits.redisCallMs + 2);
  await t.rejects(redis.ask(), silent, 'a late reply of the old one says nothing of the new one');
  redis.reply();
  t.equal(await next, 'a reply');
});

t.test('the reply arrives during retries', async (t) => {
  const redis = connection();
  let replied = false;
  const first = redis.ask().then(() => (replied = true));
  redis.at(limits.redisCallMs + 1);
  setImmediate(() => setImmediate(() => setImmediate(() => redis.reply())));
  let refused = 0;
  while (!replied) await Promise.race([redis.ask().catch(() => refused++), first]);
  t.ok(refused > 0);
});

t.test('a process that did not run for long hears what has come before it refuses', async (t) => {
  const redis = connection();
  const first = redis.ask();
  redis.at(limits.redisCallMs + 1);
  const second = redis.ask();
  t.equal(redis.sent, 1);
  redis.reply();
  t.equal(await first, 'a reply');
  while (redis.sent === 1) await turnOfTheLoop();
  redis.reply();
  t.equal(await second, 'a reply');
});
