/** The link's limits against an oracle that knows the rules and not the implementation (promise L1, small). */
import fc from 'fast-check';
import t from 'tap';
import { nobody } from '../../../src/actors/cause.ts';
import { Failure } from '../../../src/base/errors.ts';
import { admission, type VisitorUse } from '../../../src/host/link-budget.ts';
import { LinkRefused } from '../../../src/host/visitors.ts';
import { limits } from '../../../src/base/limits.ts';
import { Scene } from '../../host/scene.ts';
import { ids, Scene as StoreScene } from '../../store/fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { openStore } from '../../store/redis-stores.ts';
import { linkSession, say, used, visitorOf, type LinkTurn } from './stage.ts';

const hold = limits.linkHoldMs;
const hourMs = 3_600_000;
const ceilings = {
  ...{ minutes_per_day: 8, concurrent_visitors: 3, messages_per_visitor_per_day: 3, messages_per_address_per_hour: 5 },
  ...{ places_per_address: 2, minutes_per_address: 5 },
};
const visitors = ['vis_1', 'vis_2', 'vis_3', 'vis_4', 'vis_5'];
const addresses = ['one', 'other'];
const addressOf = (visitor: string): string => (visitor < 'vis_4' ? 'one' : 'other');

/** A stretch of a session's time that counts. */
type Span = [from: number, to: number];

/** Returns the length of the union of the spans. */
function measure(spans: readonly Span[]): number {
  let [covered, reached] = [0, -Infinity];
  for (const [from, to] of [...spans].sort(([a], [b]) => a - b)) {
    covered += Math.max(0, to - Math.max(from, reached));
    reached = Math.max(reached, to);
  }
  return covered;
}

interface Talk {
  readonly visitor: string;
  readonly id: string;
  spans: Span[];
  /** The turn in flight, and since when. */
  turn: (LinkTurn & { readonly since: number }) | null;
}

/** Computes the state of each limit from the spans and messages alone. */
class Oracle {
  readonly talks: Talk[] = [];
  readonly over: Pick<Talk, 'visitor' | 'spans'>[] = [];
  readonly messages = new Map<string, number>();
  /** The level of each address: its ceiling less the messages that were sent, refilled. */
  readonly #levels = new Map(addresses.map((address) => [address, ceilings.messages_per_address_per_hour * hourMs]));
  #at = 0;

  /** The time used by all, or at one address. */
  usedMs(address?: string): number {
    const counted = [...this.over, ...this.talks].filter(
      ({ visitor }) => address === undefined || addressOf(visitor) === address,
    );
    return counted.reduce((sum, { spans }) => sum + measure(spans), 0);
  }

  present(now: number): Set<string> {
    return new Set(
      this.talks
        .filter(({ spans, turn }) => turn !== null || spans.some(([, to]) => to > now))
        .map(({ visitor }) => visitor),
    );
  }

  refill(now: number): void {
    const { messages_per_address_per_hour: ceiling } = ceilings;
    for (const [address, level] of this.#levels)
      this.#levels.set(address, Math.min(ceiling * hourMs, level + (now - this.#at) * ceiling));
    this.#at = now;
  }

  pay(address: string, messages: number): void {
    this.#levels.set(
      address,
      Math.min(ceilings.messages_per_address_per_hour * hourMs, this.#levels.get(address)! - messages * hourMs),
    );
  }

  /** Returns the answer that a message of this talk must get. */
  verdict(talk: Talk, now: number): string {
    if (talk.turn !== null) return 'turn_in_progress';
    if (this.talks.some(({ visitor, turn }) => visitor === talk.visitor && turn !== null)) return 'visitor_turn';
    const there = this.present(now);
    const address = addressOf(talk.visitor);
    const near = [...there].filter((visitor) => addressOf(visitor) === address);
    this.refill(now);
    const refusing = [
      this.usedMs() >= ceilings.minutes_per_day * 60_000 && 'minutes_per_day',
      !there.has(talk.visitor) && there.size >= ceilings.concurrent_visitors && 'concurrent_visitors',
      (this.messages.get(talk.visitor) ?? 0) >= ceilings.messages_per_visitor_per_day && 'messages_per_visitor_per_day',
      this.#levels.get(address)! < hourMs && 'messages_per_address_per_hour',
      !there.has(talk.visitor) && near.length >= ceilings.places_per_address && 'places_per_address',
      this.usedMs(address) >= ceilings.minutes_per_address * 60_000 && 'minutes_per_address',
    ].filter(Boolean);
    return refusing.length === 0 ? 'accepted' : refusing.join(' ');
  }
}

interface Step {
  readonly kind: 'say' | 'seal' | 'withdraw' | 'end' | 'wait';
  readonly which: number;
  readonly ms: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('say' as const) },
    { weight: 4, arbitrary: fc.constantFrom('seal' as const, 'wait' as const) },
    { weight: 1, arbitrary: fc.constantFrom('withdraw' as const, 'end' as const) },
  ),
  which: fc.nat(2 * visitors.length - 1),
  ms: fc.oneof(fc.nat(30_000), fc.constantFrom(hold, hold - 1, 1)),
});

