/** Values of flags: read where they are used for the first time, refused with one line. */
import { InvalidArgumentError } from 'commander';
import type { VisitorField } from '../client/types.ts';
import { UsageFailure } from './exit.ts';

/** A parser of whole numbers within bounds. */
export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(number >= least && number <= most))
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    return number;
  };

/** A parser of numbers within bounds. */
export const decimal =
  (least: number, most: number) =>
  (text: string): number => {
    const number = text.trim() === '' ? NaN : Number(text);
    if (!(number >= least && number <= most))
      throw new InvalidArgumentError(`It must be a number from ${least} to ${most}.`);
    return number;
  };

const versionPattern = /^[1-9]\d{0,8}$/;

const versionOf = (text: string, expected: string): number => {
  if (!versionPattern.test(text)) throw new InvalidArgumentError(`It must be ${expected}.`);
  return Number(text);
};

/** Reads the number of a version. */
export const versionNumber = (text: string): number => versionOf(text, 'the number of a version');

/** Reads the number of a version, or `draft`. */
export const versionOrDraft = (text: string): number | 'draft' =>
  text === 'draft' ? text : versionOf(text, 'the number of a version, or draft');

/** Gathers a flag that may be given several times. */
export const gather = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

const secondsPer = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

/**
 * A point in time as Unix seconds: `1767225600`, `2026-01-01`, `2026-01-01T12:00:00Z`, or a span such as `30d` (s, m,
 * h, d, w), counted from `nowSeconds` forwards or, with `past`, backwards. A date without a zone is UTC.
 */
export function moment(flag: string, text: string, nowSeconds: number, past = false): number {
  const span = /^(\d{1,9})([smhdw])$/.exec(text);
  if (span) return nowSeconds + (past ? -1 : 1) * Number(span[1]) * secondsPer[span[2] as keyof typeof secondsPer];
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const zoned = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text;
  const milliseconds = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(zoned) : NaN;
  if (Number.isNaN(milliseconds))
    throw new UsageFailure(
      `${flag} must be a span such as 30d, a date such as 2026-01-31, or Unix seconds, not "${text}".`,
    );
  return Math.floor(milliseconds / 1000);
}

/** `name=value` pairs as an object; the last of the same name counts. */
export function pairs(flag: string, items: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    items.map((item) => {
      const at = item.indexOf('=');
      if (at < 1) throw new UsageFailure(`${flag} must be name=value, not "${item}".`);
      return [item.slice(0, at), item.slice(at + 1)];
    }),
  );
}

const fieldTypes = ['text', 'email', 'number', 'boolean'] as const;

/**
 * `NAME[:TYPE][:required][:LABEL]`, as in `email:email:required:Your e-mail`. The type is text by default, the label
 * the name.
 */
export function visitorField(text: string): VisitorField {
  const [name = '', ...rest] = text.split(':');
  if (name === '') throw new UsageFailure(`--visitor-field must begin with a name, not "${text}".`);
  const type = fieldTypes.find((one) => one === rest[0]);
  if (type !== undefined) rest.shift();
  const required = rest[0] === 'required';
  if (required) rest.shift();
  return { name, type: type ?? 'text', required, label: rest.join(':') || name };
}
