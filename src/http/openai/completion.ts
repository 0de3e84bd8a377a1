/** A turn as a chat completion: whole, or as a stream of chunks (contract 14). */
import { rowOfCode } from '../../base/errors.ts';
import type { Outlet } from '../../base/edge.ts';
import { bareId } from '../../base/ids.ts';
import { jsonText } from '../../base/json.ts';
import { openaiStreamError } from '../openai-errors.ts';
import { logText, type AdapterTurn } from '../../conversation/protocol-adapter.ts';
import type { Services } from '../../conversation/services.ts';
import type { FoundTurn } from '../../conversation/turns.ts';
import type { PendingCall } from '../../store/store.ts';
import { cutOf, waitingCalls, type TurnEnd } from '../../turn/log.ts';
import { TurnSink, turnStream } from '../handlers/turn-stream.ts';
import type { Reply } from '../request.ts';

export interface Completion {
  readonly turn: FoundTurn;
  /** The model's name in the request. */
  readonly model: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Whether the stream ends with the usage. */
  readonly showsUsage: boolean;
}

type GoodEnd = Exclude<TurnEnd, { type: 'failed' }>;

const idOf = ({ turn }: Completion): string => `chatcmpl-${bareId(turn.turnId)}`;

const finishOf = (end: GoodEnd): string => (waitingCalls(end).length > 0 ? 'tool_calls' : (cutOf(end) ?? 'stop'));

const callView = ({ id, name, arguments: given }: PendingCall) => ({
  id,
  type: 'function',
  function: { name, arguments: jsonText(given ?? {}) },
});

function usageView(end: GoodEnd) {
  const {
    inputTokens,
    outputTokens,
    cachedInputTokens = 0,
  } = end.type === 'completed' ? end : { inputTokens: 0, outputTokens: 0 };
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
  };
}

export function completionView(completion: Completion, end: GoodEnd) {
  const calls = waitingCalls(end);
  const text = logText(completion.turn.log);
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls.map(callView) }),
  };
  return {
    id: idOf(completion),
    object: 'chat.completion',
    created: completion.createdAt,
    model: completion.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(end) }],
    usage: usageView(end),
  };
}

export const streamCompletion = (
  completion: Completion,
  headers: Record<string, string>,
  ended: AdapterTurn['ended'],
  services: Services,
): Reply =>
  turnStream(
    {
      log: completion.turn.log,
      position: 0,
      headers,
      ended,
      open: (outlet) => new ChunkSink(outlet, completion, services),
    },
    services,
  );

/** The assistant's own calls are not shown. */
class ChunkSink extends TurnSink {
  readonly #completion: Completion;
  readonly #services: Services;
  /** The parts of every chunk, as JSON text, before and behind its choice. */
  readonly #head: string;
  readonly #tail: string;

  constructor(outlet: Outlet, completion: Completion, services: Services) {
    super(outlet);
    this.#completion = completion;
    this.#services = services;
    const { createdAt, model, showsUsage } = completion;
    this.#head = `data: {"id":${jsonText(idOf(completion))},"object":"chat.completion.chunk","created":${createdAt},"model":${jsonText(model)},"choices":`;
    this.#tail = showsUsage ? ',"usage":null}\n\n' : '}\n\n';
    this.hold(this.#chunk('{"role":"assistant","content":""}'));
  }

  protected textEvents(text: string): string {
    return this.#chunk(`{"content":${jsonText(text)}}`);
  }

  protected endEvents(end: TurnEnd): string {
    if (end.type === 'failed') return `data: ${jsonText({ error: openaiStreamError(rowOfCode(end.errorCode)) })}\n\n`;
    const calls = waitingCalls(end);
    const called =
      calls.length === 0
        ? ''
        : this.#chunk(jsonText({ tool_calls: calls.map((call, index) => ({ index, ...callView(call) })) }));
    const usage = this.#completion.showsUsage ? `${this.#head}[],"usage":${jsonText(usageView(end))}}\n\n` : '';
    return `${called}${this.#chunk('{}', finishOf(end))}${usage}data: [DONE]\n\n`;
  }

  #chunk(delta: string, finish: string | null = null): string {
    this.#services.metrics.streamEvents.inc();
    return `${this.#head}[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish === null ? 'null' : `"${finish}"`}}]${this.#tail}`;
  }
}
