/**
 * Budgets in their deepest debt, as far as this process knows: further requests on them are refused here.
 *
 * Since a budget was last seen, other processes can only have taken from it, so it holds at most what it held then and
 * what it has refilled since. If one request more would find less than one above the deepest debt, that request is
 * refused and leaves the budget in its deepest debt, independent of other processes: the verdict, the wait and the
 * state are exact without Redis. The debt is written to Redis with the next batch. Another process that asks Redis in
 * between finds a level that is too high by the refill until then, and so returns a wait that is too short by as
 * much, at most `redisDebtMs`.
 */
import { floor, refilled, unitsPerRequest, type Bucket } from '../../../machines/budget.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { bucketFullMs } from '../dump.ts';
import { evictOldest } from '../../base/evict-oldest.ts';

/** Milliseconds until Redis gets the requests that were refused without it. */
export const redisDebtMs = 100;
/** Milliseconds within which Redis has them, however busy the process is. */
const redisDebtLateMs = 1_000;
/** Budgets in debt that a process remembers. */
const redisDebtsMax = 10_000;

/** A budget of a key. */
export interface BudgetPlace {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly budget: string;
}

/** When the command was sent to Redis and when it was answered, by this process's monotonic clock. */
export interface CommandTimes {
  readonly askedAt: number;
  readonly answeredAt: number;
}

interface Debt extends CommandTimes {
  readonly place: BudgetPlace;
  readonly ceiling: number;
  /** Redis's time at some moment of the exchange. */
  readonly redisMs: number;
  bucket: Bucket;
}

export class Debts {
  readonly #clock: Clock;
  readonly #write: (place: BudgetPlace, bucket: Bucket) => Promise<unknown>;
  /** Least recently seen first. */
  readonly #debts = new Map<string, Debt>();
  readonly #unwritten = new Set<Debt>();
  /** Writes of debts to Redis that are under way. */
  readonly #underWay = new Set<Promise<unknown>>();
  #timer: Timer | null = null;

  /** `write` writes a debt to Redis, unless another process has taken from the budget since. */
  constructor(clock: Clock, write: (place: BudgetPlace, bucket: Bucket) => Promise<unknown>) {
    this.#clock = clock;
    this.#write = write;
  }

  /** The bucket after a request that certainly leaves it in its deepest debt; null if Redis must be asked. */
  refuseCertain(place: BudgetPlace, ceiling: number): Bucket | null {
    const debt = this.#debts.get(nameOf(place));
    if (debt === undefined) return null;
    const now = this.#clock.monotonic();
    const most = refilled(debt.bucket, ceiling, debt.redisMs + Math.ceil(now - debt.askedAt));
    if (debt.ceiling !== ceiling || most.level > certain(ceiling)) {
      // A debt that is not written yet is sent before the request, on the same connection.
      if (this.#unwritten.delete(debt)) void this.#report(debt);
      return null;
    }
    debt.bucket = {
      level: floor(ceiling),
      at: Math.max(debt.bucket.at, debt.redisMs + Math.floor(now - debt.answeredAt)),
    };
    this.#unwritten.add(debt);
    this.#timer ??= this.#clock.after(redisDebtMs, () => void this.flush());
    return debt.bucket;
  }

  /**
   * Returns the time of the level at which the budget refused last, and the milliseconds since this process saw it;
   * both 0 if that is unknown or long ago. A client that waits for the reported time then passes although Redis's
   * clock was set back meanwhile.
   */
  lastSeen(place: BudgetPlace): { readonly seen: number; readonly waited: number } {
    const debt = this.#debts.get(nameOf(place));
    if (debt === undefined) return { seen: 0, waited: 0 };
    const { bucket, redisMs, answeredAt } = debt;
    const waited = Math.max(0, Math.floor(this.#clock.monotonic() - answeredAt) - (bucket.at - redisMs));
    return waited > bucketFullMs ? { seen: 0, waited: 0 } : { seen: bucket.at, waited };
  }

  /** Takes over Redis's answer for a budget. */
  noteAnswer(place: BudgetPlace, ceiling: number, passed: boolean, bucket: Bucket, exchange: CommandTimes): void {
    const name = nameOf(place);
    const debt = this.#debts.get(name);
    if (debt !== undefined && this.#unwritten.has(debt)) return;
    this.#debts.delete(name);
    if (passed) return;
    this.#debts.set(name, { place, ceiling, ...exchange, redisMs: bucket.at, bucket });
    evictOldest(this.#debts, redisDebtsMax);
  }

  /**
   * Writes the requests refused here to Redis. A failed write is not repeated: it is worth no more than the refill of
   * `redisDebtMs`.
   */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const debts = [...this.#unwritten];
    this.#unwritten.clear();
    for (const debt of debts) void this.#report(debt);
    await Promise.all(this.#underWay);
  }

  async #report({ place, bucket }: Debt): Promise<void> {
    const written = this.#write(place, bucket).catch(() => {});
    this.#underWay.add(written);
    await written;
    this.#underWay.delete(written);
  }
}

/**
 * The highest level at which a request is refused without Redis. With a ceiling of one, a request may pass right above
 * the deepest debt; there the level must be low enough for the refusal to reach Redis first.
 */
const certain = (ceiling: number): number =>
  Math.min(floor(ceiling) + unitsPerRequest, unitsPerRequest - redisDebtLateMs * ceiling);

const nameOf = ({ workspaceId, keyId, budget }: BudgetPlace): string => `${workspaceId}/${keyId}/${budget}`;
