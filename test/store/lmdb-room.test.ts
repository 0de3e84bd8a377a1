/** Room for a transaction is asked for before it begins: lmdb does not survive a write that the disk rejects. */
import { rmSync, statSync } from 'node:fs';
import t from 'tap';
import { AppendedBytes, type Write } from '../../src/store/engine.ts';
import { LmdbEngine } from '../../src/store/lmdb.ts';
import { dataFile } from '../../src/store/lmdb/files.ts';
import { bytesNeeded } from '../../src/store/lmdb/room.ts';
import { temporaryFolder } from '../folders.ts';
import { Random } from '../simulate/random.ts';
import { ballastOf, fill, lackingDisk, smallDisk } from '../small-disk.ts';

t.test('no transaction adds more to the file than was asked for', async (t) => {
  const folder = await temporaryFolder(t);
  const engine = new LmdbEngine(folder);
  await engine.open();
  const random = new Random(1);
  for (let batch = 0; batch < 200; batch += 1) {
    const rows = Array.from({ length: random.between(1, 64) }, (): [string, Buffer | null] => {
      const key = `${'k'.repeat(random.between(1, 400))}${random.between(0, 1e6)}`;
      return [key, random.chance(0.2) ? null : Buffer.alloc(random.between(0, random.chance(0.1) ? 50_000 : 500))];
    });
    const before = statSync(dataFile(folder)).size;
    await engine.write(rows);
    const grown = statSync(dataFile(folder)).size - before;
    if (grown > bytesNeeded(rows)) t.fail(`batch ${batch} of ${rows.length} rows added ${grown} bytes`);
  }
  t.pass('200 batches');
  await engine.close();
});

t.test(
  'a full disk is an error before the transaction, and no longer once there is room',
  { skip: lackingDisk() ?? false },
  async (t) => {
    const folder = await smallDisk(t, '4m');
    const engine = new LmdbEngine(folder);
    await engine.open();
    await engine.write([['key', Buffer.from('one')]]);
    await fill(folder);
    const more: Write[] = [
      ['key', new AppendedBytes([Buffer.from(', two')])],
      ['other', Buffer.from('three')],
    ];
    await t.rejects(engine.write(more), {
      code: 'ENOSPC',
      message: /^no space left on the disk: \d+ bytes are free, /,
    });
    t.same(engine.get('key'), Buffer.from('one'));
    t.equal(engine.get('other'), undefined);
    rmSync(ballastOf(folder));
    await engine.write(more);
    t.same(engine.get('key'), Buffer.from('one, two'));
    await engine.close();
  },
);
