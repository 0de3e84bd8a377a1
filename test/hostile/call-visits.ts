/**
 * Visits of calls by hostile clients, as data: their query, their messages, what they claim to have heard, what they
 * ask of the API beside, and their end.
 */
import fc from 'fast-check';
import {
  audio,
  endsAtOnce,
  large,
  odd,
  refusedQueries as shared,
  triesWith,
  wholeBurstMs,
  wrongText,
  type Step,
  type Visit,
} from './visits.ts';

export type CallStep =
  | Exclude<Step, { do: 'text' }>
  /** A text message; `means`: what a call makes of it. */
  | { readonly do: 'text'; readonly text: string; readonly means: 'hangup' | 'start' | 'known' | 'nothing' }
  /** A report of what has left the loudspeaker, true or not. */
  | { readonly do: 'played'; readonly of: 'last' | 'other'; readonly samples: 'received' | number }
  /** A wait for a while, for audio, or for the end of a turn. */
  | { readonly do: 'wait'; readonly for: 'audio.start' | 'turn' | number }
  /** A request beside the call, on its session. */
  | { readonly do: 'request'; readonly what: 'chat' | 'abort' | 'end' };

export interface CallVisit extends Pick<Visit, 'before' | 'protocol' | 'query'> {
  /** Bytes of 100 ms of audio, as it is sent to the client. */
  readonly frameBytes: number;
  readonly steps: readonly CallStep[];
  readonly leaving: 'hangup' | 'close' | 'cut' | 'half';
}

const text = (value: object | string, means: 'hangup' | 'start' | 'known' | 'nothing'): CallStep => ({
  do: 'text',
  text: typeof value === 'string' ? value : JSON.stringify(value),
  means,
});

const known = [
  ...[
    { type: 'interrupt' },
    { type: 'flush' },
    { type: 'interrupt', more: [{}] },
    { type: 'played', message_id: '__proto__', samples: 5 },
  ].map((value) => text(value, 'known')),
  ...['Tell me more.', 'ok', '👋', ' ', 'x'.repeat(8000), 'call'].map((words) =>
    text({ type: 'message', text: words }, 'known'),
  ),
  text({ type: 'start' }, 'start'),
  text(
    { type: 'start', barge_in: 'voice', turn_silence_ms: 200, ahead_ms: 1, greeting: 7, output_encoding: 'no' },
    'start',
  ),
];

const wrong = [
  ...[
    { type: 'message' },
    { type: 'message', text: '' },
    { type: 'message', text: 5 },
    { type: 'message', text: 'x'.repeat(8001) },
    { type: 'message', text: '\ud800' },
  ],
  ...[
    { type: 'played' },
    { type: 'played', message_id: 5, samples: 1 },
    { type: 'played', message_id: 'x', samples: -1 },
    { type: 'played', message_id: 'x', samples: 1.5 },
    { type: 'played', message_id: 'x', samples: 1e300 },
  ],
  ...[
    { type: 'start', barge_in: 'yes' },
    { type: 'start', turn_silence_ms: 199 },
    { type: 'start', turn_silence_ms: 3001 },
    { type: 'finish' },
    { type: 'constructor' },
    { type: 'HANGUP' },
    { type: ['hangup'] },
  ],
].map((value) => text(value, 'nothing'));

const hangup = text({ type: 'hangup' }, 'hangup');

/** Texts that are invalid on a transcription socket and on a call, unless they are a valid message of the call. */
const noMessage = wrongText
  .filter((words) => !/interrupt|played|hangup|message/.test(words))
  .map((words) => text(words, 'nothing'));

const step: fc.Arbitrary<CallStep> = fc.oneof(
  { arbitrary: audio as fc.Arbitrary<CallStep>, weight: 8 },
  { arbitrary: fc.constantFrom(...known), weight: 8 },
  {
    arbitrary: fc.record({
      do: fc.constant('played' as const),
      of: fc.constantFrom('last', 'last', 'other'),
      samples: fc.oneof(
        fc.constant('received' as const),
        fc.constantFrom(0, 1, 1000, 8000, Number.MAX_SAFE_INTEGER),
        fc.nat(40_000),
      ),
    }),
    weight: 6,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      for: fc.oneof(fc.constantFrom('audio.start' as const, 'turn' as const), fc.nat(700)),
    }),
    weight: 8,
  },
  { arbitrary: fc.constantFrom('chat', 'abort', 'end').map((what): CallStep => ({ do: 'request', what })), weight: 2 },
  { arbitrary: odd as fc.Arbitrary<CallStep>, weight: 2 },
  { arbitrary: fc.oneof(fc.constantFrom(...wrong), noMessage), weight: 1 },
  { arbitrary: fc.constant(hangup), weight: 1 },
);

