import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { probePort } from '../../../src/operations/supervisor/port.ts';
import { ask, bounds, deaf } from './harness.ts';
import type { OpenEdge } from './harness.ts';

/** The edge's contract for a port that several processes share, which every engine must keep. */
export async function sharingContract(t: Test, open: OpenEdge, engine: 'uws' | 'node'): Promise<void> {
  await t.test('a shared port is served by any worker, and by those that are left', async (t) => {
    const port = await probePort('127.0.0.1', 0);
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({
      execArgv: ['--import=tsx'],
      exec: fileURLToPath(new URL('./sharer.ts', import.meta.url)),
      args: [engine, String(port)],
    });
    const [one, two] = await Promise.all([start(t), start(t)]);
    const both = new Set([String(one.id), String(two.id)]);
    for (let i = 0; i < 10; i++) t.ok(both.has((await ask(port)).text));

    const clock = new WheelClock();
    const stranger = await open(deaf, bounds, clock);
    await t.rejects(
      stranger.listen('127.0.0.1', port),
      { code: 'EADDRINUSE' },
      'it is not shared with who does not ask for it',
    );
    await stranger.close(0);
    clock.stop();

    await end(one);
    for (let i = 0; i < 10; i++) t.equal((await ask(port)).text, String(two.id));
    await end(two);
    await t.rejects(ask(port), { code: 'ECONNREFUSED' });
  });
}

async function start(t: Test): Promise<Worker> {
  const worker = cluster.fork();
  t.teardown(() => worker.process.kill('SIGKILL'));
  await once(worker, 'message');
  return worker;
}

async function end(worker: Worker): Promise<void> {
  const ended = once(worker, 'exit');
  worker.send('end');
  await ended;
}
