/** Turns whose listener releases their text: readers see only the released text until the turn ends. */
import { deepEqual, equal } from 'node:assert/strict';
import type { Case } from '../contract.ts';
import { page, type Begun } from '../fixtures.ts';

const pieces = ['a👋é', '𠮷ﺷ!'] as const;
const points = [...pieces.join('')];

/**
 * A reader's view of a turn: the text after a position, and the roles and texts of its two messages, as each order
 * and page returns them.
 */
async function seen(
  { scene: { store, workspaceId }, place, before }: Begun,
  position = 0,
): Promise<{ after: string | null | undefined; messages: readonly string[] }> {
  const list = async (over: Parameters<typeof page>[0]) =>
    (await store.sessions.messages(workspaceId, before.id, page(over))).items.map(
      ({ role, content }) => `${role}: ${content}`,
    );
  const asc = await list({});
  deepEqual((await list({ order: 'desc' })).reverse(), asc);
  deepEqual(await list({ order: 'desc', limit: 1 }), asc.slice(-1));
  deepEqual(await list({ order: 'desc', after: '99' }).then((each) => each.reverse()), asc);
  return { after: (await store.turns.outputAfter(place, position))?.text, messages: asc.slice(before.messageCount) };
}

export const releaseCases: readonly Case[] = [
  {
    name: 'of a turn that is released, readers see that much of the stored text, and all of it once it is over',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming({ released: 0 });
      const said = `user: ${turn.step.userMessage!.content}`;
      const sees = async (count: number, why: string): Promise<void> => {
        const text = points.slice(0, count).join('');
        deepEqual(await seen(turn), { after: text, messages: [said, `assistant: ${text}`] }, why);
        equal((await store.turns.outputAfter(turn.place, count))?.text, '', `at the end, ${why}`);
        equal((await store.turns.outputAfter(turn.place, count + 1))?.text, null, `beyond the end, ${why}`);
      };
      await turn.append(0, pieces[0]);
      await sees(0, 'nothing is released');
      equal(await store.turns.release(turn.place, turn.fence, 2), 'released');
      await sees(2, 'released in part');
      equal(await store.turns.release(turn.place, turn.fence, 1), 'released');
      await sees(2, 'a smaller number');
      equal(await store.turns.release(turn.place, { ...turn.fence, owner: 'another' }, 3), 'fenced');
      await sees(2, 'by another process than the owner');
      equal(await store.turns.release(turn.place, turn.fence, 5), 'released');
      await sees(3, 'more than is stored');
      await turn.append(3, pieces[1]);
      await sees(5, 'the text came after its release');
      equal(await store.turns.output(turn.place), points.join(''));
      await store.turns.finish(turn.finishStep({ tail: { position: 0, text: '' } }));
      equal((await seen(turn)).after, points.join(''));
      equal(await store.turns.release(turn.place, turn.fence, 6), 'fenced');
    },
  },
  {
    name: 'a hidden turn is in no transcript until something of it is released',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming({ released: -1 });
      await turn.append(0, pieces[0]);
      deepEqual(await seen(turn), { after: undefined, messages: [] });
      equal(await store.turns.output(turn.place), pieces[0]);
      equal(await store.turns.release(turn.place, turn.fence, 0), 'released');
      deepEqual(await seen(turn), { after: '', messages: [`user: ${turn.step.userMessage!.content}`, 'assistant: '] });
    },
  },
  {
    name: 'a turn that began without a gate has none',
    async run(scene) {
      const turn = await scene.streaming();
      await turn.append(0, pieces[0]);
      equal(await scene.store.turns.release(turn.place, turn.fence, 1), 'released');
      equal((await seen(turn)).after, pieces[0]);
    },
  },
];
