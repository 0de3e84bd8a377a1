/** node-redis, once for a single Redis and once for a cluster. */
import { createClient, createCluster, RESP_TYPES } from 'redis';
import { isUntrusted } from '../../base/certificates.ts';
import { machineTime } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { StoreRefused } from '../store.ts';
import { Confirming } from './confirming.ts';
import { InFlightReplies } from './in-flight-replies.ts';
import type { RedisReply } from './reply.ts';

type Arguments = readonly (string | Buffer)[];

export interface RedisConnection {
  /** Connects; throws `StoreRefused` if no later attempt would succeed either, as with a wrong password or an untrusted certificate. */
  open(): Promise<void>;
  /** The system's error code for the present loss of the connection; null if there is none. */
  readonly trouble: string | null;
  close(): Promise<void>;
  /** Sends a command to the node that has the key's slot. */
  send(key: string, args: Arguments): Promise<RedisReply>;
  /**
   * As `send`, but waits until a replica has the command's write (`confirming.ts`). On a second connection, because a WAIT blocks all later
   * commands on its connection.
   */
  sendConfirmed(key: string, args: Arguments): Promise<RedisReply>;
  /** One for each primary that is known now: sends it a command, whatever its slots. */
  primaries(): readonly ((args: Arguments) => Promise<RedisReply>)[];
  subscribe(channel: string, heard: (text: string) => void, again: () => void): Promise<() => Promise<void>>;
}

// The client's own timeout covers only commands not yet written, and keeps a signal with a timer of five seconds for each command.
// Callers have a deadline of their own.
const commandOptions = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer }, timeout: 0 };

// Commands do not wait for a missing connection, and a silent connection is closed: commands written to it would never settle.
const clientOptions = {
  disableOfflineQueue: true,
  commandsQueueMaxLength: limits.redisCallsMax,
  pingInterval: limits.redisPingMs,
  // Present, so that those of a command replace them: with each command that adds an option V8 makes a new hidden class.
  commandOptions: { typeMapping: {} },
  socket: {
    connectTimeout: limits.redisConnectMs,
    socketTimeout: limits.redisSilenceMs,
    reconnectStrategy: (tries: number): number => Math.min(50 * 2 ** tries, limits.redisReconnectMsMax),
  },
};

const makeClient = () => createClient({ ...clientOptions, RESP: 3 });
type Client = ReturnType<typeof makeClient>;

/** Never connected. Making a client's class, with a method for each command of Redis, takes 20 ms; duplicates share the model's. */
let model: Client | null = null;

function single(url: string, reconnectStrategy: false | ((tries: number) => number) = clientOptions.socket.reconnectStrategy): Client {
  model ??= makeClient();
  return model.duplicate({ url, socket: { ...clientOptions.socket, reconnectStrategy } });
}

const sendOn = (client: Client, args: Arguments): Promise<RedisReply> => client.sendCommand([...args], commandOptions) as unknown as Promise<RedisReply>;

/** Callers learn of a connection's errors from their calls; without a listener an error event would end the process. */
const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {});
  return client;
};

const endClient = (client: { readonly isOpen: boolean; destroy(): void }): void => {
  if (client.isOpen) client.destroy();
};

/** Redis's own errors for an address that no retry can use. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [/^(?:NOAUTH|WRONGPASS)\b/, 'Redis wants another user or password.'],
  [/^ERR DB index\b/, 'Redis has no database of that number.'],
];

/** Why no later attempt would succeed either; null if one may. */
function refusalOf({ code, message }: NodeJS.ErrnoException): string | null {
  const certificate = `Redis shows a certificate that is not trusted here (${code}): name the file of its authority in NODE_EXTRA_CA_CERTS, and the host as the certificate has it.`;
  return isUntrusted(code) ? certificate : (refusals.find(([said]) => said.test(message))?.[1] ?? null);
}

/** The first connection of a client, which itself would retry for ever after any error; and the code of its last error. */
class Opening {
  trouble: string | null = null;
  readonly #client: Client;
  #refuse: (refusal: StoreRefused) => void = () => {};

