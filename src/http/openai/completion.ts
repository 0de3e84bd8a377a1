/** A turn as a chat completion: whole, or as a stream of chunks (contract 14). */
import { errors, type ErrorName } from '../../base/errors.ts';
import type { Outlet } from '../../base/edge.ts';
import { jsonText } from '../../base/json.ts';
import { openaiStreamError } from '../../base/openai-errors.ts';
import { textOf } from '../../conversation/front.ts';
import type { Services } from '../../conversation/services.ts';
import type { FoundTurn } from '../../conversation/turns.ts';
import type { PendingCall } from '../../store/store.ts';
import { TurnReader, type Sink } from '../../turn/reader.ts';
import type { TurnEnd } from '../../turn/turn.ts';
import { comment } from '../edge/event-stream.ts';
import type { Reply } from '../request.ts';

export interface Completion {
  readonly turn: FoundTurn;
  /** As the client named it. */
  readonly model: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Whether the stream ends with the usage. */
  readonly showsUsage: boolean;
}

type GoodEnd = Exclude<TurnEnd, { type: 'failed' }>;

const idOf = ({ turn }: Completion): string => `chatcmpl-${turn.turnId.slice(turn.turnId.indexOf('_') + 1)}`;

const pendingOf = (end: GoodEnd): readonly PendingCall[] => (end.type === 'completed' ? (end.pending ?? []) : []);

const finishOf = (end: GoodEnd): string => (pendingOf(end).length > 0 ? 'tool_calls' : 'stop');

const callView = ({ id, name, arguments: given }: PendingCall) => ({ id, type: 'function', function: { name, arguments: jsonText(given ?? {}) } });

function usageView(end: GoodEnd) {
  const { inputTokens, outputTokens } = end.type === 'completed' ? end : { inputTokens: 0, outputTokens: 0 };
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

export function completionView(completion: Completion, end: GoodEnd) {
  const calls = pendingOf(end);
  const text = textOf(completion.turn.log);
  const message = { role: 'assistant', content: text === '' && calls.length > 0 ? null : text, refusal: null, ...(calls.length > 0 && { tool_calls: calls.map(callView) }) };
  return {
    id: idOf(completion),
    object: 'chat.completion',
    created: completion.createdAt,
    model: completion.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(end) }],
    usage: usageView(end),
  };
}

export const streamCompletion = (completion: Completion, headers: Record<string, string>, services: Services): Reply => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', ...headers },
  stream: (outlet, onGone) => {
    const sink = new ChunkSink(outlet, completion, services);
    const reader = new TurnReader(completion.turn.log, 0, sink, services.clock);
    onGone(() => reader.stop());
    reader.start();
    sink.flush();
  },
});

class ChunkSink implements Sink {
  readonly #outlet: Outlet;
  readonly #completion: Completion;
  readonly #services: Services;
  /** The parts of every chunk, as JSON text, before and behind its choice. */
  readonly #head: string;
  readonly #tail: string;
  /** Sent together with the next chunk. */
  #held: string;
  #begun = false;

  constructor(outlet: Outlet, completion: Completion, services: Services) {
    this.#outlet = outlet;
    this.#completion = completion;
    this.#services = services;
    const { createdAt, model, showsUsage } = completion;
    this.#head = `data: {"id":${jsonText(idOf(completion))},"object":"chat.completion.chunk","created":${createdAt},"model":${jsonText(model)},"choices":`;
    this.#tail = showsUsage ? ',"usage":null}\n\n' : '}\n\n';
    this.#held = this.#chunk('{"role":"assistant","content":""}');
  }

  delta(text: string, _position: number, last: boolean): boolean {
    const chunk = this.#chunk(`{"content":${jsonText(text)}}`);
    if (!last) return this.#write(chunk);
    this.#held += chunk;
    return true;
  }

  /** The assistant's own calls are not shown. */
  mark(): boolean {
    return true;
  }

  heartbeat(): boolean {
    return this.#write(comment(''));
  }

  terminal(end: TurnEnd): void {
    this.#begun = true;
    this.#outlet.end(this.#held + this.#ending(end));
  }

  cut(): void {
    this.#outlet.cut();
  }

  onDrain(callback: () => void): void {
    this.#outlet.onDrain(callback);
  }

  /** Sends the head even if there is no chunk yet to send it with. */
  flush(): void {
    if (!this.#begun) this.#write('');
  }

  #ending(end: TurnEnd): string {
    if (end.type === 'failed') return `data: ${jsonText({ error: openaiStreamError(errors[end.errorCode as ErrorName] ?? errors.api_error) })}\n\n`;
    const calls = pendingOf(end);
    const called = calls.length === 0 ? '' : this.#chunk(jsonText({ tool_calls: calls.map((call, index) => ({ index, ...callView(call) })) }));
    const usage = this.#completion.showsUsage ? `${this.#head}[],"usage":${jsonText(usageView(end))}}\n\n` : '';
    return `${called}${this.#chunk('{}', finishOf(end))}${usage}data: [DONE]\n\n`;
  }

  #chunk(delta: string, finish: string | null = null): string {
    this.#services.metrics.streamEvents.inc();
    return `${this.#head}[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish === null ? 'null' : `"${finish}"`}}]${this.#tail}`;
  }

  #write(chunk: string): boolean {
    const piece = this.#held + chunk;
    this.#held = '';
    this.#begun = true;
    return this.#outlet.write(piece);
  }
}
