/**
 * A workspace whose slot moves from one primary of a cluster to another: it is refused or right, and afterwards all of
 * it is there.
 */
import t, { type Test } from 'tap';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { until } from '../api/talk.ts';
import { api, page, Scene, snapshot } from './fixtures.ts';
import { RedisCluster, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';
import { SlotMove } from './slot-move.ts';

const skip = whyNoRedis() ?? false;
const sessionsCount = 6;

/** A workspace with sessions whose parts are known. */
class Tenant {
  readonly scene: Scene;
  readonly #ids: string[] = [];

  constructor(store: Store) {
    this.scene = new Scene(store, Date.now());
  }

  async furnish(): Promise<void> {
    for (let count = 0; count < sessionsCount; count++) await this.create();
  }

  /** A session with a whole turn. */
  async create(): Promise<void> {
    const turn = await this.scene.streaming({ slot: api(1000) });
    await turn.append(0, 'abc');
    await this.scene.store.turns.finish(
      turn.finishStep({ session: { ...turn.step.session, machine: snapshot('open') } }),
    );
    this.#ids.push(turn.place.sessionId);
  }

  /** Reports missing parts; empty if all is there. */
  async missing(): Promise<string[]> {
    const { store, workspaceId } = this.scene;
    const { items } = await store.sessions.list(workspaceId, this.scene.filter(), page());
    const listed = new Set(items.map(({ id }) => id));
    const missing: string[] = [];
    for (const id of this.#ids) {
      if (!listed.has(id)) missing.push(`${id} is not listed`);
      if ((await store.sessions.read(workspaceId, id)) === null) missing.push(`${id} is not read`);
      const [, reply] = await this.scene.transcript(id);
      if (reply?.content !== 'abc') missing.push(`${id} says ${reply?.content}`);
    }
    return missing;
  }
}

const refused = (step: Promise<unknown>): Promise<unknown> =>
  step.then(
    (answer) => `answered ${JSON.stringify(answer)}`,
    (error: Error) => (error instanceof StoreUnavailable ? 'refused' : error),
  );

/** Every kind of step on a workspace is refused. */
async function isRefused(t: Test, { scene }: Tenant, when: string): Promise<void> {
  const { store, workspaceId } = scene;
  const steps = [
    store.sessions.create(scene.createStep()),
    store.sessions.list(workspaceId, scene.filter(), page()),
    scene.streaming(),
    store.limits.takeBudgets(
      workspaceId,
      'key_1',
      [{ budget: 'requests', ceiling: 3 }],
      scene.nowMs,
    ) as Promise<unknown>,
    store.turns.inFlight(workspaceId),
    store.confirm(workspaceId).then(() =>
      store.usage.count({
        id: 'u',
        workspaceId,
        assistantId: 'a',
        keyId: null,
        at: 1,
        speechCharacters: 1,
        transcriptionSeconds: 0,
      }),
    ),
  ];
  t.same(new Set(await Promise.all(steps.map(refused))), new Set(['refused']), when);
}

/**
 * Resolves with the answer of a step once the store gives one. It may refuse a workspace again after it has answered:
 * the primaries learn of a repair one after the other, and each that still knows of the move keeps the slot open.
 */
const answered = <Answer>(step: () => Promise<Answer>): Promise<Answer> =>
  until(() =>
    step().catch((error: unknown) => {
      if (error instanceof StoreUnavailable) return null;
      throw error;
    }),
  );

for (const durability of ['committed', 'replicated'] as const) {
  t.test(`slots that move, ${durability}`, { skip }, async (t) => {
    const cluster = await RedisCluster.start(15_000);
    t.teardown(() => cluster.stop());
    const { store, dispose } = await openStore(cluster.url, { durability });
    t.teardown(dispose);
    const furnished = async (): Promise<{ tenant: Tenant; move: SlotMove }> => {
      const tenant = new Tenant(store);
      await tenant.furnish();
      return { tenant, move: await SlotMove.of(cluster, tenant.scene.workspaceId) };
    };
    const whole = async (t: Test, tenant: Tenant): Promise<void> => {
      const missing = () => answered(() => tenant.missing());
      t.same(await missing(), []);
      await answered(() => tenant.create().then(() => true));
      t.same(await missing(), []);
    };

    await t.test('a workspace is refused while its slot moves, and is whole afterwards', async (t) => {
      const { tenant, move } = await furnished();
      await move.open();
      await isRefused(t, tenant, 'before the first key');
      await move.keys(7);
      await isRefused(t, tenant, 'with some keys moved');
      await move.keys();
      await isRefused(t, tenant, 'with all keys moved');
      await move.finish();
      await whole(t, tenant);
    });

    await t.test('a workspace is whole after its move was broken off and fixed', async (t) => {
      const { tenant, move } = await furnished();
      await move.open();
      await move.keys(7);
      await isRefused(t, tenant, 'before it is fixed');
      await move.fix();
      await whole(t, tenant);
    });

    await t.test(
      'a workspace is refused by a primary that forgot the move while another one has its keys',
      async (t) => {
        const { tenant, move } = await furnished();
        await move.open();
        await move.keys(7);
        await isRefused(t, tenant, 'while both know of the move');
        await move.stable(move.source);
        await isRefused(t, tenant, 'when the source has forgotten it');
        await move.fix();
        await whole(t, tenant);
      },
    );

    await t.test('a workspace is refused by a replica that took over in the middle of a move', async (t) => {
      const { tenant, move } = await furnished();
      await move.open();
      await move.keys(7);
      const [replica] = await cluster.replicasOf(move.source);
      await until(async () => {
        await replica!.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
        return (await replica!.command('ROLE')).startsWith('master');
      });
      await isRefused(t, tenant, 'before it is fixed');
      await move.fix();
      await whole(t, tenant);
    });
  });
}
