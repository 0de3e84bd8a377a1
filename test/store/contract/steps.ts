/** Calls of tools: stored together, before they are sent, and their results before anybody hears of them. */
import { deepEqual, equal } from 'node:assert/strict';
import type { ToolCall } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { message, toolCall, usageQuery } from '../fixtures.ts';

const [first, second] = [toolCall(), toolCall({ id: 'call_2', name: 'book' })];
const answered: ToolCall = { ...first, status: 'completed', output: 'shipped 👋', endedAtMs: 2000 };
const tail = { position: 0, text: '' };

/** Arguments as providers send them with tool calls: nested, in other scripts, with names and values of any kind. */
const opaque = {
  origin: 'openai1',
  id: 'call|0/é👋',
  call: {
    extra_content: { google: { thought_signature: 'CiQB+/=' } },
    '': [[], {}, null, false],
    index: 0.5,
    constructor: { name: 'ç' },
  },
  round: {
    reasoning_content: 'Müssen wir 👋?\n',
    details: [{ type: 'reasoning.encrypted', data: 'x'.repeat(5000), index: 2 ** 40, id: null }],
  },
};
const signed = toolCall({ opaque });
const bare = toolCall({ id: 'call_2', name: 'book', opaque: { origin: 'openai1' } });
const misfit = toolCall({
  id: 'call_3',
  status: 'failed',
  error: 'arguments',
  arguments: null,
  reason: 'The property "order" must be a text. 👋',
  opaque: { origin: 'openai1', call: { signature: 's' } },
  endedAtMs: 1500,
});

