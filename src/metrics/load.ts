/**
 * The last hour in steps of five seconds, for the console (contract 9). A process counts the increase of its metrics
 * since the previous step, so that a request costs nothing more; where processes share a store, each puts its steps on
 * a board that all read.
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { evictOldest } from '../base/evict-oldest.ts';

/** The counts of a process since its start, and its present state. */
export interface LoadReading {
  readonly requests: number;
  readonly refused: number;
  readonly events: number;
  readonly storeSteps: number;
  readonly storeSeconds: number;
  readonly turnsInFlight: number;
  readonly openCalls: number;
  readonly memoryBytes: number;
}

/** One step of one process. */
export interface LoadRow extends LoadReading {
  readonly process: string;
  /** Unix seconds. */
  readonly start: number;
  /** The mean over the step. */
  readonly lagMs: number;
  /** Times to first output: pairs of a class (see `classOf`) and its number of turns. */
  readonly firstOutputs: readonly (readonly [number, number])[];
  /** Times from voice to voice of the replies in calls, in the same form. */
  readonly voiceToVoice?: readonly (readonly [number, number])[];
}

/** The steps of all processes that share a store. */
export interface LoadBoard {
  put(row: LoadRow): Promise<void>;
  /** The rows that start at this second or later. */
  read(from: number): Promise<LoadRow[]>;
}

/** All processes together in one step; null where nothing was measured. */
export interface LoadStep {
  readonly start: number;
  readonly requests: number | null;
  readonly refused: number | null;
  readonly turnsInFlight: number | null;
  readonly openCalls: number | null;
  readonly events: number | null;
  readonly firstOutputP50Ms: number | null;
  readonly firstOutputP99Ms: number | null;
  readonly voiceToVoiceP50Ms: number | null;
  readonly voiceToVoiceP99Ms: number | null;
  readonly lagMs: number | null;
  readonly memoryBytes: number | null;
  readonly storeMs: number | null;
}

const seconds = limits.loadStepSeconds;
const counts = ['requests', 'refused', 'events', 'storeSteps', 'storeSeconds'] as const;

/** Times in classes that are 10 % apart, from 0.1 ms on. */
const classOf = (ms: number): number => Math.max(0, Math.ceil(Math.log(ms * 10) / Math.log(1.1)));
const msOf = (each: number): number => tenths(1.1 ** (each - 0.5) / 10);
const tenths = (number: number): number => Math.round(number * 10) / 10;

export interface LoadSource {
  /**
   * May reject: a process without a free descriptor cannot read its memory. That reading is left out, and the next one
   * includes its counts.
   */
  reading(): Promise<LoadReading>;
  /** The event loop's mean delay in milliseconds since `restart` was last true. */
  lagMs(restart: boolean): number;
}

export class LoadMeter {
  readonly #clock: Clock;
  readonly #process: string;
  readonly #source: LoadSource;
  readonly #board: LoadBoard | null;
  readonly #rows = new Map<number, LoadRow>();
  #firstOutputs: Classes = new Map();
  #voiceToVoice: Classes = new Map();
  /** The reading at the begin of the step under way. */
  #before: LoadReading | null = null;
  #start = 0;

  constructor(clock: Clock, process: string, source: LoadSource, board: LoadBoard | null) {
    this.#clock = clock;
    this.#process = process;
    this.#source = source;
    this.#board = board;
  }

  /** Begins to measure, until the clock stops; never rejects. */
  async start(): Promise<void> {
    await this.#next();
    this.#wait();
  }

