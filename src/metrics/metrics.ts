/** The metrics of `/metrics`, in Prometheus' format (contract 11). */
import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client';
import type { LoadReading } from './load.ts';
import { tallyCounter, TallyHistogram, type CounterSample, type Observations } from './tallies.ts';
import { toolErrors } from '../base/tool-errors.ts';
import { openCallMetrics, watchCalls, type CallMetrics } from './calls.ts';
import { openVoiceMetrics, watchVoice, type VoiceMetrics, type VoiceView } from './voice.ts';
import { linkLimitNames } from '../base/link-limits.ts';

const fastSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const answerSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Reasons why a turn failed through no fault of its provider. `store_away`: the store did not answer; `store_forgot`:
 * it lost text in a failover; `fence_lost`: another process owns the turn; `lease_lost`: its lease could not be
 * renewed; `error`: a fault in the program.
 */
export const turnFaults = [
  'time_limit',
  'output_limit',
  'drain',
  'store_away',
  'store_forgot',
  'fence_lost',
  'lease_lost',
  'error',
] as const;
export type TurnFault = (typeof turnFaults)[number];

/** Ends of a turn, as `parley_turns_total` counts them; `withdrawn`: it failed before its first output. */
const turnEnds = ['completed', 'aborted', 'failed', 'withdrawn'] as const;
/** Ends of a span (contract 16). */
const spanOutcomes = ['exported', 'refused', 'dropped'] as const;
/** Outcomes of an attempt to deliver an event to a webhook (contract 17). */
const webhookOutcomes = ['delivered', 'retry', 'failed'] as const;
/** Ends of a tool call (contract 13). */
const toolOutcomes = ['completed', 'cancelled', ...toolErrors] as const;
/**
 * The limits that can refuse a request with 429: a budget of its key, the workspace's slots for turns, its address's
 * failed authentications or reads of public links, or a visitor's limits.
 */
const limiters = [
  'requests',
  'speech',
  'transcriptionTokens',
  'tokensPerDay',
  'turns',
  'authentication',
  'visitor_turn',
  'link_reads',
  ...linkLimitNames,
] as const;
export type Limiter = (typeof limiters)[number];

/** The metrics of one process as data. */
export type Samples = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

export interface Metrics {
  readonly requests: { inc(route: string, status: number): void };
  readonly turnFaults: Counter<'reason'>;
  readonly turns: { inc(labels: { outcome: (typeof turnEnds)[number] }): void };
  readonly firstOutput: { observe(seconds: number): void };
  readonly streamEvents: { inc(): void };
  readonly storeSeconds: { sample(labels: { step: string }): Pick<Observations, 'observe'> };
  readonly storeErrors: Counter<'step'>;
  readonly limited: { inc(limiter: Limiter): void };
  readonly voice: VoiceMetrics;
  readonly calls: CallMetrics;
  readonly toolCalls: Counter<'outcome'>;
  readonly modelFallbacks: Counter<'outcome'>;
  readonly toolSeconds: { observe(seconds: number): void };
  /** Sessions at the desk by state, as the store has them. */
  readonly deskSessions: Gauge<'state'>;
  readonly deskWaitSeconds: { observe(seconds: number): void };
  readonly webhookAttempts: Counter<'outcome'>;
  readonly webhookSeconds: { observe(seconds: number): void };
  /** Spans that the collector of traces took or refused, or that no room was left for. */
  readonly spans: { inc(outcome: (typeof spanOutcomes)[number], count: number): void };
  readonly loopLag: Gauge;
  readonly unhandledRejections: { inc(): void };
  /** Adds the metrics of voice, which are read whenever the others are. */
  watchVoice(desk: VoiceView, sockets: () => number, calls: () => Readonly<Record<string, number>>): void;
  /** Counts since the start: requests, refusals with 429, events, and the store's steps with their seconds. */
  counted(): Promise<Counted>;
  /** All metrics as text, and their content type. */
  text(): Promise<string>;
  /** All metrics as data, which can be added to the metrics of other processes. */
  samples(): Promise<Samples>;
  readonly contentType: string;
}

export type Counted = Pick<LoadReading, 'requests' | 'refused' | 'events' | 'storeSteps' | 'storeSeconds'>;

