/** The connections to Redis: to a single one, or to a cluster. */
import type { Clock } from '../../base/clock.ts';
import type { Arguments } from './connection/client.ts';
import { connectCluster } from './connection/cluster.ts';
import { connectSingle } from './connection/single.ts';
import type { RedisReply } from './reply.ts';

export interface RedisConnection {
  /**
   * Connects; throws `StoreRefused` if no later attempt would succeed either, as with a wrong password or an untrusted
   * certificate.
   */
  open(): Promise<void>;
  /**
   * The present reason for the loss of the connection, a sentence or the system's error code, or null.
   */
  readonly trouble: string | null;
  close(): Promise<void>;
  /** Sends a command to the node that has the key's slot. */
  send(key: string, args: Arguments): Promise<RedisReply>;
  /**
   * Works like `send`, but waits until a replica has the command's write (`replica-ack.ts`). On a second connection,
   * because a WAIT blocks all later commands on its connection.
   */
  sendConfirmed(key: string, args: Arguments): Promise<RedisReply>;
  /** One sender for each primary that is known now; the command may have any slot. */
  primaries(): readonly ((args: Arguments) => Promise<RedisReply>)[];
  subscribe(channel: string, heard: (text: string) => void, again: () => void): Promise<() => Promise<void>>;
}

export const isCluster = (url: string): boolean => /^rediss?-cluster:/.test(url);

export const connect = (url: string, clock: Clock): RedisConnection =>
  isCluster(url) ? connectCluster(url, clock) : connectSingle(url);
