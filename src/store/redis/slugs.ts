/**
 * The slugs of assistants. A slug is in a separate slot from its assistant's record: it is claimed first, then
 * the record is written, and a reader of the claim checks it against the record. A claim without such a record,
 * because its writer died or its answer was lost, may be replaced once no step of that writer can be under way any
 * more.
 */
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { SlugTaken, type Assistant, type Versioned } from '../store.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { textOfReply } from './reply.ts';
import type { RedisReply } from './reply.ts';

type Place = Pick<Assistant, 'workspaceId' | 'id'>;
type ReadAssistant = (place: Place) => Promise<Versioned<Assistant> | null>;

export class RedisSlugs {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #ids: Ids;
  readonly #read: ReadAssistant;

  constructor(link: RedisLink, roots: Roots, ids: Ids, read: ReadAssistant) {
    this.#link = link;
    this.#roots = roots;
    this.#ids = ids;
    this.#read = read;
  }

  async find(slug: string): Promise<Versioned<Assistant> | null> {
    const claim = await this.#claimOf(slug);
    const assistant = claim && (await this.#read(claim));
    return assistant?.record.link?.slug === slug ? assistant : null;
  }

  /** Throws `SlugTaken` if another assistant has the slug or is about to have it. */
  async claim(slug: string, { workspaceId, id }: Place): Promise<void> {
    for (let stale = ''; ;) {
      const fields = { workspaceId, id, token: this.#ids.secret(), stale };
      const claim = await this.#link.runDurable('claim-slug', this.#roots.slug(slug), fields);
      if (claim === null) return;
      const [ownerWorkspaceId, ownerId, token, ageMs] = claim.map(textOfReply) as [string, string, string, string];
      const owner = await this.#read({ workspaceId: ownerWorkspaceId, id: ownerId });
      if (owner?.record.link?.slug === slug || Number(ageMs) < limits.redisStepKeptMs) throw new SlugTaken(slug);
      stale = token;
    }
  }

  /**
   * The token by which the assistant's claim can be released later, unless the slug is claimed again meanwhile; null if
   * it has no claim.
   */
  async tokenOf(slug: string, { id }: Place): Promise<string | null> {
    const claim = await this.#claimOf(slug);
    return claim?.id === id ? claim.token : null;
  }

  /**
   * Frees the slug if the assistant has it. Without a token only for a removed assistant, because no step of it can
   * claim the slug any more.
   */
  async release(slug: string, { id }: Place, token = ''): Promise<void> {
    await this.#link.runDurable('release-slug', this.#roots.slug(slug), { id, token });
  }

  async #claimOf(slug: string): Promise<(Place & { readonly token: string }) | null> {
    const key = `${this.#roots.slug(slug)}:assistant`;
    const [workspaceId, id, token] = (await this.#link.send(key, 'HMGET', key, 'workspace', 'id', 'token')) as [
      RedisReply,
      RedisReply,
      RedisReply,
    ];
    return id === null
      ? null
      : { workspaceId: textOfReply(workspaceId), id: textOfReply(id), token: textOfReply(token) };
  }
}
