/** The browser's memory of a conversation for the next visit; where storage is denied, this page alone keeps it. */
import type { Visitor } from '../../client/types.ts';
import { now } from './clock.ts';

/** A message that the service has not acknowledged. */
export interface Pending {
  readonly text: string;
  /** Sent with each attempt, so that the service takes the message once. */
  readonly key: string;
  /** Number of messages that the visitor had sent before. */
  readonly before: number;
}

export interface Remembered {
  readonly visitor: Visitor;
  readonly session: string;
  readonly pending: Pending | null;
}

/** A conversation for the next visit. */
export interface Memories {
  /** Called when the newest conversation is no longer this tab's. */
  changed: () => void;
  /** Called when a message that another tab was sending in this conversation has arrived. */
  arrived: () => void;
  /** `isOthers`: another tab has begun it, and its message is that tab's to send. */
  read(isOthers?: boolean): Remembered | null;
  /** Null forgets. */
  write(remembered: Remembered | null): void;
}

/** Returns the conversation in a stored text; null for any other text. */
export function parsed(text: string): Remembered | null {
  try {
    const found = JSON.parse(text) as Remembered | null;
    return typeof found?.session === 'string' && typeof found.visitor?.token === 'string' ? found : null;
  } catch {
    return null;
  }
}

/** A stored conversation, if it is this visitor's. `signed`: the visitor whom the site has named; null for anybody. */
export function ownedBy(signed: Visitor | null, found: Remembered | null): Remembered | null {
  if (found === null) return null;
  if (signed !== null) return found.visitor.id === signed.id ? { ...found, visitor: signed } : null;
  return found.visitor.token !== '' && found.visitor.expires_at * 1000 > now() ? found : null;
}

/** The stored conversation of this visitor. Forgets another one where the site has said who the visitor is. */
export function recall(memory: Memories, signed: Visitor | null): Remembered | null {
  const found = memory.read();
  const own = ownedBy(signed, found);
  if (own !== null || found === null || signed === null) return own;
  memory.write(null);
  // A tab may have had its own in front of the one that all tabs have.
  return ownedBy(signed, memory.read());
}

/**
 * The newest conversation is in the browser's memory, for all tabs and the next visit. A tab whose conversation
 * differs, since another was begun or left elsewhere, keeps it in the tab's memory, which ends with the tab.
 */
export class Memory implements Memories {
  readonly #name: string;
  /** The session and the key of the message that this tab has read or written last. */
  #own: string | null = null;
  #key: string | null = null;
  changed = (): void => {};
  arrived = (): void => {};

  constructor(name: string) {
    this.#name = `parley:${name}`;
    addEventListener('storage', ({ key, oldValue, newValue }) => {
      if (key !== this.#name) return;
      if (this.#newest !== this.#own) this.changed();
      else if (parsed(oldValue ?? '')?.pending && !parsed(newValue ?? '')?.pending) this.arrived();
    });
    // A page that is loaded again may not have heard of another tab's change yet.
    addEventListener('pagehide', () => void (this.#own !== null && this.#newest !== this.#own && this.changed()));
  }

  read(isOthers = false): Remembered | null {
    const found = this.#in(() => sessionStorage) ?? this.#in(() => localStorage);
    this.#note(found && isOthers ? { ...found, pending: null } : found);
    return found;
  }

  write(remembered: Remembered | null): void {
    const there = this.#in(() => localStorage);
    const begins = remembered !== null && remembered.session !== this.#own;
    const isOurs = begins || this.#newest === this.#own;
    // A message that another tab is sending in the same conversation.
    const theirs = !begins && there?.pending?.key !== this.#key ? (there?.pending ?? null) : null;
    this.#note(remembered);
    try {
      if (remembered !== null && (!isOurs || (theirs !== null && remembered.pending !== null)))
        return sessionStorage.setItem(this.#name, JSON.stringify(remembered));
      sessionStorage.removeItem(this.#name);
      if (remembered !== null)
        localStorage.setItem(this.#name, JSON.stringify({ ...remembered, pending: remembered.pending ?? theirs }));
      else if (isOurs) localStorage.removeItem(this.#name);
    } catch {
      // Denied or full: a reload begins anew.
    }
  }

  #note(remembered: Remembered | null): void {
    this.#own = remembered?.session ?? null;
    this.#key = remembered?.pending?.key ?? this.#key;
  }

  get #newest(): string | null {
    return this.#in(() => localStorage)?.session ?? null;
  }

  #in(storage: () => Storage): Remembered | null {
    try {
      return parsed(storage().getItem(this.#name) ?? '');
    } catch {
      return null;
    }
  }
}
