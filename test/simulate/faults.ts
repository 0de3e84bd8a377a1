/** The faults of a run and their times: drawn from the seed, over and over until the run is near its end. */
import type { SimulatedHost } from './host.ts';
import type { World } from './world.ts';

type Fault = (world: World, host: SimulatedHost) => Promise<void> | void;

const faults = {
  /** Longer than a lease, often. */
  async pause({ scheduler }, host) {
    host.pause();
    await scheduler.sleep(scheduler.random.delay(4000, 15_000));
    host.resume();
  },
  async crash({ scheduler }, host) {
    host.crash();
    await scheduler.sleep(scheduler.random.delay(2000, 10_000));
    await host.start();
  },
  async drain({ scheduler }, host) {
    await Promise.race([host.drain(), scheduler.sleep(8000)]);
    host.crash();
    await scheduler.sleep(scheduler.random.delay(500, 5000));
    await host.start();
  },
  jump({ scheduler: { random } }, host) {
    host.jump(random.chance(0.3) ? 0 : random.between(-300, 300) * random.pick([1, 10, 1000]));
  },
  /** The process does not reach the shared store. */
  async cutOff({ scheduler, cutOff }, host) {
    cutOff.add(host.name);
    await scheduler.sleep(scheduler.random.delay(3000, 12_000));
    cutOff.delete(host.name);
  },
  /** The shared store is away for everybody. */
  async outage({ scheduler, server }) {
    server.up = false;
    await scheduler.sleep(scheduler.random.delay(1500, 8000));
    server.up = true;
  },
  async snapshot({ server }) {
    await server.snapshot();
  },
  /** A replica takes over, which had not heard the newest. */
  async failover({ scheduler, server }) {
    if (server.snapshots === 0) return server.snapshot();
    server.up = false;
    await scheduler.sleep(scheduler.random.between(0, 3000));
    await server.failover(
      scheduler.random.chance(0.8) ? server.snapshots - 1 : scheduler.random.between(0, server.snapshots - 1),
    );
    server.up = true;
  },
} satisfies Record<string, Fault>;

type FaultName = keyof typeof faults;

const perMode: Readonly<Record<World['mode'], readonly FaultName[]>> = {
  embedded: ['pause', 'crash', 'crash', 'drain', 'jump'],
  shared: ['pause', 'pause', 'crash', 'drain', 'jump', 'cutOff', 'outage'],
  failover: ['pause', 'crash', 'cutOff', 'snapshot', 'snapshot', 'snapshot', 'failover'],
};

/**
 * Runs some of the faults of the mode, one after the other and each at a separate pace; resolves when all have ended.
 */
export async function runFaults(world: World, untilMs: number): Promise<void> {
  const { scheduler, mode, hosts, history } = world;
  const { random } = scheduler;
  const possible = perMode[mode].filter(() => random.chance(0.7));
  if (possible.length === 0) return;
  const everyMs = random.pick([1000, 4000, 15_000]);
  const under: Promise<void>[] = [];
  while (scheduler.now < untilMs) {
    await scheduler.sleep(random.delay(everyMs, 30_000));
    const name = random.pick(possible);
    const host = random.pick(hosts);
    history.note(`fault ${name} ${host.name}`);
    under.push(Promise.resolve(faults[name](world, host)));
    if (random.chance(0.7)) await under.at(-1);
  }
  await Promise.all(under);
}
