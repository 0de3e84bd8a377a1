/** The outcomes of a run, as a table for a terminal. */
import { idOf } from './experiment.ts';
import type { Outcome } from './run.ts';

const shown = (value: number): string => value.toLocaleString('en');

const resultOf = ({ skipped, done, failed, most, sums }: Outcome): string => {
  if (skipped !== null) return `skipped: ${skipped}`;
  const figures = [...[...most].map(([what, value]) => `at most ${shown(value)} ${what}`), ...[...sums].map(([what, sum]) => `${shown(sum)} ${what}`)];
  const verdict = failed.length === 0 ? 'holds' : `FAILED with seed${failed.length > 1 ? 's' : ''} ${failed.slice(0, 5).map(({ seed }) => seed).join(', ')}${failed.length > 5 ? ' …' : ''}`;
  return `${shown(done)} times, ${verdict}${figures.length > 0 ? ` (${figures.join('; ')})` : ''}`;
};

export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map((one) => [idOf(one.experiment), one.store, one.experiment.does, resultOf(one)]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const counted = [
    `${outcomes.filter(({ failed, skipped }) => failed.length === 0 && skipped === null).length} hold`,
    `${outcomes.filter(({ failed }) => failed.length > 0).length} failed`,
    ...(outcomes.some(({ skipped }) => skipped !== null) ? [`${outcomes.filter(({ skipped }) => skipped !== null).length} skipped`] : []),
  ];
  return `${rows.map((row) => row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column]!) : cell)).join('  ')).join('\n')}\n${counted.join(', ')}`;
}
