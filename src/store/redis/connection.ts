/** node-redis, once for a single Redis and once for a cluster. */
import { createClient, createCluster, RESP_TYPES } from 'redis';
import { machineTime } from '../../clock.ts';
import { limits } from '../../limits.ts';
import { StoreRefused } from '../../store.ts';
import { Owed } from './owed.ts';
import type { Reply } from './reply.ts';

type Arguments = readonly (string | Buffer)[];

export interface Connection {
  /** Connects; throws `StoreRefused` where a single Redis does not take the address. */
  open(): Promise<void>;
  /** The system's word for why nothing is connected now, if it has one. */
  readonly trouble: string | null;
  close(): Promise<void>;
  /** Sends a command to the node that has the key's slot. */
  send(key: string, args: Arguments): Promise<Reply>;
  /** A second connection for steps that wait for a replica: the wait holds up all that follows it on the same one. */
  readonly replicating: Pick<Connection, 'send'>;
  subscribe(channel: string, heard: (text: string) => void, again: () => void): Promise<() => Promise<void>>;
}

// The client's own time limit is for what is not yet written and keeps a signal with a timer for each command, five seconds long: who calls has a deadline.
const commandOptions = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer }, timeout: 0 };

// Nothing waits for a connection that is not there, and a silent one is closed: what was written to it would never settle.
const clientOptions = {
  disableOfflineQueue: true,
  commandsQueueMaxLength: limits.redisCallsMax,
  pingInterval: limits.redisPingMs,
  socket: {
    connectTimeout: limits.redisConnectMs,
    socketTimeout: limits.redisSilenceMs,
    reconnectStrategy: (tries: number): number => Math.min(50 * 2 ** tries, limits.redisReconnectMsMax),
  },
};

const single = (url: string, reconnectStrategy: false | ((tries: number) => number) = clientOptions.socket.reconnectStrategy) =>
  createClient({ ...clientOptions, url, RESP: 3, socket: { ...clientOptions.socket, reconnectStrategy } });
type Client = ReturnType<typeof single>;

const sendOn = (client: Client, args: Arguments): Promise<Reply> => client.sendCommand([...args], commandOptions) as unknown as Promise<Reply>;

/** Whoever calls learns of a connection's errors from its calls; a client without a listener would end the process. */
const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => {});
  return client;
};

const ended = (client: { readonly isOpen: boolean; destroy(): void }): void => {
  if (client.isOpen) client.destroy();
};

/** What Redis itself says of an address that it does not take. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [/^(?:NOAUTH|WRONGPASS)\b/, 'Redis wants another user or password.'],
  [/^ERR DB index\b/, 'Redis has no database of that number.'],
];

/** The first connection of a client, which would try for ever whatever it is told; and its trouble since. */
class Opening {
  trouble: string | null = null;
  readonly #client: Client;
  #refuse: (refusal: StoreRefused) => void = () => {};

  constructor(client: Client) {
    this.#client = client;
    client.on('error', (error: NodeJS.ErrnoException) => {
      this.trouble = error.code ?? null;
      const words = refusals.find(([said]) => said.test(error.message))?.[1];
      if (words !== undefined) this.#refuse(new StoreRefused(words, { cause: error }));
    });
    client.on('ready', () => (this.trouble = null));
  }

  async connected(): Promise<void> {
    if (this.#client.isOpen) return;
    const refused = new Promise<never>((_, reject) => (this.#refuse = reject));
    await Promise.race([this.#client.connect(), refused]);
    this.#refuse = () => {};
  }
}

export function connectSingle(url: string): Connection {
  const client = quiet(single(url));
  const waiting = quiet(single(url));
  const listening = quiet(single(url));
  const opening = new Opening(client);
  // The client closes what is silent by its own timers, so silence is measured by the same.
  const [owed, owedWaiting] = [new Owed(machineTime), new Owed(machineTime)];
  const opened = (each: Client): Promise<unknown> => (each.isOpen ? Promise.resolve() : each.connect());
  return {
    open: () => opening.connected(),
    get trouble() {
      return opening.trouble;
    },
    close: async () => [client, waiting, listening].forEach(ended),
    send: (_key, args) => owed.ask(() => sendOn(client, args)),
    replicating: { send: async (_key, args) => opened(waiting).then(() => owedWaiting.ask(() => sendOn(waiting, args))) },
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

/** One server, tried once: who examines it wants to hear what is wrong instead of waiting for better times. */
export function connectOnce(url: string) {
  const client = quiet(single(url, false));
  return {
    open: async (): Promise<void> => void (await client.connect()),
    close: (): void => ended(client),
    send: (args: Arguments): Promise<Reply> => sendOn(client, args),
  };
}

export const isCluster = (url: string): boolean => /^rediss?-cluster:/.test(url);

/** `redis-cluster://[user:password@]host:port,host:port`, or `rediss-cluster:` over TLS, taken apart; `user` is as it stands there. */
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
    topologyRefreshOnReconnectionAttemptStrategy: limits.redisTopologyMs,
  });
}

type Cluster = ReturnType<typeof clusterOf>;

export function connectCluster(url: string): Connection {
  const cluster = quiet(clusterOf(url));
  const waiting = quiet(clusterOf(url));
  const opened = (each: Cluster): Promise<unknown> => (each.isOpen ? Promise.resolve() : each.connect());
  const masterOf = (each: Cluster, key: string) => each.slots[slotOf(key)]?.master;
  const owed = new WeakMap<object, Owed>();
  /** A shard that has fallen silent holds up nothing of the others. */
  const askNode = (each: Cluster, key: string, send: () => Promise<Reply>): Promise<Reply> => {
    const master = masterOf(each, key);
    if (master === undefined) return send();
    let one = owed.get(master);
    if (one === undefined) owed.set(master, (one = new Owed(machineTime)));
    return one.ask(send);
  };
  const sendTo = (each: Cluster, key: string, args: Arguments): Promise<Reply> =>
    askNode(each, key, () => each.sendCommand(key, false, [...args], commandOptions) as unknown as Promise<Reply>);
  return {
    open: async () => void (await opened(cluster)),
    trouble: null,
    close: async () => [cluster, waiting].forEach(ended),
    send: (key, args) => sendTo(cluster, key, args),
    replicating: {
      async send(key, args) {
        await opened(waiting);
        if (args[0] !== 'WAIT') return sendTo(waiting, key, args);
        // A cluster's client would send it to every shard; the one that was written to is the one to wait for.
        const node = (await waiting.nodeClient(masterOf(waiting, key)!)) as unknown as Client;
        return askNode(waiting, key, () => sendOn(node, args));
      },
    },
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
  const tag = /\{([^}]+)\}/.exec(key)?.[1] ?? key;
  let sum = 0;
  for (const byte of Buffer.from(tag)) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x8000 ? (sum << 1) ^ 0x1021 : sum << 1) & 0xffff;
  }
  return sum % 16384;
}
