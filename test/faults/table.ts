/** The outcomes of a run, as a table for a terminal. */
import { idOf } from './experiment.ts';
import type { Outcome } from './run.ts';

const shown = (value: number): string => value.toLocaleString('en');

const isFailed = ({ failed }: Outcome): boolean => failed.length > 0;
const isInterrupted = (one: Outcome): boolean => one.interrupted && !isFailed(one);

function verdictOf(one: Outcome): string {
  const { failed } = one;
  if (!isFailed(one)) return one.interrupted ? 'interrupted' : 'holds';
  return `FAILED with seed${failed.length > 1 ? 's' : ''} ${failed
    .slice(0, 5)
    .map(({ seed }) => seed)
    .join(', ')}${failed.length > 5 ? ' …' : ''}`;
}

function resultOf(one: Outcome): string {
  const { skipped, done, most, sums } = one;
  if (skipped !== null) return `skipped: ${skipped}`;
  const figures = [
    ...[...most].map(([what, value]) => `at most ${shown(value)} ${what}`),
    ...[...sums].map(([what, sum]) => `${shown(sum)} ${what}`),
  ];
  return `${shown(done)} times, ${verdictOf(one)}${figures.length > 0 ? ` (${figures.join('; ')})` : ''}`;
}

export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map((one) => [idOf(one.experiment), one.store, one.experiment.does, resultOf(one)]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const held = (one: Outcome): boolean => one.skipped === null && !isFailed(one) && !one.interrupted;
  const counts = [
    ['hold', held],
    ['failed', isFailed],
    ['interrupted', isInterrupted],
    ['skipped', ({ skipped }: Outcome) => skipped !== null],
  ] as const;
  const counted = counts
    .map(([name, fits]) => [name, outcomes.filter(fits).length] as const)
    .filter(([name, count]) => count > 0 || ['hold', 'failed'].includes(name));
  const table = rows
    .map((row) => row.map((cell, column) => (column < 3 ? cell.padEnd(widths[column]!) : cell)).join('  '))
    .join('\n');
  return `${table}\n${counted.map(([name, count]) => `${count} ${name}`).join(', ')}`;
}
