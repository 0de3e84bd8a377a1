/**
 * The contract suite must reject stores that are broken: each of these is the memory store with one verb gone wrong.
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { codePoints, indexAfter, textBehind } from '../../src/base/text.ts';
import { endedCalls, hasEnded } from '../../src/store/records/tools.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { takeStep, wrapStore, type Steps } from '../../src/store/steps.ts';
import { NameTaken, RecordsFull } from '../../src/store/store.ts';
import type {
  Assistant,
  AskedLimit,
  Fence,
  FinishTurn,
  Message,
  Session,
  Store,
  ToolCall,
  Turn,
  TurnPlace,
  Versioned,
  WebhookDelivery,
} from '../../src/store/store.ts';
import { verdict } from './contract.ts';
import type { Factory } from './contract.ts';
import { api, at, page } from './fixtures.ts';
import { rejected, unknownCases } from './rejected.ts';

/** A memory store with some of its steps replaced. */
const factory =
  (breaking: (sound: Store) => Partial<Steps>): Factory =>
  async () => {
    const sound = memoryStore();
    await sound.open(Date.now());
    const steps = breaking(sound);
    return { store: wrapStore(sound, (name) => steps[name]), dispose: () => sound.close() };
  };

const reader = (place: TurnPlace) => `${place.sessionId}/${place.turnId}`;

/** Remembers the newest fence of each turn, for stores that let anybody in. */
function fences(store: Store): Partial<Steps> & { of(place: TurnPlace): Fence | undefined } {
  const known = new Map<string, Fence>();
  return {
    of: (place) => known.get(reader(place)),
    async beginTurn(step) {
      const answer = await store.turns.begin(step);
      if (answer.outcome === 'begun')
        known.set(reader({ workspaceId: '', sessionId: step.session.id, turnId: step.turn.id }), answer.fence);
      return answer;
    },
    async takeOverTurn(place, owner, leaseUntilMs, nowMs) {
      const fence = await store.turns.takeOver(place, owner, leaseUntilMs, nowMs);
      if (fence !== null) known.set(reader(place), fence);
      return fence;
    },
  };
}

const asCounter = (limit: AskedLimit): AskedLimit => (limit.kind === 'quota' ? { ...limit, kind: 'counter' } : limit);
const withoutCeiling = (limit: AskedLimit): AskedLimit =>
  limit.kind === 'quota' ? { ...limit, ceiling: Infinity } : limit;

const uncut = ({ cutAt: _, ...step }: FinishTurn): FinishTurn => step;

/** The whole text of a turn that a step would cut. */
async function wholeOf(store: Store, { session, turn, tail }: FinishTurn): Promise<string> {
  const stored = await store.turns.output({ workspaceId: session.workspaceId, sessionId: session.id, turnId: turn.id });
  return stored + tail.text.slice(indexAfter(tail.text, codePoints(stored) - tail.position));
}

/** Remembers the whole text of each turn that is cut, for stores that show it to some readers. */
function wholes(store: Store): {
  readonly known: ReadonlyMap<string, string>;
  readonly finishTurn: Steps['finishTurn'];
} {
  const known = new Map<string, string>();
  return {
    known,
    async finishTurn(step) {
      const whole = await wholeOf(store, step);
      const answer = await store.turns.finish(step);
      if (answer.outcome === 'finished' && step.cutAt !== undefined && !known.has(step.turn.id))
        known.set(step.turn.id, whole);
      return answer;
    },
  };
}

/**
 * A store whose turns are cut by another step than their end: `cuts` takes that step, given the first one, and the
 * readers see the cut from then on.
 */
function cutApart(
  store: Store,
  cuts: (cut: () => void, finish: () => ReturnType<Steps['finishTurn']>) => ReturnType<Steps['finishTurn']>,
): Partial<Steps> {
  const ends = new Map<string, number>();
  const shown = (turnId: string | null, text: string): string =>
    text.slice(0, indexAfter(text, ends.get(turnId ?? '') ?? Infinity));
  return {
    finishTurn: (step) =>
      cuts(
        () => step.cutAt !== undefined && ends.set(step.turn.id, step.cutAt),
        () => store.turns.finish(uncut(step)),
      ),
    output: async (place) => shown(place.turnId, await store.turns.output(place)),
    async outputAfter(place, position) {
      const found = await store.turns.outputAfter(place, 0);
      return found && { ...found, text: textBehind(shown(place.turnId, found.text!), position) };
    },
    async messages(workspaceId, sessionId, page) {
      const found = await store.sessions.messages(workspaceId, sessionId, page);
      return {
        ...found,
        items: found.items.map((each) =>
          each.role === 'assistant' ? { ...each, content: shown(each.turnId, each.content) } : each,
        ),
      };
    },
    async recentMessages(...given) {
      const found = await store.sessions.recentMessages(...given);
      return found.map((each) =>
        each.role === 'assistant' ? { ...each, content: shown(each.turnId, each.content) } : each,
      );
    },
  };
}

