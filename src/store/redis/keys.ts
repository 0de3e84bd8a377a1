/**
 * The keys in Redis. All of a workspace begin with its root and lie in the slot of the root's hash tag, so that each step
 * is one script on one shard. What belongs to no workspace has roots of its own: the list of workspaces, the workspaces
 * that a sweep must visit, and one root for each key's public id.
 */
import { memory, part } from '../embedded/keys.ts';

export { part };

/** Stands before every key of an installation. */
export const usualPrefix = 'parley:';

export class Roots {
  readonly prefix: string;

  /** The prefix stands before every key and names the channel of the notices; it may not hold a brace. */
  constructor(prefix: string = usualPrefix) {
    this.prefix = prefix;
  }

  workspace(workspaceId: string): string {
    return `${this.prefix}{${part(workspaceId)}}`;
  }

  get workspaces(): string {
    return `${this.prefix}{workspaces}`;
  }

  /** Workspaces with sessions, leases or memories. */
  get registry(): string {
    return `${this.prefix}{registry}`;
  }

  publicKey(publicId: string): string {
    return `${this.prefix}{public-key/${part(publicId)}}`;
  }

  /** How far an import has come. */
  get importing(): string {
    return `${this.prefix}{import}`;
  }

  get notices(): string {
    return `${this.prefix}notices`;
  }
}

/** A memory's name within its workspace. */
export const memoryOf = (workspaceId: string, scope: string, key: string): string => memory(workspaceId, scope, key).split('/').at(-1)!;
