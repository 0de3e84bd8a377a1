/**
 * Settings: environment variables, each also a flag of `parley serve` (contract 11). One table serves parsing, help and
 * documentation.
 */
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { limits } from './limits.ts';
import { oidcSettings, type OidcSettings } from './config/oidc.ts';
import { SettingError } from './config/setting-error.ts';
import { codePoints } from './text.ts';
import { traceSettings, type TraceSettings } from './config/traces.ts';

export { SettingError } from './config/setting-error.ts';

const durabilityNames = ['committed', 'flushed', 'replicated', 'replicated-output'] as const;
const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

export interface Config {
  readonly port: number;
  readonly host: string;
  /** The port of the service paths; null if they are on the public port. */
  readonly managementPort: number | null;
  readonly store:
    | { readonly kind: 'lmdb'; readonly folder: string }
    | { readonly kind: 'memory' }
    | { readonly kind: 'redis'; readonly url: string };
  /** Null: generated into the data folder; with Redis it must be given. */
  readonly secret: string | null;
  /** The previous secret: values encrypted under it open too, and are encrypted anew at the start. */
  readonly secretPrevious: string | null;
  /** Null: generated into the data folder; with Redis it must be given. */
  readonly operatorToken: string | null;
  /** Null: uWebSockets.js where it loads, `node:http` elsewhere. */
  readonly edge: 'uws' | 'node' | null;
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
  /**
   * Origin by which clients reach the server, the console's first one unless set; null: the one that their requests
   * name.
   */
  readonly publicUrl: string | null;
  /** Origins of the console; none: the public one, and the one that a request names. */
  readonly consoleOrigins: readonly string[];
  readonly allowPrivateProviders: boolean;
  /** The proxy to https:// base URLs; null: no proxy. */
  readonly providerProxy: {
    readonly hostname: string;
    readonly port: number;
    readonly authorization: string | null;
  } | null;
  readonly durability: (typeof durabilityNames)[number];
  /** Start even on a Redis that loses acknowledged writes when it dies. */
  readonly allowVolatile: boolean;
  /** The file in the data folder whose loss of records is accepted; null if none is. */
  readonly acceptLoss: string | null;
  /** Number of processes that serve; one runs without a supervisor. */
  readonly processes: number;
  readonly log: (typeof logLevels)[number];
  /** Whether the start prints neither a key nor a link to sign in. */
  readonly quiet: boolean;
  /** Whether systemd passes on the output of this process or of one above it. */
  readonly underSystemd: boolean;
  readonly synthetic: boolean;
  readonly turnMsMax: number;
  /** Milliseconds that a model's provider may be silent. */
  readonly providerSilenceMs: number;
  /** Environment variables with the names of settings that Kubernetes set; they are ignored. */
  readonly ignoredVariables: readonly string[];
  /** Processes that listen for the embedded voice, and as many that speak; 0 turns it off. */
  readonly voiceProcesses: number;
  /** The folder of the voice provider `local`; null without one. */
  readonly voiceFolder: string | null;
  /** The sign-in by OpenID Connect; null without one. */
  readonly oidc: OidcSettings | null;
  /** Null while no variable of OpenTelemetry's names a collector of traces. */
  readonly traces: TraceSettings | null;
}

export interface Setting {
  /** The environment variable. */
  readonly variable: string;
  /** The flag of `parley serve`. */
  readonly flag: string;
  /** The form of the value, as help shows it. */
  readonly value: string;
  readonly fallback: string;
  readonly description: string;
}

const setting = (variable: string, flag: string, value: string, fallback: string, description: string): Setting => ({
  variable,
  flag,
  value,
  fallback,
  description,
});