const unsigned = ({ opaque: _, ...call }: ToolCall): ToolCall => call;

const roundless = ({ opaque: { round: _, ...opaque } = { origin: '' }, ...call }: ToolCall): ToolCall => ({
  ...call,
  opaque,
});

/** A store that still lists the deliveries that a step removes. */
function outlasting(store: Store, step: 'withdrawTurn' | 'eraseSession' | 'catalog.remove'): Partial<Steps> {
  const listed = new Map<string, WebhookDelivery[]>();
  return {
    [step]: async (...given: any[]) => {
      for (const [name, deliveries] of listed) {
        const [workspaceId, webhookId] = name.split(' ') as [string, string];
        listed.set(name, [...deliveries, ...(await store.webhooks.list(workspaceId, webhookId))]);
      }
      return takeStep(store, step, given);
    },
    async deliveries(workspaceId, webhookId) {
      const found = await store.webhooks.list(workspaceId, webhookId);
      const name = `${workspaceId} ${webhookId}`;
      const lasting = (listed.get(name) ?? []).filter(({ id }) => !found.some((each) => each.id === id));
      listed.set(name, listed.get(name) ?? []);
      return [...found, ...lasting];
    },
  };
}

const broken: Record<string, (store: Store) => Partial<Steps>> = {
  'a failed turn that is reported as completed': (store) => ({
    finishTurn: (step) => store.turns.finish({ ...step, turn: { ...step.turn, status: 'completed' } }),
  }),
  'a withdrawn turn whose event stays': (store) => outlasting(store, 'withdrawTurn'),
  'an erased session whose events stay': (store) => outlasting(store, 'eraseSession'),
  'a removed webhook whose deliveries stay': (store) => outlasting(store, 'catalog.remove'),
  'an event for each time that a step is sent': (store) => {
    const again = new Map<string, number>();
    return {
      finishTurn(step) {
        again.set(step.session.workspaceId, (again.get(step.session.workspaceId) ?? 0) + 1);
        return store.turns.finish(step);
      },
      async deliveries(workspaceId, webhookId) {
        const found = await store.webhooks.list(workspaceId, webhookId);
        return found.length > 0 ? [...found, ...Array(again.get(workspaceId)! - 1).fill(found[0])] : found;
      },
    };
  },
  'a trial that has events': (store) => ({
    finishTurn: (step) => store.turns.finish({ ...step, session: { ...step.session, channel: 'api' } }),
  }),
  'a disabled webhook that has events': (store) => ({
    'catalog.create': (kind, record, ...given) =>
      store.catalog.create(kind, kind === 'webhook' ? { ...record, enabled: true } : record, ...given),
  }),
  'a session that ends twice for its webhooks': (store) => {
    const ends: WebhookDelivery[] = [];
    return {
      async saveSession(session, basis, ...given) {
        const answer = await store.sessions.save(session, basis, ...given);
        for (const { id } of (await store.catalog.list('webhook', session.workspaceId, page())).items)
          ends.push(...(await store.webhooks.list(session.workspaceId, id)));
        return answer;
      },
      async deliveries(workspaceId, webhookId) {
        const found = await store.webhooks.list(workspaceId, webhookId);
        const again = ends.filter((each) => each.webhookId === webhookId && each.type === 'session.ended');
        return again.length > 1 ? [...found, again[0]!] : found;
      },
    };
  },
  'a delivery that two processes claim': (store) => ({
    claimDeliveries: (step) => store.webhooks.claim({ ...step, leaseUntilMs: step.nowMs }),
  }),
  'a claim that skips nothing': (store) => ({
    claimDeliveries: (step) => store.webhooks.claim({ ...step, skip: new Set() }),
  }),
  'a claim without a limit': (store) => ({
    claimDeliveries: (step) => store.webhooks.claim({ ...step, limit: 1000 }),
  }),
  'a result that any process stores': (store) => {
    const owners = new Map<string, string>();
    return {
      async claimDeliveries(step) {
        const claimed = await store.webhooks.claim(step);
        for (const { id } of claimed) owners.set(id, step.owner);
        return claimed;
      },
      settleDelivery: (step) => store.webhooks.settle({ ...step, owner: owners.get(step.delivery.id) ?? step.owner }),
    };
  },
  'a failure that leaves deliveries pending': () => ({ failDeliveries: async () => {} }),
  'a retry that leaves the lease': (store) => ({
    async retryDelivery(workspaceId, webhookId, id, nowMs) {
      const found = (await store.webhooks.list(workspaceId, webhookId)).find((each) => each.id === id);
      if (found?.status === 'pending') return { ...found, nextAtMs: nowMs };
      return store.webhooks.retry(workspaceId, webhookId, id, nowMs);
    },
  }),
  'an overdue session that is found too early': (store) => ({
    overdueSessions: (nowMs, limit) => store.webhooks.overdueSessions(nowMs + 60_000, limit),
  }),
  'an overdue session that is found once': (store) => {
    const found = new Set<string>();
    return {
      overdueSessions: async (...given) =>
        (await store.webhooks.overdueSessions(...given)).filter(
          ({ sessionId }) => !found.has(sessionId) && found.add(sessionId),
        ),
    };
  },
  'deliveries listed oldest first': (store) => ({
    deliveries: async (...given) => (await store.webhooks.list(...given)).toReversed(),
  }),
  'a webhook beyond the bound that is taken': (store) => ({
    'catalog.create': (...given) =>
      store.catalog.create(...given).catch((error: unknown) => {
        if (!(error instanceof RecordsFull)) throw error;
      }),
  }),
  'a name of a credential that a second one gets': (store) => ({
    'catalog.replace': async (kind, record, version, ...rest) => {
      const nameless = { ...record, name: null };
      return store.catalog.replace(kind, record, version, ...rest).catch((error: unknown) => {
        if (!(error instanceof NameTaken)) throw error;
        return store.catalog.replace(kind, nameless, version, ...rest);
      });
    },
  }),
  'a version that its assistant names is not stored': (store) => ({
    'catalog.replace': (kind, record, version, move, audit) =>
      store.catalog.replace(kind, record, version, move, audit),
  }),
  'a version is stored apart from the change that makes it': (store) => ({
    'catalog.replace': async (kind, record, version, move, audit, made) => {
      if (made !== undefined) await store.catalog.create('assistant_version', made);
      return store.catalog.replace(kind, record, version, move, audit);
    },
  }),
  'versions outlive their assistant': (store) => ({
    'catalog.remove': async (kind, workspaceId, id, audit) => {
      const { items } = await store.catalog.list('assistant_version', workspaceId, page());
      const removed = await store.catalog.remove(kind, workspaceId, id, audit);
      if (kind === 'assistant') for (const made of items) await store.catalog.create('assistant_version', made);
      return removed;
    },
  }),
  'tests outlive their assistant': (store) => ({
    'catalog.remove': async (kind, workspaceId, id, audit) => {
      const { items } = await store.catalog.list('assistant_test', workspaceId, page());
      const removed = await store.catalog.remove(kind, workspaceId, id, audit);
      if (kind === 'assistant') for (const test of items) await store.catalog.create('assistant_test', test);
      return removed;
    },
  }),
  'a lost update: a save that does not compare': (store) => ({
    saveSession: async (session) =>
      store.sessions.save(session, at((await store.sessions.read(session.workspaceId, session.id))?.version ?? 0)),
  }),
  'a session known by its version alone': (store) => ({
    saveSession: (session, { version }) => store.sessions.save(session, at(version)),
    beginTurn: (step) => store.turns.begin({ ...step, mark: undefined }),
    finishTurn: (step) => store.turns.finish({ ...step, mark: undefined }),
    withdrawTurn: (step) => store.turns.withdraw({ ...step, mark: undefined }),
  }),
  'a write after the fence': (store) => {
    const known = fences(store);
    return { ...known, appendOutput: (step) => store.turns.append({ ...step, fence: known.of(step) ?? step.fence }) };
  },
  'a fence that is the epoch alone': (store) => {
    const known = fences(store);
    return {
      ...known,
      appendOutput(step) {
        const fence = known.of(step);
        return store.turns.append(fence?.epoch === step.fence.epoch ? { ...step, fence } : step);
      },
    };
  },
  'half a commit: a refused turn has moved the session': (store) => ({
    async beginTurn(step) {
      const answer = await store.turns.begin(step);
      if (answer.outcome === 'full') await store.sessions.save(step.session, step);
      return answer;
    },
  }),
  'half a commit: the request is not remembered with the turn': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, remember: null }),
  }),
  'a turn begun again for a request that is remembered': (store) => ({
    async beginTurn(step) {
      const answer = await store.turns.begin(step);
      return answer.outcome === 'remembered' ? store.turns.begin({ ...step, remember: null }) : answer;
    },
  }),
  'an append applied twice': (store) => ({
    appendOutput: async (step) =>
      store.turns.append({ ...step, position: [...(await store.turns.output(step))].length }),
  }),
  'a session counted twice when it is sent twice': (store) => ({
    async createSession(step) {
      const again = (await store.sessions.read(step.session.workspaceId, step.session.id)) !== null;
      if (again)
        await store.sessions.create({
          ...step,
          session: { ...step.session, id: `${step.session.id}2` },
          remember: null,
        });
      return store.sessions.create(step);
    },
  }),
  'a session that is never discarded': () => ({
    discardSession: async () => true,
  }),
  'a session discarded though it has moved': (store) => ({
    async discardSession(session, basis, named) {
      const found = await store.sessions.read(session.workspaceId, session.id);
      return store.sessions.discard(
        session,
        found === null ? basis : { version: found.version, mark: found.record.mark },
        named,
      );
    },
  }),
  'a step of the desk on a session that has moved': (store) => ({
    async attendSession(step) {
      const found = await store.sessions.read(step.session.workspaceId, step.session.id);
      return store.desk.attend({ ...step, version: found!.version, mark: found!.record.mark });
    },
  }),
  'a take that does not silence its turn': (store) => ({
    attendSession: ({ silences: _, ...step }) => store.desk.attend(step),
  }),
  'a step of the desk without its messages': (store) => ({
    attendSession: (step) => store.desk.attend({ ...step, messages: [] }),
  }),
  'a message of the desk that is not remembered': (store) => ({
    attendSession: (step) => store.desk.attend({ ...step, remember: null }),
  }),
  'a charge of a session that has moved': (store) => ({
    async chargeSession(step) {
      const found = await store.sessions.read(step.session.workspaceId, step.session.id);
      return store.sessions.charge({ ...step, version: found!.version, mark: found!.record.mark });
    },
  }),
  'half a charge: the session moves where a limit refuses': (store) => ({
    async chargeSession(step) {
      const answer = await store.sessions.charge(step);
      if (answer.outcome === 'limited') await store.sessions.save(step.session, step);
      return answer;
    },
  }),
  'half a charge: limits are taken for a session that has moved': (store) => ({
    async chargeSession(step) {
      await store.limits.take({ workspaceId: step.session.workspaceId, asked: step.asked, nowMs: step.nowMs });
      return store.sessions.charge({ ...step, asked: [] });
    },
  }),
  'a session discarded without its memory': (store) => ({
    discardSession: (session, basis) => store.sessions.discard(session, basis, null),
  }),
  'a session without the messages from before it': (store) => ({
    createSession: ({ earlier: _, ...step }) => store.sessions.create(step),
  }),
  'a session that replaces no other': (store) => ({
    createSession: ({ replaces: _, ...step }) => store.sessions.create(step),
  }),
  'a session that replaces any other': (store) => ({
    async createSession(step) {
      const { session, remember, nowMs } = step;
      const known =
        step.replaces === undefined || remember === null
          ? null
          : await store.requests.find(session.workspaceId, remember.scope, remember.key, nowMs);
      return store.sessions.create(known === null ? step : { ...step, replaces: known.resultId });
    },
  }),
  'sessions in the wrong order': (store) => ({
    sessions: (workspaceId, filter, page) =>
      store.sessions.list(workspaceId, filter, { ...page, order: page.order === 'asc' ? 'desc' : 'asc' }),
  }),
  'a transcript in the wrong order': (store) => ({
    async messages(workspaceId, sessionId, page) {
      const found = await store.sessions.messages(workspaceId, sessionId, page);
      return { ...found, items: found.items.toReversed() };
    },
  }),
  'a forgotten slot: no ceiling': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, slot: step.slot && api(Infinity) }),
  }),
  'a slot that is never free again': (store) => {
    let begun = 0;
    return {
      async beginTurn(step) {
        const answer = await store.turns.begin({ ...step, slot: step.slot && api(step.slot.ceiling - begun) });
        if (answer.outcome === 'begun' && step.slot !== null) begun++;
        return answer;
      },
      turnsInFlight: async () => begun,
    };
  },
  'one number of slots whatever their name': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, slot: step.slot && api(step.slot.ceiling) }),
  }),
  'text cut within a code point': (store) => ({
    async output(place) {
      const stored = await store.turns.output(place);
      return stored.length > 64 ? stored : Buffer.from(stored, 'utf8').subarray(0, stored.length).toString('utf8');
    },
  }),
  'text read from a position counted in UTF-16 units': (store) => ({
    async outputAfter(place, position) {
      const found = await store.turns.outputAfter(place, 0);
      return found && { ...found, text: found.text!.length < position ? null : found.text!.slice(position) };
    },
  }),
  'text that ends before the position, told as if it ended there': (store) => ({
    async outputAfter(place, position) {
      const found = await store.turns.outputAfter(place, position);
      return found && { ...found, text: found.text ?? '' };
    },
  }),
  'a turn read as it was, with the text as it is': (store) => {
    const first = new Map<string, Turn>();
    return {
      async outputAfter(place, position) {
        const found = await store.turns.outputAfter(place, position);
        if (found !== null && !first.has(place.turnId)) first.set(place.turnId, found.turn);
        return found && { ...found, turn: first.get(place.turnId)! };
      },
    };
  },
  'a follower of a session without a notice': (store) => ({
    watch: (listener) => store.watch((notice) => notice.type !== 'session.moved' && listener(notice)),
  }),
  'a follower of a session with a notice of each move': (store) => {
    const followed = new Set<string>();
    const again = async (workspaceId: string, id: string): Promise<void> => {
      if (followed.has(id)) await store.sessions.awaitMove(workspaceId, id);
    };
    return {
      async awaitSession(workspaceId, sessionId) {
        followed.add(sessionId);
        return store.sessions.awaitMove(workspaceId, sessionId);
      },
      async saveSession(session, ...rest) {
        await again(session.workspaceId, session.id);
        return store.sessions.save(session, ...rest);
      },
    };
  },
  'a follower of a session that waits only after it has read': (store) => ({
    async awaitSession(workspaceId, sessionId) {
      const found = await store.sessions.read(workspaceId, sessionId);
      await turnOfTheLoop();
      await store.sessions.awaitMove(workspaceId, sessionId);
      return found;
    },
  }),
  'a reader who is not told that there is more': (store) => ({
    watch: (listener) => store.watch((notice) => notice.type !== 'turn.moved' && listener(notice)),
  }),
  'positions counted in UTF-16 units': (store) => ({
    async appendOutput(step) {
      const stored = await store.turns.output(step);
      const position = [...stored.slice(0, step.position)].length;
      return store.turns.append({ ...step, position: Math.min(position, [...stored].length) });
    },
  }),
  'a turn that is never cut': (store) => ({ finishTurn: (step) => store.turns.finish(uncut(step)) }),
  'a turn cut at UTF-16 units': (store) => ({
    finishTurn: async (step) =>
      store.turns.finish(
        step.cutAt === undefined
          ? step
          : { ...step, cutAt: codePoints((await wholeOf(store, step)).slice(0, step.cutAt)) },
      ),
  }),
  'a turn whose tail alone is cut': (store) => ({
    finishTurn: async (step) =>
      store.turns.finish(
        step.cutAt === undefined
          ? step
          : {
              ...step,
              cutAt: Math.max(
                step.cutAt,
                codePoints(await wholeOf(store, { ...step, tail: { position: 0, text: '' } })),
              ),
            },
      ),
  }),
  'a message that is cut, and an output that is not': (store) => {
    const { known, finishTurn } = wholes(store);
    return { finishTurn, output: async (place) => known.get(place.turnId) ?? store.turns.output(place) };
  },
  'a message that is cut, and text that is read on beyond the cut': (store) => {
    const { known, finishTurn } = wholes(store);
    return {
      finishTurn,
      async outputAfter(place, position) {
        const found = await store.turns.outputAfter(place, position);
        const whole = known.get(place.turnId);
        return found && whole !== undefined ? { ...found, text: textBehind(whole, position) } : found;
      },
    };
  },
  'an output that is cut, and a message that is not': (store) => {
    const { known, finishTurn } = wholes(store);
    return {
      finishTurn,
      async recentMessages(...given) {
        const found = await store.sessions.recentMessages(...given);
        return found.map((each) => ({
          ...each,
          content: (each.role === 'assistant' && known.get(each.turnId!)) || each.content,
        }));
      },
    };
  },
  'a turn whose end, sent again, cuts it again': (store) =>
    cutApart(store, (cut, finish) => finish().then((answer) => (cut(), answer))),
  'a turn cut before its end is stored': (store) => cutApart(store, (cut, finish) => (cut(), finish())),
  'a turn cut in a step of its own, after its end': (store) =>
    cutApart(store, async (cut, finish) => {
      const answer = await finish();
      await turnOfTheLoop();
      if (answer.outcome === 'finished') cut();
      return answer;
    }),
  'a cut beyond the text taken for its end': (store) => ({
    finishTurn: async (step) =>
      store.turns.finish(
        step.cutAt === undefined
          ? step
          : { ...step, cutAt: Math.min(step.cutAt, codePoints(await wholeOf(store, step))) },
      ),
  }),
  'a release that any process may make': (store) => ({
    async releaseOutput(place, fence, points) {
      await store.turns.release(place, fence, points);
      return 'released';
    },
  }),
  'calls that any process may store': (store) => {
    const known = fences(store);
    return { ...known, stepTurn: (step) => store.turns.step({ ...step, fence: known.of(step) ?? step.fence }) };
  },
  'calls of which the last is lost': (store) => ({
    stepTurn: (step) =>
      store.turns.step({ ...step, calls: step.calls.length > 1 ? step.calls.slice(0, -1) : step.calls }),
  }),
  'results that are not stored': (store) => ({
    stepTurn: (step) => store.turns.step({ ...step, calls: step.calls.filter(({ status }) => status === 'running') }),
  }),
  'a result that a late step takes back': (store) => ({
    async stepTurn(step) {
      const before = (await store.turns.calls(step)).filter(hasEnded);
      const calls = step.calls.map((call) =>
        before.some(({ id, round }) => id === call.id && round === call.round) && !hasEnded(call)
          ? { ...call, status: 'cancelled' as const }
          : call,
      );
      return store.turns.step({ ...step, calls });
    },
  }),
  'an amended result that a late step takes back': (store) => {
    const known = new Map<string, number>();
    return {
      async stepTurn({ amends, ...step }) {
        const ended = known.get(step.turnId) ?? 0;
        if (amends !== undefined) known.set(step.turnId, Math.max(ended, endedCalls(amends.message)));
        const isLate = amends !== undefined && endedCalls(amends.message) < ended;
        const message = amends && {
          ...amends.message,
          toolCalls: amends.message.toolCalls!.map((call) => ({ ...call, status: 'cancelled' as const })),
        };
        return store.turns.step({ ...step, amends: isLate ? { ...amends, message: message! } : amends });
      },
    };
  },
  'calls without what a provider put on them': (store) => ({
    stepTurn: (step) => store.turns.step({ ...step, calls: step.calls.map(unsigned) }),
  }),
  'a result that takes off what a provider put on its call': (store) => ({
    stepTurn: (step) =>
      store.turns.step({
        ...step,
        calls: step.calls.map((call) => (hasEnded(call) && call.opaque?.round ? unsigned(call) : call)),
      }),
  }),
  'a call without the fields of its round': (store) => ({
    stepTurn: (step) => store.turns.step({ ...step, calls: step.calls.map(roundless) }),
  }),
  'a message without what a provider put on its calls': (store) => ({
    finishTurn: (step) =>
      store.turns.finish({ ...step, message: { ...step.message, toolCalls: step.message.toolCalls?.map(unsigned) } }),
  }),
  'an amended message without what a provider put on its calls': (store) => ({
    stepTurn: ({ amends, ...step }) =>
      store.turns.step({
        ...step,
        amends: amends && {
          ...amends,
          message: { ...amends.message, toolCalls: amends.message.toolCalls?.map(unsigned) },
        },
      }),
  }),
  'a call that does not say why its arguments did not fit': (store) => ({
    stepTurn: (step) => store.turns.step({ ...step, calls: step.calls.map(({ reason: _, ...call }) => call) }),
  }),
  'a step that tells of no request to stop': (store) => ({
    stepTurn: (step) => store.turns.step(step).then((answer) => (typeof answer === 'object' ? 'stored' : answer)),
  }),
  'a message that a withdrawal leaves amended': (store) => ({
    withdrawTurn: ({ amends: _, ...step }) => store.turns.withdraw(step),
  }),
  'a message that a step does not amend': (store) => ({ stepTurn: ({ amends: _, ...step }) => store.turns.step(step) }),
  'text shown before its release': (store) => ({
    beginTurn: ({ released, ...step }) => store.turns.begin(released === -1 ? { ...step, released } : step),
  }),
  'a hidden turn that is shown': (store) => ({
    beginTurn: (step) => store.turns.begin(step.released === -1 ? { ...step, released: 0 } : step),
  }),
  'a turn without a gate that a release gates': (store) => {
    const ends = new Map<string, number>();
    return {
      async releaseOutput(place, fence, points) {
        ends.set(place.turnId, points);
        return store.turns.release(place, fence, points);
      },
      async outputAfter(place, position) {
        const found = await store.turns.outputAfter(place, position);
        const end = ends.get(place.turnId);
        return found && end !== undefined && found.text !== null
          ? { ...found, text: found.text.slice(0, indexAfter(found.text, end - position)) }
          : found;
      },
    };
  },
  'a stale read': (store) => {
    const cached = new Map<string, Versioned<Session> | null>();
    return {
      async session(workspaceId, sessionId) {
        const key = `${workspaceId}/${sessionId}`;
        if (!cached.has(key)) cached.set(key, await store.sessions.read(workspaceId, sessionId));
        return cached.get(key)!;
      },
    };
  },
  'a turn seized from its living owner': (store) => ({
    takeOverTurn: (place, owner, leaseUntilMs, nowMs) =>
      store.turns.takeOver(place, owner, leaseUntilMs, nowMs + 3_600_000),
  }),
  'a withdrawn turn that leaves its messages': (store) => {
    const left = new Map<string, Message[]>();
    return {
      async withdrawTurn(step) {
        const { items } = await store.sessions.messages(step.session.workspaceId, step.session.id, {
          limit: 100,
          after: null,
          order: 'asc',
        });
        left.set(step.session.id, items);
        return store.turns.withdraw(step);
      },
      async messages(workspaceId, sessionId, page) {
        const found = await store.sessions.messages(workspaceId, sessionId, page);
        return { ...found, items: [...found.items, ...(left.get(sessionId) ?? [])] };
      },
    };
  },
  'a turn that is withdrawn first and begins then': (store) => ({
    async withdrawTurn(step) {
      const turn = await store.turns.read(step.session.workspaceId, step.session.id, step.turn.id);
      const earlier =
        turn === null &&
        (await store.sessions.read(step.session.workspaceId, step.session.id))?.version === step.version;
      return earlier ? { outcome: 'fenced' } : store.turns.withdraw(step);
    },
  }),
  'a claim that keeps nothing': () => ({ claimTurn: async () => true }),
  'feedback that is forgotten': () => ({ rateTurn: async () => true }),
  'feedback that is never removed': (store) => ({
    rateTurn: async (step) => step.feedback === null || store.turns.rate(step),
  }),
  'feedback that is counted with each sending': (store) => ({
    async rateTurn(step) {
      await store.turns.rate({ ...step, session: { ...step.session, channel: 'console' }, feedback: null });
      return store.turns.rate(step);
    },
  }),
  'usage that forgets failed turns': (store) => ({
    finishTurn: (step) =>
      store.turns.finish(
        step.turn.status === 'failed' ? { ...step, turn: { ...step.turn, status: 'completed' } } : step,
      ),
  }),
  'a usage window with its end included': (store) => ({
    usage: (workspaceId, query) =>
      store.usage.read(workspaceId, { ...query, end: query.end + (query.end > query.start ? 1 : 0) }),
  }),
  'a request charged to the budgets that would have passed it': (store) => ({
    takeBudgets: (workspaceId, keyId, budgets, nowMs) =>
      budgets.map((budget) => (store.limits.takeBudgets(workspaceId, keyId, [budget], nowMs) as never[])[0]!),
  }),
  'limits taken one by one': (store) => ({
    takeLimits: async (step) =>
      (await Promise.all(step.asked.map((each) => store.limits.take({ ...step, asked: [each] })))).flat(),
  }),
  'a place for each who asks': (store) => ({
    takeLimits: (step) =>
      store.limits.take({
        ...step,
        asked: step.asked.map((each) => (each.kind === 'place' ? { ...each, ceiling: Infinity } : each)),
      }),
  }),
  'a quota that its last cost may exceed': (store) => ({
    takeLimits: (step) => store.limits.take({ ...step, asked: step.asked.map(asCounter) }),
  }),
  'a turn that begins beyond a quota': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, ...(step.asked && { asked: step.asked.map(withoutCeiling) }) }),
  }),
  'a settlement that is left out': (store) => ({
    finishTurn: ({ settled: _, ...step }) => store.turns.finish(step),
  }),
  'a sweep that takes too much': (store) => ({
    sweep: (nowMs, limit) => store.sweep(nowMs + 86_400_000 * 365, limit),
  }),
  'an erasure that leaves the messages': (store) => {
    const left = new Map<string, Message[]>();
    return {
      async eraseSession(erasure, sessionId) {
        const { items } = await store.sessions.messages(erasure.workspaceId, sessionId, page());
        left.set(sessionId, items);
        await store.erasures.eraseSession(erasure, sessionId);
      },
      async messages(workspaceId, sessionId, wanted) {
        const found = await store.sessions.messages(workspaceId, sessionId, wanted);
        return { ...found, items: [...found.items, ...(left.get(sessionId) ?? [])] };
      },
    };
  },
  'an erasure that takes the usage along': (store) => {
    let erased = false;
    return {
      async eraseSession(...given) {
        await store.erasures.eraseSession(...given);
        erased = true;
      },
      usage: async (...given) =>
        (await store.usage.read(...given)).map((bucket) => (erased ? { ...bucket, turns: 0 } : bucket)),
    };
  },
  'an erasure that nobody continues': () => ({ unfinishedErasures: async () => [] }),
  'an erasure that forgets no request': (store) => ({
    forgetTraces: (workspaceId, traces) =>
      store.erasures.forget(workspaceId, { ...traces, sessionIds: new Set<string>() }),
  }),
  'an erasure that frees no place': (store) => ({
    forgetTraces: (workspaceId, traces) => store.erasures.forget(workspaceId, { ...traces, places: [] }),
  }),
  'an erasure that frees every place of a holder': (store) => ({
    forgetTraces: (workspaceId, { places, ...traces }) =>
      store.erasures.forget(workspaceId, { ...traces, places: places.map((each) => ({ ...each, seat: null })) }),
  }),
  'a change of a record whose row in the audit is forgotten': (store) => ({
    'catalog.replace': (kind, record, version, move) => store.catalog.replace(kind, record, version, move),
  }),
  'a row in the audit of a change that another writer hindered': (store) => ({
    async 'catalog.replace'(kind, record, version, move, audit) {
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return store.catalog.replace(kind, record, version, move);
    },
  }),
  'a session created on versions that have changed': (store) => ({
    createSession: ({ release: _, ...step }) => store.sessions.create(step),
  }),
  'a turn begun on versions that have changed': (store) => ({
    beginTurn: ({ release: _, ...step }) => store.turns.begin(step),
  }),
  'a sealed turn that is not counted for its version': (store) => ({
    finishTurn: ({ turn: { assistantVersion: _, ...turn }, ...step }) => store.turns.finish({ ...step, turn }),
  }),
  'a sealed turn that failed and is counted as completed': (store) => ({
    finishTurn: (step) => store.turns.finish({ ...step, turn: { ...step.turn, status: 'completed' } }),
  }),
  'a turn counted for its version with each sending of its end': (store) => {
    const sealed = new Set<string>();
    let repeated = 0;
    return {
      finishTurn(step) {
        if (sealed.has(step.turn.id)) repeated++;
        sealed.add(step.turn.id);
        return store.turns.finish(step);
      },
      async 'catalog.releaseCounts'(workspaceId, assistantId) {
        const { candidate, versions } = await store.catalog.releaseCounts(workspaceId, assistantId);
        return { candidate: { ...candidate, turns: candidate.turns + repeated }, versions };
      },
    };
  },
  'a rollout that is halted later than by its turn': (store) => {
    let halted = false;
    return {
      async 'catalog.read'(kind, workspaceId, id) {
        const found = await store.catalog.read(kind, workspaceId, id);
        const { release } = (found?.record ?? {}) as Partial<Assistant>;
        if (!release?.candidate?.isHalted || halted) return found;
        halted = true;
        const rolling = { ...release, candidate: { ...release.candidate, isHalted: false } };
        return { ...found!, record: { ...found!.record, release: rolling } };
      },
    };
  },
  'a rollout that begins anew with the counts of the earlier one': (store) => ({
    'catalog.replace': (kind, record, ...rest) => {
      const { release } = record as { release?: { candidate?: { since: number } } };
      const since = release?.candidate === undefined ? undefined : { ...release.candidate, since: 3 };
      return store.catalog.replace(
        kind,
        since === undefined ? record : { ...record, release: { ...release, candidate: since } },
        ...rest,
      );
    },
  }),
  'a withdrawn turn that counts for no rollout': (store) => {
    const unversioned = ({ assistantVersion: _, ...turn }: Turn): Turn => turn;
    return {
      withdrawTurn: (step) => store.turns.withdraw({ ...step, turn: unversioned(step.turn) }),
      beginTurn: (step) => store.turns.begin({ ...step, turn: unversioned(step.turn) }),
    };
  },
  'versions that no change drops': (store) => ({
    'catalog.replace': (kind, record, version, move, audit, made) =>
      store.catalog.replace(kind, record, version, move, audit, made),
  }),
  'feedback that is not counted for its version': (store) => ({
    async 'catalog.releaseCounts'(workspaceId, assistantId) {
      const { candidate, versions } = await store.catalog.releaseCounts(workspaceId, assistantId);
      const without = [...versions].map(([number, counts]) => [number, { ...counts, feedbackUp: 0 }] as const);
      return { candidate, versions: new Map(without) };
    },
  }),
  'a row in the audit of a trial that is not opened': (store) => ({
    async createSession({ audit, ...step }) {
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return store.sessions.create(step);
    },
  }),
  'a row in the audit of a turn that does not begin': (store) => ({
    async beginTurn({ audit, ...step }) {
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return store.turns.begin(step);
    },
  }),
  'a row in the audit with each sending of an end': (store) => ({
    async finishTurn({ audit, ...step }) {
      const answer = await store.turns.finish(step);
      if (audit !== undefined && answer.outcome === 'finished') await store.catalog.create('audit_entry', audit);
      return answer;
    },
  }),
  'a row in the audit with each request to stop': (store) => ({
    async requestStop(place, reason, leaseUntilMs, nowMs, audit) {
      const inFlight = await store.turns.requestStop(place, reason, leaseUntilMs, nowMs);
      if (audit !== undefined && inFlight) await store.catalog.create('audit_entry', audit);
      return inFlight;
    },
  }),
  'a row in the audit with each sending of an erasure': (store) => ({
    async beginErasure(erasure, nowMs, audit) {
      const hadBegun = await store.erasures.begin(erasure, nowMs);
      if (audit !== undefined) await store.catalog.create('audit_entry', audit);
      return hadBegun;
    },
  }),
  'rows of the audit whose places are forgotten': (store) => ({
    'catalog.list': async (kind, workspaceId, wanted) =>
      kind === 'audit_place' ? { items: [], next: null } : store.catalog.list(kind, workspaceId, wanted),
  }),
  'an audit that is removed with its workspace': (store) => ({
    async 'catalog.remove'(kind, workspaceId, id, audit) {
      const removed = await store.catalog.remove(kind, workspaceId, id, audit);
      if (kind === 'workspace')
        for (const row of (await store.catalog.list('audit_entry', id, page())).items)
          await store.catalog.remove('audit_entry', id, row.id);
      return removed;
    },
  }),
  'a listing of all visitors': (store) => ({
    sessions: (workspaceId, filter, wanted) => store.sessions.list(workspaceId, { ...filter, visitorId: null }, wanted),
  }),
  'a listing without the filter of status': (store) => ({
    sessions: (workspaceId, filter, page) => store.sessions.list(workspaceId, { ...filter, status: null }, page),
  }),
};

t.test('a sound store passes', async (t) => {
  t.same(unknownCases(), []);
  t.same(await verdict(factory(() => ({}))), []);
});

for (const [name, breaking] of Object.entries(broken)) {
  t.test(`rejected: ${name}`, async (t) => {
    await rejected(t, name, factory(breaking), (error) => !(error instanceof TypeError));
  });
}
