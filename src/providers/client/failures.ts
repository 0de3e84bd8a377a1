/** The one place where a failure of a provider or the network becomes a ModelFailure. */
import type { ModelFailure } from '../model.ts';
import { AddressRefused } from './address.ts';
import { ProxyRefused } from './tunnel.ts';
import { codeOfThrown } from '../../base/thrown.ts';

const statuses: Readonly<Record<number, ModelFailure>> = { 401: 'credential', 403: 'credential', 429: 'rate_limit' };

/**
 * The failure for an answer whose status is not 2xx. Redirects are never followed: they would leave the checked
 * address.
 */
export const failureOfStatus = (status: number): ModelFailure =>
  statuses[status] ?? (status >= 300 && status < 400 ? 'redirect' : 'status');

const connectCodes: Readonly<Record<string, ModelFailure>> = {
  ENOTFOUND: 'address', // the name does not exist
  ENODATA: 'address', // the name has no address
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'http2', // the server takes no protocol that TLS offered it
};

/** The failure of a connection attempt; null if nothing says why it ended. */
export function failureOfConnect(error: Error | null): ModelFailure {
  if (error instanceof AddressRefused) return 'address';
  if (error instanceof ProxyRefused) return 'proxy';
  return connectCodes[codeOfThrown(error) ?? ''] ?? 'connect';
}