export const settings: readonly Setting[] = [
  setting('PORT', '--port', 'number', '8080', 'port to listen on; 0 picks a free one'),
  setting('HOST', '--host', 'address', '127.0.0.1', 'address to listen on'),
  setting(
    'PARLEY_MANAGEMENT_PORT',
    '--management-port',
    'number',
    '',
    'separate port, on HOST, for /healthz, /readyz and /metrics; the last two are then on this port only',
  ),
  setting(
    'PARLEY_STORE',
    '--store',
    'url',
    'lmdb:./data',
    'the store of all state: lmdb:FOLDER, memory:, redis://[USER:PASSWORD@]HOST:PORT[/DATABASE] or redis-cluster://[USER:PASSWORD@]HOST:PORT,HOST:PORT',
  ),
  setting(
    'PARLEY_SECRET',
    '--secret',
    'string',
    '',
    `encrypts credentials, ${limits.secretCharactersMin} characters or more; generated into the data folder if unset, required with Redis`,
  ),
  setting(
    'PARLEY_SECRET_PREVIOUS',
    '--secret-previous',
    'string',
    '',
    'the previous secret, while it is changed: credentials encrypted under it still open, and are encrypted anew at the start',
  ),
  setting(
    'PARLEY_OPERATOR_TOKEN',
    '--operator-token',
    'string',
    '',
    `opens the console's API, ${limits.operatorTokenCharactersMin} characters or more; generated into the data folder if unset, required with Redis`,
  ),
  setting(
    'PARLEY_EDGE',
    '--edge',
    'uws|node',
    '',
    'HTTP engine; unset takes uws (HTTP/1.1 alone, so no ApacheBench) where it loads, else node',
  ),
  setting(
    'PARLEY_TRUSTED_PROXIES',
    '--trusted-proxies',
    'list',
    '',
    'addresses or CIDR ranges, separated by commas, whose X-Forwarded-For is trusted',
  ),
  setting(
    'PARLEY_PUBLIC_URL',
    '--public-url',
    'url',
    '',
    'the address by which clients reach the server, as https://HOST[:PORT]: socket addresses, links and snippets begin with it; unset takes the first of PARLEY_CONSOLE_ORIGIN, else the address that a request names',
  ),
  setting(
    'PARLEY_CONSOLE_ORIGIN',
    '--console-origin',
    'list',
    '',
    'the origins of the console behind a proxy, as https://HOST[:PORT], separated by commas; unset takes PARLEY_PUBLIC_URL and the host that a request names',
  ),
  setting(
    'PARLEY_ALLOW_PRIVATE_PROVIDERS',
    '--allow-private-providers',
    '0|1',
    '0',
    'let base URLs of providers point at private addresses, and begin with http:// there; never at link-local addresses or those of cloud metadata',
  ),
  setting(
    'PARLEY_PROVIDER_PROXY',
    '--provider-proxy',
    'url',
    '',
    'proxy for requests to https:// base URLs of providers: http://[USER:PASSWORD@]HOST[:PORT]',
  ),
  setting(
    'PARLEY_DURABILITY',
    '--durability',
    durabilityNames.join('|'),
    'committed',
    'the failures that an acknowledged write survives: the end of the process (committed), a power cut (flushed, lmdb), the loss of a Redis primary (replicated, or replicated-output for the text of a reply under way too)',
  ),
  setting(
    'PARLEY_ALLOW_VOLATILE',
    '--allow-volatile',
    '0|1',
    '0',
    'start on a Redis without an append-only file, which loses acknowledged writes when it dies',
  ),
  setting(
    'PARLEY_ACCEPT_LOSS',
    '--accept-loss',
    'file',
    '',
    'start on a data folder that has lost records: the name of the file that the refusal names',
  ),
  setting(
    'PARLEY_PROCESSES',
    '--processes',
    'number',
    '1',
    `how many processes serve, 1 to ${limits.processesMax}; more than one need Redis`,
  ),
  setting('PARLEY_LOG', '--log', 'level', 'info', logLevels.join(', ')),
  setting(
    'PARLEY_QUIET',
    '--quiet',
    '0|1',
    '0',
    'print one JSON line at the start, without an API key and a sign-in link, as under systemd and in a container',
  ),
  setting(
    'PARLEY_SYNTHETIC',
    '--synthetic',
    '0|1',
    '0',
    'offer the synthetic providers of models and voices, for load and fault tests',
  ),
  setting(
    'PARLEY_VOICE_PROCESSES',
    '--voice-processes',
    'number',
    '',
    'processes that listen for the embedded voice, and as many that speak, started when they are first used: unset takes as many as there are cores but one; shared out among PARLEY_PROCESSES; 0 turns it off',
  ),
  setting(
    'PARLEY_VOICE_FOLDER',
    '--voice-folder',
    'path',
    '',
    'folder with voices (*.flitevox) and recognisers (folders with Moonshine weights) for the voice provider local',
  ),
  setting(
    'PARLEY_OIDC_ISSUER',
    '--oidc-issuer',
    'url',
    '',
    'issuer of OpenID Connect by which people sign in to the console, as https://HOST[/PATH]; http:// on this machine, or with PARLEY_ALLOW_PRIVATE_PROVIDERS at a private address',
  ),
  setting('PARLEY_OIDC_CLIENT_ID', '--oidc-client-id', 'string', '', 'id of this server as a client of the issuer'),
  setting('PARLEY_OIDC_CLIENT_SECRET', '--oidc-client-secret', 'string', '', 'secret of this server at the issuer'),
  setting(
    'PARLEY_OIDC_ROLES',
    '--oidc-roles',
    'list',
    '',
    'role by claim: claim=value:role[@workspace], separated by commas, with owner, editor, attendant or viewer as the role; a comma within a value is written \\,',
  ),
  setting('PARLEY_TURN_MS_MAX', '--turn-ms-max', 'milliseconds', String(limits.turnMsMax), 'how long a turn may run'),
  setting(
    'PARLEY_PROVIDER_SILENCE_MS',
    '--provider-silence-ms',
    'milliseconds',
    String(limits.providerSilenceMs),
    "how long a model's provider may send nothing, before its answer or within it; reasoning and comments count as sent",
  ),
];

