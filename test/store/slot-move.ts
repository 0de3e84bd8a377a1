/**
 * Moves one slot of a Redis Cluster by hand, key by key, as an operator or a tool does; a move may be broken off at any
 * point.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { textOfReply, type RedisReply } from '../../src/store/redis/reply.ts';
import type { RedisCluster, RedisServer } from './redis-server.ts';

const migrateMs = '5000';

/** Keys that one command moves. */
const batch = 10;

/** A server's id in its cluster. */
export const idOf = async (server: RedisServer): Promise<string> => textOfReply(await server.ask('CLUSTER', 'MYID'));

export class SlotMove {
  readonly slot: string;
  readonly source: RedisServer;
  readonly target: RedisServer;
  readonly #cluster: RedisCluster;

  constructor(cluster: RedisCluster, slot: string, source: RedisServer, target: RedisServer) {
    this.#cluster = cluster;
    this.slot = slot;
    this.source = source;
    this.target = target;
  }

  /** A move of a hash tag's slot from the primary that has it to another; nothing has moved yet. */
  static async of(cluster: RedisCluster, tag: string): Promise<SlotMove> {
    const primaries = await cluster.primaries();
    const answers = await Promise.all(primaries.map((server) => server.command('EXISTS', `{${tag}}`)));
    // All others answer MOVED.
    const source = primaries[answers.findIndex((answer) => /^\d+$/.test(answer))]!;
    const slot = await source.command('CLUSTER', 'KEYSLOT', `{${tag}}`);
    return new SlotMove(
      cluster,
      slot,
      source,
      primaries.find((server) => server !== source)!,
    );
  }

  async open(): Promise<void> {
    await this.target.ask('CLUSTER', 'SETSLOT', this.slot, 'IMPORTING', await idOf(this.source));
    await this.source.ask('CLUSTER', 'SETSLOT', this.slot, 'MIGRATING', await idOf(this.target));
  }

  count(server: RedisServer): Promise<number> {
    return server.ask('CLUSTER', 'COUNTKEYSINSLOT', this.slot) as Promise<number>;
  }

  /** Moves that many keys, all by default, from one server to the other. */
  async keys(most = Infinity, [from, to] = [this.source, this.target]): Promise<void> {
    for (let left = Math.min(most, await this.count(from)); left > 0;) {
      const keys = (
        (await from.ask('CLUSTER', 'GETKEYSINSLOT', this.slot, String(Math.min(left, batch)))) as RedisReply[]
      ).map(textOfReply);
      // Keys that have expired meanwhile.
      if (keys.length === 0) return;
      await from.ask('MIGRATE', '127.0.0.1', String(to.port), '', '0', migrateMs, 'KEYS', ...keys);
      left -= keys.length;
    }
  }

  /** The target has the slot from now on. */
  async finish(): Promise<void> {
    const id = await idOf(this.target);
    for (const server of [this.target, this.source]) await server.ask('CLUSTER', 'SETSLOT', this.slot, 'NODE', id);
  }

  /** A server forgets the move, even if it has keys. */
  async stable(server: RedisServer): Promise<void> {
    await server.ask('CLUSTER', 'SETSLOT', this.slot, 'STABLE');
  }

  /** Repairs the move as an operator does: every key ends up with one primary. */
  fix(): Promise<void> {
    return fix(this.#cluster);
  }
}

/** Repairs all moves that were broken off. The manager stops where the servers do not agree yet about a failover. */
export async function fix(cluster: RedisCluster): Promise<void> {
  for (let left = triesMax; ; left--) {
    try {
      await cluster.manage('fix', []);
      return await cluster.manage('check', []);
    } catch (error) {
      if (left === 1)
        throw new Error(`The cluster cannot be fixed: ${(error as { stdout?: string }).stdout}`, { cause: error });
      await pause(againMs);
    }
  }
}

const triesMax = 40;
const againMs = 250;
