/** Webhooks and their deliveries as the doctor reads them, sound and damaged, on LMDB and on Redis. */
import { chmod } from 'node:fs/promises';
import { open } from 'lmdb';
import t, { type Test } from 'tap';
import { packRow, unpackRow } from '../../../src/store/codec.ts';
import { lmdbStore } from '../../../src/store/lmdb.ts';
import type { Store, StoredDelivery, Webhook } from '../../../src/store/store.ts';
import { openVault, webhookHolder } from '../../../src/access/vault.ts';
import { temporaryFolder } from '../../folders.ts';
import { ids, Scene, webhook, workspace } from '../../store/fixtures.ts';
import { appendOnly, whyNoRedis } from '../../store/redis-server.ts';
import { diagnose, secret, type Diagnosed } from './diagnosis.ts';
import { examined, redis, stored } from './redis-support.ts';

const hourMs = 3600_000;
const lost = 'claims find it, and its record is missing or due at another time';

/** A store that is examined, and its rows as a hand may change them. */
interface Ground {
  /** Runs with the store open. */
  store(run: (store: Store) => Promise<void>): Promise<void>;
  examine(): Promise<Diagnosed>;
  /** Replaces the fields of a delivery's record; its place among those that wait stays. */
  change(row: Row, fields: Partial<StoredDelivery>): Promise<void>;
  /** Removes a delivery from those that wait. */
  hide(row: Row): Promise<void>;
  /** Removes the record of a delivery. */
  lose(row: Row): Promise<void>;
  /** Removes the record of a webhook. */
  removeWebhook(webhook: Webhook): Promise<void>;
}

type Row = Pick<StoredDelivery, 'workspaceId' | 'webhookId' | 'id' | 'nextAtMs'>;

async function lmdbGround(t: Test): Promise<Ground> {
  const folder = await temporaryFolder(t);
  const rows = async (run: (rows: ReturnType<typeof open<Buffer, string>>) => Promise<unknown>): Promise<void> => {
    const database = open<Buffer, string>({ path: folder, noSubdir: false, encoding: 'binary' });
    await run(database);
    await database.close();
  };
  const keyOf = ({ workspaceId, webhookId, id }: Row): string => `delivery/${workspaceId}/${webhookId}/${id}`;
  return {
    async store(run) {
      const store = lmdbStore(folder);
      await store.open(Date.now());
      await run(store);
      await store.close();
      await chmod(folder, 0o700);
    },
    examine: () => diagnose({ PARLEY_STORE: `lmdb:${folder}` }),
    change: (row, fields) =>
      rows((database) => {
        const record = unpackRow<StoredDelivery>(database.get(keyOf(row))!);
        return database.put(keyOf(row), Buffer.from(packRow({ ...record, ...fields })));
      }),
    hide: ({ workspaceId, webhookId, id, nextAtMs }) =>
      rows((database) =>
        database.remove(`delivery-due/${workspaceId}/${webhookId}/${String(nextAtMs).padStart(15, '0')}/${id}`),
      ),
    lose: (row) => rows((database) => database.remove(keyOf(row))),
    removeWebhook: ({ workspaceId, id }) => rows((database) => database.remove(`webhook/${workspaceId}/${id}`)),
  };
}

async function redisGround(t: Test): Promise<Ground> {
  const server = await redis(t, ...appendOnly);
  const keyOf = ({ workspaceId, webhookId }: Row): string => `parley:{${workspaceId}}:deliveries:${webhookId}`;
  return {
    store: (run) => stored(server.url, run),
    examine: () => examined(server),
    async change(row, { type, body, status = 'pending', nextAtMs = row.nextAtMs }) {
      if (body !== undefined) await server.command('HSET', keyOf(row), row.id, `${type ?? 'turn.completed'}  ${body}`);
      else await server.command('HSET', keyOf(row), `${row.id}/state`, `${status} 0 ${nextAtMs ?? ''}`);
    },
    hide: async (row) => void (await server.command('ZREM', `${keyOf(row)}:due`, row.id)),
    lose: async (row) => void (await server.command('HDEL', keyOf(row), row.id)),
    async removeWebhook({ workspaceId, id }) {
      await server.command('ZREM', `parley:{${workspaceId}}:webhook:ids`, id);
      await server.command('HDEL', `parley:{${workspaceId}}:webhook`, id, `${id}/version`);
    },
  };
}

const grounds: Readonly<Record<string, readonly [(t: Test) => Promise<Ground>, skip: string | false]>> = {
  lmdb: [lmdbGround, false],
  redis: [redisGround, whyNoRedis() ?? false],
};

/** Creates a webhook. */
async function hooked(scene: Scene, over: Partial<Webhook> = {}): Promise<Webhook> {
  const draft = webhook(scene.workspaceId, over);
  const made = { ...draft, sealed: openVault(secret, ids).seal(webhookHolder(draft), 'whsec_1') };
  await scene.store.catalog.create('webhook', made);
  return made;
}

