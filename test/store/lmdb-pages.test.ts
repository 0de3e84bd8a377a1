/** A walk through LMDB's file finds each row of a sound one, and the pages of a damaged one. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import t, { type Test } from 'tap';
import { walkPages } from '../../src/store/lmdb/pages.ts';
import { temporaryFolder } from '../folders.ts';
import { Random } from '../simulate/random.ts';

type Database = RootDatabase<Buffer, string>;

async function opened(t: Test, options: object = {}): Promise<{ database: Database; file: string; folder: string }> {
  const folder = await temporaryFolder(t);
  const settings = { path: folder, noSubdir: false, encoding: 'binary', overlappingSync: true, ...options } as const;
  return { database: open<Buffer, string>(settings), file: join(folder, 'data.mdb'), folder };
}

/** Changes rows at random, small and large, in a transaction. */
const change = (database: Database, random: Random): Promise<unknown> =>
  database.batch(() => {
    for (let count = 0; count < 300; count++) {
      const key = `row ${random.between(0, 5_000)}/${'é'.repeat(random.between(0, 20))}`;
      const length = random.chance(0.05) ? random.between(3_000, 40_000) : random.between(0, 600);
      void (random.chance(0.3) ? database.remove(key) : database.put(key, Buffer.alloc(length, 1)));
    }
  });

const whole = { isCut: false, problem: null, hasEarlier: false };
const never = (): boolean => false;
const rowsIn = (database: Database): number => [...database.getKeys({})].length;

t.test('each row of a file that LMDB has written is met, whatever the size of its pages', async (t) => {
  for (const options of [{}, { pageSize: 8192 }, { pageSize: 32_768 }, { overlappingSync: false }]) {
    const { database, file } = await opened(t, options);
    const random = new Random(7);
    t.same(walkPages(file, never), { rows: 0, ...whole }, `new, ${JSON.stringify(options)}`);
    for (let round = 0; round < 8; round++) {
      await change(database, random);
      const expected = { rows: rowsIn(database), ...whole };
      t.same(walkPages(file, never), expected, `after ${round + 1} transactions, ${JSON.stringify(options)}`);
    }
    const rows = rowsIn(database);
    await database.close();
    t.same(walkPages(file, never), { rows, ...whole }, `closed, ${JSON.stringify(options)}`);
  }
});

t.test('a walk whose time has ended says so', async (t) => {
  const { database, file } = await opened(t);
  for (let round = 0; round < 5; round++) await change(database, new Random(round));
  await database.close();
  let looks = 0;
  const { rows, isCut, problem } = walkPages(file, () => ++looks > 10);
  t.ok(rows > 0 && isCut && problem === null);
});

/** The file of a closed database with some thousand rows, and what is in it. */
async function sound(t: Test): Promise<{ file: string; bytes: Buffer }> {
  const { database, file } = await opened(t);
  for (let round = 0; round < 8; round++) await change(database, new Random(round));
  await database.close();
  return { file, bytes: readFileSync(file) };
}

const pageBytes = 4096;

t.test('a page of zeros, of another place or of other bytes is a problem if a row needs it', async (t) => {
  const { file, bytes } = await sound(t);
  const pages = bytes.length / pageBytes;
  const { rows } = walkPages(file, never);
  const damages: readonly ((page: Buffer, number: number) => void)[] = [
    (page) => void page.fill(0),
    (page) => void page.fill(0x5a),
    (page, number) => void bytes.copy(page, 0, (number === 2 ? 3 : 2) * pageBytes),
  ];
  for (const [kind, damage] of damages.entries()) {
    let found = 0;
    for (let number = 2; number < pages; number += 29) {
      const damaged = Buffer.from(bytes);
      damage(damaged.subarray(number * pageBytes, (number + 1) * pageBytes), number);
      writeFileSync(file, damaged);
      const walked = walkPages(file, never);
      if (walked.problem !== null) found++;
      else t.equal(walked.rows, rows, `damage ${kind} of page ${number}, which no row needs`);
    }
    t.ok(found > 10, `damage ${kind} was found ${found} times`);
  }
  const short = bytes.subarray(0, Math.floor(pages / 2) * pageBytes);
  writeFileSync(file, short);
  t.match(walkPages(file, never).problem, /was cut before page|another page/);
});

t.test('a copy that was made while LMDB wrote is whole, or has a problem', async (t) => {
  const { database, file } = await opened(t);
  const random = new Random(3);
  for (let round = 0; round < 20; round++) await change(database, random);
  let torn = 0;
  for (let copy = 0; copy < 10; copy++) {
    const [rows, before] = [rowsIn(database), readFileSync(file)];
    for (let round = 0; round < 1 + copy; round++) await change(database, random);
    const after = readFileSync(file);
    // The beginning has been read, and then the rest.
    const split = Math.floor((before.length * (copy % 3)) / 3 / pageBytes + 2) * pageBytes;
    const mixed = join(await temporaryFolder(t), 'data.mdb');
    writeFileSync(mixed, Buffer.concat([before.subarray(0, split), after.subarray(split)]));
    const { problem, rows: walked } = walkPages(mixed, never);
    if (problem !== null) torn++;
    else t.equal(walked, rows, 'a state that was');
  }
  t.ok(torn > 5, `${torn} of 10 copies are torn`);
  await database.close();
});