const chosen: fc.Arbitrary<Pick<CallVisit, 'query' | 'frameBytes'>> = fc.oneof(
  fc.constant({ query: '', frameBytes: 3200 }),
  fc
    .record({
      encoding: fc.constantFrom('pcm_s16le', 'pcm_mulaw', 'pcm_alaw'),
      rate: fc.constantFrom(8000, 16_000, 24_000, 48_000),
      aheadMs: fc.integer({ min: 200, max: 5000 }),
      silenceMs: fc.integer({ min: 200, max: 3000 }),
      bargeIn: fc.constantFrom('words', 'voice', 'off'),
      flags: fc.constantFrom('', '&greeting=false', '&partials=false'),
    })
    .map(({ encoding, rate, aheadMs, silenceMs, bargeIn, flags }) => ({
      query: `&output_encoding=${encoding}&output_sample_rate=${rate}&ahead_ms=${aheadMs}&turn_silence_ms=${silenceMs}&barge_in=${bargeIn}${flags}`,
      frameBytes: (rate / 10) * (encoding === 'pcm_s16le' ? 2 : 1),
    })),
);

/** A call has the parameters of a transcription socket, without `silence_ms`. */
const refusedQueries = [
  ...shared.filter((query) => !query.includes('silence_ms')),
  '&ahead_ms=199',
  '&ahead_ms=',
  '&barge_in=yes',
  '&output_encoding=opus',
  '&output_sample_rate=7999',
  '&turn_silence_ms=1e3',
  '&greeting=maybe',
];

export const callVisits: fc.Arbitrary<CallVisit> = fc
  .record({
    chosen,
    before: fc.oneof(
      { arbitrary: fc.constant([]), weight: 3 },
      fc.array(triesWith(refusedQueries), { minLength: 1, maxLength: 2 }),
    ),
    protocol: fc.oneof({ arbitrary: fc.constant(false), weight: 4 }, fc.constant(true)),
    steps: fc.array(step, { maxLength: 12, size: 'max' }),
    leaving: fc.oneof(
      { arbitrary: fc.constant<CallVisit['leaving']>('hangup'), weight: 6 },
      fc.constantFrom<CallVisit['leaving']>('close', 'cut', 'half'),
    ),
  })
  .map(({ chosen, ...visit }) => ({ ...visit, ...chosen }));

/** The ends that are right, as `error code/close code`. */
export function endsOf({ steps, leaving }: CallVisit, slackMs: number): Set<string> {
  const ends = endsAtOnce(
    steps.filter(({ do: kind }) => kind !== 'played' && kind !== 'wait' && kind !== 'request') as Step[],
  );
  if (
    steps.filter(({ do: kind }) => kind === 'played').length + steps.filter(({ do: kind }) => kind === 'text').length >
    90
  )
    ends.add('invalid_request/1008');
  // A request may overtake what was sent on the socket before it.
  if (steps.some((one) => one.do === 'request' && one.what === 'end')) ends.add('session_ended/1008');
  let [audioMs, heard] = [0, false];
  for (const one of steps) {
    if (one.do === 'violate' || (one.do === 'frame' && one.bytes > large)) break;
    if (one.do === 'text') {
      if (one.means === 'hangup') return ends.add('-/1000');
      if (one.means === 'nothing' || (one.means === 'start' && heard)) return ends.add('invalid_request/1008');
    }
    if (one.do !== 'audio' && one.do !== 'frame' && one.do !== 'fragments') continue;
    heard ||= one.bytes > 0;
    audioMs += one.bytes / 32;
    if (audioMs > wholeBurstMs) ends.add('rate_limited/1008');
    if (audioMs > wholeBurstMs + slackMs) return ends;
  }
  ends.add(leaving === 'hangup' || leaving === 'close' ? '-/1000' : '-/1006');
  return ends;
}
