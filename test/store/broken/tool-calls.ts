/** Broken stores: faults of tool calls and their results. */
import { endedCalls, hasEnded } from '../../../src/store/records/tools.ts';
import type { ToolCall } from '../../../src/store/store.ts';
import { type BrokenStores, fences } from './broken-stores.ts';

const unsigned = ({ opaque: _, ...call }: ToolCall): ToolCall => call;

const roundless = ({ opaque: { round: _, ...opaque } = { origin: '' }, ...call }: ToolCall): ToolCall => ({
  ...call,
  opaque,
});

export const brokenToolCalls: BrokenStores = {
  'calls that any process may store': (store) => {
    const known = fences(store);
    return { ...known, stepTurn: (step) => store.turns.step({ ...step, fence: known.of(step) ?? step.fence }) };
  },
  'calls whose last one is lost': (store) => ({
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
  'a message that a withdrawal leaves amended': (store) => ({
    withdrawTurn: ({ amends: _, ...step }) => store.turns.withdraw(step),
  }),
  'a message that a step does not amend': (store) => ({ stepTurn: ({ amends: _, ...step }) => store.turns.step(step) }),
};
