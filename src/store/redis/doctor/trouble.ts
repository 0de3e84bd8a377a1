/** The reason why a Redis server cannot be used, with advice. */
import { ConnectionTimeoutError, SocketClosedUnexpectedlyError } from 'redis';
import { fail } from '../../doctor/check.ts';
import type { Finding } from '../../doctor/check.ts';
import { limits } from '../../../base/limits.ts';
import { isUntrusted } from '../../../base/certificates.ts';
import { NoAnswer } from './node.ts';

export interface Place {
  readonly address: string;
  /** Whether the connection uses TLS. */
  readonly secure: boolean;
  /** Whether a user name or a password was given. */
  readonly named: boolean;
}

const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`;

/** Causes by the error code of the system or of Node. */
function byCode(code: string, { address }: Place): Finding | null {
  if (code === 'ECONNREFUSED')
    return fail(
      `Nothing listens on ${address}.`,
      'Start Redis there (redis-server --appendonly yes), or correct PARLEY_STORE.',
    );
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return fail(
      `The host name of ${address} cannot be resolved.`,
      'Correct the host in PARLEY_STORE, or the name service of this machine.',
    );
  if (/^E(?:HOSTUNREACH|NETUNREACH|TIMEDOUT)$/.test(code))
    return fail(
      `${address} cannot be reached (${code}).`,
      'Look at the network and the firewalls between here and Redis.',
    );
  if (isUntrusted(code)) {
    return fail(
      `${address} shows a certificate that is not trusted here (${code}).`,
      'Name the file of its authority in NODE_EXTRA_CA_CERTS, and use the host name that the certificate is made out to.',
    );
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return fail(
      `${address} does not complete a TLS handshake (${code}).`,
      'If this Redis has no TLS write redis: instead of rediss: in PARLEY_STORE.',
    );
  return null;
}

const credentials =
  'They stand in PARLEY_STORE as redis://USER:PASSWORD@HOST:PORT, percent-encoded; the user is default where ACLs name none.';

/** Causes by the first word of Redis's errors. */
function byWord(message: string, { address, named }: Place): Finding | null {
  if (message.startsWith('WRONGPASS'))
    return fail(
      `${address} refuses the ${named ? 'user name or password' : 'user default without a password'}.`,
      `Correct them. ${credentials}`,
    );
  if (message.startsWith('NOAUTH'))
    return fail(`${address} requires a password, and PARLEY_STORE has none.`, `Add the password. ${credentials}`);
  if (message.startsWith('NOPERM'))
    return fail(
      `${address} does not let the user in: ${message}`,
      'redis-cli ACL GETUSER NAME shows its permissions; add the missing command with ACL SETUSER NAME +COMMAND.',
    );
  if (message.startsWith('DENIED'))
    return fail(
      `${address} is in protected mode.`,
      'Set a password on Redis (CONFIG SET requirepass …) and give it in PARLEY_STORE.',
    );
  if (/max number of clients/.test(message))
    return fail(
      `${address} has reached its limit of connections.`,
      'Raise the limit: CONFIG SET maxclients 10000, then CONFIG REWRITE; CLIENT LIST shows who holds them.',
    );
  if (/^NOPROTO|unknown command .?HELLO/i.test(message))
    return fail(`${address} is older than Redis 6.0.`, 'Run Redis 7 or later.');
  return null;
}

/** Whether the server did not refuse, but took too long. */
export const isSlow = (error: unknown): boolean => error instanceof NoAnswer || error instanceof ConnectionTimeoutError;

/** Returns the finding for a failed connection to a server. */
export function troubleOf(error: unknown, place: Place): Finding {
  const { address, secure } = place;
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (error instanceof NoAnswer) {
    return fail(
      `${address} takes connections and did not answer within ${seconds(limits.redisCallMs)}.`,
      'Redis hangs or is overloaded: look at redis-cli --latency, SLOWLOG GET and its machine (memory, swap, disk), and restart it if it stays silent.',
    );
  }
  if (error instanceof ConnectionTimeoutError) {
    const tls = secure ? ' If this Redis has no TLS write redis: instead of rediss: in PARLEY_STORE.' : '';
    return fail(
      `${address} took no connection within ${seconds(limits.redisConnectMs)}.`,
      `Look at the firewalls between here and Redis, and whether it hangs.${tls}`,
    );
  }
  if (error instanceof SocketClosedUnexpectedlyError || code === 'ECONNRESET') {
    const advice = secure
      ? 'Look into its log.'
      : 'If this Redis wants TLS write rediss: instead of redis: in PARLEY_STORE; else look into its log.';
    return fail(`${address} closes the connection at once.`, advice);
  }
  return (
    byCode(code, place) ?? byWord(message, place) ?? fail(`${address}: ${message || code}`, 'Read the log of Redis.')
  );
}
