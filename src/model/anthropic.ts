/** Anthropic's Messages API, with server-sent events. */
import { limits } from '../limits.ts';
import type { Model, ModelMessage, ModelRequest } from '../model.ts';
import { streamAnswer } from './answer.ts';
import type { Dialect, Teller } from './dialect.ts';
import { countAt, objectAt, textOf } from './json.ts';
import type { Json } from './json.ts';
import type { ProviderHttp, ProviderPost } from '../provider.ts';
import { tryKey } from './key-trial.ts';
import { refusedCall } from './refused.ts';

const defaultBaseUrl = 'https://api.anthropic.com/v1';
const version = '2023-06-01';
const temperatureMax = 1;

export function anthropicModel(http: ProviderHttp): Model {
  return {
    provider: 'anthropic',
    needsCredential: true,
    tryKey: ({ baseUrl, apiKey }) => tryKey(http, baseUrl ?? defaultBaseUrl, { 'x-api-key': apiKey, 'anthropic-version': version }),
    start(request, sink) {
      if (request.apiKey === null) return refusedCall(sink, 'credential');
      const post = postOf(request, request.apiKey);
      return streamAnswer(http, messagesApi(), { post: (attempt) => (attempt === 0 ? post : null), accepted() {} }, sink);
    },
  };
}

function postOf(request: ModelRequest, apiKey: string): ProviderPost {
  const { name, systemPrompt, messages, temperature, outputTokensMax, baseUrl } = request;
  const body: Record<string, unknown> = {
    model: name,
    max_tokens: outputTokensMax ?? limits.outputTokensDefault,
    messages: alternating(messages),
    stream: true,
  };
  if (systemPrompt !== null) body['system'] = systemPrompt;
  // The scale ends at 1 here and at 2 elsewhere; a value between would be refused on every turn.
  if (temperature !== null) body['temperature'] = Math.min(temperature, temperatureMax);
  const headers = {
    'x-api-key': apiKey,
    'anthropic-version': version,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  return { baseUrl: baseUrl ?? defaultBaseUrl, path: '/messages', headers, body: JSON.stringify(body) };
}

/** The API wants the user to speak first and then turn about: a greeting is dropped, neighbours of one role are merged. */
export function alternating(messages: readonly ModelMessage[]): ModelMessage[] {
  const turns: ModelMessage[] = [];
  for (const { role, content } of messages) {
    const last = turns.at(-1);
    if (last === undefined && role === 'assistant') continue;
    if (last?.role === role) turns[turns.length - 1] = { role, content: `${last.content}\n\n${content}` };
    else turns.push({ role, content });
  }
  return turns;
}

/** One per answer: the input's tokens come with the first event, the output's with the last. */
function messagesApi(): Dialect {
  let inputTokens: number | null = null;
  const noteUsage = (answer: Teller, usage: Json): void => {
    inputTokens = countAt(usage, 'input_tokens') ?? inputTokens;
    const outputTokens = countAt(usage, 'output_tokens');
    if (inputTokens !== null && outputTokens !== null) answer.usage({ inputTokens, outputTokens });
  };
  return {
    done: null,
    event(answer, event) {
      switch (event['type']) {
        case 'message_start':
          return noteUsage(answer, objectAt(objectAt(event, 'message'), 'usage'));
        case 'content_block_delta': {
          const delta = objectAt(event, 'delta');
          return delta['type'] === 'text_delta' ? answer.text(textOf(delta['text'])) : undefined;
        }
        case 'message_delta':
          noteUsage(answer, objectAt(event, 'usage'));
          if (typeof objectAt(event, 'delta')['stop_reason'] === 'string') answer.complete();
          return;
        case 'message_stop':
          return answer.finish();
        case 'error':
          return answer.fail('provider_error');
        // `ping`, block boundaries, and whatever kinds the API gains: its versioning asks clients to pass over them.
      }
    },
    whole(answer, body) {
      if (body['type'] === 'error') return answer.fail('provider_error');
      if (!Array.isArray(body['content'])) return answer.fail('malformed');
      noteUsage(answer, objectAt(body, 'usage'));
      answer.text(textOf(body['content']));
      answer.finish();
    },
  };
}
