/** Examines an installation and reports its faults, with advice. Changes nothing. */
import type { Clock } from '../base/clock.ts';
import { redacted, type Config } from '../base/config.ts';
import { check, warn } from '../store/doctor/check.ts';
import type { Check, Finding } from '../store/doctor/check.ts';
import { port, managementPort } from './doctor/port.ts';
import { engine, nodeVersion, settingsOf, traces, type Environment } from './doctor/program.ts';
import { proxyPath } from './doctor/proxy-path.ts';
import { examineRecords } from './doctor/records.ts';
import { examineVoice } from './doctor/voice.ts';
import type { Ids } from '../base/ids.ts';

export interface Diagnosis {
  /** True if no check failed. */
  readonly ok: boolean;
  /** The examined store, as set but without its password; null if the setting cannot be used. */
  readonly store: string | null;
  readonly checks: readonly Check[];
}

export interface ExamineOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Address at which clients reach the server, through a proxy if there is one. */
  readonly url?: string | undefined;
}

export async function examine(environment: Environment, { clock, ids, url }: ExamineOptions): Promise<Diagnosis> {
  const { checks: settings, config } = settingsOf(environment, ids);
  const checks = [check('node', nodeVersion()), ...settings];
  if (config !== null) {
    const { ignoredVariables: ignored } = config;
    if (ignored.length > 0) checks.push(check('variables', ignoredByServer(ignored)));
    checks.push(check('engine', await engine(config)), check('port', await port(config, clock)));
    if (config.managementPort !== null) checks.push(check('management-port', await managementPort(config, clock)));
    if (config.traces !== null) checks.push(check('traces', traces(config)));
    const namesProxy = proxyNamedBy(config);
    if (namesProxy !== null && config.trustedProxies.length === 0)
      checks.push(check('proxies', hiddenAddresses(namesProxy)));
    if (url !== undefined) checks.push(check('url', await proxyPath(url, clock, config)));
    checks.push(...(await examineStore(config, clock, ids)), ...(await examineVoice(config, clock)));
  }
  return { ok: checks.every(({ status }) => status !== 'fail'), store: config && named(config.store), checks };
}

const ignoredByServer = (variables: readonly string[]): Finding =>
  warn(
    `${variables.join(', ')}: ignored, because Kubernetes sets such variables for a service`,
    'Set PARLEY_MANAGEMENT_PORT for a separate port, or enableServiceLinks: false in the pod to remove these variables.',
  );

/** The setting that says that a proxy stands in front: the server itself speaks no TLS. */
function proxyNamedBy({ consoleOrigins, publicUrl }: Config): string | null {
  if (consoleOrigins.length > 0) return 'PARLEY_CONSOLE_ORIGIN';
  return publicUrl?.startsWith('https:') === true ? 'PARLEY_PUBLIC_URL' : null;
}

const hiddenAddresses = (variable: string): Finding =>
  warn(
    `${variable} says that a proxy stands in front, and PARLEY_TRUSTED_PROXIES names none: all visitors of a public link share the limit of one address`,
    "Set PARLEY_TRUSTED_PROXIES to the proxy's address, unless browsers reach this server directly.",
  );

const named = (store: Config['store']): string =>
  store.kind === 'redis' ? redacted(store.url) : store.kind === 'lmdb' ? `lmdb:${store.folder}` : 'memory:';

/** Each store's checks are loaded only for that store, as the store itself is. */
async function examineStore(config: Config, clock: Clock, ids: Ids): Promise<Check[]> {
  const { store, allowVolatile, durability, secret, secretPrevious: previous } = config;
  if (store.kind === 'memory')
    return [
      check(
        'store',
        warn('everything ends with the process', 'For anything to last: PARLEY_STORE=lmdb:FOLDER, or Redis.'),
      ),
    ];
  if (store.kind === 'lmdb')
    return (await import('./doctor/folder.ts')).examineFolder(store.folder, config, clock, ids);
  const { examineRedis } = await import('../store/redis/doctor.ts');
  return examineRedis(store.url, {
    clock,
    ids,
    allowVolatile,
    durability,
    records: (records) => examineRecords(records, { secret, previous }, ids, clock.now()),
  });
}
