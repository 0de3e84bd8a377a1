/** A step whose read fails changes nothing, neither rows nor state in memory: retried, it is applied whole. */
import t from 'tap';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import type { Row } from '../../src/store/engine.ts';
import type { SettledLimit, Store } from '../../src/store/store.ts';
import { move } from './contract/history.ts';
import { page, remembered, Scene, usageQuery, type Begun } from './fixtures.ts';

const nowMs = 1_800_000_000_000;
const settled: readonly SettledLimit[] = [
  { kind: 'place', name: 'visitor', holder: 'vis_1', seat: 'ses_1', untilMs: 0 },
];

/** An engine that cannot read the rows of one kind. */
class Damaged extends MemoryEngine {
  unreadable: string | null = null;
  /** Whether such a row was wanted. */
  wanted = false;

  override get(key: string): Uint8Array | undefined {
    this.#check(key);
    return super.get(key);
  }

  override range(from: string, to: string, reverse: boolean): Iterable<Row> {
    this.#check(from);
    return super.range(from, to, reverse);
  }

  #check(key: string): void {
    if (this.unreadable === null || !key.startsWith(this.unreadable)) return;
    this.wanted = true;
    throw new Error('The disk is damaged.');
  }
}

const steps = {
  finish: ({ turns }: Store, turn: Begun) =>
    turns.finish(turn.finishStep({ settled, move: move(3), tail: { position: 2, text: '!' } })),
  withdraw: ({ turns }: Store, turn: Begun) => turns.withdraw(turn.withdrawStep({ settled, nowMs, move: move(3) })),
};

/**
 * Returns the rows left after the step was sent twice: first while the rows of a kind cannot be read, if one is given.
 */
async function after(name: keyof typeof steps, unreadable: string | null) {
  const engine = new Damaged();
  const before = new EmbeddedStore(engine);
  await before.open(nowMs);
  const scene = new Scene(before, nowMs);
  const turn = await scene.streaming({ remember: remembered('turn', nowMs + 60_000), move: move(2) });
  await turn.append(0, 'Hé');
  await before.close();
  // A new one has nothing in memory but the turns in flight.
  const store = new EmbeddedStore(engine);
  await store.open(nowMs);
  engine.unreadable = unreadable;
  const first = await steps[name](store, turn).catch(() => null);
  engine.unreadable = null;
  const { outcome } = await steps[name](store, turn);
  const { workspaceId, sessionId, turnId } = turn.place;
  const { items } = await store.sessions.messages(workspaceId, sessionId, page());
  const left = {
    outcome,
    messages: items.map(({ role, status, content }) => [role, status, content]),
    history: (await store.history.read('session', workspaceId, sessionId)).map(({ seq }) => seq),
    turn: (await store.turns.read(workspaceId, sessionId, turnId))?.status ?? null,
    orphans: await store.turns.orphans(nowMs + 1_000_000, 10),
    remembered: (await store.requests.find(workspaceId, 'key_1 /sessions', 'again', nowMs))?.resultId ?? null,
    turns: (await store.usage.read(workspaceId, usageQuery(scene.now, scene.now + 1)))[0]!.turns,
  };
  await store.close();
  return { failed: first === null && engine.wanted, left };
}

for (const [name, kinds] of Object.entries({
  finish: ['session/', 'output/', 'usage-', 'limit/'],
  withdraw: ['session/', 'output/', 'memory/', 'limit/'],
}) as [keyof typeof steps, string[]][]) {
  t.test(`${name} is done whole when it is sent again`, async (t) => {
    const undisturbed = await after(name, null);
    t.equal(undisturbed.left.outcome, 'finished');
    t.strictSame(undisturbed.left.history, [2, 3]);
    t.equal(undisturbed.left.messages.length, name === 'finish' ? 2 : 0);
    for (const kind of kinds) {
      const { failed, left } = await after(name, kind);
      t.ok(failed, `${kind} was wanted`);
      t.strictSame(left, undisturbed.left, kind);
    }
  });
}
