/**
 * Random lives of stores from a seed: each step is taken on every one of them, and their answers, notices and final
 * rows must be the same.
 */
import { isDeepStrictEqual, inspect } from 'node:util';
import fc from 'fast-check';
import { storeOf, takeStep } from '../../../src/store/steps.ts';
import type { Notice } from '../../../src/store/store.ts';
import { catalogSteps, furnished } from './catalog-steps.ts';
import type { Contender, OpenContender } from './contenders.ts';
import { sequences, type Drawn } from './drawn.ts';
import { chosen, Known, picked } from './known.ts';
import type { Call } from './making.ts';
import { storeSteps } from './steps.ts';

export interface DifferentialOptions {
  readonly seed: number;
  readonly runs: number;
  /** Steps in a life, at most. */
  readonly length: number;
  /** The printed position of a difference. */
  readonly path?: string;
  /** Whether the first difference is enough, however long the life is. */
  readonly anyLength?: boolean;
  readonly onRun?: () => void;
  /** Hears of each step that all stores answered alike. */
  readonly onAnswer?: (verb: string, answer: unknown) => void;
}

/** Rejects with the shortest life in which a store differs from the first, with its seed and path. */
export async function runDifferential(
  open: readonly OpenContender[],
  { seed, runs, length, path, anyLength = false, onRun, onAnswer = () => {} }: DifferentialOptions,
): Promise<void> {
  const property = fc.asyncProperty(sequences(length), async (drawn) => {
    const contenders: Contender[] = [];
    try {
      for (const each of open) contenders.push(await each());
      const life = new Life(contenders, onAnswer);
      await life.live(drawn);
    } finally {
      for (const each of contenders) await each.dispose();
      onRun?.();
    }
  });
  const found = await fc.check(property, {
    seed,
    numRuns: runs,
    endOnFailure: anyLength,
    ...(path === undefined ? {} : { path }),
  });
  if (!found.failed) return;
  const { message } = found.errorInstance as Error;
  throw new Error(
    `${message}\nAgain: npm run differential -- --runs ${runs} --length ${length} --seed ${seed} --path ${found.counterexamplePath}`,
  );
}

const waits = [1, 500, 900, 5_000, 61_000, 20 * 86_400_000] as const;

class Life {
  readonly #contenders: readonly Contender[];
  readonly #onAnswer: NonNullable<DifferentialOptions['onAnswer']>;
  readonly #known: Known;
  /** The calls made, with the time. */
  readonly #called: { readonly call: Call; readonly atMs: number }[] = [];
  /**
   * Turns and sessions made before the embedded stores were opened last, which have forgotten who awaits their moves.
   */
  #unawaited = new Set<string>();
  readonly #told: string[] = [];

