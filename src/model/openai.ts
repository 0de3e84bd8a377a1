/** Any endpoint that speaks OpenAI's chat completions, with server-sent events. */
import type { Model, ModelRequest } from '../model.ts';
import { streamAnswer } from './answer.ts';
import type { Attempts } from './answer.ts';
import type { Dialect, Teller } from './dialect.ts';
import { countAt, isObject, objectAt, textOf } from './json.ts';
import type { Json } from './json.ts';
import { tryKey } from './key-trial.ts';
import { refusedCall } from './refused.ts';
import type { ProviderHttp } from '../provider.ts';

const defaultBaseUrl = 'https://api.openai.com/v1';

/** What endpoints disagree on. */
interface Shape {
  /** Whether to ask for token counts: Mistral, among others, refuses the option with 422. */
  readonly usageOption: boolean;
  /** Reasoning models refuse `max_tokens`, older servers do not know `max_completion_tokens`. */
  readonly tokensField: 'max_tokens' | 'max_completion_tokens';
}

const completionTokensHosts = /^(?:api\.openai\.com|.*\.azure\.com)$/;

/** The shapes to try on an endpoint, the likeliest first. */
function shapesFor(baseUrl: string, tokensSet: boolean): readonly Shape[] {
  const native = URL.canParse(baseUrl) && completionTokensHosts.test(new URL(baseUrl).hostname);
  const tokensField = native ? 'max_completion_tokens' : 'max_tokens';
  const shapes: Shape[] = [{ usageOption: true, tokensField }, { usageOption: false, tokensField }];
  if (tokensSet) shapes.push({ usageOption: true, tokensField: native ? 'max_tokens' : 'max_completion_tokens' });
  return shapes;
}

const endpointsMax = 1000;

export function openaiModel(http: ProviderHttp): Model {
  // The shape that an endpoint took for a model. Once it has taken one, a 400 from it means what it says.
  const accepted = new Map<string, Shape>();
  return {
    provider: 'openai',
    needsCredential: true,
    tryKey: ({ baseUrl, apiKey }) => tryKey(http, baseUrl ?? defaultBaseUrl, { authorization: `Bearer ${apiKey}` }),
    start(request, sink) {
      const apiKey = request.apiKey;
      if (apiKey === null) return refusedCall(sink, 'credential');
      return streamAnswer(http, chatCompletions, attemptsFor(request, apiKey, accepted), sink);
    },
  };
}

function attemptsFor(request: ModelRequest, apiKey: string, accepted: Map<string, Shape>): Attempts {
  const baseUrl = request.baseUrl ?? defaultBaseUrl;
  const endpoint = `${request.outputTokensMax !== null} ${baseUrl} ${request.name}`;
  const known = accepted.get(endpoint);
  const shapes = known === undefined ? shapesFor(baseUrl, request.outputTokensMax !== null) : [known];
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  return {
    post(attempt) {
      const shape = shapes[attempt];
      return shape === undefined ? null : { baseUrl, path: '/chat/completions', headers, body: bodyOf(request, shape) };
    },
    accepted(attempt) {
      if (accepted.size >= endpointsMax) accepted.clear();
      accepted.set(endpoint, shapes[attempt]!);
    },
  };
}

function bodyOf(request: ModelRequest, shape: Shape): string {
  const { name, systemPrompt, messages, temperature, outputTokensMax } = request;
  const body: Record<string, unknown> = {
    model: name,
    messages: systemPrompt === null ? messages : [{ role: 'system', content: systemPrompt }, ...messages],
    stream: true,
  };
  if (shape.usageOption) body['stream_options'] = { include_usage: true };
  if (outputTokensMax !== null) body[shape.tokensField] = outputTokensMax;
  if (temperature !== null) body['temperature'] = temperature;
  return JSON.stringify(body);
}

const chatCompletions: Dialect = {
  done: '[DONE]',
  event(answer, chunk) {
    if (isError(chunk)) return answer.fail('provider_error');
    noteUsage(answer, chunk);
    const choice = firstChoice(chunk);
    if (choice === null) return;
    answer.text(textOf(objectAt(choice, 'delta')['content']));
    if (choice['finish_reason'] === 'error') answer.fail('provider_error');
    else if (typeof choice['finish_reason'] === 'string' && choice['finish_reason'] !== '') answer.complete();
  },
  whole(answer, body) {
    if (isError(body)) return answer.fail('provider_error');
    const choice = firstChoice(body);
    if (choice === null) return answer.fail('malformed');
    noteUsage(answer, body);
    answer.text(textOf(objectAt(choice, 'message')['content']));
    answer.finish();
  },
};

/** Errors come as a member of the object, or as the object itself. */
const isError = (json: Json): boolean => (json['error'] !== undefined && json['error'] !== null) || json['object'] === 'error';

function firstChoice(json: Json): Json | null {
  const choices = json['choices'];
  const first: unknown = Array.isArray(choices) ? choices[0] : null;
  return isObject(first) ? first : null;
}

function noteUsage(answer: Teller, json: Json): void {
  if (!isObject(json['usage'])) return;
  const inputTokens = countAt(json['usage'], 'prompt_tokens');
  const outputTokens = countAt(json['usage'], 'completion_tokens');
  if (inputTokens !== null && outputTokens !== null) answer.usage({ inputTokens, outputTokens });
}
