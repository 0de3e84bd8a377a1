/** A data file that LMDB would end the process for is refused in one sentence, and none that LMDB has written is. */
import { randomBytes } from 'node:crypto';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'lmdb';
import t, { type Test } from 'tap';
import { dataFile } from '../../src/store/lmdb/files.ts';
import { headerProblem } from '../../src/store/lmdb/header.ts';
import { LmdbSnapshot } from '../../src/store/lmdb/snapshot.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { temporaryFolder } from '../folders.ts';
import { Scene } from './fixtures.ts';

const nowMs = Date.now();

/** Changes the bytes of a file. */
const change = (folder: string, with_: (bytes: Buffer) => void): void => {
  const bytes = readFileSync(dataFile(folder));
  with_(bytes);
  writeFileSync(dataFile(folder), bytes);
};

async function filled(t: Test): Promise<string> {
  const folder = await temporaryFolder(t);
  const store = lmdbStore(folder);
  await store.open(nowMs);
  await (await new Scene(store, nowMs).streaming()).append(0, 'text');
  await store.close();
  return folder;
}

t.test('what LMDB writes passes', async (t) => {
  const folder = await temporaryFolder(t);
  t.equal(headerProblem(dataFile(folder)), null, 'no file');
  writeFileSync(dataFile(folder), '');
  t.equal(headerProblem(dataFile(folder)), null, 'an empty file');
  t.equal(headerProblem(dataFile(await filled(t))), null, 'a store');
  for (const options of [
    {},
    { pageSize: 8192 },
    { pageSize: 32_768 },
    { overlappingSync: false },
    { encryptionKey: 'x'.repeat(32) },
  ]) {
    const other = await temporaryFolder(t);
    const database = open<Buffer, string>({
      path: other,
      noSubdir: false,
      encoding: 'binary',
      overlappingSync: true,
      ...options,
    });
    t.equal(headerProblem(dataFile(other)), null, `new, ${JSON.stringify(options)}`);
    for (let round = 0; round < 5; round++) {
      await database.batch(() => {
        for (let row = 0; row < 100; row++)
          void ((row + round) % 3 === 0
            ? database.remove(`row ${row}`)
            : database.put(`row ${row}`, Buffer.alloc(row * 50)));
      });
      t.equal(headerProblem(dataFile(other)), null, `written ${round + 1} times, ${JSON.stringify(options)}`);
    }
    await database.close();
    t.equal(headerProblem(dataFile(other)), null, `closed, ${JSON.stringify(options)}`);
  }
});

t.test('what ends LMDB is refused by all that open a folder', async (t) => {
  const damages: Readonly<Record<string, readonly [problem: string, damage: (folder: string) => void]>> = {
    'random bytes': [
      'is not an LMDB database',
      (folder) => change(folder, (bytes) => void randomBytes(bytes.length).copy(bytes)),
    ],
    'another program’s file': [
      'is not an LMDB database',
      (folder) => writeFileSync(dataFile(folder), 'garbage '.repeat(10_000)),
    ],
    'a few bytes': ['is not an LMDB database', (folder) => writeFileSync(dataFile(folder), 'garbage')],
    'a page of zeros': ['is not an LMDB database', (folder) => change(folder, (bytes) => void bytes.fill(0, 0, 4096))],
    'another version': [
      'is an LMDB database of another version',
      (folder) => change(folder, (bytes) => void bytes.writeUInt32LE(1, 28)),
    ],
    'an impossible size of pages': [
      'is a damaged LMDB database',
      (folder) => change(folder, (bytes) => void bytes.writeUInt32LE(3, 48)),
    ],
    'half a page': [
      'is a damaged LMDB database',
      (folder) => change(folder, (bytes) => void bytes.fill(0xa5, bytes.readUInt32LE(48) / 2, bytes.readUInt32LE(48))),
    ],
    'one page': ['was cut short', (folder) => truncateSync(dataFile(folder), 4096)],
    'no page but the first two': [
      'was cut short',
      (folder) => truncateSync(dataFile(folder), 2 * readFileSync(dataFile(folder)).readUInt32LE(48)),
    ],
  };
  for (const [name, [problem, damage]] of Object.entries(damages)) {
    const folder = await filled(t);
    damage(folder);
    const message = `The file ${dataFile(folder)} ${problem}. Bring back the last good copy of the folder, or name an empty folder.`;
    await t.rejects(lmdbStore(folder).open(nowMs), { message }, name);
    await t.rejects(new LmdbSnapshot(folder).open(), { message }, name);
  }
});
