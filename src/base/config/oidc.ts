/** The settings of OpenID Connect (contract 22): an issuer, this server's client there, and roles by claims. */
import { isIP } from 'node:net';
import { roles, type Role } from '../roles.ts';
import { SettingError } from './setting-error.ts';

/** A rule of `PARLEY_OIDC_ROLES`: people with this value of this claim have this role. */
export interface RoleRule {
  readonly claim: string;
  readonly value: string;
  readonly role: Role;
  /** The id or the name of a workspace; null for all workspaces. */
  readonly workspace: string | null;
}

export interface OidcSettings {
  /** The text of the setting. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly rules: readonly RoleRule[];
}

export const oidcVariables = [
  'PARLEY_OIDC_ISSUER',
  'PARLEY_OIDC_CLIENT_ID',
  'PARLEY_OIDC_CLIENT_SECRET',
  'PARLEY_OIDC_ROLES',
] as const;

/** Reads the four settings; null if none of them is set. */
export function oidcSettings(read: (variable: string) => string, allowPrivate: boolean): OidcSettings | null {
  const [issuer, clientId, clientSecret, rules] = oidcVariables.map(read) as [string, string, string, string];
  const missing = oidcVariables.filter((variable) => read(variable) === '');
  if (missing.length === oidcVariables.length) return null;
  if (missing.length > 0)
    throw new SettingError(
      `${missing[0]} must be set: signing in by OpenID Connect needs all of ${oidcVariables.join(', ')}.`,
    );
  return {
    issuer: issuerSetting(issuer, allowPrivate),
    clientId: printable('PARLEY_OIDC_CLIENT_ID', clientId),
    clientSecret: printable('PARLEY_OIDC_CLIENT_SECRET', clientSecret),
    rules: roleRules(rules),
  };
}

function issuerSetting(value: string, allowPrivate: boolean): string {
  const url = /^https?:\/\/[^\s\\]+$/i.test(value) && URL.canParse(value) ? new URL(value) : null;
  if (url === null || url.username !== '' || url.password !== '' || /[?#]/.test(value))
    throw new SettingError(
      `PARLEY_OIDC_ISSUER must be https://HOST[:PORT][/PATH], not "${value.replace(/^([^/]*\/\/).*@/, '$1…@')}".`,
    );
  if (url.pathname.includes('/.well-known/'))
    throw new SettingError(`PARLEY_OIDC_ISSUER must be the issuer itself, without /.well-known/, not "${value}".`);
  if (url.protocol === 'http:' && !allowPrivate && !isLoopback(url))
    throw new SettingError(
      `PARLEY_OIDC_ISSUER may begin with http:// only on this machine, or with PARLEY_ALLOW_PRIVATE_PROVIDERS=1, not "${value}".`,
    );
  return value;
}

/** Whether the host of a URL is an address of this machine, or a name that always leads to it. */
export const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  (isIP(hostname) === 4 && hostname.startsWith('127.'));

/** Secrets are never echoed. */
function printable(variable: string, value: string): string {
  if (!/^[\x20-\x7e]+$/.test(value) || value.trim() !== value)
    throw new SettingError(`${variable} must be printable ASCII without spaces at its ends.`);
  return value;
}

/**
 * Rules are separated by commas; a comma within a value or a name is written `\,`. The claim ends at the first `=`, the
 * value at the last `:` that a role follows.
 */
function roleRules(text: string): RoleRule[] {
  const rules = text
    .replace(/[\r\n\t]+/g, ' ')
    .split(/(?<!\\),/)
    .map((each) => each.replaceAll('\\,', ',').trim())
    .filter((each) => each !== '');
  if (rules.length === 0) throw new SettingError('PARLEY_OIDC_ROLES must have at least one rule.');
  return rules.map(roleRule);
}

function roleRule(rule: string): RoleRule {
  const equals = rule.indexOf('=');
  const claim = rule.slice(0, Math.max(0, equals)).trim();
  for (let colon = rule.lastIndexOf(':'); colon > equals; colon = rule.lastIndexOf(':', colon - 1)) {
    const [word, ...rest] = rule.slice(colon + 1).split('@');
    const role = roles.find((one) => one === word!.trim());
    if (role === undefined) continue;
    const value = rule.slice(equals + 1, colon).trim();
    const workspace = rest.length === 0 ? null : rest.join('@').trim();
    if (claim === '' || value === '' || workspace === '') break;
    return { claim, value, role, workspace };
  }
  throw new SettingError(
    `PARLEY_OIDC_ROLES must list claim=value:role[@workspace], separated by commas, with a role of ${roles.join(', ')}; "${rule}" is none (a comma within a value is written \\,).`,
  );
}