/** Reads the settings from flags first, then the environment, then the defaults. An empty value counts as unset. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const read = (variable: string): string => {
    const value = environment[variable];
    return value === undefined || value === '' || isServiceAddress(variable, value)
      ? settings.find((one) => one.variable === variable)!.fallback
      : value;
  };
  const store = storeSetting(read('PARLEY_STORE'));
  const consoleOrigins = origins('PARLEY_CONSOLE_ORIGIN', read('PARLEY_CONSOLE_ORIGIN'));
  const allowPrivateProviders = flag('PARLEY_ALLOW_PRIVATE_PROVIDERS', read('PARLEY_ALLOW_PRIVATE_PROVIDERS'));
  return {
    port: integer('PORT', read('PORT'), 0, 65535),
    host: read('HOST'),
    managementPort: managementPort(read('PARLEY_MANAGEMENT_PORT'), read('PORT')),
    store,
    secret: text('PARLEY_SECRET', read('PARLEY_SECRET'), limits.secretCharactersMin),
    secretPrevious: text('PARLEY_SECRET_PREVIOUS', read('PARLEY_SECRET_PREVIOUS'), limits.secretCharactersMin),
    operatorToken: text('PARLEY_OPERATOR_TOKEN', read('PARLEY_OPERATOR_TOKEN'), limits.operatorTokenCharactersMin),
    edge: oneOf('PARLEY_EDGE', read('PARLEY_EDGE') || null, ['uws', 'node']),
    trustedProxies: proxies(read('PARLEY_TRUSTED_PROXIES')),
    publicUrl: publicUrl(read('PARLEY_PUBLIC_URL')) ?? consoleOrigins[0] ?? null,
    consoleOrigins,
    allowPrivateProviders,
    providerProxy: providerProxy(read('PARLEY_PROVIDER_PROXY')),
    durability: durability(read('PARLEY_DURABILITY'), store),
    allowVolatile: flag('PARLEY_ALLOW_VOLATILE', read('PARLEY_ALLOW_VOLATILE')),
    acceptLoss: journalFile(read('PARLEY_ACCEPT_LOSS')),
    processes: processes(read('PARLEY_PROCESSES'), store),
    log: oneOf('PARLEY_LOG', read('PARLEY_LOG'), logLevels)!,
    quiet: flag('PARLEY_QUIET', read('PARLEY_QUIET')),
    underSystemd: Boolean(environment['JOURNAL_STREAM']),
    synthetic: flag('PARLEY_SYNTHETIC', read('PARLEY_SYNTHETIC')),
    voiceProcesses: voiceProcesses(read('PARLEY_VOICE_PROCESSES')),
    voiceFolder: read('PARLEY_VOICE_FOLDER') || null,
    oidc: oidcSettings(read, allowPrivateProviders),
    turnMsMax: integer('PARLEY_TURN_MS_MAX', read('PARLEY_TURN_MS_MAX'), 100, dayMs),
    providerSilenceMs: integer('PARLEY_PROVIDER_SILENCE_MS', read('PARLEY_PROVIDER_SILENCE_MS'), 100, dayMs),
    traces: traceSettings(environment),
    ignoredVariables: ignoredVariables(environment),
  };
}

/**
 * The address of a Kubernetes service, as in `PARLEY_PORT=tcp://10.0.0.1:8080`. Kubernetes sets such variables in every
 * pod beside a service named `parley` or `parley-…`.
 */
const isServiceAddress = (variable: string, value: string): boolean =>
  variable.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//i.test(value);

/**
 * `PARLEY_SERVICE_PORT` and `PARLEY_PORT` of a service named `parley`, and a setting that holds a service's address.
 */
function ignoredVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const candidates = ['PARLEY_PORT', 'PARLEY_SERVICE_PORT', ...settings.map(({ variable }) => variable)];
  return candidates.filter((variable) => {
    const value = environment[variable] ?? '';
    return variable === 'PARLEY_SERVICE_PORT' ? value !== '' : isServiceAddress(variable, value);
  });
}

const dayMs = 24 * 3600 * 1000;

function integer(variable: string, value: string, least: number, most: number): number {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : NaN;
  if (!(number >= least && number <= most))
    throw new SettingError(`${variable} must be a whole number from ${least} to ${most}, not "${value}".`);
  return number;
}

/** A port of 0 is any free one, here as there. */
function managementPort(value: string, publicPort: string): number | null {
  if (value === '') return null;
  const port = integer('PARLEY_MANAGEMENT_PORT', value, 0, 65535);
  if (port !== 0 && port === Number(publicPort))
    throw new SettingError(`PARLEY_MANAGEMENT_PORT must be another port than PORT, which is ${port} too.`);
  return port;
}

function oneOf<T extends string>(variable: string, value: string | null, allowed: readonly T[]): T | null {
  if (value === null) return null;
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new SettingError(`${variable} must be one of ${allowed.join(', ')}, not "${value}".`);
  return found;
}

const flag = (variable: string, value: string): boolean => {
  if (['1', 'true'].includes(value)) return true;
  if (['0', 'false'].includes(value)) return false;
  throw new SettingError(`${variable} must be 0 or 1, not "${value}".`);
};

function providerProxy(value: string): Config['providerProxy'] {
  if (value === '') return null;
  const url = URL.canParse(value) ? new URL(value) : null;
  const fits =
    url !== null &&
    url.protocol === 'http:' &&
    url.hostname !== '' &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '';
  if (!fits)
    throw new SettingError(
      `PARLEY_PROVIDER_PROXY must be http://[USER:PASSWORD@]HOST[:PORT], not "${redacted(value)}".`,
    );
  const { username, password, hostname, port } = url;
  // Decoded as bytes, since they may be no UTF-8.
  const [user, secret] = [username, password].map((part) =>
    part.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
  );
  const authorization =
    username === '' && password === ''
      ? null
      : `Basic ${Buffer.from(`${user}:${secret}`, 'latin1').toString('base64')}`;
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 80 : Number(port), authorization };
}

/** Secrets are never echoed. */
function text(variable: string, value: string, charactersMin: number): string | null {
  if (value === '') return null;
  if (variable === 'PARLEY_OPERATOR_TOKEN' && !/^[\x21-\x7e]+$/.test(value))
    throw new SettingError(`${variable} must be printable ASCII without spaces.`);
  if (codePoints(value) < charactersMin)
    throw new SettingError(`${variable} must have at least ${charactersMin} characters.`);
  return value;
}

function journalFile(value: string): string | null {
  if (value === '' || /^journal-\d{15}$/.test(value)) return value || null;
  throw new SettingError(
    `PARLEY_ACCEPT_LOSS must be the name of a file of the journal, as journal-000000000000120, not "${value}".`,
  );
}

/** One core is the server's. */
const voiceProcesses = (value: string): number =>
  value === ''
    ? Math.min(limits.voiceProcessesMax, Math.max(1, availableParallelism() - 1))
    : integer('PARLEY_VOICE_PROCESSES', value, 0, limits.voiceProcessesMax);

/** An embedded store belongs to one process. */
function processes(value: string, store: Config['store']): number {
  const count = integer('PARLEY_PROCESSES', value, 1, limits.processesMax);
  if (count === 1 || store.kind === 'redis') return count;
  throw new SettingError(
    `PARLEY_PROCESSES may be ${count} only on a store that processes share: set PARLEY_STORE to redis://HOST:PORT, or PARLEY_PROCESSES to 1.`,
  );
}

function durability(value: string, { kind }: Config['store']): Config['durability'] {
  const known = oneOf('PARLEY_DURABILITY', value, durabilityNames)!;
  const offered: readonly Config['durability'][] = durabilities[kind];
  if (offered.includes(known)) return known;
  throw new SettingError(
    `PARLEY_DURABILITY cannot be ${known} with the store ${kind}, which offers ${listed(offered)}.`,
  );
}

/** The durability levels that each store offers. */
const durabilities = {
  memory: durabilityNames,
  lmdb: ['committed', 'flushed'],
  redis: ['committed', 'replicated', 'replicated-output'],
} as const;