  constructor(contenders: readonly Contender[], onAnswer: NonNullable<DifferentialOptions['onAnswer']>) {
    this.#contenders = contenders;
    this.#onAnswer = onAnswer;
    this.#known = new Known(
      storeOf(
        { name: 'truth', leaseMs: null },
        (step) =>
          (...given) =>
            takeStep(contenders[0]!.store, step, given),
      ),
    );
  }

  async live(drawn: readonly Drawn[]): Promise<void> {
    for (const each of this.#contenders) await each.open(this.#known.nowMs);
    for (const call of furnished(this.#known)) await this.#call(call);
    for (const each of drawn) await this.#step(each);
    // Told whole: what differs may lie where no verb looked.
    const dumps = [];
    for (const each of this.#contenders) dumps.push(await each.dump(this.#known.nowMs));
    this.#alike('holds', dumps);
  }

  async #step(drawn: Drawn): Promise<void> {
    if (drawn.verb === 'wait') return this.#wait(this.#known.nowMs + chosen(waits, drawn.lasts));
    if (drawn.verb === 'reopen') return this.#reopen(drawn);
    const call =
      drawn.verb === 'again'
        ? this.#again(drawn)
        : await { ...storeSteps, ...catalogSteps }[drawn.verb](this.#known, drawn);
    if (call !== null) await this.#call(call);
  }

  /** An earlier step once more, as one whose answer was lost. */
  #again({ pick }: Drawn): Call | null {
    const again = picked(this.#called, pick);
    return again === undefined || (again.call.timed && again.atMs !== this.#known.nowMs) ? null : again.call;
  }

  async #wait(nowMs: number): Promise<void> {
    this.#told.push(`it is ${nowMs - this.#known.nowMs} ms later`);
    this.#known.nowMs = nowMs;
    for (const each of this.#contenders) await each.at(nowMs);
  }

  /**
   * An embedded store takes every lease for void when it opens, and Redis takes none: the leases of all owners run out
   * before.
   */
  async #reopen({ which, flag }: Drawn): Promise<void> {
    await this.#wait(Math.max(this.#known.nowMs, this.#known.leaseUntilMs) + 1);
    const transactions = flag ? which : Infinity;
    this.#told.push(`opened again, ${transactions} transactions later`);
    this.#unawaited = new Set(this.#known.turns.map(({ place }) => place.turnId));
    for (const { id } of this.#known.sessions) this.#unawaited.add(id);
    for (const turn of this.#known.turns) turn.orphaned = true;
    this.#known.claims.length = 0;
    for (const each of this.#contenders) await each.reopen(this.#known.nowMs, transactions);
    for (const each of this.#contenders) await each.at(this.#known.nowMs);
  }

  async #call(call: Call): Promise<void> {
    const { verb, args } = call;
    this.#told.push(`${verb}(${args.map((each) => inspect(each, { depth: 6, breakLength: Infinity })).join(', ')})`);
    const answers: unknown[] = [];
    const notices: unknown[] = [];
    for (const { store } of this.#contenders) answers.push(await answerOf(call, store));
    for (const each of this.#contenders) {
      const heard = (await each.heard()).filter((notice) => this.#counts(notice));
      notices.push(verb === 'catalog.remove' ? announcedOnce(heard) : heard);
    }
    this.#alike('answers', answers);
    this.#alike('announces', notices);
    for (const each of call.late === undefined ? [call] : [call, call.late])
      this.#called.push({ call: each, atMs: this.#known.nowMs });
    if (!(answers[0] instanceof Failed)) call.learn?.(answers[0]);
    this.#onAnswer(verb, answers[0]);
  }

  #counts(notice: Notice): boolean {
    if (notice.type === 'session.moved') return !this.#unawaited.has(notice.sessionId);
    return notice.type !== 'turn.moved' || !this.#unawaited.has(notice.turnId);
  }

  #alike(what: string, found: readonly unknown[]): void {
    const other = found.findIndex((each) => !isDeepStrictEqual(each, found[0]));
    if (other < 0) return;
    const said = [[0, other] as const, [other, 0] as const].map(
      ([at, from]) =>
        `${this.#contenders[at]!.name} ${what}: ${inspect(differenceOf(found[at], found[from]), { depth: 8 })}`,
    );
    throw new Error(['The stores differ.', ...this.#told, ...said].join('\n'));
  }
}

/** The items that the other list lacks; a value that is no list, or has the same items in another order, as it is. */
function differenceOf(found: unknown, other: unknown): unknown {
  if (!Array.isArray(found) || !Array.isArray(other)) return found;
  const missing = found.filter((each) => !other.some((its) => isDeepStrictEqual(its, each)));
  return missing.length > 0 || found.length < other.length ? missing : found;
}

/** The notices of a removal without the second one of a workspace, which a store may send (`Notice`). */
function announcedOnce(notices: readonly Notice[]): readonly Notice[] {
  const [first, second] = notices;
  const isRepeated = first?.type === 'changed' && first.kind === 'workspace' && isDeepStrictEqual(first, second);
  return isRepeated ? notices.toSpliced(1, 1) : notices;
}

/** A step that was refused with an error. */
export class Failed {
  readonly message: string;

  constructor({ name, message }: Error) {
    this.message = `${name}: ${message}`;
  }
}

async function answerOf({ verb, run }: Call, store: Contender['store']): Promise<unknown> {
  try {
    const answer = await run(store);
    // The rows have no fixed order.
    return verb === 'orphans' ? (answer as { turnId: string }[]).map(({ turnId }) => turnId).sort() : answer;
  } catch (error) {
    return new Failed(error as Error);
  }
}
