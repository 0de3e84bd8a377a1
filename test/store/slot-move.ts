/** Moves one slot of a Redis Cluster by hand, key by key, as an operator or a tool does; a move may be broken off at any point. */
import type { RedisCluster, RedisServer } from './redis-server.ts';

const migrateMs = '5000';

const idOf = (server: RedisServer): Promise<string> => server.command('CLUSTER', 'MYID');

export class SlotMove {
  readonly slot: string;
  readonly source: RedisServer;
  readonly target: RedisServer;
  readonly #cluster: RedisCluster;

  private constructor(cluster: RedisCluster, slot: string, source: RedisServer, target: RedisServer) {
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
    return new SlotMove(cluster, slot, source, primaries.find((server) => server !== source)!);
  }

  async open(): Promise<void> {
    await this.target.command('CLUSTER', 'SETSLOT', this.slot, 'IMPORTING', await idOf(this.source));
    await this.source.command('CLUSTER', 'SETSLOT', this.slot, 'MIGRATING', await idOf(this.target));
  }

  count(server: RedisServer): Promise<number> {
    return server.command('CLUSTER', 'COUNTKEYSINSLOT', this.slot).then(Number);
  }

  /** Moves that many keys, all by default, from one server to the other. */
  async keys(most = Infinity, [from, to] = [this.source, this.target]): Promise<void> {
    for (let left = Math.min(most, await this.count(from)); left > 0; left--) {
      const [key] = (await from.command('CLUSTER', 'GETKEYSINSLOT', this.slot, '1')).split('\n') as [string];
      await from.command('MIGRATE', '127.0.0.1', String(to.port), key, '0', migrateMs);
    }
  }

  /** The target has the slot from now on. */
  async finish(): Promise<void> {
    const id = await idOf(this.target);
    for (const server of [this.target, this.source]) await server.command('CLUSTER', 'SETSLOT', this.slot, 'NODE', id);
  }

  /** A server forgets the move, whatever keys it has. */
  async stable(server: RedisServer): Promise<void> {
    await server.command('CLUSTER', 'SETSLOT', this.slot, 'STABLE');
  }

  /** Repairs the move as an operator does: every key ends up with one primary. */
  async fix(): Promise<void> {
    await this.#cluster.manage('fix', []);
  }
}
