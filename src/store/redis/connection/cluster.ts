/**
 * The client of a cluster. It sends a step to the primary that has the slot, and nowhere else: it follows MOVED,
 * because the slot is at its new primary as a whole, and never ASK, because a part of the slot's keys is elsewhere (see
 * `open-slots.ts`).
 */
import { createCluster } from 'redis';
import { machineTime, type Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { StoreRefused } from '../../store.ts';
import { ReplicaAck } from '../replica-ack.ts';
import { InFlightReplies } from '../in-flight-replies.ts';
import type { RedisReply } from '../reply.ts';
import {
  askOnce,
  clientOptions,
  isDemoted,
  isLoading,
  quiet,
  refusalOf,
  sendOn,
  Sockets,
  type Arguments,
  type Client,
} from './client.ts';
import { OpenSlots } from './open-slots.ts';

/** Milliseconds of a node's absence after which the cluster is queried for its slots. */
const redisTopologyMs = 200;

/**
 * The parts of `redis-cluster://[user:password@]host:port,host:port`, or of `rediss-cluster:` over TLS; `user` is not
 * decoded.
 */
export function clusterAddress(url: string): {
  readonly secure: '' | 's';
  readonly user: string | undefined;
  readonly hosts: readonly string[];
} {
  const [, secure, user, hosts] = /^redis(s?)-cluster:\/\/(?:([^@]*)@)?([^/]+)\/?$/.exec(url) ?? [];
  if (hosts === undefined) throw new Error('The address of a cluster must be redis-cluster://host:port,host:port.');
  return { secure: secure === 's' ? 's' : '', user, hosts: hosts.split(',') };
}

/** The address of one member by itself. */
export function memberUrl(url: string, address: string): string {
  const { secure, user } = clusterAddress(url);
  return `redis${secure}://${user === undefined ? '' : `${user}@`}${address}`;
}

function clusterOf(url: string, sockets: Sockets) {
  const { secure, user, hosts } = clusterAddress(url);
  const [username, password] = (user ?? '').split(':').map(decodeURIComponent);
  const access = user === undefined ? {} : { username: username!, password: password ?? '' };
  const socket = secure === 's' ? { ...sockets.options, tls: true as const } : sockets.options;
  return createCluster({
    rootNodes: hosts.map((host) => ({ ...clientOptions, ...access, socket, url: `redis${secure}://${host}` })),
    defaults: { ...clientOptions, ...access, socket },
    RESP: 3,
    commandOptions: clientOptions.commandOptions,
    topologyRefreshOnReconnectionAttemptStrategy: redisTopologyMs,
  });
}

type Cluster = ReturnType<typeof clusterOf>;
type Node = Cluster['masters'][number];

/** After this many redirections in a row the caller waits before its next try. */
const redirectionsMax = 3;

export function connectCluster(url: string, clock: Clock) {
  const client = new ClusterClient(url, clock);
  const waiting = new ClusterClient(url, clock);
  const { cluster } = client;
  return {
    open: () => client.open(),
    trouble: null,
    close: async () => void (await Promise.all([client.close(), waiting.close()])),
    send: (key: string, args: Arguments) => client.send(key, args),
    sendConfirmed: (key: string, args: Arguments) => waiting.opened().then(() => waiting.sendConfirmed(key, args)),
    primaries: () => cluster.masters.map((master) => (args: Arguments) => client.ask(master, args)),
    async subscribe(channel: string, heard: (text: string) => void, again: () => void) {
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

class ClusterClient {
  readonly cluster: Cluster;
  readonly #clock: Clock;
  readonly #sockets = new Sockets();
  readonly #openSlots: OpenSlots;
  /** Replies in flight, by node: a silent shard does not block the others. */
  readonly #owed = new WeakMap<object, InFlightReplies>();
  readonly #acknowledged = new WeakMap<Client, ReplicaAck>();
  #opening: Promise<unknown> | null = null;
  #connected: Promise<unknown> | null = null;
  #lookedAt = -Infinity;

  constructor(url: string, clock: Clock) {
    this.#clock = clock;
    this.cluster = quiet(clusterOf(url, this.#sockets));
    this.#openSlots = new OpenSlots(clock, {
      primaries: () =>
        this.cluster.masters.map((node) => ({ address: node.address, ask: (words) => this.ask(node, words) })),
      askAt: (address, words) => askOnce(memberUrl(url, address), words),
      ownerOf: (slot) => this.cluster.slots[slot]?.master.address,
      readMap: () => this.#rediscover(),
    });
  }

  /**
   * The errors of a cluster's members come as events only: the failed attempt itself says only that no member answered.
   */
  async open(): Promise<void> {
    if (this.cluster.isOpen) return;
    const heard: NodeJS.ErrnoException[] = [];
    const hear = (error: NodeJS.ErrnoException): unknown => heard.push(error);
    this.cluster.on('error', hear);
    try {
      await (this.#connected = this.cluster.connect());
    } catch (error) {
      const refusal = heard.map(refusalOf).find((words) => words !== null);
      throw refusal === undefined ? (heard.find(isLoading) ?? error) : new StoreRefused(refusal, { cause: error });
    } finally {
      this.cluster.off('error', hear);
    }
  }

  /** Opens it unless it is open; after a failure the next call tries again. */
  opened(): Promise<unknown> {
    return (this.#opening ??= this.open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    }));
  }

  /**
   * Ends the connections. A reading of the map connects to the nodes, so all sockets end after it (`rediscover` joins
   * the one in flight). The caller does not wait for a server that is down for longer than a connection may take.
   */
  async close(): Promise<void> {
    this.#sockets.close();
    const ended = Promise.allSettled([this.#connected, this.#readMap()]).then(() => this.#end());
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(limits.redisConnectMs, resolve);
      void ended.then(() => {
        timer.cancel();
        resolve();
      });
    });
    if (this.cluster.isOpen) this.cluster.destroy();
  }

  #end(): void {
    if (this.cluster.isOpen) this.cluster.destroy();
    this.#sockets.end();
  }

  /** Sends a command with any slot to a node. */
  async ask(node: Node, args: Arguments): Promise<RedisReply> {
    const client = await this.#clientOf(node);
    return this.#owedBy(node).ask(() => sendOn(client, args));
  }

  send(key: string, args: Arguments): Promise<RedisReply> {
    return this.#toSlot(slotOf(key), (client, node) => this.#owedBy(node).ask(() => sendOn(client, args)));
  }

  /** Step and WAIT go to one server. */
  sendConfirmed(key: string, args: Arguments): Promise<RedisReply> {
    return this.#toSlot(slotOf(key), (client) => this.#acknowledgedOn(client).send(key, args));
  }

  async #toSlot(slot: number, attempt: (client: Client, node: Node) => Promise<RedisReply>): Promise<RedisReply> {
    for (let redirections = 0; ; redirections++) {
      const { slots } = this.cluster;
      const admitted = this.#openSlots.admit(slot, slots);
      if (admitted !== null) await admitted;
      const node = slots[slot]?.master;
      if (node === undefined) return this.#unknown();
      const client = await this.#clientOf(node);
      // The client may have read the map again while this step waited.
      if (slots === this.cluster.slots) {
        try {
          return await attempt(client, node);
        } catch (error) {
          if (!(await this.#isMoved(error as Error, slot, node, client)) || redirections === redirectionsMax)
            throw error;
        }
      } else if (redirections === redirectionsMax)
        throw new Error('The slots of the Redis Cluster moved again and again while a command was sent.');
    }
  }

  /** Whether an error says that another node has the slot; then the map is read again before this resolves. */
  async #isMoved({ message }: Error, slot: number, { address }: Node, client: Client): Promise<boolean> {
    if (message.startsWith('MOVED')) {
      await this.#readMap(client);
      return true;
    }
    if (message.startsWith('ASK')) this.#openSlots.noteOpen(slot);
    // A primary that is cut off from the others, and was replaced by them, never answers MOVED.
    else if (message.startsWith('CLUSTERDOWN') || isDemoted(message)) this.#rediscover(address);
    return false;
  }

  /**
   * During a failover the client may have read a map in which no server has the slot. The client reads it again after a
   * redirection or when a server does not answer, but it has no server to ask for such a slot. So it is read again
   * here, and the command is retried meanwhile.
   */
  #unknown(): Promise<never> {
    this.#rediscover();
    return Promise.reject(new Error('The server that has the slot is not known yet.'));
  }

  /** Reads the map again, from any other node than the one at the address. */
  #rediscover(address?: string): void {
    const now = machineTime.monotonic();
    if (now - this.#lookedAt < redisTopologyMs) return;
    this.#lookedAt = now;
    void this.#readMap(undefined, address === undefined ? undefined : new Set([address]));
  }

  /** Reads the map; a closed client reads none, since its sockets have ended. Never rejects. */
  async #readMap(first?: Client, excluded?: Set<string>): Promise<void> {
    if (this.cluster.isOpen) await this.cluster._slots.rediscover(first as never, excluded).catch(() => {});
  }

  #clientOf(node: Node): Promise<Client> {
    // Otherwise a node that has lost its client would get a new one, which nothing ends.
    if (!this.cluster.isOpen) return Promise.reject(new Error('The connection to Redis is closed.'));
    return this.cluster.nodeClient(node);
  }

  #owedBy(node: object): InFlightReplies {
    let one = this.#owed.get(node);
    if (one === undefined) this.#owed.set(node, (one = new InFlightReplies(machineTime)));
    return one;
  }

  #acknowledgedOn(client: Client): ReplicaAck {
    let one = this.#acknowledged.get(client);
    if (one === undefined)
      this.#acknowledged.set(
        client,
        (one = new ReplicaAck(new InFlightReplies(machineTime), (args) => sendOn(client, args))),
      );
    return one;
  }
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
