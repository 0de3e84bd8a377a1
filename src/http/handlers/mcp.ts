/**
 * `POST /mcp`: an MCP server, without sessions, in both eras of the protocol (contract 15). The package of the protocol
 * is loaded at the first request.
 */
import { isNestedWithin, isObject, type Json } from '../../base/json.ts';
import type { Server } from '@modelcontextprotocol/server';
import manifest from '../../../package.json' with { type: 'json' };
import { Failure, failureText, refused } from '../../base/errors.ts';
import type { Body, Outlet } from '../../base/edge.ts';
import { limits } from '../../base/limits.ts';
import { isForeign } from '../../access/own-origins.ts';
import { comment, eventStreamHeaders } from '../edge/event-stream.ts';
import { jsonType, type ClientHead, type PrincipalCaller, type Reply, type Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { McpErrors } from './mcp-errors.ts';
import { callTool, listTools, reachTool } from './mcp-tools.ts';

/** Throws 403 for a page of another site, and for a name that was made to point at this machine. */
export function refuseForeign(head: ClientHead, { config }: Services): void {
  if (isForeign(head, config)) throw new Failure('assistant_not_permitted');
}

/** Any other method. */
export const onlyPost = ({ requestId }: Request): Reply => ({
  status: 405,
  headers: { allow: 'POST', 'content-type': jsonType },
  text: failureText(refused('route_not_found'), requestId),
});

const utf8 = new TextDecoder('utf-8', { fatal: true });

export async function mcp(request: Request<PrincipalCaller>): Promise<Reply> {
  const body = request.json as Body;
  if (body.kind === 'too_large')
    return rpcFailure(413, -32600, `The body is larger than ${limits.frontBodyBytesMax} bytes.`);
  if (body.kind !== 'bytes') return rpcFailure(408, -32600, 'The body did not arrive in time.');
  let message: unknown;
  try {
    message = JSON.parse(utf8.decode(body.bytes));
  } catch {
    return rpcFailure(400, -32700, 'The body is not valid JSON.');
  }
  // Each request is one: several at once would cost one of the key's budget.
  if (Array.isArray(message)) return rpcFailure(400, -32600, 'A request is one message.');
  if (!isNestedWithin(message, nestingMax))
    return rpcFailure(400, -32600, `The message is nested more than ${nestingMax} deep.`);
  return serve(request, message);
}

/** The package of the protocol reads messages by recursion: a deeper one would need more than the stack. */
const nestingMax = 200;

const rpcFailure = (status: number, code: number, message: string): Reply => ({
  status,
  headers: { 'content-type': jsonType },
  text: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }),
});

/**
 * Checks that a call's name is a text and its arguments an object. The package would refuse others with a different
 * text; here the error names the field.
 */
function readable(call: Json): Json {
  const params = isObject(call['params']) ? call['params'] : {};
  const { name, arguments: given } = params;
  return {
    ...call,
    params: { ...params, name: typeof name === 'string' ? name : '', arguments: isObject(given) ? given : {} },
  };
}

/** A call is answered as an event stream if its client takes one, all else whole. */
async function serve(request: Request<PrincipalCaller>, given: unknown): Promise<Reply> {
  const sdk = await import('@modelcontextprotocol/server');
  const ending = new AbortController();
  const gone = new Promise<null>((resolve) =>
    ending.signal.addEventListener('abort', () => resolve(null), { once: true }),
  );
  request.head.onGone(() => ending.abort());
  const method = isObject(given) ? given['method'] : undefined;
  const isCall = method === 'tools/call';
  const streams = isCall && takesStreams(request.head);
  const message = isCall ? readable(given as Json) : given;
  const serving: Serving = { method, streams, errors: new McpErrors() };
  const asked = new globalThis.Request('http://localhost/mcp', {
    method: 'POST',
    headers: headersOf(request.head),
    body: JSON.stringify(message),
    signal: ending.signal,
  });
  const onerror = (error: Error): void =>
    request.services.log.debug(
      { request_id: request.requestId, err: error },
      'a request to the MCP server was refused',
    );
  let answering: Promise<Response>;
  if (await sdk.isLegacyRequest(asked, message)) {
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !streams });
    const server = openServer(request, serving, sdk);
    await server.connect(transport);
    ending.signal.addEventListener('abort', () => void server.close(), { once: true });
    answering = transport.handleRequest(asked, { parsedBody: message });
  } else {
    const handler = sdk.createMcpHandler(() => openServer(request, serving, sdk), {
      legacy: 'reject',
      onerror,
      responseMode: streams ? 'sse' : 'auto',
    });
    answering = handler.fetch(asked, { parsedBody: message });
  }
  // An answer that is whole would never come once its client has left.
  const response = await Promise.race([answering, gone]);
  return response === null ? { status: 202, empty: true } : replyOf(response, ending, serving.errors);
}