/** The metrics of a process that only answers requests. */
export function openRequests(): Pick<Metrics, 'requests' | 'unhandledRejections' | 'samples'> {
  const registry = new Registry();
  return {
    requests: requestCounter([registry]),
    unhandledRejections: rejectionCounter([registry]),
    samples: () => registry.getMetricsAsJSON(),
  };
}

/** The number of the store's outages, and the length of the current one. */
export interface Outages {
  readonly count: number;
  readonly seconds: number;
}

/**
 * `census` counts live actors by kind, `inFlight` the turns; all four functions are called when the metrics are read.
 */
export function openMetrics(
  census: () => Record<string, number>,
  inFlight: () => number,
  loopLag: () => number,
  outages: () => Outages,
): Metrics {
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
    turnFaults: faultCounter(registers),
    turns: turnCounter(registers),
    firstOutput: new TallyHistogram(
      { name: 'parley_first_output_seconds', help: 'From a message to the first output.', registers },
      answerSeconds,
    ).sample({}),
    streamEvents: tallyCounter(
      { name: 'parley_stream_events_total', help: 'Events sent on streams.', registers },
      [],
    )({}),
    storeSeconds: new TallyHistogram(
      { name: 'parley_store_seconds', help: 'How long steps of the store take.', registers },
      fastSeconds,
      ['step'],
    ),
    storeErrors: new Counter({
      name: 'parley_store_errors_total',
      help: 'Steps that the store did not take.',
      labelNames: ['step'],
      registers,
    }),
    limited: limitedCounter(registers),
    voice: openVoiceMetrics(registers),
    calls: openCallMetrics(registers),
    toolCalls: toolCounter(registers),
    modelFallbacks: fallbackCounter(registers),
    toolSeconds: new TallyHistogram(
      { name: 'parley_tool_seconds', help: 'How long calls of tools take.', registers },
      answerSeconds,
    ).sample({}),
    deskSessions: openDeskSessions(registers),
    deskWaitSeconds: new TallyHistogram(
      { name: 'parley_desk_wait_seconds', help: 'How long visitors waited for the person who came.', registers },
      deskWaits,
    ).sample({}),
    webhookAttempts: webhookCounter(registers),
    webhookSeconds: new TallyHistogram(
      { name: 'parley_webhook_seconds', help: 'Seconds until a webhook has answered an attempt.', registers },
      answerSeconds,
    ).sample({}),
    spans: spanCounter(registers),
    watchVoice(desk, sockets, calls) {
      watchVoice(desk, sockets, registers);
      watchCalls(calls, registers);
    },
    loopLag: new Gauge({
      name: 'parley_event_loop_lag_seconds',
      help: 'Mean delay of the event loop since it was last read.',
      registers,
      // For several processes, the greatest lag: a mean would hide it.
      aggregator: 'max',
      collect() {
        this.set(loopLag());
      },
    }),
    unhandledRejections: rejectionCounter(registers),
    counted: () => readCounts(registry),
    text: () => registry.metrics(),
    samples: () => registry.getMetricsAsJSON(),
    contentType: registry.contentType,
  };
}

/** Reads the counters themselves, because to read all metrics would begin the lag's next measurement. */
async function readCounts(registry: Registry): Promise<Counted> {
  const sum = async (name: string, part?: string): Promise<number> => {
    const { values } = await registry.getSingleMetric(name)!.get();
    return values.reduce(
      (all, one) =>
        part === undefined || (one as { metricName?: string }).metricName === `${name}_${part}` ? all + one.value : all,
      0,
    );
  };
  const store = 'parley_store_seconds';
  const [requests, refused, events] = [
    await sum('parley_http_requests_total'),
    await sum('parley_limited_total'),
    await sum('parley_stream_events_total'),
  ];
  return { requests, refused, events, storeSteps: await sum(store, 'count'), storeSeconds: await sum(store, 'sum') };
}

/** The samples of a counter with one label, made when they are first counted up. */
function countsOf<Value extends string | number>(made: (value: Value) => CounterSample): { inc(value: Value): void } {
  const counts = new Map<Value, CounterSample>();
  return {
    inc(value) {
      let known = counts.get(value);
      if (known === undefined) counts.set(value, (known = made(value)));
      known.inc();
    },
  };
}

function requestCounter(registers: Registry[]): Metrics['requests'] {
  const count = tallyCounter({ name: 'parley_http_requests_total', help: 'Requests answered.', registers }, [
    'route',
    'status',
  ]);
  const routes = new Map<string, { inc(status: number): void }>();
  return {
    inc(route, status) {
      let statuses = routes.get(route);
      if (statuses === undefined) routes.set(route, (statuses = countsOf((value) => count({ route, status: value }))));
      statuses.inc(status);
    },
  };
}

