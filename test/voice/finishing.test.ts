/** A listener hears what it is told whenever that comes, also in the moment in which it has just run out of work. */
import t from 'tap';
import { Listener } from '../../src/voice/listener.ts';

const listener = (): Listener =>
  new Listener({
    silenceMs: 300,
    partials: false,
    repeats: true, ends: () => {},
    detect: async (samples) => new Float32Array(samples.length / 512),
    transcribe: async () => '',
    stretch: () => 1,
    begins: () => true,
    emit: () => {},
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
