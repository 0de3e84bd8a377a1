/** Streams of audio in the detector: the state that they leave in its process, and how their parts reach it. */
import childProcess from 'node:child_process';
import t from 'tap';
import { EventEmitter } from 'node:events';
import { WheelClock } from '../../../src/base/clock.ts';
import { limits } from '../../../src/base/limits.ts';
import type { Order } from '../../../src/providers/voice/engine/messages.ts';
import { VoiceProcess, type Detected, voiceOrderMs } from '../../../src/providers/voice/process.ts';
import { canListen, DetectorStream } from '../../../src/providers/voice/processes.ts';
import { ManualClock } from '../model/provider.ts';

function scene() {
  const forgotten: number[] = [];
  const member = { forget: (stream: number) => void forgotten.push(stream) } as unknown as VoiceProcess;
  let answer = (): void => {};
  const stream = new DetectorStream(
    7,
    () => new Promise((resolve) => (answer = () => resolve({ chances: new Float32Array(1), member }))),
  );
  return { forgotten, stream, answer: () => answer() };
}

t.test('closed while nothing is looked at', async (t) => {
  const { forgotten, stream, answer } = scene();
  const looked = stream.chances(new Int16Array(512));
  answer();
  await looked;
  t.same(forgotten, []);
  stream.close();
  t.same(forgotten, [7]);
});

t.test('closed before the first answer', async (t) => {
  const { forgotten, stream, answer } = scene();
  const looked = stream.chances(new Int16Array(512));
  stream.close();
  answer();
  await looked;
  t.same(forgotten, [7]);
});

t.test(
  'parts that come while the detector is at work go to it together, and each has its own answer',
  { skip: !canListen() && 'the packages that listen are not installed' },
  async (t) => {
    const { fork } = childProcess;
    const sent: Order[] = [];
    const counted = ((...given: Parameters<typeof fork>) => {
      const child = fork(...given);
      const send = child.send.bind(child) as (order: Order, sent: (error: Error | null) => void) => boolean;
      child.send = ((order: Order, done: (error: Error | null) => void) => {
        sent.push(order);
        return send(order, done);
      }) as typeof child.send;
      return child;
    }) as typeof fork;
    const clock = new WheelClock();
    const member = new VoiceProcess(clock, () => {}, counted);
    t.teardown(() => {
      member.end();
      clock.stop();
    });
    let ids = 0;
    const id = (): number => ids++;
    const noise = (seed: number): Int16Array =>
      Int16Array.from({ length: 1024 }, (_, at) => Math.round(3000 * Math.sin(at / (seed + 2))));
    const alone: Detected[] = [];
    for (const stream of [0, 1, 2, 3]) alone.push(await member.detect(id, { stream, samples: noise(stream) }));
    t.equal(sent.length, 4);
    // The same audio on separate streams.
    const together = await Promise.all(
      [0, 1, 2, 3].map((stream) => member.detect(id, { stream: 10 + stream, samples: noise(stream) })),
    );
    t.equal(sent.length, 6, 'the first at once, the others with the next message');
    t.strictSame(together, alone);
    t.equal(new Set(alone.map(String)).size, 4, 'their answers differ');
    const odd = member.detect(id, { stream: 20, samples: 'none' as unknown as Int16Array });
    const [failed, after] = await Promise.all([
      member.detect(id, { stream: 21, samples: null as unknown as Int16Array }),
      member.detect(id, { stream: 22, samples: noise(0) }),
      odd,
    ]);
    t.match(failed, { failed: String });
    t.ok(after instanceof Float32Array, 'one that fails takes no other with it');
    // Audio that it has and audio that waits for it are both lost.
    process.kill(member.pid, 'SIGSTOP');
    const lost = [30, 31].map((stream) => member.detect(id, { stream, samples: noise(stream) }));
    member.end();
    t.strictSame(await Promise.all(lost), ['ended', 'ended']);
  },
);

t.test('an order that loads a model has longer than one whose model is loaded', async (t) => {
  const clock = new ManualClock();
  const child = Object.assign(new EventEmitter(), {
    pid: 1,
    send: () => true,
    kill: () => void child.emit('exit', null, 'SIGKILL'),
  });
  const member = new VoiceProcess(clock, () => {}, (() => child) as unknown as typeof childProcess.fork);
  let ids = 0;
  const detect = (): Promise<Detected> => member.detect(() => ids++, { stream: 0, samples: new Int16Array(512) });
  const answer = (): void => void child.emit('message', { id: ids - 1, detected: [new Float32Array(1)] });
  const first = detect();
  clock.advance(limits.voiceLoadMs - 1);
  answer();
  t.ok((await first) instanceof Float32Array, 'it is not ended while it loads');
  const transcribed = member.run({ do: 'transcribe', id: 100, samples: new Int16Array(512), guess: [], folder: null });
  clock.advance(voiceOrderMs);
  t.ok(member.alive, 'the recogniser is another model');
  const second = detect();
  clock.advance(voiceOrderMs - 1);
  t.ok(member.alive);
  clock.advance(1);
  t.notOk(member.alive, 'one that hangs is ended');
  t.strictSame(await Promise.all([second, transcribed]), ['ended', 'ended']);
});

t.test('a process that the system does not start is over, whether Node throws that or emits it', async (t) => {
  const unborn = (): childProcess.ChildProcess => {
    const child = Object.assign(new EventEmitter(), { kill: () => t.fail('it has no process') });
    queueMicrotask(() => child.emit('error', new Error('spawn EMFILE')));
    return child as unknown as childProcess.ChildProcess;
  };
  const throwing = (): never => {
    throw new Error('spawn ENOMEM');
  };
  for (const [start, why] of [
    [unborn, 'spawn EMFILE'],
    [throwing, 'spawn ENOMEM'],
  ] as const) {
    const told = new Promise<string>((resolve) => {
      const member = new VoiceProcess(new ManualClock(), resolve, start);
      t.strictSame([member.started, member.alive, member.idle], [false, false, false]);
      member
        .run({ do: 'transcribe', id: 1, samples: new Int16Array(512), guess: [], folder: null })
        .then((report) => t.equal(report, 'ended'), t.fail);
      member.drop(1);
      member.forget(1);
      member.end();
    });
    t.equal(await told, why);
  }
});
