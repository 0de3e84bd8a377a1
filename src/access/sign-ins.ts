/**
 * Sign-ins to the console (contract 9), and the links that begin them (`sign-in-links.ts`). They are records of the
 * store, so that every process knows them; only digests of their secrets are kept. A record that has expired or was made
 * under another operator token is invalid at once. An expired sign-in is removed when the next person signs in.
 */
import { hkdfSync } from 'node:crypto';
import { secondsOf, type Clock, type Timer } from '../base/clock.ts';
import { randomToken, type Ids } from '../base/ids.ts';
import { digestOf, matchesDigest } from './keys.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { ownerOfAll, type Grant } from '../base/roles.ts';
import { OpenSignIns } from './open-sign-ins.ts';
import { grantOfPerson, operatorPerson, People, type IdentifiedPerson } from './people.ts';
import { SignInLinks, signInSecretBytes } from './sign-in-links.ts';
import { installation, type AuditEntry, type PersonRecord, type SignIn, type SignInLink } from '../store/records.ts';
import type { Store, Versioned } from '../store/store.ts';
import { recordsOf } from '../store/parts/catalog.ts';

/** Seconds by which the stored time of the last use may be late. */
const signInSeenSeconds = 60;

/** The Unix second at which a sign-in ends unless it is used again. */
export const signInEnd = ({ lastSeenAt, signedInAt }: Pick<SignIn, 'lastSeenAt' | 'signedInAt'>): number =>
  Math.min(lastSeenAt + limits.signInIdleSeconds, signedInAt + limits.signInSecondsMax);

/** Writes the audit row of a sign-in that begins or ends. */
export type SignInAudit = (signIn: SignIn, grant: Grant) => AuditEntry;

/** A sign-in that has just begun, with the value of its cookie, which is kept nowhere. */
export interface BegunSignIn {
  readonly signIn: SignIn;
  readonly cookie: string;
}

/** A sign-in with its person as they are now; null for the operator. */
export interface PersonSignIn {
  readonly signIn: SignIn;
  readonly person: PersonRecord | null;
}

export const grantOf = (person: PersonRecord | null): Grant => (person === null ? ownerOfAll : grantOfPerson(person));

/** A sign-in that a cookie has shown. */
export interface ShownSignIn extends PersonSignIn {
  /** Whether the browser should be given the cookie again, because it would drop it before the sign-in ends. */
  readonly renew: boolean;
}

const cookiePattern = /^([0-9a-z]{26})\.([\w-]{43})$/;

export class SignIns {
  readonly #store: Pick<Store, 'catalog'>;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #log: Log;
  /** Identifies the operator token under which a sign-in began. */
  readonly #operator: string;
  /** Other servers on the same host are sent the cookie too: under this name it is of one installation. */
  readonly cookieName: string;
  /** The last use of sign-ins that the store does not know yet: by id, in Unix seconds. */
  readonly #seen = new Map<string, number>();
  #seeing: Timer | null = null;
  readonly people: People;
  readonly links: SignInLinks;
  readonly open: OpenSignIns;

