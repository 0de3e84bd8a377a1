/** Durations in form fields, as people write them: `90 min`, `1 h`, `1 h 30 min`, or a bare number of seconds. */
const units: Readonly<Record<string, number>> = { d: 86_400, h: 3600, min: 60, m: 60, s: 1 };

/** The expression of a field of durations, for its `pattern`. */
export const durationPattern = String.raw`\s*\d+\s*|(\s*\d+\s*(d|h|min|m|s))+\s*`;

/** Returns the seconds that a text in the form of `durationPattern` says; NaN for any other text. */
export function durationSeconds(text: string): number {
  const tokens = text.match(/\d+|[^\s\d]+/g) ?? [];
  if (tokens.length === 1) return /^\d+$/.test(tokens[0]) ? Number(tokens[0]) : Number.NaN;
  let sum = tokens.length === 0 ? Number.NaN : 0;
  for (let at = 0; at < tokens.length; at += 2) sum += Number(tokens[at]) * (units[tokens[at + 1] ?? ''] ?? Number.NaN);
  return sum;
}

/** Returns a duration in its largest units: 5400 is `1 h 30 min`. */
export function durationText(seconds: number): string {
  const parts: string[] = [];
  let left = seconds;
  for (const unit of ['d', 'h', 'min', 's']) {
    const count = Math.floor(left / units[unit]!);
    left -= count * units[unit]!;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}
