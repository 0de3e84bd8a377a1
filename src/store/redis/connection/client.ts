/** node-redis's clients, and the errors that say what to do about a connection. */
import { setMaxListeners } from 'node:events';
import { createClient, RESP_TYPES } from 'redis';
import { isUntrusted } from '../../../base/certificates.ts';
import { limits } from '../../../base/limits.ts';
import type { RedisReply } from '../reply.ts';

export type Arguments = readonly (string | Buffer)[];

// The client's own timeout covers only commands not yet written, and keeps a signal with a timer of five seconds for
// each command. Callers set their deadlines.
const commandOptions = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer }, timeout: 0 };

// Commands do not wait for a missing connection, and a silent connection is closed: commands written to it would never
// settle.
export const clientOptions = {
  disableOfflineQueue: true,
  commandsQueueMaxLength: limits.redisCallsMax,
  pingInterval: limits.redisPingMs,
  // Options that are always present, so that a command's options replace them: with each command that adds an option
  // V8 makes a new hidden class.
  commandOptions: { typeMapping: {} },
  socket: {
    connectTimeout: limits.redisConnectMs,
    socketTimeout: limits.redisSilenceMs,
    reconnectStrategy: (tries: number): number => Math.min(50 * 2 ** tries, limits.redisReconnectMsMax),
  },
};

const makeClient = () => createClient({ ...clientOptions, RESP: 3 });
export type Client = ReturnType<typeof makeClient>;

/**
 * The sockets of a client, or of all clients of a cluster. node-redis keeps a socket that was connecting when its client
 * was destroyed, and pings it for ever; so the sockets have a separate end.
 */
export class Sockets {
  readonly #ended = new AbortController();
  readonly options: ReturnType<typeof optionsOf>;
  #isClosing = false;

  constructor(reconnects = true) {
    setMaxListeners(0, this.#ended.signal);
    const { reconnectStrategy } = clientOptions.socket;
    this.options = optionsOf(this.#ended.signal, (tries) =>
      reconnects && !this.#isClosing ? reconnectStrategy(tries) : false,
    );
  }

  /** From now on no lost connection is tried again. */
  close(): void {
    this.#isClosing = true;
  }

  /** Ends all of them. None may be opened later: Node connects a socket whose signal is aborted before. */
  end(): void {
    this.close();
    this.#ended.abort();
  }
}

const optionsOf = (signal: AbortSignal, reconnectStrategy: (tries: number) => number | false) => ({
  ...clientOptions.socket,
  signal,
  reconnectStrategy,
});

/**
 * Never connected. Making a client's class, with a method for each command of Redis, takes 20 ms; duplicates share the
 * model's.
 */
let model: Client | null = null;

export interface SingleClient {
  readonly client: Client;
  /** Ends its connection for good, also while it connects. */
  end(): void;
}

/** The client of one server. Callers learn of a connection's errors from their calls. */
export function single(url: string, reconnects = true): SingleClient {
  model ??= makeClient();
  const sockets = new Sockets(reconnects);
  const client = quiet(model.duplicate({ url, socket: sockets.options }));
  const end = (): void => {
    if (client.isOpen) client.destroy();
    sockets.end();
  };
  return { client, end };
}

export const sendOn = (client: Client, args: Arguments): Promise<RedisReply> =>
  client.sendCommand([...args], commandOptions) as unknown as Promise<RedisReply>;

/** An error event without a listener would end the process. */
export const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {});
  return client;
};

/** Redis's own errors for an address that no retry can use. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [/^(?:NOAUTH|WRONGPASS)\b/, 'Redis wants another user or password.'],
  [/^ERR DB index\b/, 'Redis has no database of that number.'],
  [
    /^ERR This instance has cluster support disabled\b/,
    'This Redis is no member of a cluster: its address begins with redis:// or rediss://.',
  ],
];

/** Reason for which no later attempt would succeed either; null if one may. */
export function refusalOf({ code, message }: NodeJS.ErrnoException): string | null {
  const certificate = `Redis shows a certificate that is not trusted here (${code}): name the file of its authority in NODE_EXTRA_CA_CERTS, and the host as the certificate has it.`;
  return isUntrusted(code) ? certificate : (refusals.find(([said]) => said.test(message))?.[1] ?? null);
}

/** One server, tried once: the doctor reports what is wrong instead of waiting for it to pass. */
export function connectOnce(url: string) {
  const { client, end } = single(url, false);
  return {
    open: async (): Promise<void> => void (await client.connect()),
    close: end,
    send: (args: Arguments): Promise<RedisReply> => sendOn(client, args),
  };
}

/** Sends one command to one server over a separate connection. */
export async function askOnce(url: string, args: Arguments): Promise<RedisReply> {
  const server = connectOnce(url);
  try {
    await server.open();
    return await server.send(args);
  } finally {
    server.close();
  }
}

/**
 * The error of a server that is no primary any more, or is about to be none: a replica refuses writes, and reads
 * everything again from its primary first. Redis before 7.0 puts the word into the error of the script.
 */
export const isDemoted = (message: string): boolean =>
  /^(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED)\b|-READONLY /.test(message);

/** The server reads its data, after a start or as a new replica of another. */
export const isLoading = ({ message }: Error): boolean => /^LOADING\b/.test(message);
