/** When a call is sent again (contract 13). */
import t from 'tap';
import type { ToolAccess } from '../../../src/providers/tool.ts';
import { failed, sendWithin, type Sent } from '../../../src/providers/tool/sending.ts';
import { ManualClock } from '../model/provider.ts';

const access: ToolAccess = {
  workspaceId: 'wks_1',
  kind: 'http',
  url: 'http://127.0.0.1:9/',
  timeoutSeconds: 20,
  repeatable: true,
  secrets: [],
  headers: {},
};
const passing: Sent = { result: failed('refused'), again: 'repeatable' };

/** Sends, and moves the clock by so much in each pause: how often the tool was tried, and with what result. */
async function triesWith(movesMs: readonly number[], tool: ToolAccess = access) {
  const clock = new ManualClock();
  let tries = 0;
  const result = sendWithin(clock, tool, new AbortController().signal, (end) => {
    tries++;
    queueMicrotask(() => end(passing));
    return () => {};
  });
  for (const moveMs of movesMs) {
    await new Promise(setImmediate);
    clock.advance(moveMs);
  }
  const ended = await result;
  return { tries, result: ended };
}

t.test('three times in all', async (t) => {
  t.same(await triesWith([250, 1000]), { tries: 3, result: failed('refused') });
  t.same(await triesWith([250, 1000], { ...access, repeatable: false }), { tries: 1, result: failed('refused') });
});

t.test(
  'not after the time of the call, and not where the process stood still: another may have the turn',
  async (t) => {
    t.same(await triesWith([5_000]), { tries: 1, result: failed('refused') }, 'longer than a lease');
    t.same(
      await triesWith([250, 1_300], { ...access, timeoutSeconds: 1.5 }),
      { tries: 2, result: failed('refused') },
      'a pause that would outlast it',
    );
    t.same(
      await triesWith([1_800], { ...access, timeoutSeconds: 1 }),
      { tries: 1, result: failed('refused') },
      'a pause that did',
    );
  },
);