  firstOutput(ms: number): void {
    add(this.#firstOutputs, classOf(ms), 1);
  }

  /** From the last voice of a person to the first audio of the reply. */
  voiceToVoice(ms: number): void {
    add(this.#voiceToVoice, classOf(ms), 1);
  }

  /** The last hour, oldest first, with the step under way as far as this process knows it. */
  async steps(): Promise<LoadStep[]> {
    // The step's timer may be late.
    await this.#next();
    const reading = await this.#read();
    const first = this.#stepNow() - (limits.loadSteps - 1) * seconds;
    const others = this.#board === null ? [] : await this.#board.read(first);
    const own = [
      ...this.#rows.values(),
      ...(this.#before === null || reading === null ? [] : [this.#row(this.#before, reading, false)]),
    ];
    const rows = new Map<number, LoadRow[]>();
    for (const row of [...others.filter(({ process }) => process !== this.#process), ...own])
      rows.set(row.start, [...(rows.get(row.start) ?? []), row]);
    return Array.from({ length: limits.loadSteps }, (_, index) =>
      together(first + index * seconds, rows.get(first + index * seconds) ?? []),
    );
  }

  #stepNow(): number {
    return Math.floor(this.#clock.now() / 1000 / seconds) * seconds;
  }

  #read(): Promise<LoadReading | null> {
    return this.#source.reading().catch(() => null);
  }

  #wait(): void {
    const lengthMs = seconds * 1000;
    this.#clock.after(lengthMs - (this.#clock.now() % lengthMs), () => void this.#next().then(() => this.#wait()));
  }

  /**
   * Ends the current step at its time, and begins the next. If the event loop was held up, that step was longer than
   * others, and the skipped ones are empty.
   */
  async #next(): Promise<void> {
    const isDue = (): boolean => this.#before === null || this.#stepNow() > this.#start;
    if (!isDue()) return;
    const reading = await this.#read();
    // Another call may have done it meanwhile.
    if (reading === null || !isDue()) return;
    const row = this.#before === null ? null : this.#row(this.#before, reading, true);
    if (row === null) this.#source.lagMs(true);
    else [this.#firstOutputs, this.#voiceToVoice] = [new Map(), new Map()];
    this.#before = reading;
    this.#start = this.#stepNow();
    if (row === null) return;
    this.#rows.set(row.start, row);
    evictOldest(this.#rows, limits.loadSteps, limits.loadSteps);
    // A row that is lost leaves a gap on the boards of other processes; the next one comes soon.
    await this.#board?.put(row).catch(() => {});
  }

  #row(before: LoadReading, reading: LoadReading, ends: boolean): LoadRow {
    const gained = Object.fromEntries(counts.map((name) => [name, reading[name] - before[name]])) as Pick<
      LoadReading,
      (typeof counts)[number]
    >;
    const { turnsInFlight, openCalls, memoryBytes } = reading;
    return {
      ...gained,
      turnsInFlight,
      openCalls,
      memoryBytes,
      process: this.#process,
      start: this.#start,
      lagMs: this.#source.lagMs(ends),
      firstOutputs: [...this.#firstOutputs],
      voiceToVoice: [...this.#voiceToVoice],
    };
  }
}

/** Sums, but for the greatest lag and the mean of the store's steps. */
function together(start: number, rows: readonly LoadRow[]): LoadStep {
  // A process of an earlier version counts no calls.
  const sum = (name: keyof LoadReading): number | null =>
    rows.length === 0 ? null : rows.reduce((all, row) => all + (row[name] ?? 0), 0);
  const outputs = classesOf(rows.flatMap(({ firstOutputs }) => firstOutputs));
  const replies = classesOf(rows.flatMap(({ voiceToVoice = [] }) => voiceToVoice));
  const [steps, took] = [sum('storeSteps'), sum('storeSeconds')];
  return {
    start,
    requests: sum('requests'),
    refused: sum('refused'),
    turnsInFlight: sum('turnsInFlight'),
    openCalls: sum('openCalls'),
    events: sum('events'),
    firstOutputP50Ms: percentile(outputs, 0.5),
    firstOutputP99Ms: percentile(outputs, 0.99),
    voiceToVoiceP50Ms: percentile(replies, 0.5),
    voiceToVoiceP99Ms: percentile(replies, 0.99),
    lagMs: rows.length === 0 ? null : tenths(Math.max(...rows.map(({ lagMs }) => lagMs))),
    memoryBytes: sum('memoryBytes'),
    storeMs: steps ? Math.round((took! / steps) * 1e6) / 1000 : null,
  };
}

/** Number of times in each class. */
type Classes = Map<number, number>;

const add = (classes: Classes, each: number, count: number): void =>
  void classes.set(each, (classes.get(each) ?? 0) + count);

function classesOf(pairs: readonly (readonly [number, number])[]): Classes {
  const classes: Classes = new Map();
  for (const [each, count] of pairs) add(classes, each, count);
  return classes;
}

function percentile(classes: ReadonlyMap<number, number>, share: number): number | null {
  let left = Math.ceil([...classes.values()].reduce((all, count) => all + count, 0) * share);
  for (const [each, count] of [...classes].sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return msOf(each);
  }
  return null;
}
