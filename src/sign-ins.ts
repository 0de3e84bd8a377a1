/**
 * Sign-ins to the console, and the links that begin them (contract 9). They are records of the store, so that every process knows them;
 * of their secrets only digests are kept. What is expired or was begun under another operator token counts for nothing at once, and is
 * removed when the next person signs in.
 */
import { hkdfSync } from 'node:crypto';
import { secondsOf, type Clock, type Timer } from './clock.ts';
import type { Ids } from './ids.ts';
import { digestOf, matches } from './keys.ts';
import { limits } from './limits.ts';
import type { Log } from './log.ts';
import { installation, type CatalogRecords, type Person, type SignIn, type SignInLink } from './records.ts';
import type { Page, Store, Versioned } from './store.ts';

/** All who use the operator token are this one person. */
export const operatorPerson: Person = { id: 'operator', name: 'operator' };

/** The Unix second at which a sign-in ends unless it is used again. */
export const endOf = ({ lastSeenAt, signedInAt }: Pick<SignIn, 'lastSeenAt' | 'signedInAt'>): number =>
  Math.min(lastSeenAt + limits.signInIdleSeconds, signedInAt + limits.signInSecondsMax);

/** A sign-in that has just begun, with the value of its cookie, which is kept nowhere. */
export interface BegunSignIn {
  readonly signIn: SignIn;
  readonly cookie: string;
}

/** A sign-in that a cookie has shown. */
export interface ShownSignIn {
  readonly signIn: SignIn;
  /** Whether the browser should be given the cookie again, because it would drop it before the sign-in ends. */
  readonly renew: boolean;
}

const cookiePattern = /^([0-9a-z]{26})\.([\w-]{43})$/;
const secretBytes = 32;

export class SignIns {
  readonly #store: Pick<Store, 'catalog'>;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #log: Log;
  /** Tells apart the operator tokens under which sign-ins began. */
  readonly #operator: string;
  /** Other servers on the same host are sent the cookie too: under this name it is of one installation. */
  readonly cookieName: string;
  /** When sign-ins were used last, where the store does not know it yet: by id, in Unix seconds. */
  readonly #seen = new Map<string, number>();
  #seeing: Timer | null = null;
  /** What ends with each sign-in, by id. */
  readonly #open = new Map<string, Set<() => void>>();
  #looking: Timer | null = null;

  constructor({ store, clock, ids, log, operatorToken }: { store: Pick<Store, 'catalog'>; clock: Clock; ids: Ids; log: Log; operatorToken: string }) {
    this.#store = store;
    this.#clock = clock;
    this.#ids = ids;
    this.#log = log;
    this.#operator = derived(operatorToken, 'sign-ins', 16);
    this.cookieName = `__Host-parley-${derived(operatorToken, 'cookie', 4)}`;
  }

