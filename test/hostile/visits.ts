/**
 * Visits of transcription sockets by hostile clients of every kind, as data: their handshake, their messages and their
 * end.
 */
import fc from 'fast-check';
import { limits } from '../../src/base/limits.ts';
import { nastyBodies, nastyValues } from './nasty.ts';

export const encodings = ['pcm_s16le', 'pcm_mulaw', 'pcm_alaw', 'opus'] as const;

export interface Settings {
  readonly encoding: (typeof encodings)[number];
  readonly sampleRate: number;
}

export const sounds = ['silence', 'noise', 'tone', 'chords', 'clip', 'random'] as const;
export type Sound = (typeof sounds)[number];

export type Step =
  /** A text message; `settings`: the settings of a valid start. */
  | {
      readonly do: 'text';
      readonly text: string;
      readonly means: 'start' | 'flush' | 'finish' | 'nothing';
      readonly settings?: Partial<Settings>;
    }
  /** A number of bytes of a sound in frames; the bytes are PCM of 16 kHz in every encoding. */
  | { readonly do: 'audio'; readonly sound: Sound; readonly bytes: number; readonly frameBytes: number }
  /** One frame. */
  | { readonly do: 'frame'; readonly bytes: number }
  /** One message in several frames, with a ping between them. */
  | { readonly do: 'fragments'; readonly bytes: number; readonly pieces: number }
  | { readonly do: 'pings'; readonly count: number; readonly bytes: number }
  /** Bytes that are no frame which a client may send. */
  | { readonly do: 'violate'; readonly bytes: readonly number[] };

export type Leaving = 'finish' | 'close' | 'cut' | 'half';

export interface Visit {
  /** Tries that must be refused and must leave the token good. */
  readonly before: readonly { readonly kind: 'query' | 'token'; readonly text: string }[];
  readonly query: string;
  readonly settings: Settings;
  /** Whether the token comes as a subprotocol. */
  readonly protocol: boolean;
  readonly steps: readonly Step[];
  readonly leaving: Leaving;
}

const text = (text: string, means: 'start' | 'flush' | 'finish' | 'nothing', settings?: Partial<Settings>): Step => ({
  do: 'text',
  text,
  means,
  ...(settings && { settings }),
});

const understood: readonly Step[] = [
  text('{"type":"flush"}', 'flush'),
  text(' {"type" : "flush", "more": [1, {}] }\n', 'flush'),
  text('{"type":"go","type":"flush"}', 'flush'),
  text('{"type":"start"}', 'start'),
  text('{"type":"start","sample_rate":8000,"encoding":"pcm_mulaw"}', 'start', {
    sampleRate: 8000,
    encoding: 'pcm_mulaw',
  }),
  text('{"type":"start","encoding":"pcm_alaw","silence_ms":100}', 'start', { encoding: 'pcm_alaw' }),
  text('{"type":"start","encoding":"opus"}', 'start', { encoding: 'opus' }),
  text('{"type":"start","sample_rate":48000,"silence_ms":2000,"partials":false}', 'start', { sampleRate: 48_000 }),
  text('{"type":"start","__proto__":{"sample_rate":1},"language":"en-GB"}', 'start'),
];

const wrongTexts = [
  ...[
    '{"type":5}',
    '{"type":null}',
    '{"type":["flush"]}',
    '{"type":{"type":"flush"}}',
    '{"type":"FLUSH"}',
    '{"type":"flush "}',
    '{"type":"ready"}',
    '{"type":"done"}',
    '{"type":"error"}',
  ],
  ...[
    '{"type":"start","encoding":"mp3"}',
    '{"type":"start","encoding":1}',
    '{"type":"start","encoding":"constructor"}',
    '{"type":"start","sample_rate":7999}',
    '{"type":"start","sample_rate":48001}',
  ],
  ...[
    '{"type":"start","sample_rate":16000.5}',
    '{"type":"start","sample_rate":"16000"}',
    '{"type":"start","sample_rate":1e400}',
    '{"type":"start","silence_ms":99}',
    '{"type":"start","silence_ms":2001}',
  ],
  ...[
    '{"type":"start","silence_ms":[300]}',
    '{"type":"start","partials":"true"}',
    '{"type":"start","partials":1}',
    '{"type":"start","language":7}',
    '{"__proto__":{"type":"flush"}}',
    'flush',
    '[{"type":"flush"}]',
  ],
];

