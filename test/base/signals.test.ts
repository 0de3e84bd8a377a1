/** Signals to children, above all to those that the system could not start. */
import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { play } from '../../src/cli/player.ts';
import { Sound } from '../../src/cli/sound.ts';
import { signalChild } from '../../src/base/signals.ts';
import type { Speech } from '../../src/client/speech.ts';

const nowhere = { program: '/nowhere/parley-sound', args: [], reads: true };

t.test('a child that runs gets it', async (t) => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  signalChild(child, 'SIGTERM');
  t.same(await ended, [null, 'SIGTERM']);
});

t.test('a child that could not be started gets none, which would go to a process that nobody meant', async (t) => {
  const asked = t.capture(ChildProcess.prototype, 'kill', () => true);
  const child = spawn(nowhere.program, { stdio: 'ignore' });
  signalChild(child, 'SIGTERM');
  await t.rejects(once(child, 'spawn'), { code: 'ENOENT' });

  const sound = new Sound(nowhere, 'record');
  sound.stop();

  const leaves = new AbortController();
  const played = play(nowhere, { [Symbol.asyncIterator]: async function* () {} } as unknown as Speech, leaves.signal);
  leaves.abort();
  await t.rejects(played, { name: 'AbortError' });
  t.equal(asked().length, 0);
});
