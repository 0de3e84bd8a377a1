/** Calls of tools: stored together, before they are sent, and their results before anybody hears of them. */
import { deepEqual, equal } from 'node:assert/strict';
import type { ToolCall } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { message, toolCall, usageQuery } from '../fixtures.ts';

const [first, second] = [toolCall(), toolCall({ id: 'call_2', name: 'book' })];
const answered: ToolCall = { ...first, status: 'completed', output: 'shipped 👋', endedAtMs: 2000 };
const tail = { position: 0, text: '' };

export const stepCases: readonly Case[] = [
  {
    name: 'the calls of a turn are read with its text, each replaced by its result, and end with the turn in its message',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      const { place, fence } = turn;
      const sees = async (calls: readonly ToolCall[], why: string): Promise<void> => {
        deepEqual((await store.turns.outputAfter(place, 0))?.calls, calls.length === 0 ? undefined : calls, why);
        deepEqual((await scene.transcript(place.sessionId)).at(-1)?.toolCalls, calls.length === 0 ? undefined : calls, why);
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
      equal(await store.turns.step({ ...place, fence: { ...fence, owner: 'another' }, from: 0, calls: [first] }), 'fenced');
      deepEqual(await store.turns.calls(place), [answered, second, { ...first, round: 1 }]);
      equal(await store.turns.step({ ...place, fence, from: 0, calls: [first, second] }), 'stored', 'the first step, once more and late');
      await sees([answered, second, { ...first, round: 1 }], 'a result is not taken back');

      const step = turn.finishStep({ tail }, { calls: { made: 2, sent: 2 } });
      equal((await store.turns.finish({ ...step, message: { ...step.message, toolCalls: [answered, second] } })).outcome, 'finished');
      await sees([answered, second], 'over');
      deepEqual(await store.turns.calls(place), []);
      equal(await store.turns.step({ ...place, fence, from: 0, calls: [first] }), 'fenced');
      const [used] = await store.usage.read(scene.workspaceId, usageQuery(scene.now, scene.now + 1));
      equal(used?.toolCalls, 2);
    },
  },
  {
    name: 'a step is answered with the request to stop its turn',
    async run(scene) {
      const { store, nowMs } = scene;
      const { place, fence } = await scene.streaming();
      await store.turns.requestStop(place, 'aborted', nowMs + 600_000, nowMs);
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
      const withCall = (over: Partial<ToolCall>) => ({ index, message: { ...sealed, toolCalls: [{ ...pending, ...over }] } });
      const stored = async (over: Partial<ToolCall>, why: string): Promise<void> => {
        const all = await scene.transcript(before.id);
        deepEqual(all[index], withCall(over).message, why);
        equal(all[index - 1]?.role, 'user');
        deepEqual((await store.turns.outputAfter(asked.place, 0))?.calls, [{ ...pending, ...over }]);
      };

      const version = 3;
      const draft = scene.beginStep(before, version);
      const unasked = { ...draft.turn, messageIndex: before.messageCount, unasked: true as const };
      const over = { session: { ...draft.session, messageCount: before.messageCount + 1 }, turn: unasked, userMessage: null };
      const withdrawn = await scene.begun(before, version, { ...over, amends: withCall({ status: 'completed', output: 'yes' }) });
      await stored({ status: 'completed', output: 'yes' }, 'begun');
      equal((await scene.transcript(before.id)).length, 3, 'no message of the user');
      equal((await store.turns.withdraw({ ...withdrawn.withdrawStep({ amends: withCall({}) }), session: before })).outcome, 'finished');
      await stored({}, 'withdrawn');
      equal((await scene.transcript(before.id)).length, 2, 'and nothing else is gone');

      const next = await scene.begun(before, version + 2, { ...over, turn: { ...unasked, id: `${unasked.id}2` }, amends: withCall({ status: 'running' }) });
      await stored({ status: 'running' }, 'begun again');
      equal(await store.turns.step({ ...next.place, fence: next.fence, from: 0, calls: [], amends: withCall({ status: 'completed', output: 'no' }) }), 'stored');
      await stored({ status: 'completed', output: 'no' }, 'stepped');
      equal(await store.turns.step({ ...next.place, fence: next.fence, from: 0, calls: [], amends: withCall({ status: 'running' }) }), 'stored');
      await stored({ status: 'completed', output: 'no' }, 'a step with fewer results comes late');
      const last = next.finishStep({ tail, amends: withCall({ status: 'unknown', error: 'unknown' }) });
      equal((await store.turns.finish(last)).outcome, 'finished');
      await stored({ status: 'unknown', error: 'unknown' }, 'finished');
      // A message in a row of its own is amended there.
      const alone = message({ content: 'Later 👋' });
      const end = await scene.begun({ ...last.session }, version + 4, { amends: { index: unasked.messageIndex, message: alone } });
      deepEqual((await scene.transcript(before.id))[unasked.messageIndex], alone);
      equal((await store.turns.finish(end.finishStep({ tail }))).outcome, 'finished');
      equal((await scene.transcript(before.id)).length, 5);
    },
  },
];
