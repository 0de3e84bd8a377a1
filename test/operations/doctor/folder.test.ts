/** Data folders with each of the faults that the doctor knows. */
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { open } from 'lmdb';
import t from 'tap';
import { diskRoom, filesystemKind } from '../../../src/operations/doctor/filesystem.ts';
import { lmdbStore } from '../../../src/store/lmdb.ts';
import type { Store } from '../../../src/store/store.ts';
import { openVault } from '../../../src/access/vault.ts';
import { temporaryFolder } from '../../folders.ts';
import { startServer } from '../../process.ts';
import { credential, ids, Scene, workspace } from '../../store/fixtures.ts';
import { diagnose, secret, type Diagnosed } from './diagnosis.ts';

const nowMs = Date.now();

/** Settings that leave the secrets to the folder. */
const kept = { PARLEY_SECRET: '', PARLEY_OPERATOR_TOKEN: '' };

const examined = (folder: string, environment: Readonly<Record<string, string>> = {}): Promise<Diagnosed> =>
  diagnose({ PARLEY_STORE: `lmdb:${folder}`, ...environment });

/** Leaves out findings about the place of the test's folder. */
const unwell = ({ unwell }: Diagnosed): string[] =>
  unwell.filter((one) => !['warn filesystem', 'warn disk'].includes(one));

async function stored(folder: string, run: (store: Store) => Promise<unknown>): Promise<void> {
  const store = lmdbStore(folder);
  await store.open(nowMs);
  await run(store);
  await store.close();
  await chmod(folder, 0o700);
}

t.test('a folder that is not there yet, or is empty, is well and stays as it is', async (t) => {
  const above = await temporaryFolder(t);
  const folder = join(above, 'not', 'there');
  const found = await examined(folder, kept);
  t.same(unwell(found), []);
  t.match(found.of('folder').found, 'the first start makes it');
  t.same(await readdir(above), []);
  const empty = await examined(above, kept);
  t.same(unwell(empty), []);
  t.match(empty.of('store').found, 'empty');
  t.match(empty.of('secret').found, 'the next start makes');
  t.same(await readdir(above), []);
});

t.test('reading a store at rest leaves it unchanged', async (t) => {
  const folder = await temporaryFolder(t);
  const own = workspace();
  await stored(folder, async (store) => {
    await store.catalog.create('workspace', own);
    const draft = credential(own.id);
    await store.catalog.create('credential', { ...draft, sealed: openVault(secret, ids).seal(draft, 'sk-1') });
    // A turn in flight, whose lease an opening of the store would make void.
    await new Scene(store, nowMs).streaming();
  });
  const before = await readFile(join(folder, 'data.mdb'));
  const found = await examined(folder);
  t.same(unwell(found), []);
  t.equal(found.of('credentials').found, 'all 1 open with PARLEY_SECRET');
  t.equal(found.of('format').found, 'one workspace reads well');
  t.match(found.of('disk').found, /free, the store has \d+\.\d [KM]iB/);
  t.ok(before.equals(await readFile(join(folder, 'data.mdb'))));
  t.match((await examined(folder, { PARLEY_SECRET: 'another secret of thirty-two characters' })).of('credentials'), {
    status: 'fail',
    found: /^1 of 1 do not open/,
  });
  t.match((await examined(folder, kept)).of('credentials'), {
    status: 'fail',
    found: /no PARLEY_SECRET to open them with/,
  });
});

