/** The hearing of a call: whether an utterance is said over a reply, and which of its words count (contract 18). */
import t from 'tap';
import { Hearing, type HeardCall, type HearingOptions } from '../../../src/conversation/call/hearing.ts';
import type { EarOptions } from '../../../src/providers/voice/ear.ts';

const spoken = { lately: 'one two', lastSentence: 'one two', outlasted: false };

/** The hearing of a call in a state, its ear, and the events that the machine gets. */
function hearing(call: Partial<HeardCall>) {
  let ear!: EarOptions;
  const events: string[] = [];
  const services = { clock: { now: () => 0, monotonic: () => 0 }, voice: { ear: (options: EarOptions) => ((ear = options), { push: () => {}, backlogMs: 0, positionMs: 0, busy: true }) } };
  const options = {
    ...{ services, ready: { provider: { partials: true } }, tell: () => {}, failed: () => {}, send: ({ type }: { type: string }) => void events.push(type) },
    call: { settings: { partials: true }, context: { bargeIn: 'words' }, told: null, reply: null, last: null, ...call },
  };
  new Hearing(options as unknown as HearingOptions).listen(new Int16Array(0));
  return { ear, events };
}

t.test('speech between the end of a turn and the client that is told of it is over its reply, and each of its words counts', async (t) => {
  const reply = { spoken: () => spoken } as never;
  for (const state of ['thinking', 'held']) {
    const { ear, events } = hearing({ state, reply });
    ear.voice(1, 0);
    ear.voiced(1, 200);
    ear.heard(1, 'and more', 'counts');
    t.same(events, ['voice', 'voiced', 'words'], state);
    t.equal(ear.replyOf(1), null, 'it has not begun during the reply');
  }
  const told = hearing({ state: 'thinking', reply, told: reply });
  told.ear.voice(1, 0);
  told.ear.heard(1, 'and more', 'counts');
  t.same([told.events, told.ear.replyOf(1)], [['voice', 'words'], spoken]);
  const early = hearing({ state: 'hearing', reply });
  early.ear.voice(1, 0);
  early.ear.voiced(1, 200);
  early.ear.heard(1, 'and more', 'counts');
  t.same(early.events, ['voice'], 'a reply that was asked for early is withdrawn by the voice');
});
