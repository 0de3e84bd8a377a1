/** The browser's memory of a conversation for the next visit; where storage is denied, this page alone keeps it. */
import type { Visitor } from '../../client/types.ts';

/** A message that the service has not acknowledged. */
export interface Pending {
  readonly text: string;
  /** Sent with each attempt, so that the service takes the message once. */
  readonly key: string;
  /** How many messages the visitor had sent before. */
  readonly before: number;
}

export interface Remembered {
  readonly visitor: Visitor;
  readonly session: string;
  readonly pending: Pending | null;
}

export class Memory {
  readonly #name: string;

  constructor(name: string) {
    this.#name = `parley:${name}`;
  }

  read(): Remembered | null {
    try {
      const found = JSON.parse(localStorage.getItem(this.#name) ?? 'null') as Remembered | null;
      return typeof found?.session === 'string' && typeof found.visitor?.token === 'string' ? found : null;
    } catch {
      return null;
    }
  }

  /** Null forgets. */
  write(remembered: Remembered | null): void {
    try {
      if (remembered === null) localStorage.removeItem(this.#name);
      else localStorage.setItem(this.#name, JSON.stringify(remembered));
    } catch {
      // Denied or full: a reload begins anew.
    }
  }
}
