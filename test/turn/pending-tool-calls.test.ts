/** The answered message, as those see it who look at a turn again and again. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { ToolCall } from '../../src/store/store.ts';
import { RemoteTurns } from '../../src/turn/remote-turns.ts';
import { withSteps } from '../host/scene.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { message, Scene, toolCall } from '../store/fixtures.ts';

t.test('the answered message is read with each poll while an approved call runs, and no longer', async (t) => {
  const store = memoryStore();
  await store.open(0);
  t.teardown(() => store.close());
  let reads = 0;
  const calls: ToolCall[] = [toolCall({ id: 'call_1', wants: 'approval', status: 'running' })];
  const answered = { index: 0, ids: ['call_1'], approved: ['call_1'] };
  const seen = withSteps(store, {
    outputAfter: async (place, position) => {
      const found = await store.turns.outputAfter(place, position);
      return found && { ...found, turn: { ...found.turn, answered } };
    },
    recentMessages: async () => [(reads++, message({ toolCalls: [...calls] }))],
  });
  const clock = new ManualClock();
  const turn = await new Scene(store, Date.now()).streaming();
  const log = await new RemoteTurns(seen, clock).follow(turn.place);
  t.teardown(log.follow(() => {}));
  const look = async (): Promise<number> => {
    clock.advance(limits.remoteSilentMs);
    for (let time = 0; time < 3; time++) await turnOfTheLoop();
    return reads;
  };
  t.equal(reads, 1);
  t.equal(await look(), 2, 'it runs');
  calls[0] = { ...calls[0]!, status: 'completed', output: 'done', endedAtMs: 1 };
  t.equal(await look(), 3, 'it has ended');
  t.equal(await look(), 3);
  await turn.append(0, 'text');
  t.equal(await look(), 3);
  t.match(log.marks, [
    { kind: 'started' },
    { kind: 'ended', call: { id: 'call_1', status: 'completed', output: 'done' } },
  ]);
});
