/** The limits of the public link, as the form has them. */

/** The link's limits where none are given (contract 9). */
export const linkDefaults = { minutes_per_day: 600, concurrent_visitors: 25, messages_per_visitor_per_day: 100, messages_per_address_per_hour: 120 } as const;
export type LinkLimit = keyof typeof linkDefaults;

/** A number each, `none`, or empty for the default. */
export type LinkLimits = Readonly<Partial<Record<LinkLimit, string>>>;

/** A limit as the form has it: null for none. */
export function limitOf(limits: LinkLimits, name: LinkLimit): number | null {
  const text = (limits[name] ?? '').trim();
  return text === 'none' ? null : text === '' ? linkDefaults[name] : Number(text);
}
