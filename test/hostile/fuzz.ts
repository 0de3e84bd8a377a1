/**
 * `npm run fuzz -- [--what requests|faults|slow] [--edge uws|node] [--times N] [--seed N]`: hostile requests against an edge of a
 * server of its own, faults of a provider behind it, or slow clients beside others. Tells its seed and how far it is; ends with 1 and the smallest input that fails.
 */
import { parseArgs } from 'node:util';
import { found } from '../secrets/canaries.ts';
import { throwFaults } from '../secrets/fault-run.ts';
import { openScene } from '../secrets/scene.ts';
import { barrage } from './barrage.ts';
import { slowness } from './slow.ts';
import { openWorld } from './world.ts';

const { values } = parseArgs({
  options: {
    what: { type: 'string', default: 'requests' },
    edge: { type: 'string', default: 'uws' },
    times: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const [times, seed] = [Number(values.times), Number(values.seed)];
const edge = values.edge === 'node' ? 'node' : 'uws';
const print = (text: string): boolean => process.stdout.write(text);

const teardowns: (() => Promise<unknown>)[] = [];
const owner = { teardown: (run: () => Promise<unknown>) => teardowns.unshift(run) };
let told = 0;
const onProgress = (done: number): void => {
  if (done - told < times / 100 && done < times) return;
  told = done;
  print(`\r${done} of ${times}`);
};

print(`${values.what} on ${edge}, ${times} times, seed ${seed}\n`);
try {
  if (values.what === 'faults') {
    let done = 0;
    const scene = await openScene(owner, { env: { PARLEY_EDGE: edge } });
    await throwFaults(scene, { seed, times, onRun: () => onProgress(++done) });
    const told = Buffer.concat([...scene.relay.kept.values(), Buffer.from(scene.house.stdout() + scene.house.stderr())]);
    const leaked = found(told, scene.canaries.filter(({ name }) => ['provider', 'credential', 'operator', 'secret', 'message'].includes(name)));
    if (leaked.length > 0) throw new Error(`where a client or the log has it: ${leaked.join(', ')}`);
  } else if (values.what === 'slow') print(`${await slowness(await openWorld(owner, edge, { env: { PARLEY_LOG: 'silent' } }), times)}`);
  else await barrage(await openWorld(owner, edge), { seed, times, onProgress });
  print('\nnothing failed\n');
} catch (error) {
  for (let one: unknown = error; one instanceof Error; one = one.cause) print(`\n${one.message}\n`);
  process.exitCode = 1;
} finally {
  for (const run of teardowns) await run();
}
