/**
 * Counters and histograms that every turn counts up. A sample is a field in memory, which is read when the metrics are.
 * Prom-client's own `inc` and `observe` sort and join the labels at each call, which was 2 % of a turn's CPU time.
 */
import { Counter, Histogram, type Registry } from 'prom-client';

interface About {
  readonly name: string;
  readonly help: string;
  readonly registers: Registry[];
}

type Labels<Name extends string> = Readonly<Record<Name, string | number>>;

/** One sample of a counter. */
export class CounterSample {
  #fresh = 0;

  inc(): void {
    this.#fresh++;
  }

  /** Returns the count since the last call. */
  take(): number {
    const fresh = this.#fresh;
    this.#fresh = 0;
    return fresh;
  }
}

/** A counter whose samples are made by their labels, and are 0 from then on. */
export function tallyCounter<Name extends string>(
  { name, help, registers }: About,
  labelNames: readonly Name[],
): (labels: Labels<Name>) => CounterSample {
  const counts: [labels: Labels<Name>, count: CounterSample][] = [];
  new Counter<Name>({
    name,
    help,
    labelNames: [...labelNames],
    registers,
    collect() {
      for (const [labels, count] of counts) this.inc(labels, count.take());
    },
  });
  return (labels) => {
    const count = new CounterSample();
    counts.push([labels, count]);
    return count;
  };
}

/** One sample of a histogram. */
export class Observations {
  readonly #bounds: readonly number[];
  /**
   * Number of values between the previous bound (exclusive) and each bound (inclusive); the last count is of larger
   * values.
   */
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += value;
  }

  values<Name extends string>(
    name: string,
    labels: Labels<Name>,
  ): { metricName: string; labels: Record<string, string | number>; value: number }[] {
    let count = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, bucket) => ({
      metricName: `${name}_bucket`,
      labels: { le, ...labels },
      value: (count += this.#counts[bucket]!),
    }));
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: { ...labels }, value: this.#sum },
      { metricName: `${name}_count`, labels: { ...labels }, value: count },
    ];
  }
}

/** A histogram whose samples are made by their labels. */
export class TallyHistogram<Name extends string = never> extends Histogram<Name> {
  readonly #bounds: readonly number[];
  readonly #about: About;
  /** Samples by their labels. */
  readonly #samples = new Map<string, { readonly labels: Labels<Name>; readonly observations: Observations }>();

  constructor(about: About, bounds: readonly number[], labelNames: readonly Name[] = []) {
    super({
      name: about.name,
      help: about.help,
      registers: about.registers,
      buckets: [...bounds],
      labelNames: [...labelNames],
    });
    this.#about = about;
    this.#bounds = bounds;
  }

  /** Makes a sample. prom-client's own `observe` has no effect. */
  sample(labels: Labels<Name>): Observations {
    const key = JSON.stringify(labels);
    let known = this.#samples.get(key);
    if (known === undefined) this.#samples.set(key, (known = { labels, observations: new Observations(this.#bounds) }));
    return known.observations;
  }

  override get(): ReturnType<Histogram<Name>['get']> {
    const { name, help } = this.#about;
    const values = [...this.#samples.values()].flatMap(({ labels, observations }) => observations.values(name, labels));
    // Prom-client declares the type as an enumeration that it does not export at run time.
    return Promise.resolve({ name, help, type: 'histogram', values, aggregator: 'sum' } as never);
  }

  /** Called by prom-client for the metrics as text. */
  getForPromString(): ReturnType<Histogram<Name>['get']> {
    return this.get();
  }
}
