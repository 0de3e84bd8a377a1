/**
 * Repetitions by a client or a provider on one stream of audio: each time it costs little, and what waits is bounded
 * (contract 8).
 */
import t from 'tap';
import { Listener, type ListenerOptions, socketFinalsOwedMax } from '../../../src/providers/voice/listener.ts';
import type { ListenerEvent } from '../../../src/providers/voice/listener-events.ts';
import { AudioPieces, speechAheadBytesMax } from '../../../src/providers/voice/pieces.ts';
import { AudioHistory } from '../../../src/providers/voice/audio-history.ts';

const second = new Int16Array(16_000).fill(1000);

/**
 * A listener to which everything but silence is speech. Its detector waits while it is held, and finals until they are
 * said.
 */
function listening(options: Partial<ListenerOptions> = {}) {
  const events: ListenerEvent[] = [];
  const seen = { detections: 0, failure: null as unknown };
  let release = (): void => {};
  let held: Promise<void> | null = null;
  const asked = new Map<number, (text: string) => void>();
  const listener = new Listener({
    silenceMs: 300,
    partials: false,
    repeats: false,
    async detect(samples) {
      seen.detections++;
      await held;
      return Float32Array.from({ length: samples.length / 512 }, (_, window) => (samples[window * 512] === 0 ? 0 : 1));
    },
    transcribe: (_, { number }) => new Promise((resolve) => asked.set(number, resolve)),
    stretch: () => 1,
    begins: () => true,
    ends: () => {},
    emit: (event) => void events.push(event),
    failed: (error) => (seen.failure = error),
    ...options,
  });
  return {
    listener,
    events,
    seen,
    asked,
    hold: () => void (held = new Promise((resolve) => (release = resolve))),
    release: () => {
      held = null;
      release();
    },
    order: () => events.map((event) => `${event.type.split('.')[1]} ${event.utterance}`),
  };
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

t.test('flushes that wait are one', async (t) => {
  const { listener, hold, release, asked, order, seen } = listening();
  hold();
  for (let flush = 0; flush < 100; flush++) {
    listener.push(second.subarray(0, 160));
    for (let again = 0; again < 1_000; again++) listener.flush();
  }
  release();
  await settled();
  t.same(order(), ['started 1'], 'one utterance, which is cut once');
  asked.get(1)!('one');
  await settled();
  t.same(order(), ['started 1', 'final 1']);
  const { detections } = seen;
  for (let again = 0; again < 100_000; again++) listener.flush();
  await settled();
  t.equal(seen.detections, detections, 'while nobody speaks it does nothing');
  listener.push(second);
  void listener.finish();
  for (let again = 0; again < 1_000; again++) listener.flush();
  await settled();
  t.same(order().slice(2), ['started 2'], 'behind the finish there is nothing to flush');
});

/** Returns the given number of utterances, each cut by a flush, and one more that continues. */
async function sayCut(listener: ReturnType<typeof listening>['listener'], times: number): Promise<void> {
  for (let said = 0; said < times; said++) {
    listener.push(second);
    await settled();
    listener.flush();
    await settled();
  }
  listener.push(second);
  await settled();
}

t.test('several cuts whose finals are owed', async (t) => {
  const { listener, asked, order } = listening();
  await sayCut(listener, 3);
  t.same(order(), ['started 1']);
  // The later finals are there first.
  for (const number of [3, 2]) asked.get(number)!('text');
  await settled();
  t.same(order(), ['started 1']);
  asked.get(1)!('text');
  await settled();
  t.same(order(), ['started 1', 'final 1', 'started 2', 'final 2', 'started 3', 'final 3', 'started 4']);
});

t.test('a second cut waits for its own final', async (t) => {
  const { listener, asked, order } = listening();
  await sayCut(listener, 2);
  asked.get(1)!('text');
  await settled();
  t.same(
    order(),
    ['started 1', 'final 1', 'started 2'],
    'the third utterance is not announced before the final of the second',
  );
  asked.get(2)!('text');
  await settled();
  t.same(order(), ['started 1', 'final 1', 'started 2', 'final 2', 'started 3']);
});

t.test('partials that wait behind a cut are one for each utterance', async (t) => {
  let decoded = 0;
  const { listener, asked, order, events } = listening({
    partials: true,
    repeats: true,
    transcribe: (_, { number }, urgency) =>
      urgency === 'partial'
        ? Promise.resolve(`word ${decoded++} and more`)
        : new Promise((resolve) => asked.set(number, resolve)),
  });
  listener.push(second);
  await settled();
  listener.flush();
  for (let said = 0; said < 5; said++) {
    listener.push(second);
    await settled();
  }
  asked.get(1)!('text');
  await settled();
  t.same(order().slice(-3), ['final 1', 'started 2', 'partial 2']);
  t.match(events.at(-1), { text: `word ${decoded - 1} and more` }, 'the last one');
});

t.test('finals that a recogniser owes are bounded', async (t) => {
  const { listener, seen, asked } = listening();
  for (let said = 0; said < socketFinalsOwedMax + 10 && seen.failure === null; said++) {
    listener.push(second.subarray(0, 512 * 5));
    await settled();
    listener.flush();
    await settled();
  }
  t.match(seen.failure, { reason: 'process' });
  t.equal(asked.size, socketFinalsOwedMax);
});

t.test('audio sample by sample', async (t) => {
  const tape = new AudioHistory();
  for (let at = 0; at < 100_000; at++) tape.append(Int16Array.of(at % 1000));
  t.same([...tape.slice(99_998, 100_000)], [998, 999]);
});

t.test('pieces of a provider, a sample each, while nobody reads', async (t) => {
  const calls: string[] = [];
  const pieces = new AudioPieces(
    () => calls.push('hold'),
    () => calls.push('resume'),
  );
  const count = speechAheadBytesMax / 2 + 1;
  for (let at = 0; at < count; at++) pieces.push(Int16Array.of(at & 255));
  pieces.end();
  t.same(calls, ['hold']);
  let next = 0;
  for await (const [sample] of pieces) if (sample !== (next++ & 255)) t.fail('in order');
  t.equal(next, count);
  t.same(calls, ['hold', 'resume']);
});
