/** The one place where what a provider or the network did becomes a ModelFailure. */
import type { ModelFailure } from '../model.ts';
import { AddressRefused } from './address.ts';

const statuses: Readonly<Record<number, ModelFailure>> = { 401: 'credential', 403: 'credential', 429: 'rate_limit' };

/** Of an answer whose status is not 2xx. Redirects are never followed: they would leave the address that was checked. */
export const failureOfStatus = (status: number): ModelFailure =>
  statuses[status] ?? (status >= 300 && status < 400 ? 'redirect' : 'status');

const connectCodes: Readonly<Record<string, ModelFailure>> = {
  ENOTFOUND: 'address', // the name does not exist
  ENODATA: 'address', // the name has no address
};

/** Of an attempt to connect; null where nothing says why it ended. */
export function failureOfConnect(error: Error | null): ModelFailure {
  if (error instanceof AddressRefused) return 'address';
  return connectCodes[(error as NodeJS.ErrnoException | null)?.code ?? ''] ?? 'connect';
}