/**
 * Texts that are no message: half of one, and random ones, which cannot be a message by chance, since their `type`
 * would have to be one.
 */
export const wrongText = fc.oneof(
  fc.constantFrom(...wrongTexts),
  fc.constantFrom(...nastyValues, ...nastyBodies.filter((body) => body.length < 300_000)),
  fc.json(),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.nat(14).map((at) => '{"type":"flush"}'.slice(0, at)),
);

export const large = 1024 * 1024;

export const audio: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('audio' as const),
  sound: fc.constantFrom(...sounds),
  bytes: fc.oneof(
    { arbitrary: fc.integer({ min: 32_000, max: 96_000 }), weight: 3 },
    fc.nat(2000),
    fc.integer({ min: 150_000, max: 400_000 }),
  ),
  frameBytes: fc.oneof(
    { arbitrary: fc.constantFrom(160, 320, 640, 1920), weight: 3 },
    fc.integer({ min: 1, max: 9000 }),
  ),
});

export const odd: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.constantFrom(0, 1, 2, 3).map((bytes): Step => ({ do: 'frame', bytes })), weight: 4 },
  {
    arbitrary: fc
      .constantFrom(large, large + 1, 4 * large, 4 * large + 1)
      .map((bytes): Step => ({ do: 'frame', bytes })),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('fragments' as const),
      bytes: fc.nat(4000),
      pieces: fc.integer({ min: 1, max: 40 }),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('pings' as const),
      count: fc.integer({ min: 1, max: 300 }),
      bytes: fc.nat(125),
    }),
    weight: 2,
  },
  {
    arbitrary: fc
      .constantFrom<readonly number[]>(
        // Unmasked, a reserved opcode, reserved bits, a ping in pieces, a long ping, a continuation of nothing, text
        // that is no UTF-8, a close of one byte, a length that is a lie.
        ...[
          [0x81, 0x01, 0x61],
          [0x83, 0x80, 0, 0, 0, 0],
          [0xf2, 0x80, 0, 0, 0, 0],
          [0x09, 0x80, 0, 0, 0, 0],
          [0x89, 0xfe, 0x01, 0x00, 0, 0, 0, 0],
        ],
        ...[
          [0x80, 0x80, 0, 0, 0, 0],
          [0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28],
          [0x88, 0x81, 0, 0, 0, 0, 0],
          [0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
        ],
      )
      .map((bytes): Step => ({ do: 'violate', bytes })),
    weight: 1,
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: audio, weight: 10 },
  { arbitrary: fc.constantFrom(...understood), weight: 4 },
  { arbitrary: odd, weight: 4 },
  { arbitrary: wrongText.map((words) => text(words, 'nothing')), weight: 1 },
  { arbitrary: fc.constant(text('{"type":"finish"}', 'finish')), weight: 1 },
);

const chosen: fc.Arbitrary<Pick<Visit, 'query' | 'settings'>> = fc.oneof(
  {
    arbitrary: fc.constant({ query: '', settings: { encoding: 'pcm_s16le' as const, sampleRate: 16_000 } }),
    weight: 3,
  },
  fc
    .record({
      encoding: fc.constantFrom(...encodings),
      sampleRate: fc.oneof(fc.constantFrom(8000, 16_000, 44_100, 48_000), fc.integer({ min: 8000, max: 48_000 })),
      silenceMs: fc.integer({ min: 100, max: 2000 }),
      partials: fc.boolean(),
    })
    .map(({ encoding, sampleRate, silenceMs, partials }) => ({
      query: `&encoding=${encoding}&sample_rate=${sampleRate}&silence_ms=${silenceMs}&partials=${partials}`,
      settings: { encoding, sampleRate },
    })),
);

export const refusedQueries = [
  '&encoding=mp3',
  '&encoding=',
  '&sample_rate=7999',
  '&sample_rate=1e4',
  '&sample_rate=',
  '&sample_rate=16000x',
  '&silence_ms=99',
  '&silence_ms=-1',
  '&partials=maybe',
  '&partials=1',
];