/** Whether a client takes a stream: one that says nothing of the types that it takes, takes all. */
function takesStreams(head: ClientHead): boolean {
  const accepts = head.headers('accept');
  return accepts.length === 0 || accepts.some((types) => /text\/(?:event-stream|\*)|\*\/\*/i.test(types));
}

/**
 * The headers that the protocol reads. The package wants both types from every client; what is sent is ours to decide.
 */
function headersOf(head: ClientHead): Headers {
  const headers = new Headers({ 'content-type': jsonType, accept: 'application/json, text/event-stream' });
  for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'])
    for (const value of head.headers(name)) headers.append(name, value);
  return headers;
}

/** The revisions of the protocol that are answered. */
const protocols = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

interface Serving {
  readonly method: unknown;
  /** Whether a call is answered as a stream: progress would make one of any answer. */
  readonly streams: boolean;
  readonly errors: McpErrors;
}

/** A server for one request. */
function openServer(
  request: Request<PrincipalCaller>,
  { method, streams, errors }: Serving,
  { Server, ProtocolError, ProtocolErrorCode }: typeof import('@modelcontextprotocol/server'),
): Server {
  const server = new Server(
    { name: 'parley', version: manifest.version },
    { capabilities: { tools: {} }, supportedProtocolVersions: protocols },
  );
  const later = (error: unknown): never => {
    if (error instanceof ProtocolError) throw error;
    const isPassing = error instanceof StoreUnavailable;
    if (!isPassing) request.services.log.error({ request_id: request.requestId, err: error }, 'request failed');
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      errors.own(refused(isPassing ? 'service_unavailable' : 'api_error').message),
    );
  };
  server.setRequestHandler('tools/list', ({ params }) => {
    const cursor = params?.cursor;
    if (cursor !== undefined && !/^asst_\w{1,64}$/.test(cursor))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, errors.own('The cursor is not one of this list.'));
    return listTools(request, cursor).catch(later);
  });
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const assistant = await reachTool(request, params.name).catch(later);
    if (assistant === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, errors.own('No such tool.'));
    const progressToken = params._meta?.progressToken;
    const progress = (codePoints: number): void => {
      if (streams && progressToken !== undefined)
        void mcpReq
          .notify({ method: 'notifications/progress', params: { progressToken, progress: codePoints } })
          .catch(() => {});
    };
    return callTool(request, assistant, params.arguments, {
      progress,
      onGone: (callback) => request.head.onGone(callback),
    }).catch(later);
  });
  // Resources do not exist here, and an unknown one has a special error. A method without any handler is answered with
  // another status.
  if (method === 'resources/read') {
    server.fallbackRequestHandler = async ({ params }) => {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, errors.own('No such resource.'), { uri: params?.uri });
    };
  }
  return server;
}

async function replyOf(response: Response, ending: AbortController, errors: McpErrors): Promise<Reply> {
  const { status, body } = response;
  const type = response.headers.get('content-type');
  if (type === null || !type.startsWith('text/event-stream')) {
    const text = body === null ? null : await response.text();
    ending.abort();
    return text === null
      ? { status, empty: true }
      : { status, headers: { 'content-type': jsonType }, text: errors.inOurWords(text) };
  }
  if (body === null) throw new Error('a stream without a body');
  return {
    status,
    headers: eventStreamHeaders(),
    stream: (outlet, onGone) => {
      onGone(() => ending.abort());
      return flow(body, errors, outlet).finally(() => ending.abort());
    },
  };
}

/** Passes a stream on at the reader's speed. Its first line sends the head. */
async function flow(body: ReadableStream<Uint8Array>, errors: McpErrors, outlet: Outlet): Promise<void> {
  const drained = new Drain(outlet);
  outlet.write(comment(''));
  try {
    for await (const events of body) if (!outlet.write(errors.inOurEvents(utf8.decode(events)))) await drained.next();
    outlet.end();
  } catch {
    // The client has left.
    outlet.cut();
  }
}

class Drain {
  #wake: (() => void) | null = null;

  constructor(outlet: Outlet) {
    outlet.onDrain(() => this.#wake?.());
  }

  next(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}
