/** Any endpoint that speaks OpenAI's chat completions, with server-sent events. */
import { isObject, type Json } from '../../base/json.ts';
import type { Model, ModelMessage, ModelRequest, ToolOffer } from '../model.ts';
import { streamAnswer } from './answer.ts';
import { Attempts, openOmissions } from './attempts.ts';
import type { Asking } from './attempts.ts';
import { noteFinish } from './dialect.ts';
import type { Dialect, Teller } from './dialect.ts';
import { alternating, declaredTools, withPromptInside } from './history.ts';
import { countAt, objectAt, textOf, thoughtOf } from './json.ts';
import { tryKey } from './key-trial.ts';
import { Lessons } from './learnt.ts';
import { refuseCall } from './refused.ts';
import { omits } from './shape.ts';
import type { ProviderHttp } from '../client.ts';

const defaultBaseUrl = 'https://api.openai.com/v1';

const completionTokensHosts = /^(?:api\.openai\.com|.*\.azure\.com)$/;

export function openaiModel(http: ProviderHttp): Model {
  const lessons = new Lessons(http.now);
  return {
    provider: 'openai',
    needsCredential: true,
    tryKey: ({ baseUrl, apiKey }) => tryKey(http, baseUrl ?? defaultBaseUrl, { authorization: `Bearer ${apiKey}` }),
    start(request, sink) {
      const apiKey = request.apiKey;
      if (apiKey === null) return refuseCall(sink, 'credential');
      return streamAnswer(http, () => new ChatCompletions(request.tools !== undefined), new Attempts(askingOf(request, apiKey), request, lessons, sink, http.now), sink, request.reasoning);
    },
  };
}

function askingOf(request: ModelRequest, apiKey: string): Asking {
  const baseUrl = request.baseUrl ?? defaultBaseUrl;
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  return {
    model: `${baseUrl} ${request.name} ${apiKey}`,
    open: openOmissions(request) | (declaredOf(request, request.messages) === undefined ? 0 : omits.otherTools),
    post: (messages, shape) => ({ baseUrl, path: '/chat/completions', headers, body: bodyOf(request, baseUrl, messages, shape) }),
  };
}

/** The tools that a gateway to another API may want declared, though none is offered. */
const declaredOf = ({ tools, closedTools }: ModelRequest, history: readonly ModelMessage[]): readonly ToolOffer[] | undefined => (tools === undefined ? declaredTools(history, closedTools) : undefined);

function bodyOf(request: ModelRequest, baseUrl: string, history: readonly ModelMessage[], shape: number): string {
  const { name, systemPrompt, temperature, outputTokensMax } = request;
  const isWith = (omission: number): boolean => (shape & omission) === 0;
  const messages = alternating(history, isWith(omits.greeting));
  const body: Record<string, unknown> = { model: name, messages: prompted(messages, systemPrompt, isWith(omits.system)).map(said), stream: true };
  const declared = isWith(omits.otherTools) ? undefined : declaredOf(request, history);
  const tools = request.tools ?? declared;
  if (tools !== undefined) body['tools'] = tools.map(({ name: tool, description, parameters }) => ({ type: 'function', function: { name: tool, ...(description !== null && { description }), parameters } }));
  if (declared !== undefined) body['tool_choice'] = 'none';
  if (isWith(omits.usage)) body['stream_options'] = { include_usage: true };
  if (outputTokensMax !== null && isWith(omits.bound)) body[boundField(baseUrl, !isWith(omits.otherBound))] = outputTokensMax;
  if (temperature !== null && isWith(omits.temperature)) body['temperature'] = temperature;
  return JSON.stringify(body);
}

/** A message in the words of this API. */
function said(message: ModelMessage | SystemMessage): object {
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.callId, content: message.content };
  if (!('calls' in message) || message.calls === undefined) return message;
  const calls = message.calls.map(({ id, name, arguments: given }) => ({ id, type: 'function', function: { name, arguments: given } }));
  return { role: message.role, content: message.content === '' ? null : message.content, ...(message.kept as readonly [object] | undefined)?.[0], tool_calls: calls };
}

interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
}

