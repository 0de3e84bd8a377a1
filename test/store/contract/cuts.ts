/** Turns whose listener cut them: sealed with the first code points of their output, and with no trace of the rest. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { Case } from '../contract.ts';
import { page, remembered, streaming, usageQuery, type Begun } from '../fixtures.ts';

/**
 * Two pieces that are stored and one that comes with the end: one to four bytes a code point, and one or two UTF-16
 * units.
 */
const pieces = ['a👋é', '𠮷👩‍👧', '\u0000ﷺ👋'] as const;
const points = [...pieces.join('')];
const tailAt = [...pieces[0], ...pieces[1]].length;
const tail = { position: tailAt, text: pieces[2] };
const aborted = { status: 'aborted', stopReason: 'aborted' } as const;

/** Both stored pieces. */
async function spoken(turn: Begun): Promise<void> {
  await turn.append(0, pieces[0]);
  await turn.append([...pieces[0]].length, pieces[1]);
}

/** Returns the text of a turn, once for each way of reading it. */
async function readAll({
  scene: { store, workspaceId, ...scene },
  place,
  before,
  step,
}: Begun): Promise<Record<string, unknown>> {
  const [asc, desc] = [
    await store.sessions.messages(workspaceId, before.id, page()),
    await store.sessions.messages(workspaceId, before.id, page({ limit: 1, order: 'desc' })),
  ];
  return {
    output: await store.turns.output(place),
    after: (await store.turns.outputAfter(place, 0))?.text,
    transcript: asc.items[step.turn.messageIndex]?.content,
    newest: desc.items[0]?.content,
    recent: (await store.sessions.recentMessages(workspaceId, before.id, step.session.messageCount, 1000, 10)).at(-1)
      ?.content,
    usage: (await store.usage.read(workspaceId, usageQuery(scene.now, scene.now + 1)))[0],
  };
}

const alike = (text: string) => ({ output: text, after: text, transcript: text, newest: text, recent: text });