t.test('secrets: for the owner alone, and not empty', { skip: process.platform === 'win32' }, async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'secret'), `${secret}\n`, { mode: 0o644 });
  await writeFile(join(folder, 'operator-token'), '', { mode: 0o600 });
  await chmod(folder, 0o755);
  const found = await examined(folder, kept);
  t.same(unwell(found), ['warn folder', 'warn secret', 'fail operator-token']);
  t.equal(found.of('folder').advice, `chmod 700 ${folder}`);
  t.equal(found.of('secret').advice, `chmod 600 ${join(folder, 'secret')}`);
  await chmod(folder, 0o700);
  await chmod(join(folder, 'secret'), 0o600);
  await writeFile(join(folder, 'operator-token'), 'short\n');
  t.match((await examined(folder, kept)).of('operator-token'), {
    status: 'fail',
    found: /has fewer than 24 characters/,
  });
  await writeFile(join(folder, 'operator-token'), 'operator-token-of-the-tests\n');
  t.same(unwell(await examined(folder, kept)), []);
  await writeFile(join(folder, 'secret'), 'five5\n');
  t.match((await examined(folder, kept)).of('secret'), { status: 'fail', found: /has fewer than 32 characters/ });
  await rm(join(folder, 'secret'));
  await mkdir(join(folder, 'secret'));
  t.match((await examined(folder, kept)).of('secret'), { status: 'fail', found: /secret is a folder$/ });
  await rm(join(folder, 'secret'), { recursive: true });
  await writeFile(join(folder, 'secret'), `${secret}\n`, { mode: 0o600 });
  t.equal((await stat(join(folder, 'secret'))).mode & 0o777, 0o600);
});

t.test(
  'files of the store that others may read are named, with the command that closes them',
  { skip: process.platform === 'win32' },
  async (t) => {
    const folder = await temporaryFolder(t);
    await stored(folder, (store) => store.catalog.create('workspace', workspace()));
    t.equal((await examined(folder)).of('files').status, 'ok');
    await chmod(join(folder, 'data.mdb'), 0o644);
    t.match((await examined(folder)).of('files'), {
      status: 'warn',
      found: 'data.mdb is open to other users (mode 644)',
      advice: `chmod 600 ${join(folder, 'data.mdb')}`,
    });
    await chmod(join(folder, 'lock.mdb'), 0o640);
    t.match((await examined(folder)).of('files'), {
      status: 'warn',
      found: /data\.mdb .*lock\.mdb/,
      advice: `chmod 600 ${join(folder, 'data.mdb')} ${join(folder, 'lock.mdb')}`,
    });
    await stored(folder, async () => {});
    t.equal((await examined(folder)).of('files').status, 'ok', 'a start closes them');
  },
);

t.test('a path that is no folder, or cannot be used', async (t) => {
  const above = await temporaryFolder(t);
  await writeFile(join(above, 'file'), '');
  t.match((await examined(join(above, 'file'))).of('folder'), { status: 'fail', found: /is not a folder/ });
  t.match((await examined(join(above, 'file', 'data'))).of('folder'), { status: 'fail', found: /ENOTDIR/ });
  if (process.getuid?.() === 0) return;
  await mkdir(join(above, 'closed'), { mode: 0o500 });
  t.match((await examined(join(above, 'closed'))).of('folder'), { status: 'fail', found: /EACCES/, advice: /chown/ });
  t.match((await examined(join(above, 'closed', 'data'))).of('folder'), { status: 'fail', found: /cannot be made/ });
});

t.test('folders that hold no store', async (t) => {
  const folder = await temporaryFolder(t);
  for (const content of ['garbage', 'garbage '.repeat(10_000)]) {
    await writeFile(join(folder, 'data.mdb'), content);
    t.match((await examined(folder)).of('store'), { status: 'fail', found: /is not an LMDB database/ });
  }
  await writeFile(join(folder, 'data.mdb'), '');
  t.match((await examined(folder)).of('store'), { status: 'warn', found: /is empty; the next start begins an empty/ });
  for (const name of ['journal-end', 'journal-000000000000012']) {
    const other = await temporaryFolder(t);
    await writeFile(join(other, name), '000000000000020 name\n');
    const found = `is missing or empty, and ${name} beside it needs it`;
    t.match((await examined(other)).of('store'), { status: 'fail', found });
    await writeFile(join(other, 'data.mdb'), '');
    t.match((await examined(other)).of('store'), { status: 'fail', found });
  }
});

t.test('pages that are not as LMDB wrote them', async (t) => {
  const folder = await temporaryFolder(t);
  await stored(folder, async (store) => {
    for (let count = 0; count < 300; count++) await store.catalog.create('workspace', workspace());
  });
  t.same(unwell(await examined(folder)), []);
  const file = join(folder, 'data.mdb');
  const bytes = await readFile(file);
  const pageBytes = 4096;
  const named: string[] = [];
  for (let from = 2 * pageBytes; from < bytes.length && named.length < 3; from += pageBytes) {
    await writeFile(file, Buffer.from(bytes).fill(0, from, from + pageBytes));
    const { status, found, advice = '' } = (await examined(folder)).of('store');
    if (status === 'ok') continue;
    t.match(advice, 'ring back the last good copy of the');
    if (found.includes(`data.mdb has another page ${from / pageBytes} than LMDB wrote there`)) named.push(found);
  }
  t.equal(named.length, 3, 'pages that rows need are named');
});

