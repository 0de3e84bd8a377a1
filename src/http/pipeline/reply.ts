/** The end of a request's path: its headers, its failure body, its log line and its metrics. */
import { secondsOf } from '../../base/clock.ts';
import { Failure, failureText, refused, type Refusal } from '../../base/errors.ts';
import type { Answerable, Exchange, Outlet, RequestHead, ResponseHeaders } from '../../base/edge.ts';
import { UnreadableSnapshot } from '../../actors/actor.ts';
import { LinkRefused } from '../../host/visitors.ts';
import { jsonText } from '../../base/json.ts';
import type { Log } from '../../base/log.ts';
import { isOpenai } from '../paths.ts';
import { isFinal, openaiFailureText, openaiStatus } from '../openai-errors.ts';
import type { Limiter } from '../../metrics/metrics.ts';
import { isLink, isLinkFile, jsonType, type Caller, type OperatorCaller, type Reply, type Route } from '../request.ts';
import type { Recording } from '../../conversation/services.ts';
import { StoreUnavailable, type Taken } from '../../store/store.ts';
import { clientAddress } from '../../access/client-address.ts';
import type { Span } from '../../base/tracing.ts';

/** The facts known of a request so far. */
export interface Course {
  readonly requestId: string;
  readonly path: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  route: Route | null;
  caller: Caller | null;
  /** The budget that the rate headers describe. */
  rate: { readonly ceiling: number; readonly taken: Taken } | null;
  /** Headers that say which sites may read the answer; null where none may. */
  site: ResponseHeaders | null;
  /** Null while traces are off, and before the caller is known. */
  span: Span | null;
  /** The code of the failure that answers it; null without one. */
  failure: string | null;
}

/** The course of a request that has just arrived. */
export const beginCourse = ({ path }: Pick<RequestHead, 'path'>, { ids, clock }: Recording): Course => ({
  requestId: ids.make('req'),
  path,
  startedAt: clock.monotonic(),
  route: null,
  caller: null,
  rate: null,
  site: null,
  span: null,
  failure: null,
});

/** Orchestrators ask for these every few seconds, and a trace of them shows nothing. */
const untraced: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/**
 * Begins the span of a request, unless it has one: once its caller is known, since the header of a valid key alone names
 * the parent (contract 16).
 */
export function beginSpan(head: RequestHead, course: Course, { tracer = null }: Recording): void {
  const { route, requestId, startedAt, caller } = course;
  if (tracer === null || course.span !== null || untraced.has(route?.path ?? '')) return;
  const given = caller?.kind === 'key' ? head.headers('traceparent') : [];
  course.span = tracer.begin(
    { kind: 'request', method: head.method, route: route?.path ?? null, requestId },
    { parent: given.length === 1 ? given[0]! : null, startedAt },
  );
}

type WholeReply = Exclude<Reply, { stream: unknown }>;
type TextReply = Extract<Reply, { text: string }>;

/**
 * Turns an error into a row of the error table. For an address that fails to authenticate too often, the 401 becomes a
 * 429 (contract 4).
 */
export function replyToFailure(error: unknown, head: RequestHead, course: Course, services: Recording): TextReply {
  const failure = failureOf(error);
  const { failedAuthentications, config } = services;
  if (failure.status !== 401 || failedAuthentications === undefined) return refusal(failure, course, services);
  const seconds = failedAuthentications.take(clientAddress(head, config.trustedProxies));
  return seconds === null
    ? refusal(failure, course, services)
    : refusal(refused('rate_limited', { seconds }), course, services, 'authentication');
}

/**
 * Returns the reply for a failure. `limiter`: the limit that answered 429, for the metrics, unless it was one of the
 * key's budgets.
 */
export function refusal(failure: Refusal, course: Course, services: Recording, limiter: Limiter = 'turns'): TextReply {
  const { status } = failure.row;
  course.failure = failure.row.code;
  if (failure.cause !== undefined)
    services.log.error({ request_id: course.requestId, err: failure.cause }, 'request failed');
  if (status === 429) countRefused(failure, course, services, limiter);
  const headers: Record<string, string> = { 'content-type': jsonType };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (failure.seconds !== undefined) headers['retry-after'] = String(failure.seconds);
  if (!isOpenai(course.path)) return { status, headers, text: failureText(failure, course.requestId) };
  if (isFinal(failure.row)) headers['x-should-retry'] = 'false';
  return { status: openaiStatus(status), headers, text: openaiFailureText(failure, course.requestId) };
}