  constructor(client: Client) {
    this.#client = client;
    client.on('error', (error: NodeJS.ErrnoException) => {
      this.trouble = error.code ?? null;
      const words = refusalOf(error);
      if (words !== null) this.#refuse(new StoreRefused(words, { cause: error }));
    });
    client.on('ready', () => (this.trouble = null));
  }

  async connect(): Promise<void> {
    if (this.#client.isOpen) return;
    const refused = new Promise<never>((_, reject) => (this.#refuse = reject));
    await Promise.race([this.#client.connect(), refused]);
    this.#refuse = () => {};
  }
}

export function connectSingle(url: string): RedisConnection {
  const client = quiet(single(url));
  const waiting = quiet(single(url));
  const listening = quiet(single(url));
  const opening = new Opening(client);
  // The client closes silent connections by its own timers, so silence is measured by the same clock.
  const owed = new InFlightReplies(machineTime);
  const confirming = new Confirming(new InFlightReplies(machineTime), (args) => sendOn(waiting, args));
  const opened = (each: Client): Promise<unknown> => (each.isOpen ? Promise.resolve() : each.connect());
  return {
    open: () => opening.connect(),
    get trouble() {
      return opening.trouble;
    },
    close: async () => [client, waiting, listening].forEach(endClient),
    send: (_key, args) => owed.ask(() => sendOn(client, args)),
    sendConfirmed: (key, args) => opened(waiting).then(() => confirming.send(key, args)),
    primaries: () => [(args) => owed.ask(() => sendOn(client, args))],
    async subscribe(channel, heard, again) {
      await opened(listening);
      await listening.subscribe(channel, heard);
      listening.on('ready', again);
      return async () => {
        listening.off('ready', again);
        if (listening.isReady) await listening.unsubscribe(channel, heard);
      };
    },
  };
}

/** One server, tried once: the doctor reports what is wrong instead of waiting for it to pass. */
export function connectOnce(url: string) {
  const client = quiet(single(url, false));
  return {
    open: async (): Promise<void> => void (await client.connect()),
    close: (): void => endClient(client),
    send: (args: Arguments): Promise<RedisReply> => sendOn(client, args),
  };
}

export const isCluster = (url: string): boolean => /^rediss?-cluster:/.test(url);

/** The parts of `redis-cluster://[user:password@]host:port,host:port`, or of `rediss-cluster:` over TLS; `user` is not decoded. */
export function clusterAddress(url: string): { readonly secure: '' | 's'; readonly user: string | undefined; readonly hosts: readonly string[] } {
  const [, secure, user, hosts] = /^redis(s?)-cluster:\/\/(?:([^@]*)@)?([^/]+)\/?$/.exec(url) ?? [];
  if (hosts === undefined) throw new Error('The address of a cluster must be redis-cluster://host:port,host:port.');
  return { secure: secure === 's' ? 's' : '', user, hosts: hosts.split(',') };
}

function clusterOf(url: string) {
  const { secure, user, hosts } = clusterAddress(url);
  const [username, password] = (user ?? '').split(':').map(decodeURIComponent);
  const access = user === undefined ? {} : { username: username!, password: password ?? '' };
  const socket = secure === 's' ? { ...clientOptions.socket, tls: true as const } : clientOptions.socket;
  return createCluster({
    rootNodes: hosts.map((host) => ({ ...clientOptions, ...access, socket, url: `redis${secure}://${host}` })),
    defaults: { ...clientOptions, ...access, socket },
    RESP: 3,
    commandOptions: clientOptions.commandOptions,
    topologyRefreshOnReconnectionAttemptStrategy: limits.redisTopologyMs,
  });
}

type Cluster = ReturnType<typeof clusterOf>;

/** The errors of a cluster's members come as events only: the failed attempt itself says only that no member answered. */
async function openCluster(cluster: Cluster): Promise<void> {
  if (cluster.isOpen) return;
  let refusal: string | null = null;
  const heard = (error: NodeJS.ErrnoException): void => void (refusal ??= refusalOf(error));
  cluster.on('error', heard);
  try {
    await cluster.connect();
  } catch (error) {
    throw refusal === null ? error : new StoreRefused(refusal, { cause: error });
  } finally {
    cluster.off('error', heard);
  }
}

export function connectCluster(url: string): RedisConnection {
  const cluster = quiet(clusterOf(url));
  const waiting = quiet(clusterOf(url));
  let connecting: Promise<unknown> | null = null;
  const openedWaiting = (): Promise<unknown> => (connecting ??= waiting.connect().catch((error) => ((connecting = null), Promise.reject(error))));
  const masterOf = (each: Cluster, key: string) => each.slots[slotOf(key)]?.master;
  const lookedAt = new WeakMap<Cluster, number>();
  /**
   * During a failover the client may have read a map in which no server has the slot. The client reads it again after a
   * redirection or when a server does not answer, but it has no server to ask for such a slot. So it is read again here, and the
   * command is retried meanwhile.
   */
  const unknown = (each: Cluster): Promise<never> => {
    const now = machineTime.monotonic();
    if (now - (lookedAt.get(each) ?? -Infinity) >= limits.redisTopologyMs) {
      lookedAt.set(each, now);
      each._slots.rediscover().catch(() => {});
    }
    return Promise.reject(new Error('The server that has the slot is not known yet.'));
  };
  const owed = new WeakMap<object, InFlightReplies>();
  /** Each shard has its own replies in flight, so that a silent shard does not block the others. */
  const owedBy = (master: object): InFlightReplies => {
    let one = owed.get(master);
    if (one === undefined) owed.set(master, (one = new InFlightReplies(machineTime)));
    return one;
  };
  const askNode = (each: Cluster, key: string, send: () => Promise<RedisReply>): Promise<RedisReply> => {
    const master = masterOf(each, key);
    return master === undefined ? unknown(each) : owedBy(master).ask(send);
  };
  const confirmers = new WeakMap<Client, Confirming>();
  const confirmingOf = (node: Client): Confirming => {
    let one = confirmers.get(node);
    if (one === undefined) confirmers.set(node, (one = new Confirming(new InFlightReplies(machineTime), (args) => sendOn(node, args))));
    return one;
  };
  const sendTo = (each: Cluster, key: string, args: Arguments): Promise<RedisReply> =>
    askNode(each, key, () => each.sendCommand(key, false, [...args], commandOptions) as unknown as Promise<RedisReply>);
  return {
    open: () => openCluster(cluster),
    trouble: null,
    close: async () => [cluster, waiting].forEach(endClient),
    send: (key, args) => sendTo(cluster, key, args),
    async sendConfirmed(key, args) {
      await openedWaiting();
      const master = masterOf(waiting, key);
      if (master === undefined) return unknown(waiting);
      // Step and WAIT go to one server: the cluster client would follow a redirection with the step, and send a WAIT to every shard.
      const node = (await waiting.nodeClient(master)) as unknown as Client;
      return confirmingOf(node).send(key, args).catch(async (error: Error) => {
        // The cluster client learns which server has the slot now only from its own commands. The step is retried after that.
        if (/^(?:MOVED|ASK)\b/.test(error.message)) await sendTo(waiting, key, ['GET', `${key}:confirmed`]);
        throw error;
      });
    },
    primaries: () => cluster.masters.map((master) => (args) => cluster.nodeClient(master).then((node) => owedBy(master).ask(() => sendOn(node as unknown as Client, args)))),
    async subscribe(channel, heard, again) {
      const listener = (text: unknown): void => heard(String(text));
      await cluster.subscribe(channel, listener);
      cluster.on('node-ready', again);
      return async () => {
        cluster.off('node-ready', again);
        if (cluster.isOpen) await cluster.unsubscribe(channel, listener);
      };
    },
  };
}

/** The hash slot of a key: CRC-16 (XMODEM) of its hash tag. */
function slotOf(key: string): number {
  const [from, to] = [key.indexOf('{'), key.indexOf('}', key.indexOf('{'))];
  const tag = from >= 0 && to > from + 1 ? key.slice(from + 1, to) : key;
  let sum = 0;
  for (const byte of Buffer.from(tag)) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x8000 ? (sum << 1) ^ 0x1021 : sum << 1) & 0xffff;
  }
  return sum % 16384;
}
