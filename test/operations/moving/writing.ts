/**
 * Writes to a folder without end: batches of rows that all have one value, which the database soon takes from the
 * journal.
 */
import { JournaledEngine } from '../../../src/store/journal.ts';
import { LmdbEngine } from '../../../src/store/lmdb.ts';
import { packRow } from '../../../src/store/codec.ts';

const folder = process.argv[2]!;
const engine = new JournaledEngine(new LmdbEngine(folder), folder, {
  flushes: false,
  bounds: { journalRowsMax: 40, journalBytesMax: 1e5, journalChunkRows: 7 },
});
await engine.open();
for (let count = 1; ; count++) {
  // A row that comes and goes, and rows that stay.
  const rows = Array.from(
    { length: 30 },
    (_, index) => [`row/${String(index).padStart(2, '0')}`, packRow(count)] as const,
  );
  try {
    await engine.write([...rows, ['row/odd', count % 2 === 0 ? null : packRow(count)]]);
  } catch {
    // The database is behind: it catches up meanwhile.
  }
  if (count === 100) process.stdout.write('written\n');
  await engine.pause();
}
