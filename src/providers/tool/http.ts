/** Sends a call to an HTTP tool (contract 13): one signed POST, whose answer is the output. */
import { parseValue } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/clock.ts';
import type { ModelFailure } from '../model.ts';
import type { ProviderRequest, ProviderHttp, ProviderListener, ProviderPost } from '../client.ts';
import type { ResponseHead } from '../client/head.ts';
import type { ToolInvocation, InvokedFunction, ToolAccess, ToolResult } from '../tool.ts';
import { addressOf, failed, sendWithin, sentOfFailure, type Sent } from './sending.ts';
import { signatureHeaders } from './signature.ts';

/** Sends a tool call, with retries within its time if they are allowed. Never rejects. */
export const invokeHttpTool = (
  http: ProviderHttp,
  clock: Clock,
  tool: ToolAccess,
  { name }: InvokedFunction,
  invocation: ToolInvocation,
  signal: AbortSignal,
): Promise<ToolResult> =>
  sendWithin(clock, tool, signal, (end) => {
    const answer = new ToolAnswer(end);
    // The time of the whole tool call also bounds the silence.
    const request = http.post(postOf(tool, name, invocation, clock.now()), answer, {
      silenceMs: limits.toolTimeoutSecondsMax * 1000,
    });
    answer.request = request;
    return () => request.cancel();
  });

function postOf(
  tool: ToolAccess,
  name: string,
  { callId, arguments: values, context, span, stands }: ToolInvocation,
  nowMs: number,
): ProviderPost {
  const { assistantId, sessionId, turnId, channel, visitor, signedVisitorId, metadata, claimed } = context;
  const data = {
    call_id: callId,
    name,
    arguments: values,
    assistant_id: assistantId,
    session_id: sessionId,
    turn_id: turnId,
    channel,
    visitor,
    visitor_verified: signedVisitorId !== null,
    visitor_id: signedVisitorId,
    metadata,
    claimed,
  };
  const body = JSON.stringify({ type: 'tool.call', timestamp: new Date(nowMs).toISOString(), data });
  const { secrets, headers } = tool;
  const traceparent = span?.sentTraceparent;
  const signed = signatureHeaders(callId, Math.floor(nowMs / 1000), body, secrets);
  return {
    ...addressOf(tool),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/plain;q=0.9',
      'idempotency-key': callId,
      ...signed,
      ...(traceparent && { traceparent }),
      ...headers,
    },
    body,
    once: true,
    ...(stands && { mayWrite: stands }),
  };
}

class ToolAnswer implements ProviderListener {
  request: ProviderRequest | null = null;
  readonly #end: (sent: Sent) => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  /** The status promises an empty body, so the content type does not matter. */
  #isEmpty = false;
  #kind: 'json' | 'text' | 'other' | null = null;
  #over = false;

  constructor(end: (sent: Sent) => void) {
    this.#end = end;
  }

  head(contentType: string, contentEncoding: string, { status }: ResponseHead): void {
    this.#isEmpty = status === 204 || status === 205;
    const type = contentType.split(';', 1)[0]!.trim();
    const plain = contentEncoding === '' || contentEncoding === 'identity';
    this.#kind = !plain
      ? 'other'
      : type === 'application/json' || type.endsWith('+json')
        ? 'json'
        : type.startsWith('text/')
          ? 'text'
          : type === ''
            ? null
            : 'other';
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > limits.toolAnswerBytesMax) {
      this.request?.cancel();
      return this.#finish(failed('too_large'));
    }
    // The bytes are overwritten after the call.
    this.#chunks.push(Buffer.from(chunk));
  }

  ended(): void {
    const text = Buffer.concat(this.#chunks).toString('utf8');
    if (this.#isEmpty || (this.#kind === null && this.#bytes === 0))
      return this.#finish({ status: 'completed', output: '' });
    if (this.#kind === 'text') return this.#finish({ status: 'completed', output: text });
    this.#finish(this.#kind === 'json' && isJson(text) ? { status: 'completed', output: text } : failed('malformed'));
  }

  failed(failure: ModelFailure, status: number | null): void {
    const { error, again, didNotAct } = sentOfFailure(failure, status);
    this.#finish(failed(error, { didNotAct }), again);
  }

  #finish(result: ToolResult, again: Sent['again'] = 'never'): void {
    if (this.#over) return;
    this.#over = true;
    this.#end({ result, again });
  }
}

const isJson = (text: string): boolean => parseValue(text) !== undefined;
