/** A finding of the doctor: one fact, its status, and advice if it is not ok. */

/**
 * `warn`: parley runs, but the operator should know. `fail`: it does not start, loses data, or refuses valid requests.
 */
export type Status = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly status: Status;
  /** The fact, in one line. */
  readonly found: string;
  /** The advice, in one line; for every status but `ok`. */
  readonly advice?: string;
}

export interface Check extends Finding {
  /** The name of the check, in lower case with hyphens. */
  readonly id: string;
}

export const ok = (found: string): Finding => ({ status: 'ok', found });
export const warn = (found: string, advice: string): Finding => ({ status: 'warn', found, advice });
export const fail = (found: string, advice: string): Finding => ({ status: 'fail', found, advice });

export const check = (id: string, finding: Finding): Check => ({ id, ...finding });

const badness = { ok: 0, warn: 1, fail: 2 } as const;

/**
 * Combines the findings of several places into one: the worst of them, with the places that have it, unless it is the
 * same everywhere. A place without a name is named by its finding.
 */
export function worstOf(places: readonly { readonly place: string; readonly finding: Finding }[]): Finding {
  const worst = Math.max(...places.map(({ finding }) => badness[finding.status]));
  const those = places.filter(({ finding }) => badness[finding.status] === worst);
  const [first] = those;
  if (first === undefined) return ok('nothing to look at');
  const alike = those.length === places.length && those.every(({ finding }) => finding.found === first.finding.found);
  const found = alike
    ? first.finding.found
    : those.map(({ place, finding }) => (place === '' ? finding.found : `${place}: ${finding.found}`)).join('; ');
  const advices = [...new Set(those.flatMap(({ finding }) => finding.advice ?? []))];
  return { status: first.finding.status, found, ...(advices.length > 0 && { advice: advices.join(' ') }) };
}

/** A number of bytes for a person. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
  const power = count < 1 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1);
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