// Counters whose labels are known in advance begin at 0 (contract 11): a rate over a counter that appears with its
// first event misses that event.
function turnCounter(registers: Registry[]): Metrics['turns'] {
  const count = tallyCounter({ name: 'parley_turns_total', help: 'Turns that ended, by how.', registers }, ['outcome']);
  const counts = new Map(turnEnds.map((outcome) => [outcome, count({ outcome })]));
  return { inc: ({ outcome }) => counts.get(outcome)!.inc() };
}

function fallbackCounter(registers: Registry[]): Counter<'outcome'> {
  const counter = new Counter({
    name: 'parley_model_fallbacks_total',
    help: 'Requests to fallback models.',
    labelNames: ['outcome'] as const,
    registers,
  });
  for (const outcome of ['answered', 'failed']) counter.inc({ outcome }, 0);
  return counter;
}

function limitedCounter(registers: Registry[]): Metrics['limited'] {
  const count = tallyCounter({ name: 'parley_limited_total', help: 'Requests refused for a budget.', registers }, [
    'budget',
  ]);
  // The API's own names: `transcription_tokens`, `tokens_per_day`.
  const counts = new Map(
    limiters.map((limiter) => [
      limiter,
      count({ budget: limiter.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) }),
    ]),
  );
  return { inc: (limiter) => counts.get(limiter)!.inc() };
}

function faultCounter(registers: Registry[]): Counter<'reason'> {
  const counter = new Counter({
    name: 'parley_turn_faults_total',
    help: 'Turns that failed for a fault of ours, by cause.',
    labelNames: ['reason'] as const,
    registers,
  });
  for (const reason of turnFaults) counter.inc({ reason }, 0);
  return counter;
}

const deskWaits = [1, 5, 10, 30, 60, 120, 300, 900, 3600];

function openDeskSessions(registers: Registry[]): Gauge<'state'> {
  const gauge = new Gauge({
    name: 'parley_desk_sessions',
    help: 'Open sessions whose visitors wait for a person, and sessions that people have.',
    labelNames: ['state'] as const,
    registers,
    // Every process counts the sessions of all.
    aggregator: 'max',
  });
  for (const state of ['waiting', 'person']) gauge.set({ state }, 0);
  return gauge;
}

function toolCounter(registers: Registry[]): Counter<'outcome'> {
  const counter = new Counter({
    name: 'parley_tool_calls_total',
    help: 'Calls of tools, by how they ended.',
    labelNames: ['outcome'] as const,
    registers,
  });
  for (const outcome of toolOutcomes) counter.inc({ outcome }, 0);
  return counter;
}

function webhookCounter(registers: Registry[]): Counter<'outcome'> {
  const counter = new Counter({
    name: 'parley_webhook_attempts_total',
    help: 'Attempts to deliver events to webhooks, by outcome.',
    labelNames: ['outcome'] as const,
    registers,
  });
  for (const outcome of webhookOutcomes) counter.inc({ outcome }, 0);
  return counter;
}

function spanCounter(registers: Registry[]): Metrics['spans'] {
  const counter = new Counter({
    name: 'parley_spans_total',
    help: 'Spans of traces: exported, refused by the collector, or dropped because the queue was full.',
    labelNames: ['outcome'] as const,
    registers,
  });
  for (const outcome of spanOutcomes) counter.inc({ outcome }, 0);
  return { inc: (outcome, count) => counter.inc({ outcome }, count) };
}

const rejectionCounter = (registers: Registry[]): Counter =>
  new Counter({
    name: 'parley_unhandled_rejections_total',
    help: 'Faults of the program that ended one piece of work unheard; the log tells where.',
    registers,
  });

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

/** The content type of the metrics as text. */
export const metricsType: string = Registry.PROMETHEUS_CONTENT_TYPE;

/** Combines the metrics of several processes: sums, except where a metric declares another aggregation. */
export const sumSamples = (processes: readonly Samples[]): Promise<Samples> =>
  AggregatorRegistry.aggregate([...processes]).getMetricsAsJSON();

export const metricsText = (processes: readonly Samples[]): Promise<string> =>
  AggregatorRegistry.aggregate([...processes]).metrics();
