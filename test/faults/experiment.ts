/** The experiments that test a promise: real processes, a fault, and a checker that reports violations. */
import type { Owner } from '../folders.ts';
import { Random } from '../simulate/random.ts';

export const storeKinds = ['lmdb', 'redis'] as const;
export type StoreKind = (typeof storeKinds)[number];

export interface Experiment {
  /** `P5`; several experiments may go at one promise. */
  readonly promise: string;
  /** Word that identifies the experiment within its promise: `P3/disk`. */
  readonly name: string;
  /** The fault injected, in a few words, for the table. */
  readonly does: string;
  readonly stores: readonly StoreKind[];
  /** Concurrent repetitions, each in a separate scene: most of a wait for a lease is idle. */
  readonly abreast: Readonly<Record<StoreKind, number>>;
  /** Reason for which this machine cannot inject the fault, or null. */
  lacking?(store: StoreKind): string | null;
  /** Starts what repetitions share, one after the other, and resolves with one repetition. */
  open(t: Owner, store: StoreKind): Promise<(trial: Trial) => Promise<void>>;
}

export const idOf = ({ promise, name }: Experiment): string => `${promise}/${name}`;

/** One repetition: its random numbers, drawn from its seed, and its findings. */
export class Trial {
  readonly seed: number;
  readonly random: Random;
  readonly wrong: string[] = [];
  /**
   * Outcomes that were right but late: shared cores make a test of this a test of the machine, so only the command
   * counts it.
   */
  readonly late: string[] = [];
  /** Maxima by a name with its unit, and sums. */
  readonly most = new Map<string, number>();
  readonly sums = new Map<string, number>();

  constructor(seed: number) {
    this.seed = seed;
    this.random = new Random(seed);
  }

  must(holds: boolean, otherwise: string): void {
    if (!holds) this.wrong.push(otherwise);
  }

  /** A time that the promise bounds, in milliseconds. */
  took(what: string, ms: number, limitMs = Infinity): void {
    this.measured(`ms ${what}`, ms);
    if (ms > limitMs) this.late.push(`${what}: ${Math.round(ms)} ms, and ${limitMs} are promised`);
  }

  measured(what: string, value: number): void {
    this.most.set(what, Math.max(this.most.get(what) ?? 0, Math.round(value)));
  }

  count(what: string, by = 1): void {
    this.sums.set(what, (this.sums.get(what) ?? 0) + by);
  }
}

/** Teardowns for callers that are no test: the last registered runs first. */
export class Teardowns implements Owner {
  readonly #runs: (() => Promise<unknown>)[] = [];

  readonly teardown = (run: () => Promise<unknown>): number => this.#runs.push(run);

  async close(): Promise<void> {
    for (let run = this.#runs.pop(); run !== undefined; run = this.#runs.pop()) await run();
  }
}
