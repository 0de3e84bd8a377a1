/**
 * Exports spans over OTLP with OpenTelemetry's packages, which read their own variables: sampler, limits, resource,
 * headers, timeouts, batches. A collector that is away, slow or refusing costs the spans alone: the queue is bounded,
 * and what does not fit or is not taken is counted.
 */
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Context,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import manifest from '../../../package.json' with { type: 'json' };
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Span, SpanFacts, SpanPlace, SpanStart, Tracer } from '../../base/tracing.ts';
import {
  attributesOf,
  hasFailed,
  namesOf,
  pageAttribute,
  readTraceparent,
  turnPage,
  writeTraceparent,
} from './names.ts';

/** Complaints of the packages that are logged, each once: about variables, above all. */
const complaintsMax = 20;
const complaintCharactersMax = 300;

export interface TracerParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'spans'>;
  /** Origin of the console's pages; empty if only a request names it. */
  readonly origin: string;
  /** Whether requests to others name their parent. */
  readonly propagates: boolean;
  /** The largest number of spans that wait to be exported. */
  readonly queueMax: number;
}

export function openOtlpTracer(parts: TracerParts): Tracer {
  const { clock, log, metrics, queueMax } = parts;
  listenToPackages(log);
  const queue = new SpanQueue(new CountedExporter(new OTLPTraceExporter(), metrics, log), queueMax, metrics);
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'parley', 'service.version': manifest.version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new BasicTracerProvider({ resource, spanProcessors: [queue] });
  const tracer = provider.getTracer('parley', manifest.version);
  return {
    begin: (start, place) => beginSpan({ ...parts, tracer, offsetMs: clock.now() - clock.monotonic() }, start, place),
    async close() {
      const late = new Promise<void>((resolve) => clock.after(limits.tracesFlushMs, resolve));
      await Promise.race([provider.shutdown().catch(() => {}), late]);
    },
  };
}

/** The parts that the spans of one request share. */
interface SpanParts extends Pick<TracerParts, 'clock' | 'origin' | 'propagates'> {
  readonly tracer: OtelTracer;
  /**
   * The wall clock's time at the start of the monotonic clock: all spans of a request are timed by the latter, so that
   * none begins before its parent.
   */
  readonly offsetMs: number;
}

function beginSpan(parts: SpanParts, start: SpanStart, { parent, startedAt }: SpanPlace): Span {
  const place = parent === null ? null : readTraceparent(parent);
  const above = place === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...place, isRemote: true });
  return new ExportedSpan(parts, start, above, startedAt);
}

class ExportedSpan implements Span {
  readonly #parts: SpanParts;
  readonly #start: SpanStart;
  readonly #span: OtelSpan;
  readonly #context: Context;
  #failed = false;

  constructor(parts: SpanParts, start: SpanStart, above: Context, startedAt = parts.clock.monotonic()) {
    const { name, kind, attributes } = namesOf(start);
    this.#parts = parts;
    this.#start = start;
    this.#span = parts.tracer.startSpan(name, { kind, attributes, startTime: parts.offsetMs + startedAt }, above);
    this.#context = trace.setSpan(above, this.#span);
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get traceparent(): string {
    return writeTraceparent(this.#span.spanContext());
  }

  get sentTraceparent(): string | null {
    return this.#parts.propagates ? this.traceparent : null;
  }

  child(start: SpanStart, startedAt?: number): Span {
    return new ExportedSpan(this.#parts, start, this.#context, startedAt);
  }

  set(facts: SpanFacts): void {
    if (!this.#span.isRecording()) return;
    this.#failed ||= hasFailed(facts);
    this.#span.setAttributes(attributesOf(facts));
    if (this.#start.kind === 'turn' && facts.turnId !== undefined)
      this.#span.setAttribute(pageAttribute, turnPage(this.#parts.origin, this.#start, facts.turnId));
  }

  link(traceparent: string): void {
    const place = readTraceparent(traceparent);
    if (place !== null) this.#span.addLink({ context: place });
  }

  end(facts: SpanFacts = {}): void {
    if (!this.#span.isRecording()) return;
    this.set(facts);
    if (this.#failed) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(this.#parts.offsetMs + this.#parts.clock.monotonic());
  }
}

/** Batches the spans that have ended. Counts those for which the queue has no room. */
class SpanQueue implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  readonly #exporter: CountedExporter;
  readonly #max: number;
  readonly #metrics: TracerParts['metrics'];
  #queued = 0;

  constructor(exporter: CountedExporter, max: number, metrics: TracerParts['metrics']) {
    this.#exporter = exporter;
    this.#max = max;
    this.#metrics = metrics;
    this.#batches = new BatchSpanProcessor(exporter, { maxQueueSize: max });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & 1) === 0) return;
    if (this.#queued - this.#exporter.taken >= this.#max) return this.#metrics.spans.inc('dropped', 1);
    this.#queued++;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }
}

/** Counts the spans that the collector has taken and has not, and logs when that changes. */
class CountedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #metrics: TracerParts['metrics'];
  readonly #log: Log;
  #isFailing = false;
  /** The number of spans that left the queue. */
  taken = 0;

  constructor(exporter: SpanExporter, metrics: TracerParts['metrics'], log: Log) {
    this.#exporter = exporter;
    this.#metrics = metrics;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.taken += spans.length;
    this.#exporter.export(spans, (result) => {
      const isTaken = result.code === 0;
      this.#metrics.spans.inc(isTaken ? 'exported' : 'refused', spans.length);
      if (isTaken === this.#isFailing) this.#note(isTaken, result.error);
      done(result);
    });
  }

  #note(isTaken: boolean, error: Error | undefined): void {
    this.#isFailing = !isTaken;
    if (isTaken) this.#log.info('The collector of traces takes spans again.');
    else
      this.#log.warn(
        { why: (error?.message ?? '').slice(0, complaintCharactersMax) },
        'The collector of traces takes no spans. They are counted and dropped.',
      );
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

/** Logs what the packages say of their variables. */
function listenToPackages(log: Log): void {
  const heard = new Set<string>();
  const note = (text: string): void => {
    const complaint = text.slice(0, complaintCharactersMax);
    if (heard.has(complaint) || heard.size >= complaintsMax) return;
    heard.add(complaint);
    log.warn({ complaint }, 'OpenTelemetry reports a problem.');
  };
  const nothing = (): void => {};
  diag.setLogger(
    { error: nothing, warn: note, info: nothing, debug: nothing, verbose: nothing },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
