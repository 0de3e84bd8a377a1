/**
 * Budgets in their deepest debt, as far as this process knows: who goes on asking is refused here.
 *
 * Others can only have taken from a budget since it was last seen, so it holds at most what it held then and what has
 * come back since. Where one request more would find less than one above the deepest debt, that request is refused and
 * leaves the budget in its deepest debt, whatever others did: the verdict, the wait and the state are exact, and Redis
 * need not be asked. It is told with the next batch. Another process that asks Redis in between finds a level that is
 * too high by what refills until then, and so tells a wait that is too short by as much, `redisDebtMs` at most.
 */
import { floor, refilled, unitsPerRequest, type Bucket } from '../../../machines/budget.ts';
import type { Clock, Timer } from '../../clock.ts';
import { limits } from '../../limits.ts';

/** A budget of a key. */
export interface BudgetPlace {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly budget: string;
}

/** When Redis was asked and when it had answered, by this process's monotonic clock. */
export interface Exchange {
  readonly askedAt: number;
  readonly answeredAt: number;
}

interface Debt extends Exchange {
  readonly place: BudgetPlace;
  readonly ceiling: number;
  /** What Redis's clock said at some moment of the exchange. */
  readonly redisMs: number;
  bucket: Bucket;
}

export class Debts {
  readonly #clock: Clock;
  readonly #write: (place: BudgetPlace, bucket: Bucket) => Promise<unknown>;
  /** The one seen longest ago first. */
  readonly #debts = new Map<string, Debt>();
  readonly #unwritten = new Set<Debt>();
  #timer: Timer | null = null;

  /** `write` has Redis take over a debt, unless somebody has taken from the budget since. */
  constructor(clock: Clock, write: (place: BudgetPlace, bucket: Bucket) => Promise<unknown>) {
    this.#clock = clock;
    this.#write = write;
  }

  /** What is left of a budget after a request that is certain to find it in its deepest debt; null where Redis must be asked. */
  refused(place: BudgetPlace, ceiling: number): Bucket | null {
    const debt = this.#debts.get(nameOf(place));
    if (debt === undefined) return null;
    const now = this.#clock.monotonic();
    const most = refilled(debt.bucket, ceiling, debt.redisMs + Math.ceil(now - debt.askedAt));
    if (debt.ceiling !== ceiling || most.level > certain(ceiling)) {
      // What is not written yet goes ahead of the question on the same way.
      if (this.#unwritten.delete(debt)) void this.#told(debt);
      return null;
    }
    debt.bucket = { level: floor(ceiling), at: Math.max(debt.bucket.at, debt.redisMs + Math.floor(now - debt.answeredAt)) };
    this.#unwritten.add(debt);
    this.#timer ??= this.#clock.after(limits.redisDebtMs, () => void this.flush());
    return debt.bucket;
  }

  /** What Redis has answered. */
  seen(place: BudgetPlace, ceiling: number, passed: boolean, bucket: Bucket, exchange: Exchange): void {
    const name = nameOf(place);
    const known = this.#debts.get(name);
    if (known !== undefined && this.#unwritten.has(known)) return;
    this.#debts.delete(name);
    if (passed) return;
    this.#debts.set(name, { place, ceiling, ...exchange, redisMs: bucket.at, bucket });
    if (this.#debts.size > limits.redisDebtsMax) this.#debts.delete(this.#debts.keys().next().value!);
  }

  /** Writes what was refused here. What cannot be written is forgiven: it is no more than `redisDebtMs` refill. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const debts = [...this.#unwritten];
    this.#unwritten.clear();
    await Promise.all(debts.map((debt) => this.#told(debt)));
  }

  #told({ place, bucket }: Debt): Promise<unknown> {
    return this.#write(place, bucket).catch(() => {});
  }
}

/**
 * The most that a budget may hold for a request to be refused without Redis. With a ceiling of one a request may pass right above
 * the deepest debt, so there it must be far enough from that for Redis to hear of the refusal first.
 */
const certain = (ceiling: number): number => Math.min(floor(ceiling) + unitsPerRequest, unitsPerRequest - limits.redisDebtLateMs * ceiling);

const nameOf = ({ workspaceId, keyId, budget }: BudgetPlace): string => `${workspaceId}/${keyId}/${budget}`;
