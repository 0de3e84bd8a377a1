/** Notices between processes: hints, published within the step that gives cause for them and heard at most once. */
import type { Notice } from '../../store.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';

export class RedisNotices {
  readonly #link: Link;
  readonly #roots: Roots;

  constructor(link: Link, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  watch(listener: (notice: Notice) => void): Promise<() => Promise<void>> {
    const heard = (text: string): void => listener(JSON.parse(text) as Notice);
    return this.#link.subscribe(this.#roots.notices, heard, () => listener({ type: 'missed' }));
  }
}