function countRefused(failure: Refusal, { rate }: Course, { metrics }: Recording, limiter: Limiter): void {
  if (failure instanceof LinkRefused) for (const each of failure.limiters) metrics.limited.inc(each);
  else metrics.limited.inc(rate?.taken.passed === false ? rate.taken.budget : (failure.limiter ?? limiter));
}

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const isPassing = error instanceof StoreUnavailable || (error instanceof UnreadableSnapshot && error.later);
  if (isPassing) return new Failure('service_unavailable', { cause: error });
  return new Failure('api_error', { cause: error });
}

/**
 * Answers with a failure where no handler runs: for a request to become a WebSocket, or for a head that must not run.
 */
export function refuse(request: Answerable, error: unknown, course: Course, services: Recording): void {
  answerWhole(request, replyToFailure(error, request, course, services), course, services);
}

/** Answers with a reply that is not a stream. */
export function answerWhole(request: Answerable, reply: WholeReply, course: Course, services: Recording): void {
  const { status, headers, body } = whole(reply, course, services);
  request.respond(status, headers, body);
  record(request, status, course, services);
}

export function sendReply(exchange: Exchange, reply: Reply, course: Course, services: Recording): void {
  if ('stream' in reply) return stream(exchange, reply, course, services);
  answerWhole(exchange, reply, course, services);
}

/** A reply that is not a stream, as it is sent. */
function whole(
  reply: WholeReply,
  course: Course,
  services: Recording,
): { status: number; headers: ResponseHeaders; body: string | Uint8Array | undefined } {
  const { status } = reply;
  if ('json' in reply)
    return { status, headers: headersOf(reply, course, services, jsonType), body: jsonText(reply.json) };
  return {
    status,
    headers: headersOf(reply, course, services),
    body: 'text' in reply ? reply.text : 'bytes' in reply ? reply.bytes : undefined,
  };
}

/**
 * A class, because V8 makes new hidden classes for each literal of one field that gets further fields, once a program
 * has many such literals.
 */
class Headers {
  [name: string]: string | string[];
}

/**
 * Returns the reply's own headers, the headers of every response, and on authenticated responses the rate headers
 * (contract 5).
 */
function headersOf(
  reply: Reply,
  { requestId, path, rate, caller, site }: Course,
  { clock }: Recording,
  type: string | null = null,
): ResponseHeaders {
  // Set one by one: an object made by spreading others costs more than the rest of a refusal.
  const headers = new Headers();
  if (type !== null) headers['content-type'] = type;
  for (const name in reply.headers) headers[name] = reply.headers[name]!;
  headers['x-request-id'] = requestId;
  if (site !== null) Object.assign(headers, site);
  if (rate === null) return caller?.kind === 'operator' && caller.signIn !== null ? ofSignIn(headers, caller) : headers;
  headers['x-ratelimit-limit'] = String(rate.ceiling);
  headers['x-ratelimit-remaining'] = String(rate.taken.remaining);
  headers['x-ratelimit-reset'] = String(rate.taken.resetAt);
  if (isOpenai(path)) addOpenaiRate(headers, rate, clock.now());
  return headers;
}

/** Returns the headers of a request that becomes a WebSocket: the same as on every response. */
export const openingHeaders = (course: Course, services: Recording): ResponseHeaders =>
  headersOf({ status: 101, headers: {}, text: '' }, course, services);

/** Adds the names by which OpenAI's clients know the same budget (contract 14). */
function addOpenaiRate(headers: Headers, { ceiling, taken }: NonNullable<Course['rate']>, nowMs: number): void {
  headers['x-ratelimit-limit-requests'] = String(ceiling);
  headers['x-ratelimit-remaining-requests'] = String(taken.remaining);
  headers['x-ratelimit-reset-requests'] = `${Math.max(0, taken.resetAt - secondsOf(nowMs))}s`;
}

/**
 * Adds the headers of an answer to a signed-in person: no cache keeps it, and the cookie is renewed when it is time. A
 * sign-out sets a different cookie.
 */
