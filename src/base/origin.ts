/** Origins of web sites, as an assistant lists those that may use it (contract 9). */
/**
 * Whether the list has the origin of a site. `*` is every origin, also an app's or an extension's, but for pages that
 * have none.
 */
export const lists = (origins: readonly string[], origin: string): boolean => {
  if (!URL.canParse(origin) || !/^[a-z][a-z\d+.-]*:\/\/[^/?#@\\]+$/i.test(origin)) return false;
  const site = new URL(origin);
  // A host that stands in a policy must not be able to end it.
  if (!/^[\w.:[\]-]+$/.test(site.host)) return false;
  return origins.some((listed) => {
    if (listed === '*') return true;
    if (!listed.startsWith('https://*.')) return new URL(listed).origin === site.origin;
    return (
      site.protocol === 'https:' &&
      site.port === '' &&
      isBelow(site.hostname, new URL(listed.replace('//*.', '//')).hostname)
    );
  });
};

/** Whether a host is a subdomain of another; no label of a host is empty. */
const isBelow = (name: string, parent: string): boolean =>
  name.endsWith(`.${parent}`) && name.split('.').every((label) => label !== '');

/** An origin that a list has, as a policy names it. `URL.origin` is `null` for the schemes of apps and extensions. */
export function policySource(origin: string): string {
  const { protocol, host } = new URL(origin);
  return `${protocol}//${host}`;
}
