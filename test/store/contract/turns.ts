/** A turn's steps: atomic, once only, by their owner alone. */
import { deepEqual, equal, notDeepEqual, ok } from 'node:assert/strict';
import type { BeginTurn, Feedback, Session } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { api, at, message, page, remembered, snapshot, streaming, usageQuery } from '../fixtures.ts';
import type { Begun, Scene } from '../fixtures.ts';

/** Everything of a turn that a reader can see. */
const seen = async ({ scene: { store, workspaceId, ...scene }, place, before }: Begun) => ({
  session: await store.sessions.read(workspaceId, before.id),
  turn: await store.turns.read(workspaceId, before.id, place.turnId),
  messages: (await store.sessions.messages(workspaceId, before.id, page())).items,
  output: await store.turns.output(place),
  slots: await store.turns.inFlight(workspaceId),
  usage: (await store.usage.read(workspaceId, usageQuery(scene.now, scene.now + 1)))[0],
});

const memoryOf = ({ store, workspaceId, nowMs }: Scene) =>
  store.requests.find(workspaceId, 'key_1 /sessions', 'again', nowMs);

export const turnCases: readonly Case[] = [
  {
    name: 'the message of a turn in flight is on the page that its index puts it on',
    async run(scene) {
      const { store, workspaceId } = scene;
      const turn = await scene.streaming();
      await turn.append(0, 'Hé');
      const {
        step,
        before: { id },
      } = turn;
      const reply = streaming(step.turn, 'Hé');
      const pageOf = (over: Parameters<typeof page>[0]) => store.sessions.messages(workspaceId, id, page(over));
      const first = await pageOf({ limit: 1 });
      deepEqual(first, { items: [step.userMessage], next: '0' });
      deepEqual(await pageOf({ limit: 1, after: first.next }), { items: [reply], next: null });
      deepEqual(await pageOf({ after: '1' }), { items: [], next: null });
      const last = await pageOf({ limit: 1, order: 'desc' });
      deepEqual(last, { items: [reply], next: '1' });
      deepEqual(await pageOf({ limit: 1, order: 'desc', after: last.next }), { items: [step.userMessage], next: null });
      deepEqual(await store.sessions.recentMessages(workspaceId, id, 2, 1000, 10), [step.userMessage]);
    },
  },
  {
    name: 'a begun turn stands whole: session, turn, both messages, slot and memory',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const session = await scene.created();
      const step = scene.beginStep(session, 1, { remember: remembered('turn', nowMs + 60_000) });
      const begun = await store.turns.begin(step);
      equal(begun.outcome, 'begun');
      equal(begun.outcome === 'begun' && begun.version, 2);
      equal(begun.outcome === 'begun' && begun.fence.owner, scene.owner);
      deepEqual(await store.sessions.read(workspaceId, session.id), { record: step.session, version: 2 });
      deepEqual(await store.turns.read(workspaceId, session.id, step.turn.id), step.turn);
      deepEqual(await scene.transcript(session.id), [step.userMessage, streaming(step.turn)]);
      equal(await store.turns.inFlight(workspaceId), 1);
      equal((await memoryOf(scene))?.resultId, 'turn');
      deepEqual(
        await store.turns.orphans(nowMs, 100).then((all) => all.filter((place) => place.workspaceId === workspaceId)),
        [],
      );
    },
  },
  {
    name: "how much of its history a session's model was not sent is kept with the session, and with it in every list",
    async run(scene) {
      const { store, workspaceId } = scene;
      const turn = await scene.streaming();
      const { id } = turn.before;
      const read = async () => (await store.sessions.read(workspaceId, id))!.record.historyLeftOut;
      equal(await read(), undefined);
      const step = turn.finishStep();
      await store.turns.finish({ ...step, session: { ...step.session, historyLeftOut: 7 } });
      equal(await read(), 7);
      equal((await store.sessions.list(workspaceId, scene.filter(), page())).items[0]!.historyLeftOut, 7);
      const { record, version } = (await store.sessions.read(workspaceId, id))!;
      const next = await scene.begun(record, version);
      equal(await read(), 7, 'while the next turn runs');
      const last = next.finishStep();
      await store.turns.finish({ ...last, session: { ...last.session, historyLeftOut: 0 } });
      equal(await read(), 0, 'and what it was before is replaced, by nothing too');
    },
  },
  {
    name: 'the beginning of the first message is kept with the session, and with it in every list',
    async run(scene) {
      const { store, workspaceId } = scene;
      const [turn, opening] = [await scene.streaming(), { index: 0, text: 'Where? 😀' }];
      const step = turn.finishStep();
      await store.turns.finish({ ...step, session: { ...step.session, opening } });
      deepEqual((await store.sessions.read(workspaceId, turn.before.id))!.record.opening, opening);
      deepEqual((await store.sessions.list(workspaceId, scene.filter(), page())).items[0]!.opening, opening);
    },
  },
  {
    name: 'beginning a turn again answers as before and applies once, even when it is over',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming({ slot: api(1) });
      const first = { outcome: 'begun', version: turn.version, fence: turn.fence };
      deepEqual(await store.turns.begin(turn.step), first);
      await turn.append(0, 'a');
      const before = await seen(turn);
      deepEqual(await store.turns.begin(turn.step), first);
      deepEqual(await seen(turn), before);
      await store.turns.finish(turn.finishStep());
      const after = await seen(turn);
      deepEqual(await store.turns.begin(turn.step), first);
      deepEqual(await seen(turn), after);
    },
  },
  {
    name: 'a turn of a request that is remembered is not begun, whatever else would refuse it, until the memory ends',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming({ slot: api(1) });
      const session = await scene.created();
      const unremembered = scene.beginStep(session, 1, { slot: null });
      const memory = remembered(unremembered.turn.id, nowMs + 60_000, { scope: 'key_1 /chat' });
      const first = { ...unremembered, remember: memory };
      equal((await store.turns.begin(first)).outcome, 'begun');
      const answer = { outcome: 'remembered' as const, remembered: memory };
      const again = (of: Session, version: number, over: Partial<BeginTurn> = {}): BeginTurn => {
        const step = scene.beginStep(of, version, { slot: api(1), ...over });
        return { ...step, remember: { ...memory, resultId: step.turn.id, bodyDigest: 'e', untilMs: nowMs + 90_000 } };
      };
      const steps = [
        again(session, 1),
        again(first.session, 2),
        again(scene.session(), 1),
        again(await scene.created(), 1),
      ];
      const before = await seen(turn);
      for (const step of steps) {
        deepEqual(
          await store.turns.begin(step),
          answer,
          'also on an old version, without a session and without a slot',
        );
        equal(await store.turns.read(workspaceId, step.session.id, step.turn.id), null);
      }
      deepEqual(await seen(turn), before);
      deepEqual(
        await store.requests.find(workspaceId, memory.scope, memory.key, nowMs),
        memory,
        'the first is remembered',
      );
      const other = await scene.created();
      const elsewhere = scene.beginStep(other, 1, { slot: null, remember: { ...memory, scope: 'key_2 /chat' } });
      equal((await store.turns.begin(elsewhere)).outcome, 'begun', 'under a key of another scope');
    },
  },
  {
    name: 'what a turn is found by is kept beside its request, hinders none, and is not stored where the turn is not begun',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const session = await scene.created();
      const step = scene.beginStep(session, 1, { slot: null, remember: remembered('a', nowMs + 60_000) });
      const found = remembered(step.turn.id, nowMs + 90_000, {
        scope: 'responses',
        key: step.turn.id,
        bodyDigest: 'facts',
      });
      const foundIn = (key: string) => store.requests.find(workspaceId, 'responses', key, nowMs);
      equal((await store.turns.begin({ ...step, found })).outcome, 'begun');
      deepEqual([await foundIn(step.turn.id), await memoryOf(scene)], [found, step.remember]);
      const late = scene.beginStep(session, 1, { slot: null });
      deepEqual(await store.turns.begin({ ...late, found: { ...found, key: 'late' } }), { outcome: 'lost' });
      equal(await foundIn('late'), null);
      const again = scene.beginStep(await scene.created(), 1, { slot: null });
      equal(
        (await store.turns.begin({ ...again, found: { ...found, resultId: again.turn.id } })).outcome,
        'begun',
        'an earlier one of the name is replaced',
      );
      equal((await foundIn(found.key))?.resultId, again.turn.id);
    },
  },
  {
    name: 'a turn begun on an old version changes nothing',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const turn = await scene.streaming();
      const before = await seen(turn);
      const late = scene.beginStep(turn.before, 1, { remember: remembered('x', nowMs + 1000) });
      deepEqual(await store.turns.begin(late), { outcome: 'lost' });
      deepEqual(
        await store.turns.begin(scene.beginStep(scene.session(), 1)),
        { outcome: 'lost' },
        'a session that never was',
      );
      deepEqual(await seen(turn), before);
      equal(await store.turns.read(workspaceId, turn.before.id, late.turn.id), null);
      equal(await memoryOf(scene), null);
    },
  },
  {
    name: 'of several turns begun on one version one wins',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const steps = [1, 2, 3, 4].map(() => scene.beginStep(session, 1));
      const answers = await Promise.all(steps.map((step) => store.turns.begin(step)));
      deepEqual(answers.map(({ outcome }) => outcome).sort(), ['begun', 'lost', 'lost', 'lost']);
      const winner = steps[answers.findIndex(({ outcome }) => outcome === 'begun')]!;
      deepEqual((await store.sessions.read(workspaceId, session.id))?.record, winner.session);
      equal((await scene.transcript(session.id)).length, 2);
      equal(await store.turns.inFlight(workspaceId), 1);
    },
  },
  {
    name: 'never more turns in flight than slots, and a refused turn changes nothing',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const sessions = await Promise.all(Array.from({ length: 5 }, () => scene.created()));
      const remember = remembered('x', nowMs + 1000);
      const answers = await Promise.all(
        sessions.map((session) =>
          store.turns.begin(scene.beginStep(session, 1, { slot: api(3), remember: { ...remember, key: session.id } })),
        ),
      );
      equal(answers.filter(({ outcome }) => outcome === 'begun').length, 3);
      equal(answers.filter(({ outcome }) => outcome === 'full').length, 2);
      equal(await store.turns.inFlight(workspaceId), 3);
      for (const [index, { outcome }] of answers.entries()) {
        const { id } = sessions[index]!;
        if (outcome !== 'full') continue;
        deepEqual(await store.sessions.read(workspaceId, id), { record: sessions[index], version: 1 });
        deepEqual(await scene.transcript(id), []);
        equal(await store.requests.find(workspaceId, remember.scope, id, nowMs), null);
      }
    },
  },
  {
    name: 'a second turn on a session is lost even when the workspace is full',
    async run(scene) {
      const turn = await scene.streaming({ slot: api(1) });
      const again = scene.beginStep(turn.before, 1, { slot: api(1) });
      deepEqual(await scene.store.turns.begin(again), { outcome: 'lost' });
    },
  },
  {
    name: 'a slot comes free when its turn ends, is withdrawn or loses its lease',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const one = { slot: api(1) };
      const finished = await scene.streaming(one);
      await store.turns.finish(finished.finishStep());
      equal(await store.turns.inFlight(workspaceId), 0);
      const withdrawn = await scene.streaming(one);
      await store.turns.withdraw(withdrawn.withdrawStep());
      equal(await store.turns.inFlight(workspaceId), 0);
      const lapsed = await scene.streaming({ ...one, leaseUntilMs: nowMs - 1 });
      equal(await store.turns.inFlight(workspaceId), 0);
      const next = await scene.streaming(one);
      equal(await store.turns.inFlight(workspaceId), 1);
      ok(await store.turns.takeOver(lapsed.place, 'reaper', nowMs + 60_000, nowMs));
      equal(await store.turns.inFlight(workspaceId), 1, 'a seized turn is sealed, not run: it needs no slot');
      deepEqual(await store.turns.begin(scene.beginStep(await scene.created(), 1, one)), { outcome: 'full' });
      await store.turns.finish(next.finishStep());
      await scene.streaming(one);
    },
  },
  {
    name: 'slots of one name leave those of another free, and a turn may take none',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const [one, other] = [{ slot: api(1) }, { slot: { name: 'visitor/vis_1', ceiling: 1 } }];
      await scene.streaming({ slot: null });
      const turn = await scene.streaming(other);
      equal(await store.turns.inFlight(workspaceId), 0, 'none of the API');
      await scene.streaming(one);
      await scene.streaming({ slot: null });
      equal(await store.turns.inFlight(workspaceId), 1);
      const full = async (over: typeof other) =>
        (await store.turns.begin(scene.beginStep(await scene.created(), 1, over))).outcome;
      deepEqual([await full(one), await full(other)], ['full', 'full']);
      equal(await store.turns.renew(turn.place, turn.fence, nowMs + 60_000, nowMs), 'renewed');
      equal(await full(other), 'full');
      await store.turns.finish(turn.finishStep());
      equal(await full(one), 'full');
      const lapsed = await scene.streaming({ ...other, leaseUntilMs: nowMs - 1 });
      await scene.streaming(other);
      equal(await store.turns.renew(lapsed.place, lapsed.fence, nowMs + 60_000, nowMs), 'fenced');
    },
  },
  {
    name: 'a finished turn stands whole: session, turn, message with all its output, slot and usage',
    async run(scene) {
      const { store, workspaceId, now } = scene;
      const turn = await scene.streaming();
      await turn.append(0, 'one ');
      await turn.append(4, 'two ');
      const step = turn.finishStep({ tail: { position: 8, text: 'three' } });
      deepEqual(await store.turns.finish(step), { outcome: 'finished', version: 3 });
      deepEqual(await store.sessions.read(workspaceId, turn.before.id), { record: step.session, version: 3 });
      deepEqual(await store.turns.read(workspaceId, turn.before.id, step.turn.id), step.turn);
      deepEqual(await scene.transcript(turn.before.id), [
        turn.step.userMessage,
        { ...step.message, content: 'one two three' },
      ]);
      equal(await store.turns.output(turn.place), 'one two three');
      equal(await store.turns.inFlight(workspaceId), 0);
      const [usage] = await store.usage.read(workspaceId, usageQuery(now, now + 1));
      deepEqual(
        [usage!.turns, usage!.failedTurns, usage!.inputTokens, usage!.outputTokens, usage!.cachedInputTokens],
        [1, 0, 3, 5, 2],
      );
      equal(await store.turns.takeOver(turn.place, 'x', scene.nowMs, scene.nowMs), null);
      equal(await turn.append(13, '!'), 'fenced');
    },
  },
  {
    name: 'finishing a turn again answers as before and applies once',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      await turn.append(0, 'abc');
      const step = turn.finishStep({ tail: { position: 3, text: 'def' } });
      const first = await store.turns.finish(step);
      const before = await seen(turn);
      deepEqual(await store.turns.finish(step), first);
      deepEqual(await seen(turn), before);
      const next = await scene.begun(step.session, 3);
      deepEqual(await store.turns.finish(step), first, 'and when the session has gone on');
      await store.turns.finish(next.finishStep());
      equal((await scene.transcript(turn.before.id)).length, 4);
      equal((await seen(turn)).usage!.turns, 2);
    },
  },
  {
    name: 'a turn finished on an old version, or by another than its owner, changes nothing',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      await turn.append(0, 'abc');
      const before = await seen(turn);
      const tail = { position: 3, text: 'def' };
      deepEqual(await store.turns.finish(turn.finishStep({ version: 1, tail })), { outcome: 'lost' });
      deepEqual(await store.turns.finish(turn.finishStep({ fence: { ...turn.fence, owner: 'x' }, tail })), {
        outcome: 'fenced',
      });
      deepEqual(
        await store.turns.finish(turn.finishStep({ fence: { ...turn.fence, epoch: turn.fence.epoch + 1 }, tail })),
        { outcome: 'fenced' },
      );
      deepEqual(await store.turns.withdraw(turn.withdrawStep({ version: 1 })), { outcome: 'lost' });
      deepEqual(await store.turns.withdraw(turn.withdrawStep({ fence: { ...turn.fence, owner: 'x' } })), {
        outcome: 'fenced',
      });
      deepEqual(await seen(turn), before);
      const other = await scene.streaming();
      deepEqual(await store.turns.finish({ ...other.finishStep(), turn: { ...other.step.turn, id: 'turn_never' } }), {
        outcome: 'fenced',
      });
      await store.turns.finish(turn.finishStep({ tail }));
      deepEqual(await store.turns.finish(turn.finishStep({ fence: { ...turn.fence, owner: 'x' } })), {
        outcome: 'fenced',
      });
    },
  },
  {
    name: 'of two moves that made the same version, a step that was decided on the one does not follow the other',
    async run(scene) {
      const { store } = scene;
      const packed: Session['metadata'][] = [{}, { toJSON: 'a name for which it is packed in another way' }];
      for (const metadata of packed) {
        const session = await scene.created({ mark: 'first1', metadata });
        for (const mark of ['another', 'first', 'irst1', 'first11']) {
          equal(await store.sessions.save({ ...session, mark: 'saved' }, at(1, mark)), null);
          deepEqual(await store.turns.begin(scene.beginStep(session, 1, { mark })), { outcome: 'lost' });
        }
        equal(await store.sessions.save({ ...session, mark: 'second' }, at(1, 'first1')), 2);
        const turn = await scene.begun({ ...session, mark: 'third' }, 2, { mark: 'second' });
        await turn.append(0, 'abc');
        const before = await seen(turn);
        deepEqual(await store.turns.finish(turn.finishStep({ mark: 'second' })), { outcome: 'lost' });
        deepEqual(await store.turns.withdraw(turn.withdrawStep({ mark: 'second' })), { outcome: 'lost' });
        deepEqual(await seen(turn), before);
        deepEqual(await store.turns.finish(turn.finishStep({ mark: 'third' })), { outcome: 'finished', version: 4 });
        const other = await scene.begun({ ...session, mark: 'fifth', messageCount: 2 }, 4, { mark: 'third' });
        deepEqual(await store.turns.withdraw(other.withdrawStep({ mark: 'fifth' })), {
          outcome: 'finished',
          version: 6,
        });
      }
      const unmarked = await scene.created();
      equal(
        await store.sessions.save({ ...unmarked, mark: 'first' }, at(1)),
        2,
        'one that had no mark goes by its version',
      );
      equal(await store.sessions.save({ ...unmarked, mark: 'second' }, at(1)), null);
    },
  },
  {
    name: 'a withdrawn turn leaves nothing behind',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      const session = await scene.created();
      const base = scene.beginStep(session, 1);
      const turn = await scene.begun(session, 1, { ...base, remember: remembered(base.turn.id, nowMs + 60_000) });
      await turn.append(0, 'abc');
      deepEqual(await store.turns.withdraw(turn.withdrawStep()), { outcome: 'finished', version: 3 });
      const check = async () => {
        deepEqual(await store.sessions.read(workspaceId, session.id), { record: session, version: 3 });
        equal(await store.turns.read(workspaceId, session.id, turn.place.turnId), null);
        deepEqual(await scene.transcript(session.id), []);
        equal(await store.turns.output(turn.place), '');
        equal(await store.turns.inFlight(workspaceId), 0);
        equal(await memoryOf(scene), null);
        equal((await store.usage.read(workspaceId, usageQuery(now, now + 1)))[0]!.turns, 0);
      };
      await check();
      deepEqual(await store.turns.withdraw(turn.withdrawStep()), { outcome: 'finished', version: 3 }, 'sent again');
      deepEqual(await store.turns.withdraw(turn.withdrawStep({ fence: { ...turn.fence, owner: 'x' } })), {
        outcome: 'fenced',
      });
      deepEqual(await store.turns.begin(turn.step), { outcome: 'lost' }, 'the step that began it, sent again');
      equal(await turn.append(3, 'd'), 'fenced');
      deepEqual(await store.turns.finish(turn.finishStep()), { outcome: 'fenced' });
      await check();
      const next = await scene.begun(session, 3);
      deepEqual(
        await store.turns.withdraw(turn.withdrawStep()),
        { outcome: 'finished', version: 3 },
        'and when the session has gone on',
      );
      equal((await scene.transcript(session.id)).length, 2);
      equal(await store.turns.output(next.place), '');
    },
  },
  {
    name: 'a claimed turn is not withdrawn',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      equal(await store.turns.claim(turn.place), false, 'while it streams it may be withdrawn');
      equal(await store.turns.claim({ ...turn.place, turnId: 'turn_none' }), false);
      const seal = turn.finishStep({ tail: { position: 0, text: 'abc' } });
      deepEqual(await store.turns.finish(seal), { outcome: 'finished', version: 3 });
      const read = () => store.turns.read(turn.place.workspaceId, turn.place.sessionId, turn.place.turnId);
      equal((await read())?.claimed, undefined, 'a read says nothing of a claim before it');
      equal(await store.turns.claim(turn.place), true);
      equal(await store.turns.claim(turn.place), true, 'sent again');
      equal((await read())?.claimed, true, 'a read says so');
      deepEqual(await store.turns.withdraw(turn.withdrawStep({ version: 3, turn: seal.turn })), { outcome: 'fenced' });
      deepEqual(
        await store.turns.finish(seal),
        { outcome: 'finished', version: 3 },
        'the step that finished it, sent again',
      );
      equal(await store.turns.output(turn.place), 'abc');

      const other = await scene.streaming();
      const end = other.finishStep({ tail: { position: 0, text: 'abc' } });
      await store.turns.finish(end);
      equal((await store.turns.withdraw(other.withdrawStep({ version: 3, turn: end.turn }))).outcome, 'finished');
      equal(await store.turns.claim(other.place), false, 'one that was withdrawn first');
    },
  },
  {
    name: 'feedback on a finished turn is read with turn and message, counted in its second, and replaced or removed',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      const session = turn.step.session;
      const { workspaceId, sessionId, turnId } = turn.place;
      const up = { rating: 'up', comment: 'Thanks', at: scene.now + 5 } as const;
      const down = { rating: 'down', comment: null, at: scene.now + 6 } as const;
      equal(await store.turns.rate({ session, turn: turn.step.turn, feedback: up }), false, 'while it streams');
      const seal = turn.finishStep({ tail: { position: 0, text: 'abc' } });
      await store.turns.finish(seal);
      const rate = (feedback: Feedback | null) => store.turns.rate({ session, turn: seal.turn, feedback });
      const stands = async (feedback: Feedback | undefined, counts: readonly [number, number]) => {
        deepEqual((await store.turns.read(workspaceId, sessionId, turnId))?.feedback, feedback);
        deepEqual(
          (await scene.transcript(sessionId)).map((message) => message.feedback),
          [undefined, feedback],
        );
        const [usage] = await store.usage.read(workspaceId, usageQuery(scene.now, scene.now + 1));
        deepEqual([usage!.feedbackUp, usage!.feedbackDown], counts);
      };
      await stands(undefined, [0, 0]);
      equal(await rate(null), true, 'nothing to remove');
      await stands(undefined, [0, 0]);
      equal(await rate(up), true);
      equal(await rate(up), true, 'sent again');
      await stands(up, [1, 0]);
      equal(await rate({ ...up, comment: null }), true);
      await stands({ ...up, comment: null }, [1, 0]);
      equal(await rate(down), true);
      await stands(down, [0, 1]);
      deepEqual(await store.turns.withdraw(turn.withdrawStep({ version: 3, turn: seal.turn })), { outcome: 'fenced' });
      deepEqual(await store.turns.finish(seal), { outcome: 'finished', version: 3 }, 'sent again');
      await stands(down, [0, 1]);
      equal(await rate(null), true);
      await stands(undefined, [0, 0]);
      const missing = { ...seal.turn, id: 'turn_none' };
      equal(await store.turns.rate({ session, turn: missing, feedback: up }), false);
      const trial = { ...session, channel: 'console' } as const;
      equal(await store.turns.rate({ session: trial, turn: seal.turn, feedback: up }), true);
      await stands(up, [0, 0]);
    },
  },
  {
    name: 'a turn that has not begun is withdrawn as well: the step that would begin it comes too late',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const session = await scene.created({ mark: 'first' });
      const base = scene.beginStep(session, 1);
      const begin = { ...base, remember: remembered(base.turn.id, nowMs + 60_000) };
      const fence = { epoch: 1, owner: scene.owner };
      const moved = { ...session, mark: 'withdrawn' };
      const step = { session: moved, ...at(1, 'first'), turn: begin.turn, fence };
      deepEqual(
        await store.turns.withdraw({ ...step, ...at(1, 'another') }),
        { outcome: 'fenced' },
        'the session is not where its beginning would have to find it',
      );
      deepEqual(await store.turns.withdraw(step), { outcome: 'finished', version: 2 });
      deepEqual(await store.turns.withdraw(step), { outcome: 'finished', version: 2 }, 'sent again');
      deepEqual(await store.turns.begin(begin), { outcome: 'lost' });
      deepEqual(await store.sessions.read(workspaceId, session.id), { record: moved, version: 2 });
      deepEqual(
        [await scene.transcript(session.id), await memoryOf(scene), await store.turns.inFlight(workspaceId)],
        [[], null, 0],
      );
      const next = await scene.begun(moved, 2);
      deepEqual(
        await store.turns.withdraw({
          ...step,
          ...at(3, next.step.session.mark),
          turn: { ...begin.turn, id: 'turn_never' },
        }),
        { outcome: 'finished', version: 4 },
      );
      equal(await next.append(0, 'a'), 'stored', 'it is nothing to another turn');
    },
  },
  {
    name: 'a finished turn is withdrawn under the fence that it was finished under, and no other',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      const until = nowMs + 60_000;
      const ended = {
        status: 'failed',
        stopReason: 'error',
        errorCode: 'api_error',
        inputTokens: 3,
        outputTokens: 5,
        endedAt: now,
      } as const;
      for (const seized of [false, true]) {
        const greeting = message({ turnId: null });
        const session = scene.session({ messageCount: 1 });
        await store.sessions.create(scene.createStep({ session, greeting }));
        const base = scene.beginStep(session, 1);
        const remember = remembered(base.turn.id, until);
        const turn = await scene.begun(session, 1, { ...base, remember, leaseUntilMs: nowMs - 1 });
        await turn.append(0, 'abc');
        const fence = seized ? (await store.turns.takeOver(turn.place, 'reaper', until, nowMs))! : turn.fence;
        const seal = turn.finishStep({ fence, tail: { position: 3, text: 'd' } }, ended);
        deepEqual(await store.turns.finish(seal), { outcome: 'finished', version: 3 });
        const other = await scene.begun({ ...seal.session }, 3);
        await store.turns.finish(other.finishStep());
        const step = turn.withdrawStep({
          ...at(5, seal.session.mark),
          session: { ...session, messageCount: 5 },
          turn: seal.turn,
          remember,
          fence,
        });
        const others = seized ? turn.fence : { epoch: 2, owner: 'reaper' };
        const before = await seen(turn);
        deepEqual(
          await store.turns.withdraw({ ...step, fence: others }),
          { outcome: 'fenced' },
          'what another process has sealed stands',
        );
        deepEqual(
          await store.turns.withdraw({ ...step, turn: turn.step.turn }),
          { outcome: 'lost' },
          'from who has not seen its end',
        );
        deepEqual(await store.turns.withdraw({ ...step, version: 3 }), { outcome: 'lost' });
        deepEqual(await seen(turn), before);
        equal((await memoryOf(scene))?.resultId, base.turn.id);
        for (let sent = 0; sent < 2; sent++)
          deepEqual(await store.turns.withdraw(step), { outcome: 'finished', version: 6 });
        deepEqual(
          [await store.turns.read(workspaceId, session.id, turn.place.turnId), await memoryOf(scene)],
          [null, null],
        );
        const stands = [greeting, other.step.userMessage, { ...other.finishStep().message, content: '' }];
        deepEqual(await scene.transcript(session.id), stands, 'what was said before and since stands');
        deepEqual(await store.sessions.recentMessages(workspaceId, session.id, 5, 1e6, 100), stands);
        equal(await store.turns.output(turn.place), '');
        const [usage] = await store.usage.read(workspaceId, usageQuery(now, now + 1));
        deepEqual(
          [usage!.turns, usage!.failedTurns, usage!.inputTokens, usage!.outputTokens],
          seized ? [2, 0, 6, 10] : [1, 0, 3, 5],
        );
        deepEqual(await store.turns.finish(seal), { outcome: 'fenced' }, 'the step that finished it, sent again');
      }
    },
  },
  {
    name: 'a turn is seized only when its lease has run out, and then its old owner is out',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const held = await scene.streaming();
      equal(await store.turns.takeOver(held.place, 'reaper', nowMs + 1000, nowMs), null);
      equal(await held.append(0, 'still mine'), 'stored');
      equal(await store.turns.takeOver({ ...held.place, turnId: 'turn_never' }, 'reaper', nowMs + 1000, nowMs), null);

      const turn = await scene.streaming({ leaseUntilMs: nowMs - 1 });
      await turn.append(0, 'abc');
      const mine = (await store.turns.orphans(nowMs, 1000)).filter((place) => place.workspaceId === workspaceId);
      deepEqual(
        mine.map(({ sessionId, turnId }) => [sessionId, turnId]),
        [[turn.before.id, turn.place.turnId]],
      );
      const fence = await store.turns.takeOver(turn.place, 'reaper', nowMs + 60_000, nowMs);
      equal(fence?.owner, 'reaper');
      notDeepEqual(fence.epoch, turn.fence.epoch);
      deepEqual(await store.turns.takeOver(turn.place, 'reaper', nowMs + 60_000, nowMs), fence, 'sent again');
      equal(await store.turns.takeOver(turn.place, 'another', nowMs + 60_000, nowMs), null);
      deepEqual(
        (await store.turns.orphans(nowMs, 1000)).filter((place) => place.workspaceId === workspaceId),
        [],
      );

      equal(await turn.append(3, 'late'), 'fenced');
      equal(await turn.append(3, 'late', { epoch: fence.epoch, owner: turn.fence.owner }), 'fenced', 'the epoch alone');
      equal(await turn.append(3, 'late', { epoch: turn.fence.epoch, owner: 'reaper' }), 'fenced', 'the owner alone');
      deepEqual(await store.turns.finish(turn.finishStep({ tail: { position: 3, text: 'late' } })), {
        outcome: 'fenced',
      });
      deepEqual(await store.turns.withdraw(turn.withdrawStep()), { outcome: 'fenced' });
      equal(await store.turns.output(turn.place), 'abc');
      const seal = turn.finishStep({ fence: fence }, { status: 'failed', stopReason: 'error', errorCode: 'api_error' });
      deepEqual(await store.turns.finish(seal), { outcome: 'finished', version: 3 });
      equal((await scene.transcript(turn.before.id))[1]!.content, 'abc');
    },
  },
  {
    name: 'orphans are told up to a limit',
    async run(scene) {
      for (let count = 0; count < 3; count++) await scene.streaming({ leaseUntilMs: scene.nowMs - 1 });
      equal((await scene.store.turns.orphans(scene.nowMs, 2)).length, 2);
    },
  },
  {
    name: 'a session ended while its turn streams moves the version on',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      equal(await store.sessions.save({ ...turn.step.session, machine: snapshot('ended') }, at(turn.version)), 3);
      deepEqual(await store.turns.finish(turn.finishStep()), { outcome: 'lost' });
      deepEqual(await store.turns.finish(turn.finishStep({ version: 3 })), { outcome: 'finished', version: 4 });
    },
  },
];