function ofSignIn(headers: Headers, { setCookie }: OperatorCaller): ResponseHeaders {
  headers['cache-control'] ??= 'no-store';
  if (setCookie !== null) headers['set-cookie'] ??= setCookie;
  return headers;
}

/** Sends a stream, and records the request when the stream has ended or the client has left. */
function stream(
  exchange: Exchange,
  reply: Extract<Reply, { stream: unknown }>,
  course: Course,
  services: Recording,
): void {
  const outlet = new RecordedOutlet(
    exchange,
    exchange.stream(reply.status, headersOf(reply, course, services)),
    reply.status,
    course,
    services,
  );
  const flowing = reply.stream(outlet, (callback) => exchange.onGone(callback));
  exchange.onGone(() => outlet.record());
  outlet.watchSignIn();
  flowing?.catch((error: unknown) => {
    services.log.error({ request_id: course.requestId, err: error }, 'answer cut');
    outlet.cut();
  });
}

/** The outlet of a stream whose request is recorded once. */
class RecordedOutlet implements Outlet {
  readonly #exchange: Exchange;
  readonly #outlet: Outlet;
  readonly #status: number;
  readonly #course: Course;
  readonly #services: Recording;
  #recorded = false;
  #unwatch = (): void => {};

  constructor(exchange: Exchange, outlet: Outlet, status: number, course: Course, services: Recording) {
    this.#exchange = exchange;
    this.#outlet = outlet;
    this.#status = status;
    this.#course = course;
    this.#services = services;
  }

  /** Cuts the stream of a signed-in person when the sign-in or the person's grant ends. */
  watchSignIn(): void {
    const { caller } = this.#course;
    if (this.#recorded || caller?.kind !== 'operator' || caller.signIn === null) return;
    this.#unwatch =
      this.#services.signIns?.open.whenOver(caller.signIn.id, caller.grant, () => this.cut()) ?? this.#unwatch;
  }

  write(piece: string | Uint8Array): boolean {
    return this.#outlet.write(piece);
  }

  onDrain(callback: () => void): void {
    this.#outlet.onDrain(callback);
  }

  end(piece?: string): void {
    this.#outlet.end(piece);
    this.record();
  }

  cut(): void {
    this.#outlet.cut();
    this.record();
  }

  record(): void {
    if (this.#recorded) return;
    this.#recorded = true;
    this.#unwatch();
    record(this.#exchange, this.#status, this.#course, this.#services);
  }
}

/** The last status of `/readyz`, for each log. */
const lastReadiness = new WeakMap<Log, number>();

/**
 * Whether a check of readiness is answered as the one before was. Proxies ask every second, and each line would say the
 * same.
 */
function isRepeatedCheck(route: Route | null, status: number, log: Log): boolean {
  if (route?.path !== '/readyz') return false;
  const isRepeated = lastReadiness.get(log) === status;
  lastReadiness.set(log, status);
  return isRepeated;
}

/** Writes the request's log line, counts it in the metrics and ends its span. */
export function record(exchange: Answerable, status: number, course: Course, services: Recording): void {
  const { route, caller } = course;
  services.metrics.requests.inc(route?.path ?? 'unknown', status);
  beginSpan(exchange, course, services);
  course.span?.end({ status, error: course.failure });
  services.log[isRepeatedCheck(route, status, services.log) ? 'debug' : 'info']({
    request_id: course.requestId,
    method: exchange.method,
    route: route?.path ?? null,
    status,
    trace_id: course.span?.traceId,
    duration_ms: Math.round((services.clock.monotonic() - course.startedAt) * 1000) / 1000,
    key_id: caller?.kind === 'key' ? caller.principal.id : undefined,
    workspace_id: caller?.kind === 'key' ? caller.principal.workspaceId : undefined,
    address: mayBeOfVisitor(exchange, course) ? undefined : clientAddress(exchange, services.config.trustedProxies),
    gone: exchange.gone || undefined,
  });
}

/**
 * The addresses of visitors are written nowhere (contract 9): not on the link's paths, not where a visitor's browser
 * gets the link's files, and not where a visitor speaks, even with an invalid token.
 */
const mayBeOfVisitor = ({ path }: Answerable, { route, caller }: Course): boolean =>
  isLink(path) ||
  isLinkFile(path) ||
  (route?.caller === 'token' && !(caller?.kind === 'token' && caller.principal.kind === 'key'));
