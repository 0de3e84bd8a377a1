/** The limits of the public link, as the form has them. */
import { isAddressLimit, linkAddressLimits, linkLimits, type LinkLimitName } from '../../../base/link-limits.ts';

/** A number each, `none`, or empty for the default. */
export type LinkLimits = Readonly<Partial<Record<LinkLimitName, string>>>;

/** A limit as the form has it: null for none. */
export function limitOf(limits: LinkLimits, name: LinkLimitName): number | null {
  const text = (limits[name] ?? '').trim();
  if (text === 'none') return null;
  return text === '' ? defaultOf(limits, name) : Number(text);
}

/** The default of a limit, beside the other limits of the form. */
export function defaultOf(limits: LinkLimits, name: LinkLimitName): number | null {
  if (!isAddressLimit(name)) return linkLimits[name];
  const { of, least } = linkAddressLimits[name];
  const whole = limitOf(limits, of);
  return whole === null ? null : Math.max(least, Math.floor(whole / 2));
}
