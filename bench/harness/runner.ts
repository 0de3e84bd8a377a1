/** Asks one question: starts the contenders, throws the warm-up away, and lets them take turns round by round. */
import type { Contender, Instance, Surroundings } from './contender.ts';
import type { Question, Size } from './question.ts';
import type { Row } from './statistics.ts';

export interface Absence {
  readonly contender: string;
  readonly reason: string;
}

/** The answer to a question. */
export interface Answer {
  readonly question: string;
  readonly rows: readonly Row[];
  /** Contenders that took no part, or gave up, and why. */
  readonly absent: readonly Absence[];
  /** The failures of contenders that must take part. */
  readonly failures: readonly Absence[];
}

export interface Options {
  readonly size: Size;
  readonly rounds: number;
  readonly peers: boolean;
  readonly surroundings: Surroundings;
  /** Instances that questions share, at a smoke size, by how they are started; the caller that gives it stops them. */
  readonly shared: Map<Contender['start'], Instance> | null;
  /** Called before each measurement with the number of finished ones and of all. */
  progress(done: number, all: number, doing: string): void;
}

interface Entrant {
  readonly contender: Contender;
  instance: Instance | null;
  gaveUp: boolean;
}

export async function ask(question: Question, options: Options): Promise<Answer> {
  const asking = new Asking(question, options);
  try {
    await asking.run();
  } finally {
    await asking.stop();
  }
  return { question: question.name, rows: asking.rows, absent: asking.absent, failures: asking.failures };
}

class Asking {
  readonly rows: Row[] = [];
  readonly absent: Absence[] = [];
  readonly failures: Absence[] = [];
  readonly #question: Question;
  readonly #options: Options;
  readonly #cases: readonly string[];
  #entrants: Entrant[] = [];
  #done = 0;

  constructor(question: Question, options: Options) {
    this.#question = question;
    this.#options = options;
    this.#cases = question.cases(options.size);
  }

  async run(): Promise<void> {
    this.#admit();
    const { rounds } = this.#options;
    if (this.#options.shared !== null)
      await Promise.all(this.#entrants.map((entrant) => this.#guarded(entrant, () => this.#started(entrant))));
    for (const entrant of this.#entrants) {
      for (const name of this.#warmUpsOf(entrant)) await this.#guarded(entrant, () => this.#measure(entrant, name, -1));
    }
    for (let round = 0; round < rounds; round++) {
      for (const name of this.#cases) {
        // The order is reversed in every other round, so that no contender always follows the same one.
        for (const entrant of round % 2 === 0 ? this.#entrants : this.#entrants.toReversed()) {
          if (!this.#casesOf(entrant).includes(name)) continue;
          await this.#guarded(entrant, async () =>
            this.#note(entrant, name, round, await this.#measure(entrant, name, round)),
          );
        }
      }
    }
  }

  async stop(): Promise<void> {
    if (this.#options.shared !== null) return;
    for (const { instance } of this.#entrants) await instance?.stop();
  }

  #admit(): void {
    const { size, peers } = this.#options;
    for (const contender of this.#question.contenders) {
      if (contender.standing === 'full' && size === 'quick') continue;
      const reason =
        contender.standing === 'peer' && !peers ? 'asked for with --peers' : (contender.absent?.() ?? null);
      if (reason === null) this.#entrants.push({ contender, instance: null, gaveUp: false });
      else this.absent.push({ contender: contender.name, reason });
    }
  }

  #casesOf({ contender }: Entrant): readonly string[] {
    return this.#cases.filter((name) => this.#question.takes?.(contender, name) ?? true);
  }

  async #measure(entrant: Entrant, name: string, round: number): Promise<Readonly<Record<string, number>>> {
    const { size, rounds, surroundings, progress } = this.#options;
    const { contender } = entrant;
    const all = this.#entrants.reduce(
      (sum, one) => sum + this.#warmUpsOf(one).length + rounds * this.#casesOf(one).length,
      0,
    );
    progress(this.#done++, all, `${this.#question.name}: ${contender.name}, ${name}${round < 0 ? ' (warm-up)' : ''}`);
    if (this.#question.fresh && this.#options.shared === null) {
      await entrant.instance?.stop();
      entrant.instance = null;
    }
    const instance = await this.#started(entrant);
    const measuring = this.#question.measure({
      instance,
      contender: contender.name,
      case: name,
      size,
      round,
      surroundings,
    });
    return withDeadline(measuring, size === 'full' ? 600_000 : 60_000);
  }

  /** The cases of its warm-up. The heaviest case comes last, and mostly warms what the others use as well. */
  #warmUpsOf(entrant: Entrant): readonly string[] {
    const { fresh, warmedBy, warmUps = 1 } = this.#question;
    const cases = this.#casesOf(entrant);
    if (fresh || this.#options.shared !== null || cases.length === 0) return [];
    const by = (warmedBy ?? cases.slice(-1)).filter((name) => cases.includes(name));
    return Array.from({ length: warmUps }, (_, time) => by[time % by.length]!);
  }

  async #started(entrant: Entrant): Promise<Instance> {
    const { shared, surroundings } = this.#options;
    const { start } = entrant.contender;
    entrant.instance ??= shared?.get(start) ?? (await start(surroundings));
    shared?.set(start, entrant.instance);
    return entrant.instance;
  }

  #note({ contender }: Entrant, name: string, round: number, figures: Readonly<Record<string, number>>): void {
    for (const { name: figure, unit } of this.#question.figures) {
      const value = figures[figure];
      if (value === undefined) continue;
      let row = this.rows.find((one) => one.contender === contender.name && one.case === name && one.figure === figure);
      if (row === undefined)
        this.rows.push(
          (row = {
            contender: contender.name,
            case: name,
            figure,
            unit,
            samples: Array<number | null>(this.#options.rounds).fill(null),
          }),
        );
      row.samples[round] = value;
    }
  }

  /** A contender that fails takes no further part; only for parley and the floor is it a failure of the run. */
  async #guarded(entrant: Entrant, run: () => Promise<unknown>): Promise<void> {
    if (entrant.gaveUp) return;
    try {
      await run();
    } catch (error) {
      entrant.gaveUp = true;
      const told = {
        contender: entrant.contender.name,
        reason: error instanceof Error ? error.message : String(error),
      };
      (entrant.contender.standing === 'always' ? this.failures : this.absent).push(told);
    }
  }
}

/** A server that hangs counts as failed. */
async function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  let timer!: NodeJS.Timeout;
  const late = new Promise<never>(
    (_, reject) => (timer = setTimeout(reject, deadlineMs, new Error(`It hung for ${deadlineMs / 1000} s.`))),
  );
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
