/** What `/metrics` tells, in Prometheus' format (contract 12). */
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client';

const fastSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const answerSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The metrics of one process as data. */
export type Samples = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export interface Metrics {
  readonly requests: { inc(route: string, status: number): void };
  readonly turns: Counter<'outcome'>;
  readonly firstOutput: Histogram;
  readonly streamEvents: Counter;
  readonly storeSeconds: Histogram<'step'>;
  readonly storeErrors: Counter<'step'>;
  readonly limited: { inc(budget: string): void };
  readonly loopLag: Gauge;
  /** Everything as text, and its content type. */
  text(): Promise<string>;
  /** Everything as data, which can be summed with that of other processes. */
  samples(): Promise<Samples>;
  readonly contentType: string;
}

/** How often the store has been away, and for how long it is now. */
export interface Outages {
  readonly count: number;
  readonly seconds: number;
}

/** `census` counts live actors by kind, `inFlight` the turns; all four are read when the metrics are. */
export function openMetrics(census: () => Record<string, number>, inFlight: () => number, loopLag: () => number, outages: () => Outages): Metrics {
  const registers = [new Registry()];
  const registry = registers[0]!;
  new Gauge({
    name: 'parley_actors',
    help: 'Live actors.',
    labelNames: ['kind'] as const,
    registers,
    collect() {
      for (const [kind, count] of Object.entries(census())) this.set({ kind }, count);
    },
  });
  new Gauge({
    name: 'parley_turns_in_flight',
    help: 'Turns in flight in this process.',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  openOutages(outages, registers);
  return {
    requests: requestCounter(registers),
    turns: new Counter({ name: 'parley_turns_total', help: 'Turns that ended, by how.', labelNames: ['outcome'], registers }),
    firstOutput: new Histogram({ name: 'parley_first_output_seconds', help: 'From a message to the first output.', buckets: answerSeconds, registers }),
    streamEvents: new Counter({ name: 'parley_stream_events_total', help: 'Events sent on streams.', registers }),
    storeSeconds: new Histogram({ name: 'parley_store_seconds', help: 'How long steps of the store take.', labelNames: ['step'], buckets: fastSeconds, registers }),
    storeErrors: new Counter({ name: 'parley_store_errors_total', help: 'Steps that the store did not take.', labelNames: ['step'], registers }),
    limited: limitedCounter(registers),
    loopLag: new Gauge({
      name: 'parley_event_loop_lag_seconds',
      help: 'Mean delay of the event loop since it was last read.',
      registers,
      // Of several processes the one that lags most: a mean would hide it.
      aggregator: 'max',
      collect() {
        this.set(loopLag());
      },
    }),
    text: () => registry.metrics(),
    samples: () => registry.getMetricsAsJSON(),
    contentType: registry.contentType,
  };
}

/** Prom-client's counters of one label each, resolved once: every request counts in one. */
function childrenOf<Value extends string | number>(child: (value: Value) => { inc(): void }): { inc(value: Value): void } {
  const children = new Map<Value, { inc(): void }>();
  return {
    inc(value) {
      let known = children.get(value);
      if (known === undefined) children.set(value, (known = child(value)));
      known.inc();
    },
  };
}

function requestCounter(registers: Registry[]): Metrics['requests'] {
  const counter = new Counter({ name: 'parley_http_requests_total', help: 'Requests answered.', labelNames: ['route', 'status'] as const, registers });
  const routes = new Map<string, { inc(status: number): void }>();
  return {
    inc(route, status) {
      let statuses = routes.get(route);
      if (statuses === undefined) routes.set(route, (statuses = childrenOf((value) => counter.labels({ route, status: value }))));
      statuses.inc(status);
    },
  };
}

function limitedCounter(registers: Registry[]): Metrics['limited'] {
  const counter = new Counter({ name: 'parley_limited_total', help: 'Requests refused for a budget.', labelNames: ['budget'] as const, registers });
  // As the API calls it: `transcription_tokens`.
  return childrenOf((budget) => counter.labels({ budget: budget.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) }));
}

function openOutages(outages: () => Outages, registers: Registry[]): void {
  new Counter({
    name: 'parley_store_outages_total',
    help: 'How often the store has gone away.',
    registers,
    collect() {
      this.reset();
      this.inc(outages().count);
    },
  });
  new Gauge({
    name: 'parley_store_away_seconds',
    help: 'For how long the store has been away; 0 while it is not.',
    registers,
    aggregator: 'max',
    collect() {
      this.set(outages().seconds);
    },
  });
}

/** The metrics of several processes in one: sums, but for what says otherwise. */
export const summed = (processes: readonly Samples[]): Promise<Samples> => AggregatorRegistry.aggregate([...processes]).getMetricsAsJSON();

export const metricsText = (processes: readonly Samples[]): Promise<string> => AggregatorRegistry.aggregate([...processes]).metrics();
