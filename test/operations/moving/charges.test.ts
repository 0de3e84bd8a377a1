/** A turn in flight is moved without its charges to limits, which are not moved. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { exportTo, importFrom } from '../../../src/operations/moving.ts';
import { temporaryFolder } from '../../folders.ts';
import { ids, Scene, workspace } from '../../store/fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { inFolder, inMemory, onRedis, opened, type MakePlace } from './places.ts';

const secret = 'a secret of thirty-two characters';

const redis = whyNoRedis() === null ? await RedisServer.start(...appendOnly) : null;
if (redis !== null) t.teardown(() => redis.stop());
const places: Record<string, MakePlace> = {
  memory: inMemory,
  lmdb: inFolder,
  ...(redis !== null && { redis: onRedis(redis.url) }),
};

for (const [name, make] of Object.entries(places)) {
  t.test(`a turn in flight on ${name} that has charges is exported and imported without them`, async (t) => {
    const [here, there, folder] = [await make(t), await make(t), await temporaryFolder(t)];
    await opened(here, async (store) => {
      const scene = new Scene(store, Date.now());
      await store.catalog.create('workspace', workspace({ id: scene.workspaceId }));
      const before = await scene.created();
      const step = scene.beginStep(before, 1);
      const reserved = { keyId: ids.make('key'), dayMs: 0, tokens: 1000 };
      const link = { before: null, taken: [], addresses: [{ dayMs: 0, key: 'address' }] };
      const begun = await store.turns.begin({ ...step, turn: { ...step.turn, reserved, link } });
      t.equal(begun.outcome, 'begun');
      t.same((await store.turns.read(scene.workspaceId, before.id, step.turn.id))?.reserved, reserved);
    });
    const [source, out] = [here.source(), join(folder, 'out.jsonl')];
    await source.open();
    await exportTo({ source, secret, version: '1', clock: new WheelClock(), ids, out, onRows: () => {} });
    await source.close();
    const turn = (await readFile(out, 'utf8')).split('\n').find((line) => line.startsWith('{"type":"turn"'))!;
    t.notMatch(turn, /reserved|address/);
    const { rows } = await importFrom({ target: there.target(), secret, from: out, onRows: () => {} });
    t.ok(rows > 0);
  });
}