export const stepCases: readonly Case[] = [
  {
    name: 'the calls of a turn are read with its text, each replaced by its result, and end with the turn in its message',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      const { place, fence } = turn;
      const sees = async (calls: readonly ToolCall[], why: string): Promise<void> => {
        deepEqual((await store.turns.outputAfter(place, 0))?.calls, calls.length === 0 ? undefined : calls, why);
        deepEqual(
          (await scene.transcript(place.sessionId)).at(-1)?.toolCalls,
          calls.length === 0 ? undefined : calls,
          why,
        );
      };
      await sees([], 'none yet');
      deepEqual(await store.turns.calls(place), []);
      equal(await store.turns.step({ ...place, fence, from: 0, calls: [first, second] }), 'stored');
      await sees([first, second], 'stored together');
      await turn.append(0, 'Let me see. 👋');
      equal(await store.turns.step({ ...place, fence, from: 0, calls: [answered] }), 'stored');
      equal(await store.turns.step({ ...place, fence, from: 0, calls: [answered] }), 'stored', 'a repeat');
      await sees([answered, second], 'a result');
      deepEqual((await store.turns.outputAfter(place, 13))?.calls, [answered, second], 'behind the text too');
      equal(await store.turns.step({ ...place, fence, from: 2, calls: [{ ...first, round: 1 }] }), 'stored');
      deepEqual(await store.turns.calls(place), [answered, second, { ...first, round: 1 }]);
      equal(
        await store.turns.step({ ...place, fence: { ...fence, owner: 'another' }, from: 0, calls: [first] }),
        'fenced',
      );
      deepEqual(await store.turns.calls(place), [answered, second, { ...first, round: 1 }]);
      equal(
        await store.turns.step({ ...place, fence, from: 0, calls: [first, second] }),
        'stored',
        'the first step, once more and late',
      );
      await sees([answered, second, { ...first, round: 1 }], 'a result is not taken back');

      const step = turn.finishStep({ tail }, { calls: { made: 2, sent: 2 } });
      equal(
        (await store.turns.finish({ ...step, message: { ...step.message, toolCalls: [answered, second] } })).outcome,
        'finished',
      );
      await sees([answered, second], 'over');
      deepEqual(await store.turns.calls(place), []);
      equal(await store.turns.step({ ...place, fence, from: 0, calls: [first] }), 'fenced');
      const [used] = await store.usage.read(scene.workspaceId, usageQuery(scene.now, scene.now + 1));
      equal(used?.toolCalls, 2);
    },
  },
  {
    name: 'what a provider put on a call, and why its arguments did not fit, stay with it: in flight, with its result, and in an earlier message',
    async run(scene) {
      const { store } = scene;
      const asked = await scene.streaming();
      const { place, fence } = asked;
      const { messageIndex, messageId } = asked.step.turn;
      const sees = async (calls: readonly ToolCall[], why: string): Promise<void> => {
        deepEqual(
          (await scene.transcript(place.sessionId))[messageIndex]?.toolCalls,
          calls,
          `${why}, in the transcript`,
        );
        const recent = await store.sessions.recentMessages(
          scene.workspaceId,
          place.sessionId,
          messageIndex + 1,
          10_000,
          10,
        );
        deepEqual(recent.find(({ id }) => id === messageId)?.toolCalls, calls, `${why}, for a model`);
        deepEqual((await store.turns.outputAfter(place, 0))?.calls, calls, `${why}, in the output`);
      };
      await store.turns.step({ ...place, fence, from: 0, calls: [signed, bare, misfit] });
      deepEqual(await store.turns.calls(place), [signed, bare, misfit], 'made');
      const ended = { ...signed, status: 'completed' as const, output: 'shipped 👋', endedAtMs: 2000 };
      await store.turns.step({ ...place, fence, from: 0, calls: [ended] });
      deepEqual(await store.turns.calls(place), [ended, bare, misfit], 'with a result');
      await store.turns.step({
        ...place,
        fence,
        from: 3,
        calls: [{ ...signed, round: 1, status: 'pending', wants: 'approval' }],
      });
      const pending = { ...signed, round: 1, status: 'pending' as const, wants: 'approval' as const };
      deepEqual((await store.turns.outputAfter(place, 0))?.calls, [ended, bare, misfit, pending], 'in a later round');

      const step = asked.finishStep({ tail }, { stopReason: 'tool_calls', calls: { made: 4, sent: 4 } });
      const sealed = { ...step.message, toolCalls: [ended, bare, misfit, pending] };
      equal((await store.turns.finish({ ...step, message: sealed })).outcome, 'finished');
      await sees([ended, bare, misfit, pending], 'over');

      const amends = (over: Partial<ToolCall>) => ({
        index: messageIndex,
        message: { ...sealed, toolCalls: [ended, bare, misfit, { ...pending, ...over }] },
      });
      const draft = scene.beginStep(step.session, 3);
      const turn = { ...draft.turn, messageIndex: step.session.messageCount, unasked: true as const };
      const session = { ...draft.session, messageCount: step.session.messageCount + 1 };
      const next = await scene.begun(step.session, 3, {
        session,
        turn,
        userMessage: null,
        amends: amends({ status: 'running' }),
      });
      await sees([ended, bare, misfit, { ...pending, status: 'running' }], 'amended as a turn begins');
      await store.turns.step({
        ...next.place,
        fence: next.fence,
        from: 0,
        calls: [],
        amends: amends({ status: 'completed', output: 'yes' }),
      });
      await sees([ended, bare, misfit, { ...pending, status: 'completed', output: 'yes' }], 'amended within it');
      equal(
        (await store.turns.finish(next.finishStep({ tail, amends: amends({ status: 'unknown', error: 'unknown' }) })))
          .outcome,
        'finished',
      );
      await sees([ended, bare, misfit, { ...pending, status: 'unknown', error: 'unknown' }], 'amended as it ends');
    },
  },
  {
    name: 'a step is answered with the request to stop its turn',
    async run(scene) {
      const { store, nowMs } = scene;
      const { place, fence } = await scene.streaming();
      await store.turns.requestStop(place, 'aborted', nowMs + 60_000, nowMs);
      deepEqual(await store.turns.step({ ...place, fence, from: 0, calls: [first] }), { stop: 'aborted' });
    },
  },
  {
    name: 'an earlier message is amended by each kind of step, whichever row it is in',
    async run(scene) {
      const { store } = scene;
      const asked = await scene.streaming();
      const pending = toolCall({ status: 'pending', wants: 'result', sent: undefined });
      const step = asked.finishStep({ tail }, { stopReason: 'tool_calls', calls: { made: 1, sent: 0 } });
      const sealed = { ...step.message, content: 'Asked 👋', stopReason: 'tool_calls' as const, toolCalls: [pending] };
      await store.turns.finish({ ...step, message: sealed, tail: { position: 0, text: 'Asked 👋' } });
      const before = step.session;
      const index = asked.step.turn.messageIndex;
      const withCall = (over: Partial<ToolCall>) => ({
        index,
        message: { ...sealed, toolCalls: [{ ...pending, ...over }] },
      });
      const stored = async (over: Partial<ToolCall>, why: string): Promise<void> => {
        const all = await scene.transcript(before.id);
        deepEqual(all[index], withCall(over).message, why);
        equal(all[index - 1]?.role, 'user');
        deepEqual((await store.turns.outputAfter(asked.place, 0))?.calls, [{ ...pending, ...over }]);
      };

      const version = 3;
      const draft = scene.beginStep(before, version);
      const unasked = { ...draft.turn, messageIndex: before.messageCount, unasked: true as const };
      const over = {
        session: { ...draft.session, messageCount: before.messageCount + 1 },
        turn: unasked,
        userMessage: null,
      };
      const withdrawn = await scene.begun(before, version, {
        ...over,
        amends: withCall({ status: 'completed', output: 'yes' }),
      });
      await stored({ status: 'completed', output: 'yes' }, 'begun');
      equal((await scene.transcript(before.id)).length, 3, 'no message of the user');
      equal(
        (await store.turns.withdraw({ ...withdrawn.withdrawStep({ amends: withCall({}) }), session: before })).outcome,
        'finished',
      );
      await stored({}, 'withdrawn');
      equal((await scene.transcript(before.id)).length, 2, 'and nothing else is gone');

      const next = await scene.begun(before, version + 2, {
        ...over,
        turn: { ...unasked, id: `${unasked.id}2` },
        amends: withCall({ status: 'running' }),
      });
      await stored({ status: 'running' }, 'begun again');
      equal(
        await store.turns.step({
          ...next.place,
          fence: next.fence,
          from: 0,
          calls: [],
          amends: withCall({ status: 'completed', output: 'no' }),
        }),
        'stored',
      );
      await stored({ status: 'completed', output: 'no' }, 'stepped');
      equal(
        await store.turns.step({
          ...next.place,
          fence: next.fence,
          from: 0,
          calls: [],
          amends: withCall({ status: 'running' }),
        }),
        'stored',
      );
      await stored({ status: 'completed', output: 'no' }, 'a step with fewer results comes late');
      const last = next.finishStep({ tail, amends: withCall({ status: 'unknown', error: 'unknown' }) });
      equal((await store.turns.finish(last)).outcome, 'finished');
      await stored({ status: 'unknown', error: 'unknown' }, 'finished');
      // A message in a separate row is amended there.
      const alone = message({ content: 'Later 👋' });
      const end = await scene.begun({ ...last.session }, version + 4, {
        amends: { index: unasked.messageIndex, message: alone },
      });
      deepEqual((await scene.transcript(before.id))[unasked.messageIndex], alone);
      equal((await store.turns.finish(end.finishStep({ tail }))).outcome, 'finished');
      equal((await scene.transcript(before.id)).length, 5);
    },
  },
];
