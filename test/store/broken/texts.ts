/** Broken stores: faults of a turn's text: its positions, its cut and its release. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { codePoints, indexAfter, textBehind } from '../../../src/base/text.ts';
import type { Steps } from '../../../src/store/steps.ts';
import type { FinishTurn, Store, Turn } from '../../../src/store/store.ts';
import type { BrokenStores } from './broken-stores.ts';

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

export const brokenTexts: BrokenStores = {
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
};
