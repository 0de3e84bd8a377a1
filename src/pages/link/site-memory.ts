/** A conversation that the site around the frame keeps, where its tag says so. Imported there, so it stands alone. */
import type { Memories, Remembered } from './memory.ts';

/** The site's scripts read what it keeps: it gets the token and the session, and no message. */
export class SiteMemory implements Memories {
  changed = (): void => {};
  arrived = (): void => {};
  #kept: string;
  readonly #parsed: (text: string) => Remembered | null;
  readonly #keep: (value: string) => void;

  /** `keep` stores a text on the site; an empty one removes it. */
  constructor(kept: string | undefined, parsed: (text: string) => Remembered | null, keep: (value: string) => void) {
    this.#kept = kept ?? '';
    this.#parsed = parsed;
    this.#keep = keep;
  }

  read(): Remembered | null {
    const found = this.#parsed(this.#kept);
    return found && { visitor: found.visitor, session: found.session, pending: null };
  }

  write(remembered: Remembered | null): void {
    const value = remembered === null ? '' : JSON.stringify({ ...remembered, pending: null });
    if (value !== this.#kept) this.#keep((this.#kept = value));
  }
}
