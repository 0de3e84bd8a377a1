/**
 * The limits of an assistant's public link and widget by the names that clients give, with their defaults (contract 9).
 */
export const linkLimits = {
  minutes_per_day: 600,
  concurrent_visitors: 25,
  messages_per_visitor_per_day: 100,
  messages_per_address_per_hour: 120,
} as const;
/** The limits of one address. The default of each is half of a limit of the link, and `least` at least (contract 9). */
export const linkAddressLimits = {
  places_per_address: { of: 'concurrent_visitors', least: 5 },
  minutes_per_address: { of: 'minutes_per_day', least: 30 },
} as const;
export type LinkLimitName = keyof typeof linkLimits | keyof typeof linkAddressLimits;
export const isAddressLimit = (name: LinkLimitName): name is keyof typeof linkAddressLimits =>
  name in linkAddressLimits;

/** The default of a limit in words. */
export function linkLimitDefault(name: LinkLimitName): string {
  if (!isAddressLimit(name)) return String(linkLimits[name]);
  const { of, least } = linkAddressLimits[name];
  return `half of \`${of}\`, ${least} at least`;
}
export const linkLimitNames = [
  ...Object.keys(linkLimits),
  ...Object.keys(linkAddressLimits),
] as readonly LinkLimitName[];