class Life {
  readonly scene: Scene;
  readonly oracle = new Oracle();
  readonly answers = new Set<string>();

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async talk(visitor: string): Promise<Talk> {
    return { visitor, id: (await linkSession(this.scene, visitor)).id, spans: [], turn: null };
  }

  #use = ({ visitor }: Talk): VisitorUse => visitorOf(this.scene, visitor, ceilings, addressOf(visitor));

  async take(talk: Talk, { kind, ms }: Step): Promise<void> {
    if (kind === 'say') return this.#say(talk);
    if (kind === 'wait') return this.#wait(ms);
    if (kind === 'end') return this.#end(talk);
    if (talk.turn !== null) await this.#over(talk, kind === 'withdraw');
  }

  async #say(talk: Talk): Promise<void> {
    const { oracle, scene } = this;
    const now = scene.clock.now();
    const due = oracle.verdict(talk, now);
    const turn = await say(scene, talk.id, this.#use(talk)).catch((error: unknown) => error);
    const got =
      turn instanceof LinkRefused ? turn.limiters.join(' ') : turn instanceof Failure ? turn.code : 'accepted';
    if (got !== due) throw new Error(`at ${now} ${talk.visitor} got ${got}, not ${due}: ${String(turn)}`);
    this.answers.add(got);
    if (got !== 'accepted') return;
    talk.turn = { ...(turn as LinkTurn), since: now };
    talk.spans.push([now, now + hold]);
    oracle.messages.set(talk.visitor, (oracle.messages.get(talk.visitor) ?? 0) + 1);
    oracle.pay(addressOf(talk.visitor), 1);
  }

  /** The turn of the talk ends. A turn without output may be withdrawn, as if it was never there. */
  async #over(talk: Talk, isWithdrawn: boolean): Promise<void> {
    const { oracle, scene } = this;
    const { runner, model, since } = talk.turn!;
    const last = talk.spans.at(-1)!;
    if (isWithdrawn && runner.log.stored === 0) {
      runner.failed('credential');
      talk.spans.pop();
      oracle.messages.set(talk.visitor, oracle.messages.get(talk.visitor)! - 1);
      oracle.refill(scene.clock.now());
      oracle.pay(addressOf(talk.visitor), -1);
    } else {
      model.text('one');
      model.end();
      last[1] = Math.max(since, scene.clock.now()) + hold;
    }
    await runner.over;
    talk.turn = null;
  }

  async #end(talk: Talk): Promise<void> {
    const { oracle, scene } = this;
    const now = scene.clock.now();
    if (talk.turn !== null) talk.spans.at(-1)![1] = now;
    await scene.host.sessions.end(await scene.actor(talk.id), nobody, this.#use(talk));
    oracle.over.push({ visitor: talk.visitor, spans: talk.spans.map(([from, to]): Span => [from, Math.min(to, now)]) });
    oracle.talks[oracle.talks.indexOf(talk)] = await this.talk(talk.visitor);
  }

  async #wait(ms: number): Promise<void> {
    // No turn runs into the limits of a provider or of a turn.
    for (const talk of this.oracle.talks)
      if (talk.turn !== null && this.scene.clock.now() + ms - talk.turn.since > 50_000) await this.#over(talk, false);
    this.scene.clock.advance(ms);
  }
}

