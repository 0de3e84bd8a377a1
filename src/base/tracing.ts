/**
 * Traces (contract 16): the spans of requests, turns and their parts, as facts. `src/operations/tracing/` gives them
 * their OpenTelemetry names and exports them. While traces are off there is no tracer and no span: both are null, so
 * that a part of a turn costs one comparison. A span is passed on by hand, never through an asynchronous context.
 */

/** A step of the store that a trace shows. */
export type TracedStep = 'begin' | 'step' | 'finish' | 'withdraw';

/** The facts with which a span begins. None of them is a message, a prompt, an argument, an output or a key. */
export type SpanStart =
  | {
      readonly kind: 'request';
      readonly method: string;
      /** The path as the table of routes has it; null for an unknown one. */
      readonly route: string | null;
      readonly requestId: string;
    }
  | {
      readonly kind: 'turn';
      readonly workspaceId: string;
      readonly assistantId: string;
      readonly assistantName: string;
      readonly sessionId: string;
    }
  | {
      readonly kind: 'round';
      readonly provider: string;
      readonly model: string;
      readonly outputTokensMax: number | null;
      readonly temperature: number | null;
      /** The host of the provider; null for a provider within the process. */
      readonly address: string | null;
    }
  | {
      readonly kind: 'tool';
      /** Null if no function of this name was offered: the model has made the name up. */
      readonly name: string | null;
      readonly callId: string;
      readonly isMcp: boolean;
    }
  | { readonly kind: 'step'; readonly step: TracedStep; readonly store: string }
  | {
      readonly kind: 'delivery';
      readonly deliveryId: string;
      readonly event: string;
      /** From 1. */
      readonly attempt: number;
      /** The host of the webhook. */
      readonly address: string;
    };

/** The facts that are known later. */
export interface SpanFacts {
  readonly status?: number;
  /** The status of an answer that this process received. */
  readonly answeredStatus?: number;
  /** A word of a fixed list of ours; null without an error. */
  readonly error?: string | null;
  readonly turnId?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedInputTokens?: number;
  /** The number of the turn's appends to its stored output. */
  readonly appends?: number;
  readonly finishReason?: string;
  /** Seconds from the request to the model to the first piece of its answer. */
  readonly firstPieceSeconds?: number;
  /** The version of MCP that was agreed with a server. */
  readonly protocolVersion?: string;
}

export interface Span {
  readonly traceId: string;
  /** The span as the parent of spans elsewhere, as the W3C's header `traceparent` has it. */
  readonly traceparent: string;
  /** The same for requests to others; null if `OTEL_PROPAGATORS` leaves the header out. */
  readonly sentTraceparent: string | null;
  /** Begins a span below this one. `startedAt`: its monotonic milliseconds, if it began before now. */
  child(start: SpanStart, startedAt?: number): Span;
  set(facts: SpanFacts): void;
  /** Links to a span of another trace, or of another request. */
  link(traceparent: string): void;
  /** Ends the span, which is exported then; a span that never ends is not exported. Later calls have no effect. */
  end(facts?: SpanFacts): void;
}

/** The place of a span outside the process's own spans. */
export interface SpanPlace {
  /** The `traceparent` of the parent; null or malformed for a new trace. */
  readonly parent: string | null;
  /** The monotonic milliseconds of its beginning, if it began before now. */
  readonly startedAt?: number;
}

export interface Tracer {
  begin(start: SpanStart, place: SpanPlace): Span;
  /** Exports what waits, within a bound. Never rejects. */
  close(): Promise<void>;
}

/** Traces a step of the store that was just sent. `parent`: null while traces are off. */
export function tracedStep<T>(
  parent: Span | null,
  step: TracedStep,
  store: { readonly name: string },
  sent: Promise<T>,
) {
  if (parent !== null) endWith(parent.child({ kind: 'step', step, store: store.name }), sent);
  return sent;
}

/** Ends the span of a step once the store has answered it. */
export function endWith(span: Span, sent: Promise<unknown>): void {
  sent.then(
    () => span.end(),
    () => span.end({ error: 'store_unavailable' }),
  );
}
