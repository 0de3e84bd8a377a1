/** Speech input of a call: utterances over a reply, and the words that count (contract 18). */
import t from 'tap';
import type { Utterance } from '../../../machines/call.ts';
import { SpeechInput, type SpeechInputOptions, type SpeechPort } from '../../../src/conversation/call/speech-input.ts';
import type { TurnDetectorOptions } from '../../../src/providers/voice/turn-detector.ts';

const spoken = { lately: 'one two', lastSentence: 'one two', outlasted: false };

/** Makes the speech input of a call in a state; returns its detector's options and the events that the machine gets. */
function inputOf(call: Partial<SpeechPort>) {
  let ear!: TurnDetectorOptions;
  const events: string[] = [];
  const services = {
    clock: { monotonic: () => 0 },
    voice: {
      turnDetector: (_caller: string, options: TurnDetectorOptions) => (
        (ear = options),
        { push: () => {}, backlogMs: 0, positionMs: 0, busy: true }
      ),
    },
  };
  const port = {
    ...{ services, now: 0, ready: { provider: { partials: true } }, tell: () => {} },
    send: ({ type }: { type: string }) => void events.push(type),
    ...{ settings: { partials: true }, context: { bargeIn: 'words' }, told: null, reply: null, last: null },
    ...call,
  };
  const options = { port, failed: () => {}, begins: () => void events.push('begins') };
  new SpeechInput(options as unknown as SpeechInputOptions).listen(new Int16Array(0));
  return { ear, events };
}

t.test('speech after the end of a turn interrupts its reply before the client knows the turn', async (t) => {
  const reply = { transcript: { spoken: () => spoken } } as never;
  for (const state of ['thinking', 'held']) {
    const { ear, events } = inputOf({ state, reply });
    ear.voice(1, 0);
    ear.voiced(1, 200);
    ear.heard(1, 'and more', 'counts');
    t.same(events, ['begins', 'voice', 'voiced', 'words'], state);
    t.equal(ear.replyOf(1), null, 'it has not begun during the reply');
  }
  const told = inputOf({ state: 'thinking', reply, told: reply });
  told.ear.voice(1, 0);
  told.ear.heard(1, 'and more', 'counts');
  t.same([told.events, told.ear.replyOf(1)], [['begins', 'voice', 'words'], spoken]);
  const next = { transcript: { spoken: () => null } } as never;
  const soon = inputOf({ state: 'thinking', reply: next, last: { reply, at: 0 } });
  soon.ear.voice(1, 0);
  soon.ear.voiced(1, 200);
  soon.ear.heard(1, 'and more', 'counts');
  t.same(
    [soon.events, soon.ear.replyOf(1)?.lately],
    [['begins', 'voice', 'voiced', 'words'], 'one two'],
    'just behind the reply before it holds the next one, and may be an echo of that before',
  );
  const early = inputOf({ state: 'hearing', reply });
  early.ear.voice(1, 0);
  early.ear.voiced(1, 200);
  early.ear.heard(1, 'and more', 'counts');
  t.same(early.events, ['begins', 'voice'], 'a reply that was asked for early is withdrawn by the voice');
});

t.test('each event names its utterance, from the beginning to the last voice', async (t) => {
  /** The clock, and how much audio was looked at: the detector is 80 ms behind. */
  const at = { ms: 0 };
  const told: [string, number, Utterance | undefined][] = [];
  let ear!: TurnDetectorOptions;
  const metrics = { voice: { utterances: { inc: () => {} } } };
  const services = {
    metrics,
    clock: { monotonic: () => at.ms },
    voice: {
      turnDetector: (_caller: string, options: TurnDetectorOptions) => (
        (ear = options),
        {
          push: () => {},
          backlogMs: 0,
          get positionMs() {
            return at.ms - 80;
          },
          busy: true,
        }
      ),
    },
  };
  const port = {
    services,
    get now() {
      return 10_000 + at.ms;
    },
    ready: { provider: { partials: true } },
    tell: () => {},
    send: ({ type, at, utterance }: { type: string; at: number; utterance?: Utterance }) =>
      void told.push([type, at, utterance]),
    ...{ settings: { partials: true }, context: { bargeIn: 'words' }, state: 'hearing' },
    ...{ told: null, reply: null, last: null },
  };
  new SpeechInput({ port, begins: () => {}, failed: () => {} } as unknown as SpeechInputOptions).listen(
    new Int16Array(0),
  );
  const happens = (ms: number, what: () => void) => {
    at.ms = ms;
    what();
    return told.at(-1);
  };
  const words = { text: 'hello', fromMs: 1_000, toMs: 1_900 };
  t.same(
    happens(1_200, () => ear.voice(1, 1_000)),
    ['voice', 11_200, { from: 11_080, to: 11_200 }],
  );
  happens(2_000, () => ear.voiced(1, 800));
  t.same(
    happens(2_100, () => ear.early(words)),
    ['early', 12_100, { from: 11_080, to: 11_980 }],
    'the pause began before it was told of',
  );
  t.same(
    happens(2_200, () => ear.resumed(1)),
    ['voice', 12_200, { from: 11_080, to: 12_200 }],
  );
  happens(3_000, () =>
    ear.emit({
      type: 'transcript.final',
      utterance: 1,
      text: 'hello you',
      start_ms: 1_000,
      end_ms: 2_400,
      reason: 'silence',
      ignored: null,
    }),
  );
  t.same(
    happens(3_001, () => ear.over()),
    ['unsaid', 13_001, { from: 11_080, to: 12_480 }],
  );
  happens(4_000, () => ear.voice(2, 3_900));
  happens(4_050, () =>
    ear.emit({
      type: 'transcript.final',
      utterance: 1,
      text: 'hello you',
      start_ms: 1_000,
      end_ms: 2_400,
      reason: 'length',
      ignored: 'failed',
    }),
  );
  t.same(
    told.at(-1),
    ['unsaid', 14_050, { from: 13_980, to: 14_000 }],
    'a final of an earlier one, which comes late, changes nothing of this one',
  );
});

t.test('a client that ends turns itself has its words kept through silence, and no early turn', async (t) => {
  const at = { fromMs: 0, toMs: 500 };
  for (const [clientEndsTurns, expected] of [
    [false, ['early', 'unsaid', 'said']],
    [true, ['unsaid']],
  ] as const) {
    const { ear, events } = inputOf({ state: 'hearing', settings: { partials: true, clientEndsTurns } as never });
    ear.early({ text: 'one', ...at });
    ear.over();
    ear.pending.add({ text: 'one', ...at });
    ear.over();
    t.same(events, expected);
  }
  const { ear, events } = inputOf({ state: 'hearing', settings: { partials: true, clientEndsTurns: true } as never });
  ear.pending.add({ text: 'one '.repeat(2_500), ...at });
  ear.over();
  t.same(events, ['said'], 'more than a message holds');
});
