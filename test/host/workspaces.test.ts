/** A workspace's slots: the machine is sent only events that move it, without a visible difference. */
import fc from 'fast-check';
import t from 'tap';
import { Inspector } from '../../src/actors/inspector.ts';
import { Workspaces } from '../../src/host/workspaces.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { workspace } from '../store/fixtures.ts';
import { withSteps } from './scene.ts';

type Command =
  | { kind: 'acquire' }
  | { kind: 'release' }
  | { kind: 'configure'; max: number }
  | { kind: 'sync'; inFlight: number }
  | { kind: 'watch' };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'acquire' as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'release' as const }) },
  fc.record({ kind: fc.constant('configure' as const), max: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('sync' as const), inFlight: fc.nat(4) }),
  fc.constant({ kind: 'watch' as const }),
);

/** One process' view of a workspace; `watched` has its machine sent every event. */
async function view(watched: boolean) {
  const record = workspace({ turnsInFlightMax: 3 });
  let stored = 0;
  const store = withSteps(memoryStore(), { turnsInFlight: async () => stored });
  await store.open(0);
  await store.catalog.create('workspace', record);
  const inspector = new Inspector();
  let leave: (() => void) | null = watched ? inspector.watch(() => {}) : null;
  const workspaces = new Workspaces(store, new ManualClock(), inspector);
  const { id } = record;
  return async (command: Command): Promise<unknown> => {
    const actor = (await workspaces.of(id))!;
    if (command.kind === 'watch' && !watched) {
      leave?.();
      leave = leave === null ? inspector.watch(() => {}) : null;
    } else if (command.kind === 'acquire') {
      const acquired = await workspaces.acquire(actor);
      return { acquired, state: actor.machine.state };
    } else if (command.kind === 'release') workspaces.release(id);
    else if (command.kind === 'sync') {
      stored = command.inFlight;
      await workspaces.sync(id);
      return actor.machine.context;
    } else if (command.kind === 'configure') {
      await workspaces.configure(id, (before) => ({ ...before, turnsInFlightMax: command.max }));
      return actor.machine.context;
    }
    return actor.machine.state;
  };
}

t.test("a workspace's answers and states equal those of a machine that gets every event", async (t) => {
  const seed = Number(process.env['PARLEY_TEST_SEED'] ?? 20_261_121);
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 30, size: 'max' }), async (commands) => {
      const [quiet, told] = [await view(false), await view(true)];
      for (const each of commands) t.strictSame(await quiet(each), await told(each));
      return t.passing();
    }),
    { numRuns: 200, seed },
  );
});