async function live(steps: readonly Step[], answers: Set<string>): Promise<void> {
  const scene = await Scene.open();
  const life = new Life(scene);
  try {
    for (const visitor of [...visitors, ...visitors]) life.oracle.talks.push(await life.talk(visitor));
    for (const each of steps) {
      await life.take(life.oracle.talks[each.which]!, each);
      const [due, got] = [
        { ms: life.oracle.usedMs(), visitors: life.oracle.present(scene.clock.now()).size },
        await used(scene),
      ];
      if (due.ms !== got.ms || due.visitors !== got.visitors)
        throw new Error(`after ${JSON.stringify(each)}: ${JSON.stringify(got)}, not ${JSON.stringify(due)}`);
    }
    for (const answer of life.answers) answers.add(answer);
  } finally {
    for (const { turn } of life.oracle.talks) void turn?.runner.stop('drain');
    scene.host.close();
  }
}

t.test('random lives of five visitors at two addresses, with two sessions each', async (t) => {
  const answers = new Set<string>();
  await t.resolves(
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => live(steps, answers)),
      { numRuns: 60, seed: 7 },
    ),
  );
  const alone = ['accepted', 'turn_in_progress', 'visitor_turn', ...Object.keys(ceilings)];
  t.same(
    alone.filter((answer) => !answers.has(answer)),
    [],
    'each limit refused alone',
  );
});

t.test(
  'many processes that begin turns at once pass exactly as often as the limits let through',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => server.stop());
    const prefix = `${ids.secret()}:`;
    const opened = await Promise.all([1, 2, 3, 4].map(() => openStore(server.url, { prefix })));
    t.teardown(() => Promise.all(opened.map(({ dispose }) => dispose())));
    const scenes = opened.map(({ store }) => store);
    const scene = new StoreScene(scenes[0]!, Date.now());
    const begin = async (index: number, over: object): Promise<string> => {
      const visitorId = `vis_${index % 40}`;
      const session = await scene.created({ channel: 'link', link: { visitorId, clock: null } });
      const use = {
        assistantId: scene.assistantId,
        visitorId,
        isSigned: false,
        addressKey: () => 'a',
        limits: {
          minutes_per_day: null,
          concurrent_visitors: null,
          messages_per_visitor_per_day: null,
          messages_per_address_per_hour: null,
          places_per_address: null,
          minutes_per_address: null,
          ...over,
        },
        placeMsMax: 600_000,
      };
      const { asked } = admission(use, session, scene.nowMs, use.placeMsMax, 'turn');
      const answer = await scenes[index % 4]!.turns.begin(scene.beginStep(session, 1, { slot: null, asked }));
      return answer.outcome === 'begun' ? visitorId : answer.outcome;
    };
    const all = async (over: object) =>
      (await Promise.all(Array.from({ length: 160 }, (_, index) => begin(index, over)))).filter(
        (answer) => answer !== 'limited',
      );
    t.equal((await all({ messages_per_address_per_hour: 30 })).length, 30);
    t.equal(
      (await all({ messages_per_visitor_per_day: 2 })).length,
      80,
      'two of each visitor: what was sent while there was no ceiling is not counted',
    );
    t.equal(
      (await all({ concurrent_visitors: 39 })).length,
      160,
      'who has a place keeps it, whatever the ceiling becomes',
    );
    const [usedMs] = await scene.store.limits.used(
      scene.workspaceId,
      [{ kind: 'counter', name: `${scene.assistantId}/minutes`, periodMs: 86_400_000 }],
      scene.nowMs,
    );
    const minutes = usedMs! / 60_000;
    t.equal((await all({ minutes_per_day: minutes + 7 })).length, 7);
    t.equal(
      (await all({ places_per_address: 23 })).length,
      92,
      'four messages of each visitor who has a place of the address',
    );
    t.equal((await all({ minutes_per_address: 92 + 9 })).length, 9);
  },
);
