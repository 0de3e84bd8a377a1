/** The one place where what a provider or the network did becomes a ModelFailure. */
import { errors } from 'undici';
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

/** Of an attempt to connect. */
export const failureOfConnect = (error: Error): ModelFailure =>
  error instanceof AddressRefused ? 'address' : (connectCodes[codeOf(error)] ?? 'connect');

const transferCodes: Readonly<Record<string, ModelFailure>> = {
  // Of all that goes into a request only the key is free text, so only the key can make a header invalid.
  UND_ERR_INVALID_ARG: 'credential',
  UND_ERR_HEADERS_OVERFLOW: 'malformed',
  UND_ERR_CLOSED: 'connect',
  UND_ERR_DESTROYED: 'connect',
};

/** Of a request that was sent, or could not be formed. */
export function failureOfTransfer(error: Error): ModelFailure {
  if (error instanceof ConnectFailed) return error.failure;
  return error instanceof errors.HTTPParserError ? 'malformed' : (transferCodes[codeOf(error)] ?? 'cut');
}

/** Marks an error as one of connecting: once a request is under way the same codes mean something else. */
export class ConnectFailed extends Error {
  readonly failure: ModelFailure;

  constructor(cause: Error) {
    super('connect failed', { cause });
    this.failure = failureOfConnect(cause);
  }
}

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');
