/** A stream that is closed while its audio is looked at leaves nothing behind in the process that looks. */
import t from 'tap';
import type { VoiceProcess } from '../../src/voice/process.ts';
import { DetectorStream } from '../../src/voice/processes.ts';

function scene() {
  const forgotten: number[] = [];
  const member = { forget: (stream: number) => void forgotten.push(stream) } as unknown as VoiceProcess;
  let answer = (): void => {};
  const stream = new DetectorStream(7, () => new Promise((resolve) => (answer = () => resolve({ chances: new Float32Array(1), member }))));
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
