/** The text of turns and transcripts: whole, in order, once. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import type { Case } from '../contract.ts';
import { message, page } from '../fixtures.ts';

/** Emoji of one and several code points, CJK beyond the basic plane, combining marks, and U+0000. */
const pieces = ['Hello 👋', '👩‍👩‍👧', '𠮷野家', 'e\u0301o\u0308', '\u0000', '\ufeff', 'ﷺ', '🏳️‍🌈\n', ' end\u0000'];
const count = (text: string): number => [...text].length;

export const textCases: readonly Case[] = [
  {
    name: 'output comes back exactly, in order, while it streams and after',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      let text = '';
      for (const piece of pieces) {
        equal(await turn.append(count(text), piece), 'stored');
        text += piece;
        equal(await store.turns.output(turn.place), text);
        equal((await scene.transcript(turn.before.id))[1]!.content, text);
      }
      await store.turns.finish(turn.finishStep({ tail: { position: count(text), text: '𝄞' } }));
      equal(await store.turns.output(turn.place), `${text}𝄞`);
      equal((await scene.transcript(turn.before.id))[1]!.content, `${text}𝄞`);
    },
  },
  {
    name: 'pieces sent in one go are stored in the order sent',
    async run(scene) {
      const turn = await scene.streaming();
      const text = Array.from({ length: 120 }, (_, index) => `${index} `);
      let position = 0;
      await Promise.all(text.map((piece) => turn.append((position += piece.length) - piece.length, piece)));
      equal(await scene.store.turns.output(turn.place), text.join(''));
    },
  },
  {
    name: 'a piece that is stored already changes nothing, and of one that is stored in part the rest is stored',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      await turn.append(0, '👋a');
      equal(await turn.append(0, '👋a'), 'stored');
      equal(await turn.append(0, '👋'), 'stored');
      equal(await turn.append(1, 'a'), 'stored');
      equal(await store.turns.output(turn.place), '👋a');
      equal(await turn.append(1, 'a👋b'), 'stored');
      equal(await store.turns.output(turn.place), '👋a👋b');
      equal(await turn.append(0, '👋a👋b👋'), 'stored');
      equal(await store.turns.output(turn.place), '👋a👋b👋');
      await turn.append(5, '');
      await store.turns.finish(turn.finishStep({ tail: { position: 2, text: '👋b👋c👋' } }));
      equal(await store.turns.output(turn.place), '👋a👋b👋c👋');
    },
  },
  {
    name: 'a piece that would leave a hole is refused',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      await turn.append(0, '👋');
      await rejects(turn.append(2, 'x'));
      await rejects(store.turns.finish(turn.finishStep({ tail: { position: 2, text: 'x' } })));
      equal(await store.turns.output(turn.place), '👋');
      equal(await turn.append(1, 'x'), 'stored');
    },
  },
  {
    name: 'output is read from any position on, while it streams and after, and the turn with it',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      equal(await store.turns.outputAfter({ ...turn.place, turnId: 'turn_never' }, 0), null);
      let text = '';
      const check = async (status: string): Promise<void> => {
        const points = [...text];
        for (let position = 0; position <= points.length + 1; position++) {
          const found = await store.turns.outputAfter(turn.place, position);
          deepEqual(
            [found?.turn.status, found?.text],
            [status, position > points.length ? null : points.slice(position).join('')],
          );
        }
      };
      await check('streaming');
      for (const piece of pieces) {
        await turn.append(count(text), piece);
        text += piece;
      }
      await check('streaming');
      await store.turns.finish(turn.finishStep({ tail: { position: count(text), text: '𝄞a' } }));
      text += '𝄞a';
      await check('completed');
      const withdrawn = await scene.streaming();
      await store.turns.withdraw(withdrawn.withdrawStep());
      equal(await store.turns.outputAfter(withdrawn.place, 0), null);
    },
  },
  {
    name: 'a transcript is read in pages, either way',
    async run(scene) {
      const { store, workspaceId } = scene;
      let session = scene.session({ messageCount: 1 });
      await store.sessions.create(scene.createStep({ session, greeting: message({ content: '0' }) }));
      let version = 1;
      for (let each = 1; each < 13; each += 2) {
        const turn = await scene.begun(session, version, {
          userMessage: message({ role: 'user', content: String(each) }),
        });
        const step = turn.finishStep({ tail: { position: 0, text: String(each + 1) } });
        await store.turns.finish(step);
        session = step.session;
        version += 2;
      }
      const read = async (over: Parameters<typeof page>[0]) => {
        const { items, next } = await store.sessions.messages(workspaceId, session.id, page(over));
        return [items.map(({ content }) => Number(content)), next];
      };
      deepEqual(await read({}), [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], null]);
      deepEqual(await read({ limit: 11 }), [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], '10']);
      deepEqual(await read({ limit: 11, after: '10' }), [[11, 12], null]);
      deepEqual(await read({ limit: 2, order: 'desc' }), [[12, 11], '11']);
      deepEqual(await read({ limit: 9, after: '9', order: 'desc' }), [[8, 7, 6, 5, 4, 3, 2, 1, 0], null]);
      deepEqual(await read({ after: '99' }), [[], null]);
      deepEqual(await read({ after: 'x' }), [[], null]);
    },
  },
  {
    name: 'the newest messages are read back to the bound, without the one that streams',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = scene.session({ messageCount: 1 });
      await store.sessions.create(scene.createStep({ session, greeting: message({ content: '👋👋👋' }) }));
      const first = await scene.begun(session, 1, { userMessage: message({ role: 'user', content: '1234' }) });
      const step = first.finishStep({ tail: { position: 0, text: '56789' } });
      await store.turns.finish(step);
      const second = await scene.begun(step.session, 3, { userMessage: message({ role: 'user', content: 'ab' }) });
      await second.append(0, 'streaming');
      const recent = async (before: number, charactersMax: number, messagesMax = 100) =>
        (await store.sessions.recentMessages(workspaceId, session.id, before, charactersMax, messagesMax)).map(
          ({ content }) => content,
        );
      deepEqual(await recent(5, 100), ['👋👋👋', '1234', '56789', 'ab']);
      for (const beyond of [6, 1000]) deepEqual(await recent(beyond, 100), ['👋👋👋', '1234', '56789', 'ab']);
      deepEqual(await recent(4, 14), ['👋👋👋', '1234', '56789', 'ab']);
      deepEqual(await recent(4, 13), ['1234', '56789', 'ab']);
      deepEqual(await recent(4, 10), ['56789', 'ab']);
      deepEqual(await recent(3, 5), ['56789']);
      deepEqual(await recent(3, 4), []);
      deepEqual(await recent(0, 100), []);
      deepEqual(await recent(4, 100, 2), ['56789', 'ab']);
    },
  },
];
