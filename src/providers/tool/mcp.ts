/** Invokes tools of MCP servers (contract 13): Streamable HTTP, in both eras of the protocol. */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { EntryStep } from '../../base/tool-errors.ts';
import type { ProviderHttp } from '../client.ts';
import type { ToolInvocation, InvokedFunction, ListedTool, ToolAccess, ToolListing, ToolResult } from '../tool.ts';
import type { McpConnection } from './mcp/connection.ts';
import { McpConnections } from './mcp/connections.ts';
import type { Exchange, Outcome } from './mcp/exchange.ts';
import { failureAt, isSessionLost, staysUsable, type EntryFailure } from './mcp/handshake.ts';
import { modernVersion, type Protocol } from './mcp/messages.ts';
import { parameterHeaders } from './mcp/parameter-headers.ts';
import { listPage, toolCallResult } from './mcp/result.ts';
import { failed, sendWithin, type CutReason, type Sent } from './sending.ts';

export class McpTools {
  readonly #clock: Clock;
  readonly #connections: McpConnections;

  constructor(http: ProviderHttp, clock: Clock) {
    this.#clock = clock;
    this.#connections = new McpConnections(http, clock);
  }

  /** Sends a tool call, with retries within its time if they are allowed. Never rejects. */
  invoke(
    tool: ToolAccess,
    { name, parameters }: InvokedFunction,
    { callId, arguments: values, context, stands, span }: ToolInvocation,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { sessionId, visitor, signedVisitorId, claimed } = context;
    const _meta = {
      'parley/call_id': callId,
      ...(sessionId !== null && { 'parley/session_id': sessionId }),
      'parley/visitor': visitor,
      'parley/visitor_verified': signedVisitorId !== null,
      'parley/visitor_id': signedVisitorId,
      ...(claimed && { 'parley/claimed': claimed }),
      ...(span?.sentTraceparent && { traceparent: span.sentTraceparent }),
    };
    return sendWithin(this.#clock, tool, signal, (end) => {
      const attempt = new Attempt(this.#connections, tool);
      const ask = (connection: McpConnection): Exchange => {
        span?.set({ protocolVersion: versionOf(connection.protocol) });
        return connection.ask(
          'tools/call',
          { name, arguments: values, _meta },
          { headers: parameterHeaders(parameters, values), once: true, ...(stands && { mayWrite: stands }) },
        );
      };
      void attempt
        .run(async (connection) => attempt.ask(ask(connection)))
        .then(
          (outcome) =>
            end(
              'step' in outcome
                ? { result: failed(outcome.error, { didNotAct: true }), again: outcome.again }
                : sentOf(outcome),
            ),
          () => end({ result: failed('malformed'), again: 'never' }),
        );
      return (why) => attempt.cut(why);
    });
  }

  /** Returns the whole list of a server, or the reason for which it cannot be read. Never rejects. */
  async list(tool: ToolAccess): Promise<ToolListing> {
    let listing: ToolListing | null = null;
    let step: EntryStep | null = null;
    const result = await sendWithin(this.#clock, tool, new AbortController().signal, (end) => {
      const attempt = new Attempt(this.#connections, tool);
      step = null;
      const read = (connection: McpConnection): Promise<readonly ListedTool[] | Outcome> => {
        step = 'list';
        return readList(connection, attempt);
      };
      void attempt.run(read).then(
        (found) => {
          const failure = 'step' in found ? found : 'kind' in found ? failureAt('list', found) : null;
          listing =
            failure === null ? { tools: found as readonly ListedTool[] } : { step: failure.step, error: failure.error };
          end({
            result: failure === null ? { status: 'completed', output: '' } : failed(failure.error),
            again: failure?.again ?? 'never',
          });
        },
        () => end({ result: failed('malformed'), again: 'never' }),
      );
      return (why) => {
        listing = null;
        step ??= this.#connections.stepOf(tool);
        attempt.cut(why);
      };
    });
    return listing ?? { step: step ?? 'connect', error: result.status === 'failed' ? result.error : 'timeout' };
  }

  /** Ends the sessions, within a bound. */
  close(): Promise<void> {
    return this.#connections.close();
  }
}

/** One try: requests on a connection, one after the other. */
class Attempt {
  readonly #connections: McpConnections;
  readonly #tool: ToolAccess;
  #exchange: Exchange | null = null;
  #cut: CutReason | null = null;

  constructor(connections: McpConnections, tool: ToolAccess) {
    this.#connections = connections;
    this.#tool = tool;
  }

  /** Sends a request; `cut` ends it. */
  async ask(sent: Exchange): Promise<Outcome> {
    this.#exchange = sent;
    const outcome = await sent.outcome;
    this.#exchange = null;
    return outcome;
  }

  /**
   * Uses a connection; retries on a new one if the server refused the request because it no longer knows the session.
   */
  async run<T>(use: (connection: McpConnection) => Promise<T | Outcome>): Promise<T | Outcome | EntryFailure> {
    for (let renewed = false; ; renewed = true) {
      const lease = await this.#connections.lease(this.#tool);
      if ('step' in lease) return lease;
      if (this.#cut !== null) {
        lease.release('keep');
        return cutOutcome;
      }
      const found = await use(lease.connection);
      const outcome = typeof found === 'object' && found !== null && 'kind' in found ? found : null;
      const isLost = outcome !== null && lease.isReused && hasSession(lease.connection) && isSessionLost(outcome);
      const isKept = this.#cut === 'aborted' || outcome === null || staysUsable(outcome);
      lease.release(isLost ? 'lost' : isKept ? 'keep' : 'retire');
      if (!isLost || renewed) return found;
    }
  }

  cut(why: CutReason): void {
    this.#cut = why;
    this.#exchange?.cut();
  }
}

const versionOf = (protocol: Protocol): string => (protocol.era === 'modern' ? modernVersion : protocol.version);

const cutOutcome: Outcome = { kind: 'failure', error: 'timeout', again: 'never', didNotAct: true };

const hasSession = ({ protocol }: McpConnection): boolean => protocol.era === 'legacy' && protocol.session !== '';

/** Reads the pages of a list to its end; returns the outcome that prevents it. A repeated cursor ends the list. */
async function readList(connection: McpConnection, attempt: Attempt): Promise<readonly ListedTool[] | Outcome> {
  const tools: ListedTool[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (let cursor: string | null = null; seen.size < limits.toolListPagesMax; seen.add(cursor)) {
    const outcome: Outcome = await attempt.ask(connection.ask('tools/list', cursor === null ? {} : { cursor }));
    if (outcome.kind !== 'answer' || !('result' in outcome.answer)) return outcome;
    const page = listPage(outcome.answer.result, connection.protocol.era === 'modern');
    bytes += outcome.bytes;
    if (page === null) return outcome;
    if (bytes > limits.toolListBytesMax) break;
    tools.push(...page.tools);
    if (page.nextCursor === null || seen.has(page.nextCursor)) return tools;
    cursor = page.nextCursor;
  }
  return { kind: 'failure', error: 'too_large', again: 'never', didNotAct: false };
}

/** Result of a tool call that was sent. */
function sentOf(outcome: Outcome): Sent {
  if (outcome.kind === 'accepted') return { result: failed('malformed'), again: 'never' };
  if (outcome.kind === 'answer')
    return {
      result: 'result' in outcome.answer ? toolCallResult(outcome.answer.result) : failed('refused'),
      again: 'never',
    };
  const { error, again, didNotAct } = outcome;
  return { result: failed(error, { didNotAct }), again };
}
