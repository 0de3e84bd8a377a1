/** The loudspeaker's worklet, driven by hand: what it renders, what it counts, and that it neither clicks nor grows. */
import t from 'tap';
import { loudspeakerWorklet, makeRing } from '../../src/client/playback.ts';

interface Told {
  readonly message: number;
  readonly position?: number;
  readonly count?: number;
  readonly time?: number;
  readonly level?: number;
}

const rate = 8_000;
const block = 128;

/** Runs a processor in a separate scope, block by block. */
function worklet() {
  const told: Told[] = [];
  const scope = globalThis as any;
  let Processor: any = null;
  let blocks = 0;
  Object.defineProperty(scope, 'currentTime', { get: () => (blocks * block) / rate, configurable: true });
  scope.sampleRate = rate;
  scope.AudioWorkletProcessor = class {
    port = { postMessage: (data: Told) => void told.push(data), onmessage: null };
  };
  scope.registerProcessor = (_: string, made: unknown) => (Processor = made);
  loudspeakerWorklet(makeRing);
  const processor = new Processor();
  const send = (data: object): void => processor.port.onmessage({ data });
  return {
    told,
    play: (message: number, samples: number, value = 16_384) =>
      send({ type: 'play', message, samples: new Int16Array(samples).fill(value) }),
    send,
    /** Returns the samples of the next blocks. */
    render(count: number): number[] {
      const out: number[] = [];
      for (let made = 0; made < count; made++) {
        const samples = new Float32Array(block);
        processor.process([], [[samples]]);
        blocks++;
        out.push(...samples);
      }
      return out;
    },
  };
}

/** The greatest step from one sample to the next. */
const step = (samples: readonly number[]): number =>
  samples.slice(1).reduce((most, sample, at) => Math.max(most, Math.abs(sample - samples[at]!)), 0);

t.test('it plays what comes, counts it and tells where it is', (t) => {
  const { told, play, render } = worklet();
  play(1, 300);
  play(1, 300);
  const out = render(8);
  t.equal(out.filter((sample) => sample !== 0).length, 600);
  t.ok(step(out.slice(0, 590)) < 0.01, 'it begins without a click');
  t.same([told[0]!.count, told[0]!.time], [0, 0], 'where it began');
  t.same(told.at(-1), { message: 1, count: 600, time: told.at(-1)!.time, level: told.at(-1)!.level });
  t.same(render(1), new Array(block).fill(0), 'an underrun is silence, and is not counted');
  play(1, 50);
  render(2);
  t.equal(Math.max(...told.map(({ count = 0 }) => count)), 650);
  t.end();
});

t.test('it holds within 10 ms, without a click, and goes on there', (t) => {
  const { told, play, render, send } = worklet();
  play(1, 4_000);
  render(4);
  send({ type: 'pause', message: 1 });
  t.same(told.at(-1), { message: 1, position: 4 * block + 80 }, 'what sounds while it fades is counted');
  const fading = render(4);
  t.ok(step(fading) < 0.01);
  t.same(fading.slice(81), new Array(4 * block - 81).fill(0));
  send({ type: 'pause', message: 1 });
  t.equal(told.at(-1)!.position, 592, 'a second one changes nothing');
  send({ type: 'resume', message: 1 });
  const rest = render(40);
  t.ok(step(rest.slice(0, 3_000)) < 0.01);
  t.equal(rest.filter((sample) => sample !== 0).length, 4_000 - 592, 'no sample is lost');
  t.end();
});

t.test('what is cleared is gone, and its count stays', (t) => {
  const { told, play, render, send } = worklet();
  play(1, 4_000);
  render(2);
  send({ type: 'clear', message: 1 });
  t.equal(told.at(-1)!.position, 2 * block + 80);
  const out = render(3);
  t.ok(step(out) < 0.01);
  t.equal(out.filter((sample) => sample !== 0).length, 79);
  send({ type: 'resume', message: 1 });
  t.ok(render(2).every((sample) => sample === 0));
  play(2, 200);
  play(1, 500);
  t.equal(render(5).filter((sample) => sample !== 0).length, 200, 'audio of an earlier message is not heard');
  send({ type: 'clear', message: 1 });
  t.same(told.at(-1), { message: 1, position: 0 });
  t.end();
});

t.test('it holds six seconds at most, and tells nothing for long when it is still', (t) => {
  const { told, play, render } = worklet();
  for (let second = 0; second < 9; second++) play(1, rate);
  render(Math.ceil((7 * rate) / block));
  t.equal(Math.max(...told.map(({ count = 0 }) => count)), 6 * rate);
  render(200);
  const before = told.length;
  render(200);
  t.equal(told.length, before);
  t.end();
});