/** Ends turns, each an event. */
async function endTurns(scene: Scene, count: number): Promise<void> {
  for (; count > 0; count--) {
    const begun = await scene.streaming();
    await scene.store.turns.finish(begun.finishStep());
  }
}

/** Stores a webhook with an event, and returns both. */
async function hookedOnce(ground: Ground, nowMs = Date.now()): Promise<{ webhook: Webhook; row: Row }> {
  let made: Webhook;
  let row: Row;
  await ground.store(async (store) => {
    const scene = new Scene(store, nowMs);
    await scene.store.catalog.create('workspace', { ...workspace(), id: scene.workspaceId });
    made = await hooked(scene);
    await endTurns(scene, 1);
    row = (await store.webhooks.list(scene.workspaceId, made.id))[0]!;
  });
  return { webhook: made!, row: row! };
}

for (const [name, [open, skip]] of Object.entries(grounds)) {
  t.test(`${name}: no webhook, and webhooks whose events wait, are well`, { skip }, async (t) => {
    const ground = await open(t);
    await ground.store(async (store) => {
      const scene = new Scene(store, Date.now());
      await store.catalog.create('workspace', { ...workspace(), id: scene.workspaceId });
    });
    const empty = await ground.examine();
    t.match(
      [empty.of('webhooks'), empty.of('deliveries')],
      [
        { status: 'ok', found: 'none is stored' },
        { status: 'ok', found: 'none is stored' },
      ],
    );
    const { row } = await hookedOnce(ground);
    const found = await ground.examine();
    t.match(found.of('webhooks'), { status: 'ok', found: '1 stored, none disabled by failures' });
    t.equal(found.of('deliveries').status, 'ok');
    t.match(found.of('deliveries').found, /^1 of 1 wait, the oldest since 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ \(dlv_/);
    t.match(found.of('deliveries').found, row.id);
  });

  t.test(
    `${name}: a delivery that should have been sent an hour ago is a warning with its age`,
    { skip },
    async (t) => {
      const ground = await open(t);
      const atMs = Date.now() - hourMs;
      await hookedOnce(ground, atMs);
      t.match((await ground.examine()).of('deliveries'), {
        status: 'warn',
        found: new RegExp(`the oldest since ${new Date(atMs).toISOString().slice(0, 16)}.*; 1 should have been sent$`),
        advice: /start it/,
      });
    },
  );

  t.test(`${name}: a webhook that failures have disabled is named with its time`, { skip }, async (t) => {
    const ground = await open(t);
    let disabled: Webhook;
    await ground.store(async (store) => {
      const scene = new Scene(store, Date.now());
      await store.catalog.create('workspace', { ...workspace(), id: scene.workspaceId });
      await hooked(scene);
      // A person disabled this one: it has no failures.
      await hooked(scene, { enabled: false });
      disabled = await hooked(scene, { enabled: false, failingSinceMs: Date.UTC(2026, 10, 20, 9, 30) });
    });
    t.match((await ground.examine()).of('webhooks'), {
      status: 'warn',
      found: `1 of 3 disabled by failures (${disabled!.id}, failing since 2026-11-20T09:30:00Z)`,
      advice: /parley webhooks enable/,
    });
  });

  t.test(`${name}: deliveries of a webhook that is gone are a warning`, { skip }, async (t) => {
    const ground = await open(t);
    const { webhook, row } = await hookedOnce(ground);
    await ground.removeWebhook(webhook);
    t.match((await ground.examine()).of('deliveries'), {
      status: 'warn',
      found: `1 of 1 belong to no webhook (${row.id} of ${webhook.id})`,
    });
  });

  const damages: Readonly<Record<string, readonly [(ground: Ground, row: Row) => Promise<void>, found: string]>> = {
    'with an unknown status': [
      (ground, row) => ground.change(row, { status: 'sent' as 'pending' }),
      'record.status must be ',
    ],
    'whose body is no JSON': [(ground, row) => ground.change(row, { body: '{"type"' }), 'its body is no event '],
    'that waits and is not found': [(ground, row) => ground.hide(row), 'it waits, and claims do not find it'],
    'that has ended and is found': [
      (ground, row) => ground.change(row, { status: 'delivered', nextAtMs: null }),
      name === 'redis' ? 'it is delivered, and claims find it' : lost,
    ],
    'that is missing': [(ground, row) => ground.lose(row), lost],
  };
  for (const [what, [damage, problem]] of Object.entries(damages))
    t.test(`${name}: a delivery ${what} is a failure that names it`, { skip }, async (t) => {
      const ground = await open(t);
      const { row, webhook } = await hookedOnce(ground);
      await damage(ground, row);
      const { found, status, advice } = (await ground.examine()).of('deliveries');
      t.equal(status, 'fail');
      t.match(found, /^1 of \d damaged \(/);
      t.ok(found.includes(`${row.id} of ${webhook.id}: ${problem}`), found);
      t.match(advice, /last good copy/);
    });
}
