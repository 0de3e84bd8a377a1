/**
 * The people who sign in to the console (contract 22). Each is a record of the store, which every request of the person
 * reads: a change of role and a block hold at once, in every process.
 */
import { createHash } from 'node:crypto';
import { secondsOf, type Clock } from '../base/clock.ts';
import { idOf, type Ids } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { mayDo, reaches, type Grant } from '../base/roles.ts';
import { installation, type AuditEntry, type Person, type PersonRecord } from '../store/records.ts';
import type { Store, Versioned } from '../store/store.ts';
import { recordsOf } from '../store/parts/catalog.ts';

/** Every holder of the operator token is this one person. */
export const operatorPerson: Person = { id: 'operator', name: 'operator' };

/** A person as an issuer of OpenID Connect knows them. */
export interface IdentifiedPerson {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  /** The grant by the claims of this sign-in. */
  readonly grant: Grant;
}

export const grantOfPerson = ({ role, onlyWorkspaceId }: PersonRecord): Grant => ({
  role,
  workspaceId: onlyWorkspaceId,
});

/** Whether the person may answer visitors of the workspace at the desk. */
export function mayWorkDesk(person: PersonRecord, workspaceId: string): boolean {
  const grant = grantOfPerson(person);
  return !person.blocked && mayDo(grant, 'desk.work') && reaches(grant, workspaceId);
}

export class People {
  readonly #store: Pick<Store, 'catalog'>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #ids: Pick<Ids, 'make'>;

  constructor(store: Pick<Store, 'catalog'>, clock: Pick<Clock, 'now'>, ids: Pick<Ids, 'make'>) {
    this.#store = store;
    this.#clock = clock;
    this.#ids = ids;
  }

  async find(id: string): Promise<PersonRecord | null> {
    return (await this.#read(id))?.record ?? null;
  }

  /** Stores a person who uses a link. */
  async create(name: string, { role, workspaceId }: Grant): Promise<PersonRecord> {
    const person: PersonRecord = {
      ...this.#fresh(this.#ids.make('prs'), name),
      role,
      onlyWorkspaceId: workspaceId,
      source: 'link',
    };
    await this.#store.catalog.create('person', person);
    return person;
  }

  /**
   * Finds the person of an issuer's subject, or creates one. Each sign-in renews the name, and the grant unless the
   * console has set it; a block stays. The id follows from issuer and subject, so that two processes never make two
   * persons.
   */
  async identified({ issuer, subject, name, grant }: IdentifiedPerson): Promise<PersonRecord> {
    const digest = createHash('sha256')
      .update(JSON.stringify([issuer, subject]))
      .digest();
    const granted = { role: grant.role, onlyWorkspaceId: grant.workspaceId };
    const person: PersonRecord = { ...this.#fresh(idOf('prs', digest), name), ...granted, source: 'oidc' };
    await this.#store.catalog.create('person', person);
    const renew = (stored: PersonRecord): PersonRecord =>
      stored.grantedByHand ? { ...stored, name } : { ...stored, name, ...granted };
    return (await this.change(person.id, renew)) ?? person;
  }

  /** Stores a person as they are in a sign-in of an earlier version, which stored no persons. */
  async adopt(person: PersonRecord): Promise<void> {
    await this.#store.catalog.create('person', person);
  }

  /** Changes a person; resolves with the person afterwards, or null for an unknown one. */
  async change(
    id: string,
    alter: (person: PersonRecord) => PersonRecord,
    audit?: (before: PersonRecord, after: PersonRecord) => AuditEntry | undefined,
  ): Promise<PersonRecord | null> {
    for (;;) {
      const stored = await this.#read(id);
      if (stored === null) return null;
      const altered = alter(stored.record);
      if (
        (await this.#store.catalog.replace(
          'person',
          altered,
          stored.version,
          undefined,
          audit?.(stored.record, altered),
        )) !== null
      )
        return altered;
    }
  }

  /** Notes when a person was seen. A lost race is no loss: the other writer's time is as good. */
  async see(id: string, at: number): Promise<void> {
    const stored = await this.#read(id);
    if (stored !== null && (stored.record.lastSeenAt ?? 0) < at)
      await this.#store.catalog.replace('person', { ...stored.record, lastSeenAt: at }, stored.version);
  }

  async list(): Promise<PersonRecord[]> {
    const people: PersonRecord[] = [];
    for await (const person of recordsOf(this.#store.catalog, 'person', installation)) people.push(person);
    return people;
  }

  /**
   * Removes the persons of links who were seen longest ago, beyond the number that an installation keeps. `signedIn`:
   * the ids of those who are signed in, who stay, as do the blocked.
   */
  async makeRoom(signedIn: ReadonlySet<string>): Promise<void> {
    const people = await this.list();
    const removable = people
      .filter(({ id, source, blocked }) => source === 'link' && !blocked && !signedIn.has(id))
      .sort((one, other) => (one.lastSeenAt ?? 0) - (other.lastSeenAt ?? 0));
    for (const { id } of removable.slice(0, Math.max(0, people.length + 1 - limits.peopleMax)))
      await this.#store.catalog.remove('person', installation, id);
  }

  #read(id: string): Promise<Versioned<PersonRecord> | null> {
    return this.#store.catalog.read('person', installation, id);
  }

  #fresh(id: string, name: string): Omit<PersonRecord, 'role' | 'onlyWorkspaceId' | 'source'> {
    const now = secondsOf(this.#clock.now());
    return { id, workspaceId: installation, name, blocked: false, createdAt: now, lastSeenAt: now };
  }
}