t.test('rows of a later version', async (t) => {
  const folder = await temporaryFolder(t);
  const own = workspace();
  await stored(folder, (store) => store.catalog.create('workspace', own));
  const raw = open<Buffer, string>({ path: folder, noSubdir: false, encoding: 'binary' });
  await raw.put(`workspace/${own.id}`, Buffer.of(0x92, 9, 0x80));
  await raw.close();
  t.match((await examined(folder)).of('format'), {
    status: 'fail',
    found: /format 9; this version reads formats up to 2/,
    advice: /later version/,
  });
});

t.test('a store that a parley runs on: named, not looked into, not disturbed', async (t) => {
  const server = await startServer(t, { env: { PARLEY_SECRET: secret } });
  const folder = join(server.folder, 'data');
  const port = new URL(server.url).port;
  const found = await examined(folder, { ...kept, PORT: port });
  t.same(unwell(found), []);
  t.equal(
    found.of('store').found,
    `in use by a running parley (process ${server.child.pid}); its rows were not checked`,
  );
  t.equal(found.of('format').status, 'not looked at');
  t.equal(found.of('port').found, `${port} on 127.0.0.1 is served by a parley, which is ready`);
  const headers = { authorization: `Bearer ${server.operatorToken}`, 'content-type': 'application/json' };
  const made = await fetch(`${server.url}/console/api/workspaces`, {
    method: 'POST',
    headers,
    body: '{"name":"second"}',
  });
  t.equal(made.status, 201);
  await server.kill('SIGKILL');

  const files = async (): Promise<[string, Buffer][]> => {
    const names = (await readdir(folder)).filter((name) => name !== 'lock.mdb').sort();
    return Promise.all(
      names.map(async (name): Promise<[string, Buffer]> => [name, await readFile(join(folder, name))]),
    );
  };
  const before = await files();
  const left = await examined(folder, { PARLEY_SECRET: secret });
  t.ok(
    before.some(([name]) => name.startsWith('journal-')),
    'some of it lies in the journal',
  );
  t.same(await files(), before, 'which stays as it was');
  t.same(unwell(left), []);
  t.match(left.of('store').found, /^opens, its \d+ rows read well, and no parley runs on it$/);
  t.equal(left.of('format').found, '2 workspaces read well');
  const again = await startServer(t, { folder: server.folder, env: { PARLEY_SECRET: secret } });
  t.equal(again.key, null, 'the store is as it was left');
  t.same(await again.stop(), { code: 0, signal: null });
});

t.test('doctor reports the filesystem of the folder and its free space', async (t) => {
  t.equal(filesystemKind(0xef53).status, 'ok');
  t.match(filesystemKind(0x6969), { status: 'warn', found: /^NFS/ });
  t.match(filesystemKind(0x01021994), { status: 'warn', found: /^tmpfs/ });
  t.same(diskRoom(50 * 1024 ** 3, 4096), { status: 'ok', found: '50.0 GiB free, the store has 4.0 KiB' });
  t.match(diskRoom(500 * 1024 ** 2, 0), { status: 'warn', found: '500.0 MiB free, the store has 0 B' });
  t.equal(diskRoom(1024, 0).status, 'fail');
});

t.test('a store without its lock file is read without making one', async (t) => {
  const folder = await temporaryFolder(t);
  await stored(folder, (store) => store.catalog.create('workspace', workspace()));
  await rm(join(folder, 'lock.mdb'));
  const found = await examined(folder);
  t.same(unwell(found), []);
  t.match(found.of('store').found, /^opens, its \d+ rows read well, and no parley runs on it$/);
  t.equal(found.of('format').found, 'one workspace reads well');
  t.same(await readdir(folder), ['data.mdb']);
});
