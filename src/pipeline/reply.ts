/** The end of a request's way: its headers, its failure body, its log line, its place in the metrics. */
import { Failure, failureText, type Refusal } from '../errors.ts';
import type { Answerable, Exchange, Outlet, ResponseHeaders } from '../edge.ts';
import { jsonType, type Caller, type Reply, type Route } from '../request.ts';
import type { Services } from '../services.ts';
import { StoreUnavailable, type Taken } from '../store.ts';
import { clientAddress } from './address.ts';

/** How a request went so far. */
export interface Course {
  readonly requestId: string;
  /** Of the monotonic clock, in milliseconds. */
  readonly startedAt: number;
  route: Route | null;
  caller: Caller | null;
  /** The budget that the rate headers tell of. */
  rate: { readonly ceiling: number; readonly taken: Taken } | null;
}

/** A request that has come just now. */
export const begunCourse = ({ ids, clock }: Services): Course => ({ requestId: ids.make('req'), startedAt: clock.monotonic(), route: null, caller: null, rate: null });

type TextReply = Extract<Reply, { text: string }>;

/** Turns whatever was thrown into a row of the error table. */
export const failed = (error: unknown, course: Course, services: Services): TextReply => refusal(failureOf(error), course, services);

/** The reply that says so. */
export function refusal(failure: Refusal, course: Course, services: Services): TextReply {
  const { status } = failure.row;
  if (failure.cause !== undefined) services.log.error({ request_id: course.requestId, err: failure.cause }, 'request failed');
  // Where the key's budgets let the request pass, it was the workspace's slots for turns that did not.
  if (status === 429) services.metrics.limited.inc(course.rate?.taken.passed === false ? course.rate.taken.budget : 'turns');
  const headers: Record<string, string> = { 'content-type': jsonType };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (failure.seconds !== undefined) headers['retry-after'] = String(failure.seconds);
  return { status, headers, text: failureText(failure, course.requestId) };
}

function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof StoreUnavailable) return new Failure('service_unavailable', { cause: error });
  return new Failure('api_error', { cause: error });
}

/** Answers with the failure what never comes to a handler: a request to become a WebSocket, or a head that is not to run. */
export function refuse(request: Answerable, error: unknown, course: Course, services: Services): void {
  const { status, headers, text } = whole(failed(error, course, services), course);
  request.respond(status, headers, text);
  record(request, status, course, services);
}

export function send(exchange: Exchange, reply: Reply, course: Course, services: Services): void {
  if ('stream' in reply) return stream(exchange, reply, course, services);
  const { status, headers, text } = whole(reply, course);
  exchange.respond(status, headers, text);
  record(exchange, status, course, services);
}

/** A reply that is not a stream, as it goes out. */
function whole(reply: Exclude<Reply, { stream: unknown }>, course: Course): { status: number; headers: ResponseHeaders; text: string | undefined } {
  const { status } = reply;
  if ('json' in reply) return { status, headers: headersOf({ 'content-type': jsonType }, reply, course), text: JSON.stringify(reply.json) };
  return { status, headers: headersOf({}, reply, course), text: 'text' in reply ? reply.text : undefined };
}

/** The reply's own headers behind those that are there, then those of every response, and the rate's on every authenticated one (specification 8). */
function headersOf(headers: Record<string, string>, reply: Reply, { requestId, rate }: Course): ResponseHeaders {
  // One by one: an object made by spreading others costs more than the rest of a refusal.
  for (const name in reply.headers) headers[name] = reply.headers[name]!;
  headers['x-request-id'] = requestId;
  if (rate === null) return headers;
  headers['x-ratelimit-limit'] = String(rate.ceiling);
  headers['x-ratelimit-remaining'] = String(rate.taken.remaining);
  headers['x-ratelimit-reset'] = String(rate.taken.resetAt);
  return headers;
}

/** Streams, and records the request when the stream has ended or the client has left. */
function stream(exchange: Exchange, reply: Extract<Reply, { stream: unknown }>, course: Course, services: Services): void {
  let recorded = false;
  const done = () => {
    if (recorded) return;
    recorded = true;
    record(exchange, reply.status, course, services);
  };
  const outlet = exchange.stream(reply.status, headersOf({}, reply, course));
  const watched: Outlet = {
    write: (piece) => outlet.write(piece),
    onDrain: (callback) => outlet.onDrain(callback),
    end: (piece) => {
      outlet.end(piece);
      done();
    },
    cut: () => {
      outlet.cut();
      done();
    },
  };
  const flowing = reply.stream(watched, (callback) => exchange.onGone(callback));
  exchange.onGone(done);
  flowing?.catch((error: unknown) => {
    services.log.error({ request_id: course.requestId, err: error }, 'answer cut');
    watched.cut();
  });
}

/** One line in the log, and one more in the metrics. */
export function record(exchange: Answerable, status: number, course: Course, services: Services): void {
  const { route, caller } = course;
  services.metrics.requests.inc(route?.path ?? 'unknown', status);
  services.log.info({
    request_id: course.requestId,
    method: exchange.method,
    route: route?.path ?? null,
    status,
    duration_ms: Math.round((services.clock.monotonic() - course.startedAt) * 1000) / 1000,
    key_id: caller?.kind === 'key' ? caller.keyId : undefined,
    workspace_id: caller?.kind === 'key' ? caller.workspaceId : undefined,
    address: clientAddress(exchange, services.config.trustedProxies),
    gone: exchange.gone || undefined,
  });
}
