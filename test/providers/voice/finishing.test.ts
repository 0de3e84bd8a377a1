/** A listener takes a message whenever it comes, also in the moment in which it has just run out of work. */
import t from 'tap';
import type { ListenerEvent } from '../../../src/providers/voice/listener-events.ts';
import { Listener } from '../../../src/providers/voice/listener.ts';

const listener = (chance = 0, emit: (event: ListenerEvent) => void = () => {}): Listener =>
  new Listener({
    silenceMs: 300,
    partials: false,
    repeats: true,
    ends: () => {},
    detect: async (samples) => new Float32Array(samples.length / 512).fill(chance),
    transcribe: async () => '',
    stretch: () => 1,
    begins: () => true,
    emit,
    failed: (error) => t.error(error),
  });

for (const samples of [100, 512, 700]) {
  t.test(`a finish behind ${samples} samples`, async (t) => {
    for (let later = 0; later < 20; later++) {
      const heard = listener();
      heard.push(new Int16Array(samples));
      for (let tick = 0; tick < later; tick++) await null;
      let done = false;
      void heard.finish().then(() => (done = true));
      await new Promise((resolve) => setImmediate(resolve));
      t.ok(done, `${later} ticks later`);
    }
  });
}

t.test('every utterance ends within the audio', async (t) => {
  for (const [samples, endMs] of [
    [20_800, 1_300],
    [20_480, 1_280],
    [20_481, 1_280],
  ] as const) {
    const events: ListenerEvent[] = [];
    const heard = listener(1, (event) => void events.push(event));
    heard.push(new Int16Array(samples));
    await heard.finish();
    t.match(
      events,
      [
        { type: 'speech.started', at_ms: 0 },
        { type: 'transcript.final', start_ms: 0, end_ms: endMs, reason: 'finish' },
      ],
      `${samples} samples`,
    );
  }
});
