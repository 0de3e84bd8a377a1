/** A journal that has lost records, by its file, and what its store says of it. */
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { MemoryEngine } from '../../src/store/memory.ts';
import { bounds, journals, keyOf, opened, put, readAll, type Run } from './journal-lives.ts';

/** A journal of three records in one file, and the offset of its second record. */
async function threeRecords(t: Test): Promise<{ run: Run; file: string; bytes: Buffer; second: number }> {
  const run = await opened(t);
  for (let turn = 0; turn < 3; turn++) await run.engine.write(put(turn, 'text'));
  const [file] = journals(run.folder);
  const bytes = readFileSync(file!);
  return { run, file: file!, bytes, second: 8 + bytes.readUInt32LE(4) };
}

const first = 'journal-000000000000000';

t.test('a damaged journal is refused by name, until its loss is accepted', async (t) => {
  const { run, file, bytes, second } = await threeRecords(t);
  bytes[second + 20]! ^= 1;
  writeFileSync(file, bytes);
  await t.rejects(run.reopen(), {
    message: new RegExp(
      `^The folder ${run.folder} is not whole: ${first} is damaged at record 1, and records follow it: .* PARLEY_ACCEPT_LOSS=${first} `,
    ),
  });
  await t.rejects(
    run.reopen({ acceptLoss: 'journal-000000000000001' }),
    { message: /is not whole/ },
    'the acceptance of another loss does not count',
  );
  t.same(readdirSync(run.folder).sort(), [first, 'journal-end'], 'the refusal changes nothing');
  t.ok(readFileSync(file).equals(bytes));
  await run.reopen({ acceptLoss: first });
  t.strictSame(readAll(run.engine), [[keyOf(0), 'text']], 'records after the missing one are not applied');
  await run.engine.close();
  t.strictSame(readdirSync(run.folder), [`rejected-${first}`], 'and the file is kept');
});

t.test('a last record that is damaged is refused, and one that was interrupted is not', async (t) => {
  const { run, file, bytes } = await threeRecords(t);
  bytes[bytes.length - 3]! ^= 1;
  writeFileSync(file, bytes);
  await t.rejects(run.reopen(), { message: /journal-000000000000000 is damaged at its last record, 2: / });
  for (const interrupted of [(all: Buffer) => all.subarray(0, -1), (all: Buffer) => all.fill(0, all.length - 5)]) {
    const { run, file, bytes } = await threeRecords(t);
    writeFileSync(file, interrupted(bytes));
    const note = join(run.folder, 'journal-end');
    writeFileSync(note, readFileSync(note, 'utf8').replace('000000000000003 ', '000000000000002 '));
    await run.reopen();
    t.strictSame(readAll(run.engine), [
      [keyOf(0), 'text'],
      [keyOf(1), 'text'],
    ]);
    await run.engine.close();
  }
});

t.test('a journal that was cut at its end is refused by name, until its loss is accepted', async (t) => {
  for (const records of [2, 1, 0]) {
    const { run, file, bytes, second } = await threeRecords(t);
    truncateSync(file, [0, second, bytes.length - 1][records]);
    await t.rejects(run.reopen(), {
      message: new RegExp(
        `${first} was cut before record ${records}, and had record 2: .* PARLEY_ACCEPT_LOSS=${first} `,
      ),
    });
    await t.rejects(run.reopen(), { message: /is not whole/ }, 'again');
    await run.reopen({ acceptLoss: first });
    t.equal(readAll(run.engine).length, records);
    await run.engine.write(put(9, 'later'));
    await run.reopen();
    t.equal(readAll(run.engine).length, records + 1, 'and what follows needs no acceptance');
    await run.engine.close();
    t.notOk(readdirSync(run.folder).includes('journal-end'), 'a store at rest has no such note');
  }
});

t.test(
  'a loss of power explains a journal that was cut at its end, and so does the note of another database',
  async (t) => {
    for (const how of ['power', 'note'] as const) {
      const { run, file, bytes, second } = await threeRecords(t);
      writeFileSync(file, bytes.subarray(0, second));
      if (how === 'note') writeFileSync(join(run.folder, 'journal-end'), '000000000000003 another\n');
      await run.reopen({ lostPower: how === 'power' });
      t.strictSame(readAll(run.engine), [[keyOf(0), 'text']]);
      await run.engine.close();
    }
  },
);

t.test('a journal without its first file, or without any, is refused by the name of what is missing', async (t) => {
  const { run, file, bytes } = await threeRecords(t);
  const second = join(run.folder, 'journal-000000000000001');
  writeFileSync(second, bytes.subarray(8 + bytes.readUInt32LE(4)));
  rmSync(file);
  const missing = new RegExp(`${first} is missing: .* PARLEY_ACCEPT_LOSS=${first} `);
  await t.rejects(run.reopen(), { message: missing });
  rmSync(second);
  await t.rejects(run.reopen(), { message: missing });
  await t.rejects(run.reopen({ lostPower: true }), { message: missing }, 'no loss of power removes it');
  await run.reopen({ acceptLoss: first });
  t.strictSame(readAll(run.engine), []);
  await run.engine.close();
});

t.test('a journal of a later time than the database is refused', async (t) => {
  const run = await opened(t);
  const early = new Map(run.base.range('', '\uffff', false));
  while (journals(run.folder).includes(join(run.folder, first))) {
    for (let key = 0; key < bounds.journalRowsMax; key++) await run.engine.write(put(key, 'text'));
    await run.engine.pause();
  }
  for (const [key] of [...run.base.range('', '\uffff', false)])
    await MemoryEngine.prototype.write.call(run.base, [[key, null]]);
  await MemoryEngine.prototype.write.call(run.base, [...early]);
  await t.rejects(run.reopen(), { message: new RegExp(`${first} is missing`) });
});

t.test('a running store keeps every record when its file is removed', async (t) => {
  const run = await opened(t);
  await run.engine.write(put(1, 'text'));
  for (const file of journals(run.folder)) rmSync(file);
  await run.engine.write(put(2, 'text'));
  t.match(run.told, [/^The file journal-\d+ was removed from the folder .* nothing is lost\.$/]);
  await run.reopen();
  t.strictSame(readAll(run.engine), [
    [keyOf(1), 'text'],
    [keyOf(2), 'text'],
  ]);
  await run.engine.close();
});
