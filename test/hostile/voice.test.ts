/**
 * Hostile clients of voice against both engines, a small lot of them; `npm run fuzz -- --what voice` makes thousands of
 * visits. The judge is shown what it must not let pass.
 */
import t from 'tap';
import { edges } from '../api/house.ts';
import type { Visit } from './visits.ts';
import type { Visited } from './visitor.ts';
import { judgeVisit } from './voice-judge.ts';
import { openVoiceWorld, voiceBarrage } from './voice.ts';

const seed = 20_261_122;

for (const edge of edges) {
  t.test(edge, async (t) => {
    const world = await openVoiceWorld(t, edge);
    await t.resolves(voiceBarrage(world, { seed, times: 30 }), `${edge}, seed ${seed}`);
  });
}

t.test('answers that the judge rejects', async (t) => {
  const visit: Visit = {
    before: [],
    query: '',
    settings: { encoding: 'pcm_s16le', sampleRate: 16_000 },
    protocol: false,
    steps: [{ do: 'audio', sound: 'clip', bytes: 64_000, frameBytes: 640 }],
    leaving: 'finish',
  };
  const ready = { type: 'ready', sample_rate: 16_000, encoding: 'pcm_s16le', silence_ms: 300, expires_at: null };
  const started = { type: 'speech.started', utterance: 1, at_ms: 300 };
  const partial = { type: 'transcript.partial', utterance: 1, text: 'one two', stable: 3, start_ms: 300 };
  const final = {
    type: 'transcript.final',
    utterance: 1,
    text: 'one three',
    start_ms: 300,
    end_ms: 1500,
    reason: 'finish',
  };
  const done = { type: 'done', audio_ms: 2000 };
  const error = {
    type: 'error',
    code: 'invalid_request',
    message: 'The message could not be read, or is not allowed here.',
  };
  const good = [
    ready,
    started,
    { type: 'audio.received', audio_ms: 1000 },
    partial,
    { type: 'audio.received', audio_ms: 2000 },
    final,
    done,
  ];
  const judged =
    (messages: readonly object[], code = 1000, of = visit, refusals: Visited['refusals'] = []) =>
    () =>
      judgeVisit(of, {
        messages: messages.map((message) => JSON.stringify(message)),
        binary: 0,
        code,
        tookMs: 5,
        refusals,
      });
  const without = (left: object) => good.filter((message) => message !== left);
  const instead = (old: object, put: object) => good.map((message) => (message === old ? put : message));
  const wrong: Visit = { ...visit, steps: [{ do: 'text', text: '{', means: 'nothing' }] };
  t.doesNotThrow(judged(good));
  t.doesNotThrow(judged([ready, error], 1008, wrong));
  const bad: Record<string, () => void> = {
    'a start without its final': judged(without(final)),
    'a final without its start': judged(without(started)),
    'two finals': judged([...good.slice(0, -1), final, done]),
    'stable text that changed': judged(instead(final, { ...final, text: 'two' })),
    'a partial behind its final': judged([...good.slice(0, -1), partial, done]),
    'another length of audio': judged(instead(done, { type: 'done', audio_ms: 1999 })),
    'no ready': judged(without(ready)),
    'no done': judged(without(done), 1006),
    'a close without its error': judged([ready], 1008, wrong),
    'another code': judged([ready, error], 1011, wrong),
    'another error': judged([ready, { ...error, code: 'api_error' }], 1008, wrong),
    'a sentence of a library': judged([ready, { ...error, message: 'Unexpected token { in JSON' }], 1008, wrong),
    'a field too many': judged(instead(final, { ...final, stack: 'at x' })),
    'an unknown message': judged([...good.slice(0, -1), { type: 'trace' }, done]),
    'a wrong message that does not end it': judged(good, 1000, wrong),
    'a refusal in another shape': judged(good, 1000, visit, [
      { status: 401, json: { message: 'no' }, headers: new Headers() },
    ]),
  };
  for (const [name, run] of Object.entries(bad)) t.throws(run, name);
});
