/** Modes of the embedded store's files: for their owner alone, also in a folder that others may enter. */
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { LmdbSnapshot } from '../../src/store/lmdb/snapshot.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { temporaryFolder } from '../folders.ts';
import { startServer } from '../process.ts';
import { workspace } from './fixtures.ts';

const skip = process.platform === 'win32' && 'the system has no modes';

const modesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]),
  );

const databaseModes = (folder: string): (string | undefined)[] => {
  const modes = modesIn(folder);
  return [modes['data.mdb'], modes['lock.mdb']];
};

t.test('the store makes its files for their owner alone, whatever the umask', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  chmodSync(folder, 0o755);
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const store = lmdbStore(folder);
  await store.open(Date.now());
  await store.catalog.create('workspace', workspace());
  t.same(new Set(Object.values(modesIn(folder))), new Set(['600']), Object.keys(modesIn(folder)).join());
  await store.close();
  t.same(databaseModes(folder), ['600', '600']);

  rmSync(join(folder, 'lock.mdb'));
  const snapshot = new LmdbSnapshot(folder);
  await snapshot.open();
  await snapshot.close();
  t.same(databaseModes(folder), ['600', '600'], 'a reader makes the lock file alike');
});

t.test('the store closes files to others that an earlier version left open', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const first = lmdbStore(folder);
  await first.open(Date.now());
  const own = workspace();
  await first.catalog.create('workspace', own);
  await first.close();
  for (const mode of [0o644, 0o640, 0o666]) {
    for (const name of ['data.mdb', 'lock.mdb']) chmodSync(join(folder, name), mode);
    const store = lmdbStore(folder);
    await store.open(Date.now());
    t.same(databaseModes(folder), ['600', '600']);
    t.ok(await store.catalog.read('workspace', own.id, own.id), 'its rows are there');
    await store.close();
  }
});

t.test('a server in an existing folder that others may enter keeps its files to itself', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  mkdirSync(join(folder, 'data'), { mode: 0o755 });
  const server = await startServer(t, { folder });
  t.same(new Set(Object.values(modesIn(join(folder, 'data')))), new Set(['600']));
  await server.stop();
  t.same(new Set(Object.values(modesIn(join(folder, 'data')))), new Set(['600']));
});
