/**
 * The load in C: a process for each measurement, which gets its job and answers with lines of JSON (`native/job.h`).
 */
import type { Instance } from '../harness/contender.ts';
import type { Native } from '../harness/native.ts';
import { cpuMicroseconds, Process } from '../harness/process.ts';
import { beginAbreast, type Load, type Mark, type Streams, type TurnTimes } from '../load.ts';
import type { Shape } from '../text.ts';

/** A job's lines: a name and, mostly, a value. */
type Job = readonly (readonly [name: string, value?: string | number])[];

const running = new Set<Process>();
let endedMicroseconds = 0;

/** A process that does one job. */
class Worker {
  readonly #process: Process;

  constructor({ load, vocabulary }: Native, job: Job, requests: readonly string[]) {
    this.#process = new Process({ place: 'load', program: load, args: [vocabulary], piped: true });
    running.add(this.#process);
    const lines = job.map(([name, value]) => (value === undefined ? `${name}\n` : `${name} ${value}\n`)).join('');
    const sent = requests.map((request) => `request ${Buffer.byteLength(request)}\n${request}`).join('');
    this.write(`${lines}${sent}go\n`);
  }

  write(text: string): void {
    this.#process.child.stdin!.write(text);
  }

  /** Resolves with its next message; rejects with the fault that it finds in an answer. */
  async told<T extends object>(): Promise<T> {
    const told = JSON.parse(await this.#process.line()) as T | { readonly error: string };
    if ('error' in told) throw new Error(told.error);
    return told;
  }

  /** Runs until the work has ended; the outcome has its CPU time. */
  async until<T extends { readonly microseconds: number }>(work: Promise<T>): Promise<T> {
    try {
      const told = await work;
      endedMicroseconds += told.microseconds;
      return told;
    } finally {
      running.delete(this.#process);
      await this.#process.stop();
    }
  }

  last<T extends object>(): Promise<T & Over> {
    return this.until(this.told<T & Over>());
  }
}

/** The last message: the CPU time of the whole job. */
interface Over {
  readonly microseconds: number;
}

const toAll = ({ ports, format }: Instance, shape: Shape): Job => [
  ...ports.map((port) => ['port', port] as const),
  ...(['text', 'completed', 'failed'] as const).map((name) => [name, format[name]] as const),
  ['interval', shape.rate === 0 ? 0 : 1000 / shape.rate],
  ['tokens', shape.tokens],
];

type Told = { readonly begun: true } | (Mark & Over & { readonly over?: true });

class NativeStreams implements Streams {
  readonly done: Promise<void>;
  readonly #worker: Worker;
  readonly #begun: Promise<void>;
  #onBegun!: () => void;
  #onMark: (mark: Mark) => void = () => {};
  /** The last mark, once all streams have ended. */
  #last: Mark | null = null;

  constructor(worker: Worker) {
    this.#worker = worker;
    this.#begun = new Promise((resolve) => (this.#onBegun = resolve));
    this.done = worker.until(this.#read()).then(() => {});
    // The caller measures meanwhile and awaits it later.
    this.done.catch(() => {});
  }

  begun(): Promise<void> {
    return Promise.race([this.#begun, this.done]);
  }

  mark(): Promise<Mark> {
    const marked = new Promise<Mark>((resolve) => (this.#onMark = resolve));
    this.#worker.write('mark\n');
    return Promise.race([marked, this.done.then(() => this.#last!)]);
  }

  async #read(): Promise<Over> {
    for (;;) {
      const told = await this.#worker.told<Told>();
      if ('begun' in told) this.#onBegun();
      else if (told.over === true) return (this.#last = told);
      else this.#onMark(told);
    }
  }
}

/** The load whose program this is. */
export const nativeLoad = (native: Native): Load => ({
  async converse(instance, requests, turnsEach, abreast, shape, until = Infinity) {
    if (turnsEach === 0) return { firstMs: [], wholeMs: [] };
    const limit: Job = until === Infinity ? [] : [['until', Math.max(0.001, until - performance.now())]];
    const job: Job = [
      ...toAll(instance, shape),
      ['turns_each', turnsEach],
      ['abreast', Math.min(abreast, requests.length)],
      ...limit,
    ];
    return new Worker(native, job, requests).last<TurnTimes>();
  },
  async arrive(instance, requests, turnsEach, abreast, shape, arrivals) {
    const job: Job = [
      ...toAll(instance, shape),
      ['turns_each', turnsEach],
      ['abreast', abreast],
      ...arrivals.map((at) => ['at', at] as const),
    ];
    return new Worker(native, job, requests).last<TurnTimes>();
  },
  async repeat(port, request, status, count, abreast) {
    const job: Job = [
      ['port', port],
      ['status', status],
      ['conversations', count],
      ['abreast', abreast],
    ];
    await new Worker(native, job, [request]).last<Over>();
  },
  stream(instance, requests, shape, abreast = beginAbreast) {
    return new NativeStreams(
      new Worker(
        native,
        [['streams'], ...toAll(instance, shape), ['abreast', Math.min(abreast, requests.length)]],
        requests,
      ),
    );
  },
  microseconds: () => endedMicroseconds + cpuMicroseconds([...running]),
});
