/**
 * Sign-ins that this process sees in use: what is open for them, such as sockets, and the presence of their persons
 * (contract 9, 23).
 */
import { secondsOf, type Clock, type Timer } from '../base/clock.ts';
import { evictOldest } from '../base/evict-oldest.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Grant } from '../base/roles.ts';
import type { SignIn } from '../store/records.ts';
import { operatorPerson } from './people.ts';

export class OpenSignIns {
  readonly #clock: Clock;
  readonly #log: Log;
  /** Reads the grant of a sign-in as the store has it now; null once the sign-in has ended. */
  readonly #grantOf: (id: string) => Promise<Grant | null>;
  /** The last use by person, in Unix seconds, and the persons by sign-in: what this process knows, the oldest first. */
  readonly #heard = new Map<string, number>();
  readonly #persons = new Map<string, string>();
  /** The callbacks that run when a sign-in or its grant ends, by its id, each with the grant that it was made under. */
  readonly #open = new Map<string, Map<() => void, Grant>>();
  #looking: Timer | null = null;

  constructor(clock: Clock, log: Log, grantOf: (id: string) => Promise<Grant | null>) {
    this.#clock = clock;
    this.#log = log;
    this.#grantOf = grantOf;
  }

  /**
   * Milliseconds since the epoch until which a person counts as present, as far as this process knows: a while after the
   * last request, and while something is open for a sign-in. The operator is always present.
   */
  presentUntilMs(personId: string): number {
    if (personId === operatorPerson.id) return Number.MAX_SAFE_INTEGER;
    const isOpen = [...this.#open.keys()].some((id) => this.#persons.get(id) === personId);
    const heardAt = isOpen ? secondsOf(this.#clock.now()) : this.#heard.get(personId);
    return heardAt === undefined ? 0 : heardAt * 1000 + limits.deskPresenceMs;
  }

  /** Notes a use, at a Unix second. */
  note({ id, person }: SignIn, now: number): void {
    this.#heard.delete(person.id);
    this.#heard.set(person.id, now);
    this.#persons.delete(id);
    this.#persons.set(id, person.id);
    evictOldest(this.#heard, limits.signInsMax);
    evictOldest(this.#persons, limits.signInsMax);
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

  /** Calls back all that is open for a sign-in that has ended. */
  close(id: string): void {
    const waiting = this.#open.get(id);
    this.#open.delete(id);
    for (const over of waiting?.keys() ?? []) over();
  }

  /** Stops looking sign-ins up. */
  stop(): void {
    this.#open.clear();
    this.#looking?.cancel();
  }

  async #look(): Promise<void> {
    for (const id of [...this.#open.keys()]) {
      try {
        const grant = await this.#grantOf(id);
        if (grant === null) this.close(id);
        else this.#closeOthers(id, grant);
      } catch (error) {
        // The store is away: open sockets stay until the store reports that their sign-in has ended.
        this.#log.warn({ err: error }, 'Sign-ins with open sockets could not be read. Their sockets stay open.');
        break;
      }
    }
    this.#looking = this.#open.size === 0 ? null : this.#clock.after(limits.catalogFreshMs, () => void this.#look());
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
}