export const cutCases: readonly Case[] = [
  {
    name: 'a turn that is cut has the text up to the cut and no more, wherever it is read',
    async run(scene) {
      const { store } = scene;
      for (let cutAt = 0; cutAt <= points.length; cutAt++) {
        const turn = await scene.streaming();
        await spoken(turn);
        deepEqual(await store.turns.finish(turn.finishStep({ tail, cutAt }, aborted)), {
          outcome: 'finished',
          version: 3,
        });
        const text = points.slice(0, cutAt).join('');
        const { usage, ...read } = await readAll(turn);
        deepEqual(read, alike(text), `cut at ${cutAt}`);
        equal((usage as { turns: number }).turns, cutAt + 1);
        for (const position of [0, cutAt - 1, cutAt, cutAt + 1, tailAt, points.length].filter((each) => each >= 0)) {
          const found = await store.turns.outputAfter(turn.place, position);
          deepEqual(
            [found?.turn.status, found?.text],
            ['aborted', position > cutAt ? null : points.slice(position, cutAt).join('')],
            `from ${position} of ${cutAt}`,
          );
        }
      }
    },
  },
  {
    name: 'what a cut took never comes back: not by a step sent again, nor by the next turn, a takeover or a withdrawal',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      const session = await scene.created();
      const base = scene.beginStep(session, 1);
      const remember = remembered(base.turn.id, nowMs + 60_000);
      const turn = await scene.begun(session, 1, { ...base, remember, leaseUntilMs: nowMs - 1 });
      await spoken(turn);
      const step = turn.finishStep({ tail, cutAt: 2 }, aborted);
      const first = await store.turns.finish(step);
      const before = await readAll(turn);
      const unchanged = async (why: string): Promise<void> => deepEqual(await readAll(turn), before, why);
      for (const cutAt of [2, 0, 3, 99, undefined]) deepEqual(await store.turns.finish({ ...step, cutAt }), first);
      await unchanged('the end, sent again');
      for (const position of [0, 2, tailAt]) equal(await turn.append(position, pieces[2]), 'fenced');
      equal((await store.turns.begin(turn.step)).outcome, 'begun');
      equal(await store.turns.takeOver(turn.place, 'reaper', nowMs + 60_000, nowMs), null);
      equal(await store.turns.claim(turn.place), true);
      await unchanged('a piece, the beginning and a takeover that come late');
      const next = await scene.begun(step.session, 3);
      await next.append(0, 'next');
      await store.turns.finish(next.finishStep());
      deepEqual(
        (await scene.transcript(session.id)).map(({ content }) => content),
        [turn.step.userMessage!.content, 'a👋', next.step.userMessage!.content, 'next'],
      );
      deepEqual(
        (await store.sessions.recentMessages(workspaceId, session.id, 2, 14, 10)).map(({ content }) => content),
        [turn.step.userMessage!.content, 'a👋'],
        'it counts as long as it is',
      );
      equal((await store.usage.read(workspaceId, usageQuery(now, now + 1)))[0]!.turns, 2);

      const other = await scene.streaming();
      await spoken(other);
      const end = other.finishStep({ tail, cutAt: 2 }, aborted);
      await store.turns.finish(end);
      equal((await store.turns.withdraw(other.withdrawStep({ version: 3, turn: end.turn }))).outcome, 'finished');
      deepEqual(
        [
          await store.turns.output(other.place),
          await store.turns.outputAfter(other.place, 0),
          await scene.transcript(other.before.id),
        ],
        ['', null, []],
      );
      equal((await store.usage.read(workspaceId, usageQuery(now, now + 1)))[0]!.turns, 2);
    },
  },
  {
    name: 'a turn that was taken over is cut by its new owner alone',
    async run(scene) {
      const { store, nowMs } = scene;
      const turn = await scene.streaming({ leaseUntilMs: nowMs - 1 });
      await spoken(turn);
      const seized = (await store.turns.takeOver(turn.place, 'reaper', nowMs + 60_000, nowMs))!;
      deepEqual(await store.turns.finish(turn.finishStep({ cutAt: 1 }, aborted)), { outcome: 'fenced' });
      equal(await store.turns.output(turn.place), pieces[0] + pieces[1]);
      equal((await store.turns.finish(turn.finishStep({ fence: seized, cutAt: 3 }, aborted))).outcome, 'finished');
      equal(await store.turns.output(turn.place), pieces[0]);
      deepEqual(await store.turns.finish(turn.finishStep({ cutAt: 1 }, aborted)), { outcome: 'fenced' });
      equal(await store.turns.output(turn.place), pieces[0]);
    },
  },
  {
    name: 'a cut that is refused cuts nothing: a lost one, a fenced one, and one beyond the text',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      await spoken(turn);
      const stands = async (why: string): Promise<void> => {
        equal(await store.turns.output(turn.place), pieces[0] + pieces[1], why);
        deepEqual(
          await scene.transcript(turn.before.id),
          [turn.step.userMessage!, streaming(turn.step.turn, pieces[0] + pieces[1])],
          why,
        );
      };
      deepEqual(await store.turns.finish(turn.finishStep({ tail, cutAt: 2, version: 1 }, aborted)), {
        outcome: 'lost',
      });
      await stands('lost');
      deepEqual(
        await store.turns.finish(turn.finishStep({ tail, cutAt: 2, fence: { ...turn.fence, owner: 'x' } }, aborted)),
        { outcome: 'fenced' },
      );
      await stands('fenced');
      const beyond = points.length + 1;
      await rejects(
        store.turns.finish(turn.finishStep({ tail, cutAt: beyond }, aborted)),
        new RangeError(`Output at ${beyond} would leave a gap after ${points.length}.`),
      );
      await rejects(
        store.turns.finish(turn.finishStep({ cutAt: tailAt + 1 }, aborted)),
        new RangeError(`Output at ${tailAt + 1} would leave a gap after ${tailAt}.`),
      );
      await rejects(
        store.turns.finish(turn.finishStep({ tail: { position: tailAt + 1, text: 'x' }, cutAt: 2 }, aborted)),
        new RangeError(`Output at ${tailAt + 1} would leave a gap after ${tailAt}.`),
      );
      await stands('beyond');
      // The owner has the text that the store lost.
      const sent = { position: 1, text: `${points.slice(1).join('')}👋` };
      equal((await store.turns.finish(turn.finishStep({ tail: sent, cutAt: beyond }, aborted))).outcome, 'finished');
      equal(await store.turns.output(turn.place), `${points.join('')}👋`);
    },
  },
  {
    name: 'nobody sees a turn that is over with text that its cut took',
    async run(scene) {
      const { store } = scene;
      for (let count = 0; count < 3; count++) {
        const turn = await scene.streaming();
        await spoken(turn);
        const seen = new Set<string>();
        let over = false;
        const reading = (async (): Promise<void> => {
          for (let last = false; !last; await turnOfTheLoop()) {
            last = over;
            const found = (await store.turns.outputAfter(turn.place, 0))!;
            if (found.turn.endedAt !== null) seen.add(found.text!);
            const reply = (await scene.transcript(turn.before.id))[1]!;
            if (reply.status !== 'streaming') seen.add(reply.content);
          }
        })();
        try {
          await store.turns.finish(turn.finishStep({ tail, cutAt: 2 }, aborted));
        } finally {
          over = true;
          await reading;
        }
        deepEqual([...seen], ['a👋']);
      }
    },
  },
  {
    name: 'whoever waits beyond a cut is told of the end, and finds no text there',
    async run(scene) {
      const { store } = scene;
      const turn = await scene.streaming();
      await spoken(turn);
      equal((await store.turns.outputAfter(turn.place, tailAt))?.text, '');
      let tell = (): void => {};
      const told = new Promise<void>((resolve) => (tell = resolve));
      const unwatch = await store.watch(
        (notice) => notice.type === 'turn.moved' && notice.turnId === turn.place.turnId && tell(),
      );
      await store.turns.finish(turn.finishStep({ tail, cutAt: 2 }, aborted));
      await told;
      await unwatch();
      const found = await store.turns.outputAfter(turn.place, tailAt);
      deepEqual([found?.turn.status, found?.text], ['aborted', null]);
    },
  },
];