/** Tries with a query that is refused, or with an invalid token. */
export const triesWith = (refused: readonly string[]) =>
  fc.oneof(
    fc.constantFrom(...refused).map((text) => ({ kind: 'query' as const, text })),
    fc
      .oneof(
        fc.constantFrom('x', '.', '=', '%00', '%ff', 'tok_', '../'),
        fc.string({ minLength: 1, maxLength: 5 }).map((text) => encodeURIComponent(text.toWellFormed())),
      )
      .map((text) => ({ kind: 'token' as const, text })),
  );

export const visits: fc.Arbitrary<Visit> = fc
  .record({
    chosen,
    before: fc.oneof(
      { arbitrary: fc.constant([]), weight: 3 },
      fc.array(triesWith(refusedQueries), { minLength: 1, maxLength: 2 }),
    ),
    protocol: fc.oneof({ arbitrary: fc.constant(false), weight: 4 }, fc.constant(true)),
    steps: fc.array(step, { maxLength: 8, size: 'max' }),
    leaving: fc.oneof(
      { arbitrary: fc.constant<Leaving>('finish'), weight: 6 },
      fc.constantFrom<Leaving>('close', 'cut', 'half'),
    ),
  })
  .map(({ chosen, ...visit }) => ({ ...visit, ...chosen }));

/** The outcome of a visit, as far as it can be foreseen. */
export interface Foreseen {
  /** The ends that are right, as `error code/close code`. */
  readonly ends: ReadonlySet<string>;
  /** The audio taken before a finish, in milliseconds; null where only libopus knows. */
  readonly audioMs: number | null;
}

export const wholeBurstMs = 10_000;

/** Refusals by the engine, or on arrival, come before messages that wait their turn. */
export function endsAtOnce(steps: readonly Step[]): Set<string> {
  const ends: string[] = [];
  let paced = 0;
  for (const one of steps) {
    // An engine may read it as something else, and what follows as well.
    if (one.do === 'violate')
      ends.push(
        '-/1002',
        '-/1005',
        '-/1006',
        '-/1007',
        '-/1009',
        'invalid_request/1009',
        'invalid_request/1008',
        'rate_limited/1008',
      );
    if (one.do === 'frame' && one.bytes > large) ends.push('invalid_request/1009');
    if (one.do === 'frame' && one.bytes > 4 * large) ends.push('-/1009', '-/1006');
    if (one.do === 'pings') paced += one.count;
    else if (one.do === 'fragments') paced += one.pieces;
    else if (one.do === 'text') paced++;
  }
  // A client that leaves with `finish` sends one more.
  if (paced >= limits.socketTextsMax) ends.push('invalid_request/1008');
  return new Set(ends);
}

/** `slackMs`: the time that the visit took, for which the pace may have let more audio through. */
export function foreseen({ steps, settings, leaving }: Visit, slackMs: number): Foreseen {
  let { encoding, sampleRate } = settings;
  let [bytes, heard, finished, unsure] = [0, false, false, false];
  const audioMs = (): number => ((encoding === 'pcm_s16le' ? Math.floor(bytes / 2) : bytes) * 1000) / sampleRate;
  const ends = endsAtOnce(steps);
  const hard = ends.size > 0;
  for (const one of steps) {
    if (finished || one.do === 'violate' || (one.do === 'frame' && one.bytes > large)) break;
    if (one.do === 'text') {
      if (one.means === 'finish') finished = true;
      else if (one.means === 'nothing' || (one.means === 'start' && heard))
        return { ends: ends.add('invalid_request/1008'), audioMs: null };
      else ({ encoding = encoding, sampleRate = sampleRate } = one.settings ?? {});
    } else if (one.do !== 'pings') {
      heard = true;
      bytes += one.bytes;
      // Only libopus knows which packets it reads, and how long they are.
      if (encoding === 'opus' && one.bytes > 0) unsure = true;
      if (unsure) ['invalid_request/1008', 'rate_limited/1008'].forEach((end) => ends.add(end));
      else if (audioMs() > wholeBurstMs) {
        ends.add('rate_limited/1008');
        if (audioMs() > wholeBurstMs + slackMs) return { ends, audioMs: null };
      }
    }
  }
  if (leaving === 'finish' || finished) ends.add('-/1000');
  else ends.add(leaving === 'close' ? '-/1000' : '-/1006');
  return { ends, audioMs: unsure || hard ? null : Math.floor(audioMs()) };
}
