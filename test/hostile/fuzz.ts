/**
 * `npm run fuzz`: hostile requests against an edge of a new server, hostile clients of its voice and its calls, faults
 * of a provider behind it, or slow clients next to others. Prints its seed and its progress; ends with 1 and the
 * smallest input that fails.
 */
import { randomInt } from 'node:crypto';
import { Option } from 'commander';
import { developmentCommand, numberOption } from '../../bench/harness/development-command.ts';
import { Progress } from '../../bench/harness/progress.ts';
import { found } from '../secrets/canaries.ts';
import { throwFaults } from '../secrets/fault-run.ts';
import { openScene } from '../secrets/scene.ts';
import { openWorld } from './world.ts';

const seeds = 2 ** 31;
const { what, edge, times, seed } = developmentCommand(
  'npm run fuzz --',
  'Sends a server of its own what it does not expect. Ends with 1 and the smallest input that fails.',
  `
  npm run fuzz -- --edge node                           hostile requests to that engine
  npm run fuzz -- --edge uws --times 20000 --seed 33    the same requests again
  npm run fuzz -- --what faults --times 5000            a provider that does whatever it likes
  npm run fuzz -- --what voice --times 2000             sockets, speech and tokens
  npm run fuzz -- --what calls --times 2000             calls, several at a time
  npm run fuzz -- --what slow --times 1000              requests beside slow clients`,
)
  .addOption(
    new Option(
      '--what <what>',
      'hostile requests, hostile clients of voice or of calls, faults of a provider, or slow clients beside others',
    )
      .choices(['requests', 'voice', 'calls', 'faults', 'slow'])
      .default('requests'),
  )
  .addOption(new Option('--edge <engine>', 'the HTTP engine').choices(['uws', 'node']).default('uws'))
  .addOption(numberOption('--times <number>', 'how many requests, visits or faults', 1).default(20_000))
  .addOption(
    numberOption('--seed <number>', 'what they are drawn from', 0, seeds - 1).default(randomInt(seeds), 'a new one'),
  )
  .parse()
  .opts<{
    what: 'requests' | 'voice' | 'calls' | 'faults' | 'slow';
    edge: 'uws' | 'node';
    times: number;
    seed: number;
  }>();
// Imported once they are wanted, so that help comes at once: the judge has a server's API to read.
const { barrage } = await import('./barrage.ts');
const { slowness } = await import('./slowness.ts');
const { callBarrage, openCallWorld } = await import('./calls.ts');
const { openVoiceWorld, voiceBarrage } = await import('./voice.ts');
const print = (text: string): boolean => process.stdout.write(text);

const teardowns: (() => Promise<unknown>)[] = [];
const owner = { teardown: (run: () => Promise<unknown>) => teardowns.unshift(run) };
const progress = new Progress(1);
const onProgress = (done: number): void => progress.tell(done, times, `${what} on ${edge}: ${done} of ${times}`);

print(`${what} on ${edge}, ${times} times, seed ${seed}\n`);
try {
  if (what === 'faults') {
    let done = 0;
    const scene = await openScene(owner, { env: { PARLEY_EDGE: edge } });
    await throwFaults(scene, { seed, times, onRun: () => onProgress(++done) });
    const told = Buffer.concat([
      ...scene.relay.kept.values(),
      Buffer.from(scene.house.stdout() + scene.house.stderr()),
    ]);
    const leaked = found(
      told,
      scene.canaries.filter(({ name }) => ['provider', 'credential', 'operator', 'secret', 'message'].includes(name)),
    );
    if (leaked.length > 0) throw new Error(`where a client or the log has it: ${leaked.join(', ')}`);
  } else if (what === 'slow') {
    const world = await openWorld(owner, edge, { env: { PARLEY_LOG: 'silent' } });
    for await (const words of slowness(world, times)) print(`${words}\n`);
  } else if (what === 'voice') await voiceBarrage(await openVoiceWorld(owner, edge), { seed, times, onProgress });
  else if (what === 'calls') await callBarrage(await openCallWorld(owner, edge), { seed, times, onProgress });
  else await barrage(await openWorld(owner, edge), { seed, times, onProgress });
  progress.end();
  print('nothing failed\n');
} catch (error) {
  progress.end();
  for (let one: unknown = error; one instanceof Error; one = one.cause) print(`\n${one.message}\n`);
  process.exitCode = 1;
} finally {
  for (const run of teardowns) await run();
}
