/** The lane of a call: worked out of the steps that its machine takes. */
import t from 'tap';
import { mintedCall, type CallEvent } from '../../../machines/call.ts';
import { decide } from '../../../src/pages/console/chart/copy.ts';
import { laneOf, type Lane } from '../../../src/pages/console/chart/lane-of.ts';
import type { Step } from '../../../src/pages/console/chart/steps.ts';

/** An event without its time. */
type Untimed = CallEvent extends infer One ? (One extends CallEvent ? Omit<One, 'at'> : never) : never;

/** The lane of a call that is sent these events at these times. */
function lane(events: readonly (readonly [number, Untimed])[], replies: readonly Step[] = []): Lane {
  let standing = { state: 'minted', context: mintedCall({ tokenUntil: 9e9, expiresAt: 9e9 }) as unknown };
  const steps = events.map(([at, event], index): Step => {
    const { state, context, outcomes } = decide('call', standing, { ...event, at });
    const step = {
      id: String(index + 1),
      seq: index + 1,
      at,
      event: event.type,
      from: standing.state,
      to: state,
      outcomes,
      refused: false,
      requestId: null,
      by: null,
      count: 1,
      data: { ...event, at },
      context,
    };
    standing = { state, context };
    return step;
  });
  return laneOf(steps, replies);
}

const open: readonly [number, Untimed] = [0, { type: 'open', refusal: null, greets: false, bargeIn: 'words' }];
const first = (to: number) => ({ utterance: { from: 1_000, to } });
/** A turn of the person from 1 s to 2 s, and the reply from 2.64 s on. */
const answered: readonly (readonly [number, Untimed])[] = [
  open,
  [1_100, { type: 'voice', ...first(1_100) }],
  [2_512, { type: 'said', kept: false, ...first(2_000) }],
  [2_520, { type: 'begun' }],
  [2_640, { type: 'audio' }],
];
const over = (to: number) => ({ utterance: { from: 4_000, to } });
const marks = ({ marks }: Lane) => marks.map(({ side, at, word, ms }) => [side, at, word, ms]);

t.test('a turn of the person and its reply, with the silence and the time to the first sound', async (t) => {
  const while_ = lane(answered.slice(0, 2));
  t.same(while_, { spans: [{ side: 'person', from: 1_000, to: null }], marks: [] });
  const spoken = lane(answered);
  t.same(spoken.spans, [
    { side: 'person', from: 1_000, to: 2_000 },
    { side: 'assistant', from: 2_640, to: null },
  ]);
  t.same(marks(spoken), [
    ['person', 2_512, 'turn', 512],
    ['assistant', 2_640, 'reply', 640],
  ]);
  t.same(lane([...answered, [6_000, { type: 'played' }]]).spans[1], { side: 'assistant', from: 2_640, to: 6_000 });
});

t.test('a reply that is held goes on, or is cut', async (t) => {
  const held: readonly (readonly [number, Untimed])[] = [...answered, [4_210, { type: 'voiced', ...over(4_210) }]];
  t.same(marks(lane(held)).at(-1), ['assistant', 4_210, 'pause', 210]);
  const resumed = lane([...held, [4_700, { type: 'unsaid', ignored: 'backchannel', ...over(4_300) }]]);
  t.same(marks(resumed).at(-1), ['assistant', 4_700, 'goes on', 490]);
  t.same(resumed.spans, [
    { side: 'person', from: 1_000, to: 2_000 },
    { side: 'person', from: 4_000, to: 4_300 },
    { side: 'assistant', from: 2_640, to: 4_210 },
    { side: 'assistant', from: 4_700, to: null },
  ]);
  const cut = lane([...held, [4_540, { type: 'words', ...over(4_540) }]]);
  t.same(marks(cut).at(-1), ['assistant', 4_540, 'cut', 540]);
  t.match(cut.marks.at(-1)!.told, 'interrupted by speech');
  t.same(cut.spans.at(-1), { side: 'assistant', from: 2_640, to: 4_210 });
});

t.test('what else ends a reply has its word', async (t) => {
  const last = (...events: readonly Untimed[]) =>
    marks(
      lane([
        ...answered.slice(0, 4),
        ...events.map((event, index): readonly [number, Untimed] => [3_000 + index, event]),
      ]),
    ).at(-1);
  t.same(last({ type: 'audio' }, { type: 'interrupt' }), ['assistant', 3_001, 'cut', null]);
  t.same(last({ type: 'interrupt' }), ['assistant', 3_000, 'taken back', null]);
  t.same(last({ type: 'failed', code: 'assistant_unavailable' }), ['assistant', 3_000, 'failed', null]);
  t.same(last({ type: 'audio' }, { type: 'failed', code: 'assistant_unavailable' }, { type: 'played' }), [
    'assistant',
    3_002,
    'failed',
    null,
  ]);
  t.same(last({ type: 'interrupt' }, { type: 'typed' }), ['person', 3_001, 'typed', null]);
  const greeting = lane([
    [0, { type: 'open', refusal: null, greets: true, bargeIn: 'words' }],
    [50, { type: 'audio' }],
    [900, { type: 'interrupt' }],
  ]);
  t.same(
    [marks(greeting), greeting.spans],
    [
      [
        ['assistant', 50, 'reply', null],
        ['assistant', 900, 'cut', null],
      ],
      [{ side: 'assistant', from: 50, to: 900 }],
    ],
  );
});

t.test('the end of the call ends what lasts; a page that comes later sees the rest', async (t) => {
  const ended = lane([
    ...answered,
    [5_000, { type: 'voice', utterance: { from: 4_900, to: 5_000 } }],
    [5_100, { type: 'hangup' }],
  ]);
  t.ok(ended.spans.every(({ to }) => to !== null));
  t.match(ended.marks.at(-1), { word: 'cut', told: /interrupted by the caller/ });
  const step: Step = {
    id: '9',
    seq: 9,
    at: 7_000,
    event: 'report',
    from: 'speaking',
    to: 'speaking',
    outcomes: [{ type: 'unchanged' }],
    refused: false,
    requestId: null,
    by: null,
    count: 1,
  };
  t.same(laneOf([step]).spans, [{ side: 'assistant', from: 7_000, to: null }]);
  t.same(laneOf([]), { spans: [], marks: [] });
});

t.test('the end of a reply that was cut is drawn when its machine settles it', async (t) => {
  const cut: readonly (readonly [number, Untimed])[] = [...answered, [4_000, { type: 'interrupt' }]];
  const reply = (to: string): Step => ({
    ...{ id: '7', seq: 7, at: 4_200, event: 'settled', from: 'settling', to, outcomes: [], refused: false },
    ...{ requestId: null, by: null, count: 1, data: null, context: null },
  });
  t.same(marks(lane(cut, [reply('sealed')])).at(-1), ['assistant', 4_200, 'sealed', null]);
  t.same(marks(lane(cut, [reply('withdrawn')])).at(-1), ['assistant', 4_200, 'taken back', null]);
  t.same(marks(lane(cut, [reply('failed')])).at(-1), ['assistant', 4_000, 'cut', null], 'a failure has its own mark');
});
