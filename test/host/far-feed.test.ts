/** The feed of live actors over several processes (contract 9, `/inspect`). */
import { EventEmitter } from 'node:events';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import {
  Feed,
  watchFeed,
  type Awake,
  feedAskMs,
  feedWantedMs,
  feedHeldMs,
  feedPictureMs,
} from '../../src/host/feed.ts';
import { Inspector, type Inspected } from '../../src/actors/inspector.ts';
import { limits } from '../../src/base/limits.ts';
import type { PubSub } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { pass, Scene, withSteps } from './scene.ts';

/** The exchange of messages between processes, by channel. */
class Ether implements PubSub {
  readonly sent: string[] = [];
  readonly #emitter = new EventEmitter();

  async publish(channel: string, text: string): Promise<void> {
    this.sent.push(channel);
    this.#emitter.emit(channel, text);
  }

  async listen(channel: string, listener: (text: string) => void): Promise<() => Promise<void>> {
    this.#emitter.on(channel, listener);
    return async () => void this.#emitter.off(channel, listener);
  }

  listeners(channel: string): number {
    return this.#emitter.listenerCount(channel);
  }
}

async function processes() {
  const ether = new Ether();
  const first = await Scene.open();
  const shared = { ...withSteps(first.store, { leaseMs: limits.leaseMs }), pubSub: ether };
  const [one, two] = [first.beside(shared), first.beside(shared)];
  for (const { host } of [one, two]) await host.start();
  return { ether, one, two };
}

const timeFor = feedPictureMs + 50;

t.test('a watcher sees what other processes commit, and which of their actors are awake', async (t) => {
  const { ether, one, two } = await processes();
  const { id } = await two.session();
  await two.actor(id);
  t.same(ether.sent, [], 'nothing is sent while nobody watches');

  const pictures: Awake[][] = [];
  const seen: Inspected[] = [];
  let drains = 0;
  const following = watchFeed(one.host.feed, {
    actors: (actors) => pictures.push(actors),
    inspected: (inspected) => seen.push(inspected),
    draining: () => void drains++,
  });
  await turnOfTheLoop();
  const early = await two.streaming(id);
  await pass(one, timeFor);
  t.match(
    pictures[0]!.find(({ actor }) => actor.id === id),
    { actor: { kind: 'session' }, seq: 1, state: 'open' },
  );
  const events = (): unknown[] =>
    seen.flatMap((each) =>
      each.type === 'event' && each.actor.id === id ? [`${each.seq} ${each.event.type} ${each.from} → ${each.to}`] : [],
    );
  t.same(events(), ['2 chat open → streaming'], 'what happened before the picture came');
  early.model.end();
  await early.runner.settled;
  await two.host.sessions.end(await two.actor(id));
  await turnOfTheLoop();
  t.same(events(), ['2 chat open → streaming', '3 finished streaming → open', '4 end open → ended'], 'each once');

  // The session is awake in both processes, and the other one has moved it since.
  const { id: both } = await one.session();
  await one.actor(both);
  await two.host.sessions.end(await two.actor(both));
  pictures.length = 0;
  following.again();
  await turnOfTheLoop();
  await pass(one, timeFor);
  const found = pictures[0]!.filter(({ actor }) => actor.id === both);
  t.match(found, [{ seq: 2, state: 'ended' }], 'the newest of several counts');

  await pass(one, 2 * feedWantedMs);
  ether.sent.length = 0;
  await two.session().then(({ id: other }) => two.actor(other));
  t.same(ether.sent, ['feed'], 'it lasts as long as somebody watches');

  one.host.feed.drain();
  t.equal(drains, 1, 'a watcher is told that the process begins to end');
  following.stop();
  one.host.feed.drain();
  t.equal(drains, 1, 'and no more once it has left');
  await turnOfTheLoop();
  t.equal(ether.listeners('feed'), 0);
  await pass(one, feedWantedMs + 100);
  ether.sent.length = 0;
  await two.session().then(({ id: other }) => two.actor(other));
  t.same(ether.sent, [], 'and ends some seconds after');
  t.notOk(two.host.inspector.watched);
  for (const { host } of [one, two]) host.close();
  await turnOfTheLoop();
  t.equal(ether.listeners('watching'), 0);
});

/** The clock of a process that was held up: its timers are late. */
class HeldClock extends ManualClock {
  heldMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.heldMs;
  }
}

t.test('a process that was held up keeps sending until it knows whether others still watch', async (t) => {
  const [ether, clock, inspector] = [new Ether(), new HeldClock(), new Inspector()];
  const feed = new Feed({ inspector, clock, pubSub: ether, self: 'one', awake: () => [], isAwake: () => false });
  feed.start();
  const announce = (): Promise<void> => ether.publish('watching', JSON.stringify({ from: 'two', question: null }));
  await announce();
  t.ok(inspector.watched);
  clock.heldMs += limits.leaseMs;
  clock.advance(feedWantedMs);
  t.ok(inspector.watched, 'what was announced meanwhile has not been read');
  await announce();
  clock.advance(feedAskMs + feedHeldMs);
  t.ok(inspector.watched, 'somebody does');
  clock.advance(feedWantedMs);
  t.notOk(inspector.watched, 'nobody does');
  feed.close();
  t.equal(clock.timers, 0);
});

t.test('a watcher that waits for its picture is not sent the events that the picture has', async (t) => {
  const { one, two } = await processes();
  const { id } = await two.session();
  await two.actor(id);
  const watch = () => {
    const [pictures, seen]: [Awake[][], Inspected[]] = [[], []];
    const { stop } = watchFeed(one.host.feed, {
      actors: (actors) => pictures.push(actors),
      inspected: (inspected) => seen.push(inspected),
      draining() {},
    });
    return { pictures, seen, stop };
  };
  const watchers = [watch(), watch()];
  await turnOfTheLoop();
  const early = await two.streaming(id);
  await pass(one, timeFor);
  await pass(one, timeFor);
  t.match(
    watchers.map(({ pictures }) => pictures[0]!.find(({ actor }) => actor.id === id)?.state),
    ['open', 'streaming'],
  );
  t.same(
    watchers.map(({ seen }) => seen.filter(({ type, actor }) => type === 'event' && actor.id === id).length),
    [1, 0],
  );
  early.model.end();
  await early.runner.settled;
  for (const { stop } of watchers) stop();
  for (const { host } of [one, two]) host.close();
  await turnOfTheLoop();
});
