/** The hearing of a call: whether an utterance is said over a reply, and which of its words count (contract 18). */
import t from 'tap';
import type { Utterance } from '../../../machines/call.ts';
import { Hearing, type HeardCall, type HearingOptions } from '../../../src/conversation/call/hearing.ts';
import type { TurnDetectorOptions } from '../../../src/providers/voice/turn-detector.ts';

const spoken = { lately: 'one two', lastSentence: 'one two', outlasted: false };

/** The hearing of a call in a state, its ear, and the events that the machine gets. */
function hearing(call: Partial<HeardCall>) {
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
  const options = {
    ...{ services, now: () => 0, ready: { provider: { partials: true } }, tell: () => {}, failed: () => {} },
    ...{ begins: () => void events.push('begins'), send: ({ type }: { type: string }) => void events.push(type) },
    call: { settings: { partials: true }, context: { bargeIn: 'words' }, told: null, reply: null, last: null, ...call },
  };
  new Hearing(options as unknown as HearingOptions).listen(new Int16Array(0));
  return { ear, events };
}

t.test(
  'speech between the end of a turn and the client that is told of it is over its reply, and each of its words counts',
  async (t) => {
    const reply = { spoken: () => spoken } as never;
    for (const state of ['thinking', 'held']) {
      const { ear, events } = hearing({ state, reply });
      ear.voice(1, 0);
      ear.voiced(1, 200);
      ear.heard(1, 'and more', 'counts');
      t.same(events, ['begins', 'voice', 'voiced', 'words'], state);
      t.equal(ear.replyOf(1), null, 'it has not begun during the reply');
    }
    const told = hearing({ state: 'thinking', reply, told: reply });
    told.ear.voice(1, 0);
    told.ear.heard(1, 'and more', 'counts');
    t.same([told.events, told.ear.replyOf(1)], [['begins', 'voice', 'words'], spoken]);
    const next = { spoken: () => null } as never;
    const soon = hearing({ state: 'thinking', reply: next, last: { reply, at: 0 } });
    soon.ear.voice(1, 0);
    soon.ear.voiced(1, 200);
    soon.ear.heard(1, 'and more', 'counts');
    t.same(
      [soon.events, soon.ear.replyOf(1)?.lately],
      [['begins', 'voice', 'voiced', 'words'], 'one two'],
      'just behind the reply before it holds the next one, and may be an echo of that before',
    );
    const early = hearing({ state: 'hearing', reply });
    early.ear.voice(1, 0);
    early.ear.voiced(1, 200);
    early.ear.heard(1, 'and more', 'counts');
    t.same(early.events, ['begins', 'voice'], 'a reply that was asked for early is withdrawn by the voice');
  },
);

t.test(
  'events have the utterance that they are about: from its beginning to where a voice was heard last',
  async (t) => {
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
    const options = {
      ...{
        services,
        now: () => 10_000 + at.ms,
        ready: { provider: { partials: true } },
        tell: () => {},
        begins: () => {},
        failed: () => {},
        send: ({ type, at, utterance }: { type: string; at: number; utterance?: Utterance }) =>
          void told.push([type, at, utterance]),
      },
      call: {
        settings: { partials: true },
        context: { bargeIn: 'words' },
        state: 'hearing',
        told: null,
        reply: null,
        last: null,
      },
    };
    new Hearing(options as unknown as HearingOptions).listen(new Int16Array(0));
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
  },
);

t.test(
  'where the client ends turns, silence ends none with words in hand, and nothing is asked for early',
  async (t) => {
    const at = { fromMs: 0, toMs: 500 };
    for (const [clientEndsTurns, expected] of [
      [false, ['early', 'unsaid', 'said']],
      [true, ['unsaid']],
    ] as const) {
      const { ear, events } = hearing({ state: 'hearing', settings: { partials: true, clientEndsTurns } as never });
      ear.early({ text: 'one', ...at });
      ear.over();
      ear.pending.add({ text: 'one', ...at });
      ear.over();
      t.same(events, expected);
    }
    const { ear, events } = hearing({ state: 'hearing', settings: { partials: true, clientEndsTurns: true } as never });
    ear.pending.add({ text: 'one '.repeat(2_500), ...at });
    ear.over();
    t.same(events, ['said'], 'more than a message holds');
  },
);
