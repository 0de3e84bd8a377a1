/** The history that a model is sent: as stored, without a read of the store each time. */
import fc from 'fast-check';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import type { Steps } from '../../src/store/steps.ts';
import type { Message } from '../../src/store/store.ts';
import { Histories, historyMessagesMax, historiesCharactersMax } from '../../src/turn/histories.ts';
import { Scene, withSteps } from '../host/scene.ts';

async function watched(): Promise<{ scene: Scene; asked: () => number }> {
  const plain = await Scene.open();
  let asked = 0;
  const { store } = plain;
  const recentMessages: Steps['recentMessages'] = (...given) => {
    asked++;
    return store.sessions.recentMessages(...given);
  };
  return { scene: plain.beside(withSteps(store, { recentMessages })), asked: () => asked };
}

type Ending = 'completed' | 'aborted' | 'failed' | 'withdrawn' | 'nothing';

/** Runs a turn with this end; returns the messages that its model got. */
async function turn(scene: Scene, sessionId: string, words: string, ending: Ending): Promise<readonly Message[]> {
  const talk = await scene.begin(sessionId);
  if (ending !== 'withdrawn' && ending !== 'nothing') talk.model.text(words);
  if (ending === 'completed' || ending === 'nothing') talk.model.end();
  else if (ending === 'aborted') await scene.host.sessions.abort(await scene.actor(sessionId), talk.runner.turnId);
  else talk.model.failed('status');
  await talk.runner.over;
  return talk.history;
}

const ending = fc.constantFrom<Ending>('completed', 'aborted', 'failed', 'withdrawn', 'nothing');
/** Long words, so that histories outgrow what a model may be given. */
const step = fc.record({
  ending,
  words: fc.string({ minLength: 1, maxLength: 3, unit: 'grapheme' }),
  times: fc.constantFrom(1, 9000),
  elsewhere: fc.boolean(),
});

t.test("a cached history equals the store's after every kind of turn", async (t) => {
  const seed = Number(process.env['PARLEY_TEST_SEED'] ?? 20_261_121);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const scene = await Scene.open();
      const other = scene.beside();
      const { id } = await scene.session({ greeting: 'Hi' });
      for (const { ending, words, times, elsewhere } of steps) {
        const { messageCount } = (await scene.store.sessions.read(scene.workspaceId, id))!.record;
        const stored = await scene.store.sessions.recentMessages(
          scene.workspaceId,
          id,
          messageCount,
          limits.historyTokensMax * 4,
          historyMessagesMax,
        );
        const told = await turn(elsewhere ? other : scene, id, words.repeat(times), ending);
        t.strictSame(told.slice(0, -1), stored);
        t.equal(told.at(-1)!.content, 'Hello');
      }
      return t.passing();
    }),
    { numRuns: 60, seed },
  );
});

t.test('the history of a session in use is read from the store once', async (t) => {
  for (const greeting of [null, 'Hi']) {
    const { scene, asked } = await watched();
    const { id } = await scene.session({ greeting });
    for (let index = 0; index < 5; index++) await turn(scene, id, 'words', 'completed');
    t.equal(asked(), greeting === null ? 0 : 1, 'and not at all where nothing was said');
  }
});

t.test('a session that another process moved is read again', async (t) => {
  const { scene, asked } = await watched();
  const { id } = await scene.session();
  await turn(scene, id, 'here', 'completed');
  await turn(scene.beside(), id, 'there', 'completed');
  const told = await turn(scene, id, 'here again', 'completed');
  t.same(
    told.map(({ content }) => content),
    ['Hello', 'here', 'Hello', 'there', 'Hello'],
  );
  t.equal(asked(), 2, 'once there, once here again');
});

t.test('the cache is bounded, and the session used longest ago is evicted', async (t) => {
  const { scene, asked } = await watched();
  const histories = new Histories(scene.store);
  const said = (text: string): Message[] => [
    {
      id: 'msg_1',
      turnId: 'turn_1',
      role: 'user',
      content: text,
      status: 'completed',
      stopReason: null,
      errorCode: null,
      createdAt: 0,
    },
  ];
  const session = await scene.session();
  const large = 'x'.repeat(limits.historyTokensMax * 4);
  const fitting = Math.floor(historiesCharactersMax / (large.length + 512));
  for (let index = 0; index <= fitting; index++)
    histories.keep({ record: { ...session, id: `ses_${index}` }, version: 1 }, [], said(large));
  const of = (index: number) => histories.of({ ...session, id: `ses_${index}`, messageCount: 1 }, 1);
  const kept = Math.floor((historiesCharactersMax * limits.cacheShareKept) / (large.length + 512));
  t.equal((await of(fitting)).length, 1);
  t.equal((await of(fitting + 1 - kept)).length, 1);
  t.equal(asked(), 0);
  await of(fitting - kept);
  t.equal(asked(), 1);
});
