/**
 * Hostile clients of calls against both engines, a small lot of them; `npm run fuzz -- --what calls` makes thousands of
 * visits. The judge is shown what it must not let pass.
 */
import t from 'tap';
import { edges } from '../api/house.ts';
import { judgeCall } from './call-judge.ts';
import type { CallVisit } from './call-visits.ts';
import { callBarrage, openCallWorld } from './calls.ts';

const seed = 20_261_127;

for (const edge of edges) {
  t.test(edge, async (t) => {
    const world = await openCallWorld(t, edge);
    await t.resolves(callBarrage(world, { seed, times: 24 }), `${edge}, seed ${seed}`);
  });
}

t.test('answers that the judge rejects', async (t) => {
  const of = (prefix: string, letter: string): string => `${prefix}_${letter.repeat(26)}`;
  const [turnId, messageId, userId] = [of('turn', 'a'), of('msg', 'a'), of('msg', 'b')];
  const visit: CallVisit = {
    before: [],
    query: '',
    protocol: false,
    frameBytes: 3200,
    steps: [{ do: 'text', text: '{"type":"message","text":"Hello"}', means: 'known' }],
    leaving: 'hangup',
  };
  const ready = {
    type: 'ready',
    call_id: of('call', 'a'),
    session_id: of('ses', 'a'),
    sample_rate: 16_000,
    encoding: 'pcm_s16le',
    output_sample_rate: 16_000,
    output_encoding: 'pcm_s16le',
    turn_silence_ms: 500,
    ahead_ms: 1000,
    barge_in: 'words',
    expires_at: 5,
  };
  const state = (name: string) => ({ type: 'state', state: name });
  const [thinking, speaking, listening] = [state('thinking'), state('speaking'), state('listening')];
  const started = { type: 'turn.started', turn_id: turnId, message_id: messageId, text: 'Hello', spoken: true };
  const start = { type: 'audio.start', message_id: messageId, turn_id: turnId };
  const end = { type: 'audio.end', message_id: messageId, samples: 3200 };
  const delta = { type: 'message.delta', message_id: messageId, text: 'Good day.' };
  const completed = {
    type: 'turn.completed',
    turn_id: turnId,
    message_id: messageId,
    stop_reason: 'end',
    usage: { input_tokens: 1, output_tokens: 2, cached_input_tokens: 0 },
  };
  const ended = { type: 'ended', reason: 'hangup' };
  const error = {
    type: 'error',
    code: 'invalid_request',
    message: 'The message could not be read, or is not allowed here.',
  };
  const good: (object | number)[] = [
    ready,
    thinking,
    started,
    speaking,
    start,
    3200,
    3200,
    end,
    delta,
    listening,
    completed,
    ended,
  ];
  const said = { id: userId, turn_id: turnId, role: 'user', content: 'Hello', status: 'completed' };
  const reply = { id: messageId, turn_id: turnId, role: 'assistant', content: 'Good day.', status: 'completed' };
  const judged =
    (came: readonly (object | number)[], transcript: readonly object[] = [said, reply], code = 1000, of = visit) =>
    () =>
      judgeCall(of, { came, code, tookMs: 5, refusals: [], transcript });
  const without = (left: object | number) => good.filter((one) => one !== left);
  const instead = (old: object, ...put: (object | number)[]) => good.flatMap((one) => (one === old ? put : [one]));
  const wrong: CallVisit = { ...visit, steps: [{ do: 'text', text: '{', means: 'nothing' }] };
  t.doesNotThrow(judged(good));
  t.doesNotThrow(judged([ready, error], [], 1008, wrong));
  const bad: Record<string, () => void> = {
    'no ready': judged(without(ready)),
    'a close without its error': judged([ready], [], 1008, wrong),
    'a wrong message that does not end it': judged(good, [said, reply], 1000, wrong),
    'no ended': judged(without(ended)),
    'a state twice': judged(instead(speaking, speaking, speaking)),
    'an unknown state': judged(instead(speaking, state('draining'))),
    'a frame before its message': judged(instead(start, 3200, start)),
    'a frame behind the end': judged(instead(end, end, 3200)),
    'a frame of more than 100 ms': judged(instead(end, 3202, { ...end, samples: 4801 })),
    'half a sample': judged(instead(end, 3, { ...end, samples: 3201.5 })),
    'another number of samples': judged(instead(end, { ...end, samples: 3199 })),
    'audio that resumes without a pause': judged(instead(end, { type: 'audio.resume', message_id: messageId }, end)),
    'a frame behind audio.clear': judged(instead(end, { type: 'audio.clear', message_id: messageId }, 3200)),
    'a delta before its turn': judged(instead(started, delta, started)),
    'two ends': judged(instead(completed, completed, completed)),
    'no end': judged(without(completed)),
    'a count too few': judged(instead(completed, { ...completed, usage: { input_tokens: 1, output_tokens: 2 } })),
    'a field too many': judged(instead(completed, { ...completed, model: 'x' })),
    'an unknown message': judged(instead(completed, completed, { type: 'trace' })),
    'text that the transcript has not': judged(good, [said, { ...reply, content: 'Good' }]),
    'text that was not heard': judged(good, [said, { ...reply, content: 'Good day. Sir.' }]),
    'a turn without its message': judged(good, [reply]),
    'a turn that still streams': judged(good, [said, { ...reply, status: 'streaming' }]),
    'a withdrawn turn that left something': judged(instead(completed, { type: 'turn.withdrawn', turn_id: turnId })),
    'a turn that was never started': judged(without(started)),
  };
  for (const [name, run] of Object.entries(bad)) t.throws(run, name);
});
