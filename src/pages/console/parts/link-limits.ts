/** The limits of the public link, as the form has them. */

/** The link's limits where none are given (contract 9). */
export const linkDefaults = {
  minutes_per_day: 600,
  concurrent_visitors: 25,
  messages_per_visitor_per_day: 100,
  messages_per_address_per_hour: 120,
} as const;
/** The limits of one address where none are given: half of a limit of the link, and `least` at least. */
export const addressDefaults = {
  places_per_address: { of: 'concurrent_visitors', least: 5 },
  minutes_per_address: { of: 'minutes_per_day', least: 30 },
} as const;
export type LinkLimit = keyof typeof linkDefaults | keyof typeof addressDefaults;
export const linkLimitNames = [...Object.keys(linkDefaults), ...Object.keys(addressDefaults)] as readonly LinkLimit[];

/** A number each, `none`, or empty for the default. */
export type LinkLimits = Readonly<Partial<Record<LinkLimit, string>>>;

/** A limit as the form has it: null for none. */
export function limitOf(limits: LinkLimits, name: LinkLimit): number | null {
  const text = (limits[name] ?? '').trim();
  if (text === 'none') return null;
  return text === '' ? defaultOf(limits, name) : Number(text);
}

const isOfAddress = (name: LinkLimit): name is keyof typeof addressDefaults => name in addressDefaults;

/** The default of a limit, beside the other limits of the form. */
export function defaultOf(limits: LinkLimits, name: LinkLimit): number | null {
  if (!isOfAddress(name)) return linkDefaults[name];
  const { of, least } = addressDefaults[name];
  const whole = limitOf(limits, of);
  return whole === null ? null : Math.max(least, Math.floor(whole / 2));
}
