/** Speech and silence, from the detector's chances and the edges that the audio's level shows. */
import t from 'tap';
import { Segmenter, type SpeechBoundaries } from '../../../src/providers/voice/segmenter.ts';

const samplesOf = (ms: number): number => ms * 16;
const asDetected: SpeechBoundaries = { onset: (sure) => sure, end: (sure) => sure };

/** The events of windows with these chances, each with the milliseconds that were looked at by then. */
function events(chances: readonly number[], edges: SpeechBoundaries = asDetected, silenceMs = 300): string[] {
  const segmenter = new Segmenter(silenceMs, edges);
  return chances.flatMap((chance) =>
    segmenter
      .push(chance)
      .map(
        (event) =>
          `${segmenter.position / 16}: ${event.type}${'from' in event ? ` ${event.from / 16}` : ''}${'at' in event ? ` ${event.at / 16}` : ''}${'to' in event ? ` ${event.to / 16}` : ''}`,
      ),
  );
}
const windows = (chance: number, count: number): number[] => new Array<number>(count).fill(chance);

t.test('speech begins with three likely windows, or two that are all but sure', async (t) => {
  t.same(events(windows(0.5, 3)), ['96: started 0']);
  t.same(events([0, 0.9, 0.95]), ['96: started 32']);
  t.same(events([0.85, 0.9, 0, 0.85, 0.9]), []);
  t.same(events([1, 0, 1, 0, 1]), [], 'one window is a click');
});

t.test('speech and silence count from the edges', async (t) => {
  const edges: SpeechBoundaries = { onset: (sure) => sure - samplesOf(40), end: (sure) => sure - samplesOf(50) };
  const heard = events([0, 0, ...windows(0.6, 10), ...windows(0, 12)], edges);
  t.same(
    heard,
    ['160: started 24', '512: paused 334', '640: ended 24 334'],
    'the window whose end is nearest to 300 ms behind the end',
  );
  const resumed = events([...windows(1, 10), ...windows(0, 6), ...windows(1, 10), ...windows(0, 12)]);
  t.same(resumed, ['64: started 0', '448: paused 320', '544: resumed', '960: paused 832', '1120: ended 0 832']);
});

t.test('utterances begin after the end of the one before', async (t) => {
  const heard = events([...windows(1, 4), ...windows(0, 10), ...windows(1, 3)], {
    onset: (sure) => Math.max(0, sure - samplesOf(500)),
    end: (sure) => sure,
  });
  t.same(heard.slice(-2), ['416: ended 0 128', '512: started 128']);
});

t.test('a silence shorter than a pause ends speech behind the pause', async (t) => {
  t.same(events([...windows(1, 4), ...windows(0, 10)], asDetected, 100), [
    '64: started 0',
    '256: paused 128',
    '288: ended 0 128',
  ]);
});
