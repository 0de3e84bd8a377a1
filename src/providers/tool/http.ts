/** Sends a call to an HTTP tool (contract 13): one signed POST, whose answer is the output. */
import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/clock.ts';
import type { ToolError } from '../../base/tool-errors.ts';
import type { ModelFailure } from '../model.ts';
import type { ProviderCall, ProviderHttp, ProviderListener, ProviderPost } from '../client.ts';
import type { AskedCall, ToolAccess, ToolResult } from '../tool.ts';
import { signatureHeaders } from './signature.ts';

/** The end of one request; `again`: the tool has not got it, or may have it twice. */
type Sent = { readonly result: ToolResult; readonly again: 'never' | 'unsent' | 'repeatable' };

/** Waits before the second and the third request, in milliseconds. */
const pausesMs = [250, 1000] as const;

/** Sends a call, again within its time where that is allowed. Never rejects. */
export async function callHttpTool(http: ProviderHttp, clock: Clock, tool: ToolAccess, name: string, asked: AskedCall, signal: AbortSignal): Promise<ToolResult> {
  const until = clock.monotonic() + tool.timeoutSeconds * 1000;
  for (let tries = 1; ; tries++) {
    const { result, again } = await sendOnce(http, clock, tool, name, asked, until, signal);
    const pauseMs = pausesMs[tries - 1];
    const allowed = again === 'unsent' || (again === 'repeatable' && tool.repeatable);
    if (!allowed || pauseMs === undefined || signal.aborted || clock.monotonic() + pauseMs >= until) return result;
    await new Promise<void>((resolve) => {
      clock.after(pauseMs, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (signal.aborted) return { status: 'cancelled' };
  }
}

function sendOnce(http: ProviderHttp, clock: Clock, tool: ToolAccess, name: string, asked: AskedCall, until: number, signal: AbortSignal): Promise<Sent> {
  if (signal.aborted) return Promise.resolve({ result: { status: 'cancelled' }, again: 'never' });
  return new Promise((resolve) => {
    const end = (sent: Sent): void => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      resolve(sent);
    };
    const answer = new ToolAnswer((sent) => end(sent));
    // Silence is bounded by the whole time of the call.
    const call = http.post(postOf(tool, name, asked, clock.now()), answer, { silenceMs: limits.toolTimeoutSecondsMax * 1000 });
    answer.call = call;
    const abort = (): void => {
      call.cancel();
      end({ result: { status: 'cancelled' }, again: 'never' });
    };
    const timer = clock.after(Math.max(1, until - clock.monotonic()), () => {
      call.cancel();
      end({ result: failed('timeout'), again: 'never' });
    });
    signal.addEventListener('abort', abort, { once: true });
  });
}

function postOf({ url, secrets, headers }: ToolAccess, name: string, { callId, arguments: given, context }: AskedCall, nowMs: number): ProviderPost {
  const { assistantId, sessionId, turnId, channel, visitor, metadata } = context;
  const data = { call_id: callId, name, arguments: given, assistant_id: assistantId, session_id: sessionId, turn_id: turnId, channel, visitor, metadata };
  const body = JSON.stringify({ type: 'tool.call', timestamp: new Date(nowMs).toISOString(), data });
  const signed = signatureHeaders(callId, Math.floor(nowMs / 1000), body, secrets);
  return { baseUrl: url, path: '', headers: { 'content-type': 'application/json', accept: 'application/json, text/plain;q=0.9', 'idempotency-key': callId, ...signed, ...headers }, body, once: true };
}

const failed = (error: ToolError): ToolResult => ({ status: 'failed', error });

/** Failures before the tool can have got the request. */
const unsent: ReadonlySet<ModelFailure> = new Set(['connect', 'proxy', 'address']);
/** Statuses after which a repeatable call is sent again. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

class ToolAnswer implements ProviderListener {
  call: ProviderCall | null = null;
  readonly #end: (sent: Sent) => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #kind: 'json' | 'text' | 'other' | null = null;
  #over = false;

  constructor(end: (sent: Sent) => void) {
    this.#end = end;
  }

  head(contentType: string, contentEncoding: string): void {
    const type = contentType.split(';', 1)[0]!.trim();
    const plain = contentEncoding === '' || contentEncoding === 'identity';
    this.#kind = !plain ? 'other' : type === 'application/json' || type.endsWith('+json') ? 'json' : type.startsWith('text/') ? 'text' : type === '' ? null : 'other';
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > limits.toolAnswerBytesMax) {
      this.call?.cancel();
      return this.#finish(failed('too_large'));
    }
    // The bytes are overwritten after the call.
    this.#chunks.push(Buffer.from(chunk));
  }

  ended(): void {
    const text = Buffer.concat(this.#chunks).toString('utf8');
    // 204 has neither body nor type.
    if (this.#kind === null && this.#bytes === 0) return this.#finish({ status: 'completed', output: '' });
    if (this.#kind === 'text') return this.#finish({ status: 'completed', output: text });
    this.#finish(this.#kind === 'json' && isJson(text) ? { status: 'completed', output: text } : failed('malformed'));
  }

  failed(failure: ModelFailure, status: number | null): void {
    if (status !== null) return this.#finish(failed('refused'), passing.has(status) ? 'repeatable' : 'never');
    if (failure === 'malformed') return this.#finish(failed('malformed'));
    if (unsent.has(failure)) return this.#finish(failed('unreachable'), failure === 'connect' ? 'unsent' : 'never');
    if (failure === 'credential') return this.#finish(failed('refused'));
    this.#finish(failed(failure === 'first_output_timeout' || failure === 'idle_timeout' ? 'timeout' : 'unreachable'), 'repeatable');
  }

  #finish(result: ToolResult, again: Sent['again'] = 'never'): void {
    if (this.#over) return;
    this.#over = true;
    this.#end({ result, again });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
