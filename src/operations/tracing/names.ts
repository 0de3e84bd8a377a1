/**
 * The names of spans and attributes. Those that begin with `gen_ai.` and `mcp.` follow the drafts of OpenTelemetry's
 * conventions for generative AI, which have no version to pin; so all names stand here.
 */
import type { SpanFacts, SpanStart } from '../../base/tracing.ts';

export type Attributes = Record<string, string | number | boolean | string[]>;

/** The kinds of spans, as OpenTelemetry numbers them. */
export const spanKinds = { internal: 0, server: 1, client: 2 } as const;

export interface SpanNames {
  readonly name: string;
  readonly kind: (typeof spanKinds)[keyof typeof spanKinds];
  readonly attributes: Attributes;
}

/** A method beyond these is the client's own text. */
const methods = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);

/** Name, kind and first attributes of a span. */
export function namesOf(start: SpanStart): SpanNames {
  switch (start.kind) {
    case 'request':
      return requestNames(start);
    case 'turn':
      return {
        name: `invoke_agent ${start.assistantName}`,
        kind: spanKinds.internal,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.id': start.assistantId,
          'gen_ai.agent.name': start.assistantName,
          'gen_ai.conversation.id': start.sessionId,
        },
      };
    case 'round':
      return roundNames(start);
    case 'tool':
      return {
        name: start.name === null ? 'execute_tool' : `execute_tool ${start.name}`,
        kind: start.isMcp ? spanKinds.client : spanKinds.internal,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          ...(start.name !== null && { 'gen_ai.tool.name': start.name }),
          'gen_ai.tool.call.id': start.callId,
          'gen_ai.tool.type': 'function',
          ...(start.isMcp && { 'mcp.method.name': 'tools/call' }),
        },
      };
    case 'step':
      return {
        name: start.step,
        kind: spanKinds.client,
        attributes: { 'db.system.name': start.store, 'db.operation.name': start.step },
      };
    case 'delivery':
      return {
        name: 'delivery',
        kind: spanKinds.client,
        attributes: {
          'http.request.method': 'POST',
          'server.address': start.address,
          'parley.delivery_id': start.deliveryId,
          'parley.event_type': start.event,
          'parley.attempt': start.attempt,
        },
      };
  }
}

function requestNames({ method, route, requestId }: Extract<SpanStart, { kind: 'request' }>): SpanNames {
  const known = methods.has(method);
  const verb = known ? method : 'HTTP';
  return {
    name: route === null ? verb : `${verb} ${route}`,
    kind: spanKinds.server,
    attributes: {
      'http.request.method': known ? method : '_OTHER',
      ...(route !== null && { 'http.route': route }),
      'parley.request_id': requestId,
    },
  };
}

const roundNames = (start: Extract<SpanStart, { kind: 'round' }>): SpanNames => ({
  name: `chat ${start.model}`,
  kind: spanKinds.client,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': start.provider,
    'gen_ai.request.model': start.model,
    'gen_ai.request.stream': true,
    ...(start.outputTokensMax !== null && { 'gen_ai.request.max_tokens': start.outputTokensMax }),
    ...(start.temperature !== null && { 'gen_ai.request.temperature': start.temperature }),
    ...(start.address !== null && { 'server.address': start.address }),
  },
});

/** The attribute of each later fact. */
const factNames = {
  status: 'http.response.status_code',
  answeredStatus: 'http.response.status_code',
  error: 'error.type',
  turnId: 'parley.turn_id',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  appends: 'parley.appends',
  finishReason: 'gen_ai.response.finish_reasons',
  firstPieceSeconds: 'gen_ai.response.time_to_first_chunk',
  protocolVersion: 'mcp.protocol.version',
} as const satisfies Record<keyof SpanFacts, string>;

/** The attributes of later facts. */
export function attributesOf(facts: SpanFacts): Attributes {
  const attributes: Attributes = {};
  for (const fact of Object.keys(facts) as (keyof SpanFacts)[]) {
    const value = facts[fact];
    if (value === undefined || value === null) continue;
    attributes[factNames[fact]] = fact === 'finishReason' ? [String(value)] : value;
  }
  return attributes;
}

/** Whether the span has failed. A refusal of a request is the client's fault, and no failure of the server. */
export const hasFailed = ({ status, error }: SpanFacts): boolean =>
  status === undefined ? error !== undefined && error !== null : status >= 500;

/** The attribute with the address of the console's page of a turn. */
export const pageAttribute = 'parley.console_url';

/** The console's page of a turn, which shows its steps; without an origin, from the root of the server. */
export const turnPage = (
  origin: string,
  { workspaceId, sessionId }: { readonly workspaceId: string; readonly sessionId: string },
  turnId: string,
): string =>
  `${origin}/console/${workspaceId}/live/turn/${encodeURIComponent(turnId)}?session=${encodeURIComponent(sessionId)}`;

const header = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** The parts of a header `traceparent`. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

/** Reads a header `traceparent`, also of a later version (W3C Trace Context); null if it is malformed. */
export function readTraceparent(text: string): TraceParent | null {
  const [, version, traceId, spanId, flags] = header.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return null;
  // The first version has four parts, and no id is all zeros.
  if ((version === '00' && text.length !== 55) || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & 1 };
}

export const writeTraceparent = ({ traceId, spanId, traceFlags }: TraceParent): string =>
  `00-${traceId}-${spanId}-${traceFlags & 1 ? '01' : '00'}`;
