/** Notices between processes: hints, published by the step that causes them and delivered at most once. */
import type { Notice } from '../store.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { RedisOrphans } from './orphans.ts';

/** A notice as published. `leaseMs` is for the store itself: a lease that was given for less than usual, or cut. */
type Published = (Notice | { readonly type: 'turn.leased'; readonly workspaceId: string }) & {
  readonly leaseMs?: number;
};

export class RedisNotices {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #orphans: RedisOrphans;

  constructor(link: RedisLink, roots: Roots, orphans: RedisOrphans) {
    this.#link = link;
    this.#roots = roots;
    this.#orphans = orphans;
  }

  watch(listener: (notice: Notice) => void): Promise<() => Promise<void>> {
    const heard = (text: string): void => {
      const { leaseMs, ...notice } = JSON.parse(text) as Published;
      if (leaseMs !== undefined && 'workspaceId' in notice) this.#orphans.noteLease(notice.workspaceId, leaseMs);
      if (notice.type !== 'turn.leased') listener(notice);
    };
    return this.#link.subscribe(this.#roots.channel('notices'), heard, () => listener({ type: 'missed' }));
  }
}
