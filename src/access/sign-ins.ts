/**
 * Sign-ins to the console, and the links that begin them (contract 9). They are records of the store, so that every
 * process knows them; only digests of their secrets are kept. A record that has expired or was made under another
 * operator token is invalid at once. A sign-in is removed when the next person signs in, a link when another is made,
 * at most once a minute.
 */
import { hkdfSync } from 'node:crypto';
import { secondsOf, type Clock, type Timer } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import { digestOf, matchesDigest } from './keys.ts';
import { evictOldest } from '../base/evict-oldest.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { mayDo, ownerOfAll, reaches, type Grant } from '../base/roles.ts';
import { grantOfPerson, People, type IdentifiedPerson } from './people.ts';
import {
  installation,
  type AuditEntry,
  type Person,
  type PersonRecord,
  type SignIn,
  type SignInLink,
} from '../store/records.ts';
import type { Store, Versioned } from '../store/store.ts';
import { recordsOf } from '../store/parts/catalog.ts';

/** Seconds by which the stored time of the last use may be late. */
const signInSeenSeconds = 60;
/** Seconds between two removals of expired links. */
export const signInLinkSweepSeconds = 60;

/** Every holder of the operator token is this one person. */
export const operatorPerson: Person = { id: 'operator', name: 'operator' };

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
const secretBytes = 32;

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
  /** The last use by person, in Unix seconds, and the persons by sign-in: what this process knows, the oldest first. */
  readonly #heard = new Map<string, number>();
  readonly #persons = new Map<string, string>();
  /** The callbacks that run when a sign-in or its grant ends, by its id, each with the grant that it was made under. */
  readonly #open = new Map<string, Map<() => void, Grant>>();
  readonly people: People;
  #looking: Timer | null = null;
  /** The Unix second from which a new link sweeps the expired ones. */
  #nextSweepAt = 0;

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
    this.cookieName = `__Host-parley-${derived(operatorToken, 'cookie', 4)}`;
  }

  /** Makes a link for a person of this name: its token, and the Unix second at which it ends. */
  async makeLink(
    name: string,
    grant: Grant = ownerOfAll,
    madeBy: string = operatorPerson.id,
    audit?: (id: string) => AuditEntry,
  ): Promise<{ readonly token: string; readonly expiresAt: number }> {
    const now = this.#now();
    await this.#sweepLinks(now);
    const token = this.#secret();
    const expiresAt = now + limits.signInLinkSeconds;
    const id = linkId(token);
    const link: SignInLink = {
      id,
      workspaceId: installation,
      operator: this.#operator,
      name,
      grant,
      ...(madeBy !== operatorPerson.id && { madeBy }),
      expiresAt,
    };
    await this.#store.catalog.create('sign_in_link', link, undefined, audit?.(id));
    return { token, expiresAt };
  }

  /** Removes expired links. A sweep reads every link, so a new link begins one only at intervals. */
  async #sweepLinks(now: number): Promise<void> {
    if (now < this.#nextSweepAt) return;
    this.#nextSweepAt = now + signInLinkSweepSeconds;
    for await (const link of recordsOf(this.#store.catalog, 'sign_in_link', installation))
      if (link.expiresAt <= now) await this.#remove('sign_in_link', link.id);
  }

  /**
   * Consumes a link and returns it; null if it does not exist. If several processes consume it at once, one gets it.
   */
  async takeLink(token: string): Promise<SignInLink | null> {
    const stored = await this.#store.catalog.read('sign_in_link', installation, linkId(token));
    if (stored === null || !(await this.#remove('sign_in_link', stored.record.id))) return null;
    const { operator, expiresAt } = stored.record;
    const isLive = operator === this.#operator && this.#now() < expiresAt;
    return isLive && (await this.#mayInvite(stored.record)) ? stored.record : null;
  }

  /** Whether the person who made a link could still make it. */
  async #mayInvite({ madeBy, grant = ownerOfAll }: SignInLink): Promise<boolean> {
    if (madeBy === undefined) return true;
    const maker = await this.people.find(madeBy);
    if (maker === null || maker.blocked) return false;
    const granted = grantOfPerson(maker);
    return mayDo(granted, 'people.write') && reaches(granted, grant.workspaceId);
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
    const secret = this.#secret();
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
    this.#note(stored, now);
    return {
      signIn: { ...stored, lastSeenAt: now },
      person,
      renew: now - stored.lastSeenAt >= signInSeenSeconds,
    };
  }

  /**
   * Milliseconds since the epoch until which a person counts as present, as far as this process knows: a while after the
   * last request, and while something is open for a sign-in. The operator is always present.
   */
  presentUntilMs(personId: string): number {
    if (personId === operatorPerson.id) return Number.MAX_SAFE_INTEGER;
    const isOpen = [...this.#open.keys()].some((id) => this.#persons.get(id) === personId);
    const heardAt = isOpen ? this.#now() : this.#heard.get(personId);
    return heardAt === undefined ? 0 : heardAt * 1000 + limits.deskPresenceMs;
  }

  #note({ id, person }: SignIn, now: number): void {
    this.#heard.delete(person.id);
    this.#heard.set(person.id, now);
    this.#persons.delete(id);
    this.#persons.set(id, person.id);
    evictOldest(this.#heard, limits.signInsMax);
    evictOldest(this.#persons, limits.signInsMax);
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
    this.#close(id);
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

  /**
   * Calls back once when the sign-in ends or its person's grant is another, in any process, within a second or so;
   * returns a function that stops it. The store is polled only while something waits.
   */
  whenOver(id: string, grant: Grant, over: () => void): () => void {
    const waiting = this.#open.get(id) ?? new Map<() => void, Grant>();
    this.#open.set(id, waiting.set(over, grant));
    this.#looking ??= this.#clock.after(limits.catalogFreshMs, () => void this.#look());
    return () => {
      waiting.delete(over);
      if (waiting.size === 0 && this.#open.get(id) === waiting) this.#open.delete(id);
    };
  }

  /** Stores the times of last use, and stops looking sign-ins up. */
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
        const live = await this.#readLive(id);
        if (live === null) this.#close(id);
        else this.#closeOthers(id, grantOf(live.person));
      } catch (error) {
        // The store is away: open sockets stay until the store reports that their sign-in has ended.
        this.#log.warn({ err: error }, 'Sign-ins with open sockets could not be read. Their sockets stay open.');
        break;
      }
    }
    this.#looking = this.#open.size === 0 ? null : this.#clock.after(limits.catalogFreshMs, () => void this.#look());
  }

  #close(id: string): void {
    const waiting = this.#open.get(id);
    this.#open.delete(id);
    for (const over of waiting?.keys() ?? []) over();
  }

  /** Calls back those that began under another grant. */
  #closeOthers(id: string, { role, workspaceId }: Grant): void {
    const waiting = this.#open.get(id);
    for (const [over, grant] of [...(waiting ?? [])]) {
      if (grant.role === role && grant.workspaceId === workspaceId) continue;
      waiting!.delete(over);
      over();
    }
    if (waiting?.size === 0) this.#open.delete(id);
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

  #secret(): string {
    return Buffer.from(this.#ids.bytes(secretBytes)).toString('base64url');
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

const linkId = (token: string): string => Buffer.from(digestOf(token)).toString('base64url');

/** Returns a value derived from the operator token for one purpose; it does not reveal the token. */
const derived = (operatorToken: string, purpose: string, bytes: number): string =>
  Buffer.from(hkdfSync('sha256', operatorToken, 'parley', purpose, bytes)).toString('hex');