  constructor({
    store,
    clock,
    ids,
    log,
    operatorToken,
  }: {
    store: Pick<Store, 'catalog'>;
    clock: Clock;
    ids: Ids;
    log: Log;
    operatorToken: string;
  }) {
    this.#store = store;
    this.#clock = clock;
    this.#ids = ids;
    this.#log = log;
    this.people = new People(store, clock, ids);
    this.#operator = derived(operatorToken, 'sign-ins', 16);
    this.links = new SignInLinks({ store, clock, ids, people: this.people, operator: this.#operator });
    this.open = new OpenSignIns(clock, log, async (id) => {
      const live = await this.#readLive(id);
      return live && grantOf(live.person);
    });
    this.cookieName = `__Host-parley-${derived(operatorToken, 'cookie', 4)}`;
  }

  /** Signs a person in: the person of a link, or without a link the operator. */
  async begin(
    link: Pick<SignInLink, 'name' | 'grant'> | null,
    from: Pick<SignIn, 'address' | 'agent'>,
    audit?: SignInAudit,
  ): Promise<BegunSignIn> {
    await this.#makeRoom();
    return this.#begin(link && (await this.people.create(link.name, link.grant ?? ownerOfAll)), from, audit);
  }

  /** Signs a person in whom an issuer has identified; null if the person is blocked. */
  async beginIdentified(
    identified: IdentifiedPerson,
    from: Pick<SignIn, 'address' | 'agent'>,
    audit?: SignInAudit,
  ): Promise<BegunSignIn | null> {
    await this.#makeRoom();
    const person = await this.people.identified(identified);
    return person.blocked ? null : this.#begin(person, from, audit);
  }

  async #begin(
    person: PersonRecord | null,
    from: Pick<SignIn, 'address' | 'agent'>,
    audit?: SignInAudit,
  ): Promise<BegunSignIn> {
    const now = this.#now();
    const secret = randomToken(this.#ids, signInSecretBytes);
    const id = this.#ids.make('sin');
    const signIn: SignIn = {
      id,
      workspaceId: installation,
      digest: digestOf(secret),
      operator: this.#operator,
      person: person === null ? operatorPerson : { id: person.id, name: person.name },
      ...(person !== null && { recorded: true }),
      ...from,
      signedInAt: now,
      lastSeenAt: now,
    };
    await this.#store.catalog.create('sign_in', signIn, undefined, audit?.(signIn, grantOf(person)));
    return { signIn, cookie: `${id.slice('sin_'.length)}.${secret}` };
  }

  /** The sign-in of a cookie, which counts as a use; null if it is unknown, has ended or has expired. */
  async use(cookie: string): Promise<ShownSignIn | null> {
    const [, id, secret] = cookiePattern.exec(cookie) ?? [];
    if (id === undefined) return null;
    const live = await this.#readLive(`sin_${id}`);
    if (live === null || !matchesDigest(secret!, live.signIn.digest)) return null;
    const { signIn: stored, person } = live;
    const now = this.#now();
    this.#see(stored.id, now);
    this.open.note(stored, now);
    return {
      signIn: { ...stored, lastSeenAt: now },
      person,
      renew: now - stored.lastSeenAt >= signInSeenSeconds,
    };
  }

  /** Returns all valid sign-ins, the latest first. */
  async list(): Promise<SignIn[]> {
    return (await this.listWithPeople()).map(({ signIn }) => signIn);
  }

  /** Returns all valid sign-ins with their persons, the latest first. */
  async listWithPeople(): Promise<PersonSignIn[]> {
    const people = new Map((await this.people.list()).map((person) => [person.id, person]));
    const signIns: PersonSignIn[] = [];
    for await (const stored of recordsOf(this.#store.catalog, 'sign_in', installation)) {
      const signIn = this.#withUse(stored);
      const person = this.#isAlive(signIn) ? personOf(signIn, people.get(signIn.person.id) ?? null) : undefined;
      if (person !== undefined) signIns.push({ signIn, person });
    }
    return signIns.reverse();
  }

  /**
   * Returns all people: the stored ones with the time of their last use, and those whom an earlier version signed in and
   * did not store.
   */
  async everybody(): Promise<PersonRecord[]> {
    const people = new Map((await this.people.list()).map((person) => [person.id, person]));
    for (const { signIn, person } of await this.listWithPeople()) {
      const known = people.get(signIn.person.id) ?? person;
      if (known !== null) people.set(known.id, { ...known, lastSeenAt: Math.max(known.lastSeenAt, signIn.lastSeenAt) });
    }
    return [...people.values()].sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1));
  }

  /** Ends a sign-in with everything that is open for it; resolves with whether it existed. */
  async end(id: string, audit?: SignInAudit): Promise<boolean> {
    const live = await this.#readLive(id);
    const was = live !== null;
    const removed = await this.#remove(
      'sign_in',
      id,
      live === null ? undefined : audit?.(live.signIn, grantOf(live.person)),
    );
    this.open.close(id);
    return was && removed;
  }