  /** Makes a link for a person of this name: its token, and the Unix second at which it ends. */
  async makeLink(name: string): Promise<{ readonly token: string; readonly expiresAt: number }> {
    const now = this.#now();
    for await (const link of this.#all('sign_in_link')) if (link.expiresAt <= now) await this.#remove('sign_in_link', link.id);
    const token = this.#secret();
    const expiresAt = now + limits.signInLinkSeconds;
    await this.#store.catalog.create('sign_in_link', { id: linkId(token), workspaceId: installation, operator: this.#operator, name, expiresAt });
    return { token, expiresAt };
  }

  /** Takes a link away and returns it; null if there is none. Of several processes that do so at once, one gets it. */
  async takeLink(token: string): Promise<SignInLink | null> {
    const found = await this.#store.catalog.read('sign_in_link', installation, linkId(token));
    if (found === null || !(await this.#remove('sign_in_link', found.record.id))) return null;
    const { operator, expiresAt } = found.record;
    return operator === this.#operator && this.#now() < expiresAt ? found.record : null;
  }

  /** Signs a person in: whom a link was made for, or without one the operator. */
  async begin(link: Pick<SignInLink, 'name'> | null, from: Pick<SignIn, 'address' | 'agent'>): Promise<BegunSignIn> {
    await this.#makeRoom();
    const now = this.#now();
    const secret = this.#secret();
    const id = this.#ids.make('sin');
    const person = link === null ? operatorPerson : { id: this.#ids.make('prs'), name: link.name };
    const signIn: SignIn = { id, workspaceId: installation, digest: digestOf(secret), operator: this.#operator, person, ...from, signedInAt: now, lastSeenAt: now };
    await this.#store.catalog.create('sign_in', signIn);
    return { signIn, cookie: `${id.slice('sin_'.length)}.${secret}` };
  }

  /** The sign-in of a cookie, which is used with that; null if it is unknown, ended or past its time. */
  async use(cookie: string): Promise<ShownSignIn | null> {
    const [, id, secret] = cookiePattern.exec(cookie) ?? [];
    if (id === undefined) return null;
    const stored = await this.#alive(`sin_${id}`);
    if (stored === null || !matches(secret!, stored.digest)) return null;
    const now = this.#now();
    this.#see(stored.id, now);
    return { signIn: { ...stored, lastSeenAt: now }, renew: now - stored.lastSeenAt >= limits.signInSeenSeconds };
  }

  /** Everyone who is signed in, the latest sign-in first. */
  async list(): Promise<SignIn[]> {
    const found: SignIn[] = [];
    for await (const stored of this.#all('sign_in')) {
      const signIn = this.#withUse(stored);
      if (this.#isAlive(signIn)) found.push(signIn);
    }
    return found.reverse();
  }

  /** Ends a sign-in with all that is open for it; resolves with whether it was one. */
  async end(id: string): Promise<boolean> {
    const was = (await this.#alive(id)) !== null;
    const removed = await this.#remove('sign_in', id);
    this.#close(id);
    return was && removed;
  }

  /** Ends all sign-ins of a person. */
  async endAll(personId: string): Promise<void> {
    for (const { id, person } of await this.list()) if (person.id === personId) await this.end(id);
  }

  /** Removes what another operator token has left; a process calls it when it starts. */
  async endThoseBefore(): Promise<void> {
    for (const kind of ['sign_in', 'sign_in_link'] as const) {
      for await (const { id, operator } of this.#all(kind)) if (operator !== this.#operator) await this.#remove(kind, id);
    }
  }

  /** Calls back once when the sign-in ends, in whichever process, within a second or so; returns a function that stops it. The store is asked only while something waits. */
  whenOver(id: string, over: () => void): () => void {
    const waiting = this.#open.get(id) ?? new Set();
    this.#open.set(id, waiting.add(over));
    this.#looking ??= this.#clock.after(limits.catalogFreshMs, () => void this.#look());
    return () => {
      waiting.delete(over);
      if (waiting.size === 0 && this.#open.get(id) === waiting) this.#open.delete(id);
    };
  }

  /** Stores what is known of the last uses, and looks up nothing more. */
  async close(): Promise<void> {
    this.#open.clear();
    this.#looking?.cancel();
    this.#seeing?.cancel();
    await this.#writeSeen();
    this.#seeing?.cancel();
  }

  async #look(): Promise<void> {
    for (const id of [...this.#open.keys()]) {
      try {
        if ((await this.#alive(id)) === null) this.#close(id);
      } catch (error) {
        // The store is away: what is open stays until the store says that it is over.
        this.#log.warn({ err: error }, 'sign-ins with open sockets could not be looked up');
        break;
      }
    }
    this.#looking = this.#open.size === 0 ? null : this.#clock.after(limits.catalogFreshMs, () => void this.#look());
  }

  #close(id: string): void {
    const waiting = this.#open.get(id);
    this.#open.delete(id);
    for (const over of waiting ?? []) over();
  }

  async #alive(id: string): Promise<SignIn | null> {
    const found = await this.#read(id);
    const signIn = found && this.#withUse(found.record);
    return signIn !== null && this.#isAlive(signIn) ? found!.record : null;
  }

  #isAlive(signIn: SignIn): boolean {
    return signIn.operator === this.#operator && this.#now() < endOf(signIn);
  }

  #withUse(stored: SignIn): SignIn {
    return { ...stored, lastSeenAt: Math.max(stored.lastSeenAt, this.#seen.get(stored.id) ?? 0) };
  }

  /** Notes a use. It reaches the store with the others of the same minute. */
  #see(id: string, now: number): void {
    this.#seen.set(id, now);
    this.#seeing ??= this.#clock.after(limits.signInSeenSeconds * 1000, () => void this.#writeSeen());
  }

  async #writeSeen(): Promise<void> {
    const seen = [...this.#seen];
    this.#seeing = null;
    try {
      for (const [id, at] of seen) {
        const found = await this.#read(id);
        // If another process writes at the same moment, its time is as good.
        if (found !== null && found.record.lastSeenAt < at) await this.#store.catalog.replace('sign_in', { ...found.record, lastSeenAt: at }, found.version);
        if (this.#seen.get(id) === at) this.#seen.delete(id);
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'the last use of sign-ins could not be stored');
    }
    if (this.#seen.size > 0) this.#seeing ??= this.#clock.after(limits.signInSeenSeconds * 1000, () => void this.#writeSeen());
  }

  /** Removes what is over, and of too many the sign-ins that were used least lately. */
  async #makeRoom(): Promise<void> {
    const alive: SignIn[] = [];
    for await (const stored of this.#all('sign_in')) {
      const signIn = this.#withUse(stored);
      if (this.#now() >= endOf(signIn)) await this.#remove('sign_in', signIn.id);
      else alive.push(signIn);
    }
    alive.sort((one, other) => one.lastSeenAt - other.lastSeenAt);
    for (const { id } of alive.slice(0, Math.max(0, alive.length + 1 - limits.signInsMax))) await this.end(id);
  }

  async *#all<K extends 'sign_in' | 'sign_in_link'>(kind: K): AsyncGenerator<CatalogRecords[K]> {
    for (let after: string | null = null; ; ) {
      const page: Page<CatalogRecords[K]> = await this.#store.catalog.list(kind, installation, { limit: limits.listMax, after, order: 'asc' });
      yield* page.items;
      if (page.next === null) return;
      after = page.next;
    }
  }

  #read(id: string): Promise<Versioned<SignIn> | null> {
    return this.#store.catalog.read('sign_in', installation, id);
  }

  #remove(kind: 'sign_in' | 'sign_in_link', id: string): Promise<boolean> {
    this.#seen.delete(id);
    return this.#store.catalog.remove(kind, installation, id);
  }

  #secret(): string {
    return Buffer.from(this.#ids.bytes(secretBytes)).toString('base64url');
  }

  #now(): number {
    return secondsOf(this.#clock.now());
  }
}

const linkId = (token: string): string => Buffer.from(digestOf(token)).toString('base64url');

/** What may be known of the operator token, for one purpose. */
const derived = (operatorToken: string, purpose: string, bytes: number): string => Buffer.from(hkdfSync('sha256', operatorToken, 'parley', purpose, bytes)).toString('hex');
