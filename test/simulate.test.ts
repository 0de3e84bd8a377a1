/** The simulation: a few seeds of each mode, and proofs that it is deterministic and finds bugs. */
import t from 'tap';
import { limits } from '../src/base/limits.ts';
import { putDelivery } from '../src/store/embedded/deliveries.ts';
import { MemoryEngine } from '../src/store/memory.ts';
import type { StoredDelivery, Webhook } from '../src/store/store.ts';
import { WriteBatcher } from '../src/store/write-batcher.ts';
import { bugs } from './simulate/bugs.ts';
import { checkEvents } from './simulate/events.ts';
import type { State } from './simulate/oracle.ts';
import { run } from './simulate/run.ts';
import { modes } from './simulate/world.ts';

const seedsOfEach = 2;
/** Runs within which a deliberate bug must have been found. */
const runsMax = 30;
/** Bugs that the first seeds do not find, with a seed that finds each. */
const knownSeeds: Readonly<Record<string, number>> = {
  'a hidden turn is shown': 3,
  'a call of a tool is sent before it is stored': 61,
  'what a provider put on calls is lost with the end of their turn': 2,
  'whoever takes a turn over sends its calls again': 2,
  'readers are shown what was not released': 2,
  'a reply that its listener cut is sealed whole': 3,
  'a piece that is sent again is stored again': 7,
  'no comparison: a session is stored over whatever moved it': 2,
  'a request whose answer was lost on the way from the store is charged again': 7,
  'a request that is refused costs nothing': 3,
  'a stop that was asked for is forgotten with the process': 29,
  'no fence: whoever writes to a turn is let in': 6,
  'no fence for calls of tools: their turn is not asked for its owner': 18,
  'no turn is withdrawn: it is sealed once its lease has run out': 2,
  'a turn that failed for a fault of ours is stored as aborted': 2,
  'an ended session is stored as open': 2,
  'a revoked key is never heard of': 10,
  'a take silences no turn': 3,
  'a take silences no turn where the server fails over': 2,
  'a chat is admitted from an old read of who answers': 3,
  'a message that was accepted is not remembered under its key': 2,
  'a session gets its version from a release that has changed': 4,
};

const digests = new Set<string>();

for (const mode of modes) {
  t.test(`${mode}: nothing is wrong, and a seed is one story`, async (t) => {
    const stories: string[][] = [[], []];
    const into = (story: string[]) => ({ tell: (line: string): unknown => story.push(line) });
    for (let seed = 1; seed <= seedsOfEach; seed++) {
      const { wrong, digest } = await run(seed, mode, seed === 1 ? into(stories[0]!) : {});
      t.same(wrong, [], `seed ${seed}`);
      digests.add(digest);
    }
    const again = await run(1, mode, into(stories[1]!));
    t.ok(stories[0]!.length > 100);
    t.equal(stories[1]!.join('\n'), stories[0]!.join('\n'));
    t.ok(digests.has(again.digest));
  });
}

t.test('each story is unique', async (t) => {
  t.equal(digests.size, modes.length * seedsOfEach);
});

t.test('the check of events knows every delivery, also those beyond the newest that a store lists', async (t) => {
  const rows = new MemoryEngine();
  const batcher = new WriteBatcher(rows);
  await batcher.open();
  const webhook = { id: 'whk_1', workspaceId: 'wks_1' } as Webhook;
  const ids = Array.from({ length: limits.webhookDeliveriesMax + 2 }, (_, index) => String(1000 + index));
  const rowOf = (id: string): StoredDelivery => ({
    id: `dlv_${id}`,
    workspaceId: webhook.workspaceId,
    webhookId: webhook.id,
    type: 'turn.completed',
    body: JSON.stringify({ data: { session_id: 'ses_1', turn_id: `turn_${id}`, status: 'completed' } }),
    status: 'pending',
    attempts: 1,
    nextAtMs: 1,
    sessionId: 'ses_1',
    sourceId: `turn_${id}`,
  });
  await batcher.step((draft) => ids.forEach((id) => putDelivery(draft, rowOf(id))));
  const check = (ended: readonly string[]): Promise<string[]> => {
    const turns = new Map(ended.map((id) => [id, { turn: { id: `turn_${id}`, status: 'completed' }, finished: {} }]));
    const state = { turns, withdrawn: new Map(), sessions: new Map() } as unknown as State;
    const world = { mode: 'embedded', seeds: { webhook } } as const;
    return checkEvents({ state, forgotten: [] }, { received: [] }, rows, world, 0);
  };
  t.same(await check(ids), []);
  t.same(await check(ids.slice(1)), ['events: turn_1000 completed is stored without an end']);
  t.same(await check([...ids, '0999']), ['events: turn_0999 completed has none']);
});

for (const [name, bug] of Object.entries(bugs)) {
  t.test(`found: ${name}`, async (t) => {
    const seen = new Set<string>();
    // A seed known to find the bug goes first. After a change of the simulation's draws it is a seed like the others.
    const first = knownSeeds[name] ?? 1;
    for (const seed of [
      first,
      ...Array.from({ length: runsMax }, (_, index) => index + 1).filter((seed) => seed !== first),
    ]) {
      const made = bug();
      const rules = (await run(seed, made.mode, { bug: made })).wrong.map((line) => line.split(':')[0]!);
      if (rules.some((rule) => made.breaks.includes(rule))) return t.pass(`with seed ${seed}`);
      for (const rule of rules) seen.add(rule);
    }
    t.fail(`not in ${runsMax} runs; only ${[...seen]} was`);
  });
}
