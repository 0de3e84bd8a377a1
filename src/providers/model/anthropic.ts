/** Anthropic's Messages API, with server-sent events. */
import { limits } from '../../base/limits.ts';
import type { Model, ModelMessage, ModelRequest } from '../model.ts';
import { streamAnswer } from './answer.ts';
import { Attempts, openOmissions } from './attempts.ts';
import type { Asking } from './attempts.ts';
import { noteFinish } from './dialect.ts';
import type { Dialect, Teller } from './dialect.ts';
import { alternating } from './history.ts';
import { countAt, objectAt, textOf, thoughtOf } from './json.ts';
import type { Json } from './json.ts';
import { tryKey } from './key-trial.ts';
import { Lessons } from './learnt.ts';
import { refuseCall } from './refused.ts';
import { omits } from './shape.ts';
import type { ProviderHttp } from '../client.ts';

const defaultBaseUrl = 'https://api.anthropic.com/v1';
const version = '2023-06-01';
const temperatureMax = 1;

export function anthropicModel(http: ProviderHttp): Model {
  const lessons = new Lessons(http.now);
  return {
    provider: 'anthropic',
    needsCredential: true,
    tryKey: ({ baseUrl, apiKey }) => tryKey(http, baseUrl ?? defaultBaseUrl, { 'x-api-key': apiKey, 'anthropic-version': version }),
    start(request, sink) {
      if (request.apiKey === null) return refuseCall(sink, 'credential');
      return streamAnswer(http, messagesApi, new Attempts(askingOf(request, request.apiKey), request, lessons, sink, http.now), sink, request.reasoning);
    },
  };
}

function askingOf(request: ModelRequest, apiKey: string): Asking {
  const baseUrl = request.baseUrl ?? defaultBaseUrl;
  const headers = {
    'x-api-key': apiKey,
    'anthropic-version': version,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  return {
    model: `${baseUrl} ${request.name} ${apiKey}`,
    open: openOmissions(request) & omits.temperature,
    post: (messages, shape) => ({ baseUrl, path: '/messages', headers, body: bodyOf(request, messages, shape) }),
  };
}

function bodyOf({ name, systemPrompt, temperature, outputTokensMax }: ModelRequest, messages: readonly ModelMessage[], shape: number): string {
  const body: Record<string, unknown> = {
    model: name,
    max_tokens: outputTokensMax ?? limits.outputTokensDefault,
    // The API wants the user to speak first.
    messages: alternating(messages, false),
    stream: true,
  };
  if (systemPrompt !== null) body['system'] = systemPrompt;
  // The scale ends at 1 here and at 2 elsewhere; a value between would be refused on every turn.
  if (temperature !== null && (shape & omits.temperature) === 0) body['temperature'] = Math.min(temperature, temperatureMax);
  return JSON.stringify(body);
}

/** One per answer: the input's tokens come with the first event, the output's with the last. */
function messagesApi(): Dialect {
  let inputTokens: number | null = null;
  const noteUsage = (answer: Teller, usage: Json): void => {
    inputTokens = countAt(usage, 'input_tokens') ?? inputTokens;
    const outputTokens = countAt(usage, 'output_tokens');
    if (inputTokens !== null && outputTokens !== null) answer.usage({ inputTokens, outputTokens });
  };
  const say = (answer: Teller, content: unknown): void => {
    answer.begin();
    answer.reasoning(thoughtOf(content));
    answer.text(textOf(content));
  };
  const whole = (answer: Teller, message: Json): void => {
    if (message['type'] !== 'message' && !Array.isArray(message['content'])) return answer.fail('malformed');
    noteUsage(answer, objectAt(message, 'usage'));
    say(answer, message['content']);
    noteFinish(answer, message['stop_reason']);
    answer.finish();
  };
  return {
    event(answer, event) {
      switch (event['type']) {
        case 'message_start':
          noteUsage(answer, objectAt(objectAt(event, 'message'), 'usage'));
          return say(answer, objectAt(event, 'message')['content']);
        case 'content_block_start':
          return say(answer, event['content_block']);
        case 'content_block_delta':
          return say(answer, event['delta']);
        case 'message_delta':
          noteUsage(answer, objectAt(event, 'usage'));
          return noteFinish(answer, objectAt(event, 'delta')['stop_reason']);
        case 'message_stop':
          answer.begin();
          return answer.finish();
        case 'message':
          return whole(answer, event);
        // `ping`, block boundaries, and whatever kinds the API gains: its versioning asks clients to pass over them.
      }
    },
    whole,
  };
}