  /** Ends all sign-ins of a person. */
  async endAll(personId: string, audit?: SignInAudit): Promise<void> {
    for await (const { id, person } of recordsOf(this.#store.catalog, 'sign_in', installation))
      if (person.id === personId) await this.end(id, audit);
  }

  /** Removes the records made under other operator tokens; a process calls it when it starts. */
  async endThoseBefore(): Promise<void> {
    for (const kind of ['sign_in', 'sign_in_link'] as const) {
      for await (const { id, operator } of recordsOf(this.#store.catalog, kind, installation))
        if (operator !== this.#operator) await this.#remove(kind, id);
    }
  }

  /** Stores the times of last use, and stops looking sign-ins up. */
  async close(): Promise<void> {
    this.open.stop();
    this.#seeing?.cancel();
    await this.#writeSeen();
    this.#seeing?.cancel();
  }

  async #readLive(id: string): Promise<PersonSignIn | null> {
    const stored = await this.#read(id);
    if (stored === null || !this.#isAlive(this.#withUse(stored.record))) return null;
    const signIn = stored.record;
    const isOperator = signIn.person.id === operatorPerson.id;
    const person = personOf(signIn, isOperator ? null : await this.people.find(signIn.person.id));
    return person === undefined ? null : { signIn, person };
  }

  #isAlive(signIn: SignIn): boolean {
    return signIn.operator === this.#operator && this.#now() < signInEnd(signIn);
  }

  #withUse(stored: SignIn): SignIn {
    return { ...stored, lastSeenAt: Math.max(stored.lastSeenAt, this.#seen.get(stored.id) ?? 0) };
  }

  /** Notes a use. It reaches the store with the others of the same minute. */
  #see(id: string, now: number): void {
    this.#seen.set(id, now);
    this.#seeing ??= this.#clock.after(signInSeenSeconds * 1000, () => void this.#writeSeen());
  }

  async #writeSeen(): Promise<void> {
    const seen = [...this.#seen];
    this.#seeing = null;
    try {
      for (const [id, at] of seen) {
        const stored = await this.#read(id);
        // If another process writes at the same moment, its time is as good.
        if (stored !== null && stored.record.lastSeenAt < at)
          await this.#store.catalog.replace('sign_in', { ...stored.record, lastSeenAt: at }, stored.version);
        if (stored !== null && stored.record.person.id !== operatorPerson.id)
          await this.people.see(stored.record.person.id, at);
        if (this.#seen.get(id) === at) this.#seen.delete(id);
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'The last use of sign-ins could not be stored.');
    }
    if (this.#seen.size > 0) this.#seeing ??= this.#clock.after(signInSeenSeconds * 1000, () => void this.#writeSeen());
  }

  /** Removes sign-ins that have ended, and the least recently used ones if there are too many. */
  async #makeRoom(): Promise<void> {
    const alive: SignIn[] = [];
    for await (const stored of recordsOf(this.#store.catalog, 'sign_in', installation)) {
      const signIn = this.#withUse(stored);
      if (this.#now() >= signInEnd(signIn)) await this.#remove('sign_in', signIn.id);
      else alive.push(signIn);
    }
    alive.sort((one, other) => one.lastSeenAt - other.lastSeenAt);
    for (const { id } of alive.slice(0, Math.max(0, alive.length + 1 - limits.signInsMax))) await this.end(id);
    await this.people.makeRoom(new Set(alive.map(({ person }) => person.id)));
  }

  #read(id: string): Promise<Versioned<SignIn> | null> {
    return this.#store.catalog.read('sign_in', installation, id);
  }

  #remove(kind: 'sign_in' | 'sign_in_link', id: string, audit?: AuditEntry): Promise<boolean> {
    this.#seen.delete(id);
    return this.#store.catalog.remove(kind, installation, id, audit);
  }

  #now(): number {
    return secondsOf(this.#clock.now());
  }
}

/** The person of a sign-in: null for the operator, undefined for a person who may not be signed in any more. */
function personOf(signIn: SignIn, stored: PersonRecord | null): PersonRecord | null | undefined {
  const { id, name } = signIn.person;
  if (id === operatorPerson.id) return null;
  if (stored !== null) return stored.blocked ? undefined : stored;
  if (signIn.recorded) return undefined;
  return {
    id,
    workspaceId: installation,
    name,
    role: ownerOfAll.role,
    onlyWorkspaceId: ownerOfAll.workspaceId,
    source: 'link',
    blocked: false,
    createdAt: signIn.signedInAt,
    lastSeenAt: signIn.lastSeenAt,
  };
}

/** Returns a value derived from the operator token for one purpose; it does not reveal the token. */
const derived = (operatorToken: string, purpose: string, bytes: number): string =>
  Buffer.from(hkdfSync('sha256', operatorToken, 'parley', purpose, bytes)).toString('hex');