function prompted(messages: readonly ModelMessage[], systemPrompt: string | null, apart: boolean): readonly (ModelMessage | SystemMessage)[] {
  if (systemPrompt === null) return messages;
  return apart ? [{ role: 'system', content: systemPrompt }, ...messages] : withPromptInside(messages, systemPrompt);
}

/** The likelier field for the bound of a reply, or the other one. */
function boundField(baseUrl: string, other: boolean): 'max_tokens' | 'max_completion_tokens' {
  const native = URL.canParse(baseUrl) && completionTokensHosts.test(new URL(baseUrl).hostname);
  return native !== other ? 'max_completion_tokens' : 'max_tokens';
}

/** One per answer. */
class ChatCompletions implements Dialect {
  /** Text came in deltas: a whole message behind them repeats it. */
  #inDeltas = false;
  /** The same of calls. */
  #callsInDeltas = false;
  /** Whether what the model thinks may have to go back with calls. */
  readonly #keeps: boolean;

  constructor(keeps: boolean) {
    this.#keeps = keeps;
  }

  event(answer: Teller, chunk: Json): void {
    noteUsage(answer, chunk);
    const choice = firstChoice(chunk);
    if (choice !== null) this.#say(answer, choice);
  }

  whole(answer: Teller, body: Json): void {
    const choice = firstChoice(body);
    if (choice === null) return answer.fail('malformed');
    noteUsage(answer, body);
    this.#say(answer, choice);
    answer.finish();
  }

  #say(answer: Teller, choice: Json): void {
    answer.begin();
    const text = wordsOf(choice['delta']) || textOf(choice['text']);
    this.#inDeltas ||= text !== '';
    answer.reasoning(thoughtsOf(choice['delta']) || (this.#inDeltas ? '' : thoughtsOf(choice['message'])));
    answer.text(this.#inDeltas ? text : wordsOf(choice['message']));
    if (this.#keeps) keepThoughts(answer, choice['delta'] ?? (this.#inDeltas ? null : choice['message']));
    const calls = callsOf(choice['delta']);
    this.#callsInDeltas ||= calls.length > 0;
    tellCalls(answer, this.#callsInDeltas ? calls : callsOf(choice['message']));
    if (refusalOf(choice['delta']) !== '' || refusalOf(choice['message']) !== '') answer.refuse();
    noteFinish(answer, choice['finish_reason']);
  }
}

/** The calls of a delta or a message, or parts of them. */
function callsOf(given: unknown): Json[] {
  const calls: unknown = isObject(given) ? given['tool_calls'] : null;
  return Array.isArray(calls) ? calls.filter(isObject) : noCalls;
}

const noCalls: Json[] = [];

/** Keeps the thoughts of a delta or a message under the name that they came with: some models refuse the results of calls without them. */
function keepThoughts(answer: Teller, said: unknown): void {
  if (!isObject(said)) return;
  const field = ['reasoning_content', 'reasoning'].find((name) => typeof said[name] === 'string' && said[name] !== '');
  if (field !== undefined) answer.keep(0, { [field]: said[field] as string });
}

function tellCalls(answer: Teller, calls: readonly Json[]): void {
  for (const call of calls) {
    const { index, id } = call;
    const { name, arguments: text } = objectAt(call, 'function');
    // Some endpoints give the arguments as an object.
    const words = typeof text === 'string' ? text : isObject(text) ? JSON.stringify(text) : '';
    answer.call({ index: typeof index === 'number' ? index : null, id: typeof id === 'string' && id !== '' ? id : null, name: typeof name === 'string' ? name : '', arguments: words });
  }
}

/** The text of a delta or a message, be it an answer or the refusal of one. */
const wordsOf = (said: unknown): string => (isObject(said) ? textOf(said['content']) + refusalOf(said) : textOf(said));

const refusalOf = (said: unknown): string => (isObject(said) ? textOf(said['refusal']) : '');

/** The text in a field for reasoning of a delta or a message; some endpoints have the same in two. */
const thoughtsOf = (said: unknown): string =>
  isObject(said) ? textOf(said['reasoning_content']) || textOf(said['reasoning']) || thoughtOf(said['content']) : '';

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
