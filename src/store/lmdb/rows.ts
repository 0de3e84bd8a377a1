import type { RootDatabase, Transaction } from 'lmdb';
import type { Row } from '../engine.ts';

/**
 * Rows from `from` (inclusive) to `to` (exclusive), the greatest key first if `reverse`; in the state of a transaction,
 * if one is given.
 */
export function* rangeRows(
  database: RootDatabase<Buffer, string>,
  from: string,
  to: string,
  reverse: boolean,
  transaction?: Transaction,
): Generator<Row> {
  const bounds = reverse
    ? { start: to, exclusiveStart: true, end: from, inclusiveEnd: true, reverse: true }
    : { start: from, end: to };
  for (const { key, value } of database.getRange(transaction === undefined ? bounds : { ...bounds, transaction }))
    yield [key, value];
}