/** `a, b and c` */
const listed = (names: readonly string[]): string => `${names.slice(0, -1).join(', ')} and ${names.at(-1)!}`;

function storeSetting(value: string): Config['store'] {
  if (value === 'memory:') return { kind: 'memory' };
  if (value.startsWith('lmdb:') && value.slice(5).trim() !== '') return { kind: 'lmdb', folder: folderSetting(value) };
  if (/^rediss?:/.test(value)) return redisStore(value, '[/DATABASE]', isRedisUrl(value));
  if (/^rediss?-cluster:/.test(value)) {
    const [, hosts] = /^rediss?-cluster:\/\/(?:[^@\s]*@)?([^@/\s,]+(?:,[^@/\s,]+)*)\/?$/.exec(value) ?? [];
    return redisStore(value, ',HOST[:PORT]', hosts?.split(',').every((host) => isRedisUrl(`redis://${host}`)) ?? false);
  }
  throw new SettingError(
    `PARLEY_STORE must be lmdb:FOLDER, memory:, redis://HOST:PORT or redis-cluster://HOST:PORT,HOST:PORT, not "${redacted(value)}".`,
  );
}

/**
 * Two slashes are a URL's, before a host: the system would take them for the root's, and open another folder than the
 * one that is meant.
 */
function folderSetting(value: string): string {
  const folder = value.slice('lmdb:'.length);
  if (!folder.startsWith('//') || folder.startsWith('///')) return folder;
  const meant = folder.slice(2) || 'data';
  throw new SettingError(
    `PARLEY_STORE must be lmdb:FOLDER, not "${value}": write lmdb:${meant}, or lmdb:/${meant} for a folder at the root.`,
  );
}

function redisStore(url: string, rest: string, fits: boolean): Config['store'] {
  const scheme = url.slice(0, url.indexOf(':'));
  if (!fits)
    throw new SettingError(
      `PARLEY_STORE must be ${scheme}://[USER:PASSWORD@]HOST[:PORT]${rest}, not "${redacted(url)}".`,
    );
  if (!isDecodable(url))
    throw new SettingError(
      `PARLEY_STORE must have its user and password percent-encoded; those of "${redacted(url)}" cannot be decoded.`,
    );
  return { kind: 'redis', url };
}

/**
 * Whether node-redis can connect to the URL: it throws for a path that is no number. Redis itself rejects a database
 * that it does not have, and takes a number of nine digits.
 */
function isRedisUrl(url: string): boolean {
  if (!/^rediss?:\/\/\S+$/.test(url) || !URL.canParse(url)) return false;
  const { port, pathname } = new URL(url);
  return port !== '0' && /^(?:\/\d{0,9})?$/.test(pathname);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** A store's URL may hold a password, and a mistaken password a slash. */
export const redacted = (url: string): string => url.replace(/^([^/]*\/\/).*@/, '$1…@');

const listItems = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/**
 * Returns the origin as browsers write it, in lower case and without a default port; null unless the text is a scheme,
 * a host and perhaps a port. A slash at the end is allowed.
 */
function originOf(text: string): string | null {
  if (!/^https?:\/\/[^/\\?#@%\s]*[^/\\?#@%\s:]\/?$/i.test(text) || !URL.canParse(text)) return null;
  const { hostname, port, origin } = new URL(text);
  const isHost =
    /^[\w.:[\]-]+$/.test(hostname) &&
    hostname
      .replace(/\.$/, '')
      .split('.')
      .every((label) => label !== '');
  return isHost && port !== '0' ? origin : null;
}

function origins(variable: string, value: string): string[] {
  return listItems(value).map((item) => {
    const origin = originOf(item);
    if (origin === null)
      throw new SettingError(`${variable} must list origins as https://HOST[:PORT]; "${redacted(item)}" is none.`);
    return origin;
  });
}

function publicUrl(value: string): string | null {
  if (value === '') return null;
  const origin = originOf(value);
  if (origin === null)
    throw new SettingError(
      `PARLEY_PUBLIC_URL must be a scheme, a host and perhaps a port, as https://HOST[:PORT], not "${redacted(value)}".`,
    );
  return origin;
}

function proxies(value: string): string[] {
  const items = listItems(value);
  for (const item of items) {
    const [address = '', prefix, ...rest] = item.split('/');
    const family = isIP(address);
    const bits = family === 4 ? 32 : 128;
    const fits = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
    if (family === 0 || !fits || rest.length > 0)
      throw new SettingError(`PARLEY_TRUSTED_PROXIES must list addresses or CIDR ranges; "${item}" is neither.`);
  }
  return items;
}
