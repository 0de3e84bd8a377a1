/**
 * The keys in Redis. All keys of a workspace begin with its root and are in the slot of the root's hash tag, so that
 * each step is one script on one shard. Keys outside a workspace have separate roots: the list of workspaces, the
 * workspaces that a sweep must visit, and one root for each key's public id and each assistant's slug.
 */
import { account, accountParts, byAccount, isAsked, memoryDigest, part } from '../key-parts.ts';

export { account, accountParts, byAccount, isAsked, memoryDigest, part };

/** The prefix of every key of an installation. */
export const usualPrefix = 'parley:';

export class Roots {
  readonly prefix: string;
  #installation: string | null = null;

  /** The prefix of every key and channel; it must not contain a brace. */
  constructor(prefix: string = usualPrefix) {
    this.prefix = prefix;
  }

  /**
   * Names the installation, which channels need: Redis sends a published message to the listeners of all its databases.
   */
  name(installation: string): void {
    this.#installation = installation;
  }

  workspace(workspaceId: string): string {
    return `${this.prefix}{${part(workspaceId)}}`;
  }

  get workspaces(): string {
    return `${this.prefix}{workspaces}`;
  }

  /** The root of the lists of workspaces with sessions, leases or memories. */
  get registry(): string {
    return `${this.prefix}{registry}`;
  }

  publicKey(publicId: string): string {
    return `${this.prefix}{public-key/${part(publicId)}}`;
  }

  slug(name: string): string {
    return `${this.prefix}{slug/${part(name)}}`;
  }

  /** The root of the processes' load. */
  get load(): string {
    return `${this.prefix}{load}`;
  }

  /** An import's progress. */
  get importing(): string {
    return `${this.prefix}{import}`;
  }

  /** A channel on which the processes of the installation send each other something. */
  channel(name: 'watching' | 'feed' | 'notices'): string {
    if (this.#installation === null) throw new Error('The store is not open.');
    return `${this.prefix}${this.#installation}:${name}`;
  }
}
