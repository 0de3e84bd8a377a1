/** Any endpoint that speaks OpenAI's chat completions, with server-sent events. */
import { isObject, type Json } from '../../base/json.ts';
import type { AnswerFormat, Model, ModelMessage, ModelRequest, ToolOffer } from '../model.ts';
import { openAnswer, streamAnswer } from './answer.ts';
import { Attempts, openBodyRepairs } from './attempts.ts';
import type { Asking, Shaped } from './attempts.ts';
import { noteFinish } from './dialect.ts';
import type { Dialect, AnswerSink } from './dialect.ts';
import { alternating, declaredTools, withPromptInside } from './history.ts';
import { countAt, objectAt, contentText, thoughtOf } from './json.ts';
import { tryKey } from './key-trial.ts';
import { Lessons } from './learnt.ts';
import { openNameRepairs, underWireNames } from './names.ts';
import { originsOf, unknownFields } from './opaque.ts';
import { refuseRequest } from './refused.ts';
import { repairs } from './repairs.ts';
import {
  contentBesideToolCalls,
  emptyFunction,
  forcedAmong,
  hasToolCalls,
  openMessageRepairs,
  ownFields,
  resultContent,
  roundFields,
  wireFunction,
  withWireIds,
  type ToolCalls,
} from './wire.ts';
import type { ProviderHttp } from '../client.ts';

const defaultBaseUrl = 'https://api.openai.com/v1';

const completionTokensHosts = /^(?:api\.openai\.com|.*\.azure\.com)$/;

export function openaiModel(http: ProviderHttp): Model {
  const lessons = new Lessons(http.now);
  const originOf = originsOf('openai');
  return {
    provider: 'openai',
    needsCredential: true,
    defaultBaseUrl,
    obeys: { forcedCalls: true, formats: ['json_object', 'json_schema'] },
    tryKey: ({ baseUrl, apiKey }) => tryKey(http, baseUrl ?? defaultBaseUrl, { authorization: `Bearer ${apiKey}` }),
    start(request, sink) {
      const apiKey = request.apiKey;
      if (apiKey === null) return refuseRequest(sink, 'credential');
      const asking = askingOf(request, apiKey, originOf);
      return streamAnswer(
        http,
        { ...openAnswer(request, asking), dialect: request.tools === undefined ? plain : keeping },
        new Attempts(asking, request, lessons, sink, http.now),
        sink,
      );
    },
  };
}

function askingOf(request: ModelRequest, apiKey: string, originOf: (baseUrl: string) => string): Asking {
  const baseUrl = request.baseUrl ?? defaultBaseUrl;
  const origin = originOf(baseUrl);
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  return {
    model: `${baseUrl} ${request.name} ${apiKey}`,
    origin,
    open:
      openBodyRepairs(request) |
      openMessageRepairs(request.messages, origin) |
      openNameRepairs(request) |
      (declaredOf(request, request.messages) === undefined ? 0 : repairs.otherTools),
    post: (shaped) => ({
      baseUrl,
      path: '/chat/completions',
      headers,
      body: bodyOf(...underWireNames(request, { ...shaped, baseUrl, origin })),
    }),
  };
}

/** The tools that a gateway to another API may want declared, though none is offered. */
const declaredOf = (
  { tools, closedTools }: ModelRequest,
  history: readonly ModelMessage[],
): readonly ToolOffer[] | undefined => (tools === undefined ? declaredTools(history, closedTools) : undefined);

interface Wired extends Shaped {
  readonly baseUrl: string;
  readonly origin: string;
}

function bodyOf(request: ModelRequest, { messages: history, shape, refused, baseUrl, origin }: Wired): string {
  const { name, systemPrompt, temperature, outputTokensMax } = request;
  const isWith = (repair: number): boolean => (shape & repair) === 0;
  const messages = prompted(
    withWireIds(alternating(history, isWith(repairs.greeting)), origin, !isWith(repairs.ids)),
    systemPrompt,
    isWith(repairs.system),
  );
  const body: Record<string, unknown> = { model: name, stream: true };
  const offered = request.tools?.filter((tool) => !refused.has(tool.name));
  const declared = isWith(repairs.otherTools)
    ? undefined
    : declaredOf(request, history)?.map((tool) => (refused.has(tool.name) ? emptyFunction(tool.name) : tool));
  const tools = offered ?? declared;
  if (tools !== undefined && tools.length > 0)
    body['tools'] = tools.map((tool) => ({ type: 'function', function: wireFunction(tool, shape) }));
  if (declared !== undefined) body['tool_choice'] = 'none';
  const forced = forcedAmong(offered, request.forced);
  if (forced !== undefined)
    body['tool_choice'] = forced === 'any' ? 'required' : { type: 'function', function: forced };
  if (request.format !== undefined) body['response_format'] = wireFormat(request.format);
  if (isWith(repairs.usage)) body['stream_options'] = { include_usage: true };
  if (outputTokensMax !== null && isWith(repairs.bound))
    body[boundField(baseUrl, !isWith(repairs.otherBound))] = outputTokensMax;
  if (temperature !== null && isWith(repairs.temperature)) body['temperature'] = temperature;
  // Messages come last: a request begins with the bytes of the one before it, and the provider caches what it has read.
  body['messages'] = messages.map((message) => said(message, { origin, shape }));
  return JSON.stringify(body);
}

function wireFormat(format: AnswerFormat): object {
  if (format.type === 'json_object') return format;
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}

/** A provider, and the shape of a request to it. */
interface Shape {
  readonly origin: string;
  readonly shape: number;
}

/** A message in the words of this API. */
function said(message: ModelMessage | SystemMessage, { origin, shape }: Shape): object {
  if (message.role === 'tool')
    return { role: 'tool', tool_call_id: message.callId, content: resultContent(message.content) };
  if (message.role === 'system' || !hasToolCalls(message))
    return { role: message.role, content: message.content, ...(message.role === 'assistant' && thoughts({}, shape)) };
  const { role, content, calls, kept } = message;
  const signs =
    (shape & repairs.signatureStub) !== 0 && !calls.some((call) => isSigned(ownFields(call, origin, shape)));
  const made = calls.map((call) => {
    const { id, name, arguments: given } = call;
    const { function: ofFunction, ...own } = ownFields(call, origin, shape) ?? {};
    return {
      id,
      type: 'function',
      function: { name, arguments: given, ...(ofFunction as Json | undefined) },
      ...own,
      ...(signs && unsigned),
    };
  });
  return {
    role,
    content: contentBesideToolCalls(content, shape),
    ...roundOf(calls, { origin, shape }),
    ...thoughts((kept as readonly [Json] | undefined)?.[0] ?? {}, shape),
    tool_calls: made,
  };
}

/** The fields of what a model thought, or of a stub where a provider wants one. */
function thoughts(kept: Json, shape: number): Json {
  if (shape & repairs.noThoughts) return {};
  return shape & repairs.thoughtStub
    ? { ...kept, reasoning_content: kept['reasoning_content'] ?? kept['reasoning'] ?? ' ' }
    : kept;
}

const isSigned = (fields: Json | undefined): boolean =>
  fields !== undefined && JSON.stringify(fields).includes('thought_signature');

/** The signature that Gemini takes for calls that it has not made: ai.google.dev/gemini-api/docs/thought-signatures. */
const skippedSignature = 'skip_thought_signature_validator';
const unsigned = { extra_content: { google: { thought_signature: skippedSignature } } };

/**
 * The fields of a round: its own, with the details that OpenRouter takes for calls that Gemini has not made where it
 * wants them: RooCodeInc/Roo-Code#10640.
 */
function roundOf(calls: ToolCalls, { origin, shape }: Shape): Json | undefined {
  const own = roundFields(calls, origin, shape);
  const details = Array.isArray(own?.['reasoning_details']) ? own['reasoning_details'].filter(isObject) : [];
  if (
    !(shape & repairs.detailsStub) ||
    details.some(({ signature, data }) => signature !== undefined || data !== undefined)
  )
    return own;
  const { id } = calls[0];
  return {
    ...own,
    reasoning_details: [
      ...details,
      { type: 'reasoning.encrypted', data: skippedSignature, id, format: 'google-gemini-v1', index: 0 },
    ],
  };
}

interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
}

function prompted(
  messages: readonly ModelMessage[],
  systemPrompt: string | null,
  apart: boolean,
): readonly (ModelMessage | SystemMessage)[] {
  if (systemPrompt === null) return messages;
  return apart ? [{ role: 'system', content: systemPrompt }, ...messages] : withPromptInside(messages, systemPrompt);
}

/** The likelier field for the bound of a reply, or the other one. */
function boundField(baseUrl: string, other: boolean): 'max_tokens' | 'max_completion_tokens' {
  const native = URL.canParse(baseUrl) && completionTokensHosts.test(new URL(baseUrl).hostname);
  return native !== other ? 'max_completion_tokens' : 'max_tokens';
}

const plain = (): Dialect => new ChatCompletions(false);
const keeping = (): Dialect => new ChatCompletions(true);

/** One per answer. */
class ChatCompletions implements Dialect {
  /** Text came in deltas: a whole message behind them repeats it. */
  #inDeltas = false;
  /** Reads the tool calls of a stream event. */
  #callsInDeltas = false;
  /** Whether what the model thinks may have to go back with calls. */
  readonly #keeps: boolean;

  constructor(keeps: boolean) {
    this.#keeps = keeps;
  }

  owns(_name: string, text: string): boolean {
    return text.includes('"choices"');
  }

  storedOf(): null {
    return null;
  }

  event(answer: AnswerSink, chunk: Json): void {
    noteUsage(answer, chunk);
    const choice = firstChoice(chunk);
    if (choice !== null) this.#say(answer, choice);
  }

  whole(answer: AnswerSink, body: Json): void {
    const choice = firstChoice(body);
    if (choice === null) return answer.fail('malformed');
    noteUsage(answer, body);
    this.#say(answer, choice);
    answer.finish();
  }

  #say(answer: AnswerSink, choice: Json): void {
    answer.begin();
    const text = wordsOf(choice['delta']) || contentText(choice['text']);
    this.#inDeltas ||= text !== '';
    answer.reasoning(thoughtsOf(choice['delta']) || (this.#inDeltas ? '' : thoughtsOf(choice['message'])));
    answer.text(this.#inDeltas ? text : wordsOf(choice['message']));
    if (this.#keeps) keepThoughts(answer, choice['delta'] ?? (this.#inDeltas ? null : choice['message']));
    const calls = callsOf(choice['delta']);
    this.#callsInDeltas ||= calls.length > 0;
    if (this.#callsInDeltas) tellCalls(answer, calls, false);
    else tellCalls(answer, callsOf(choice['message']), true);
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

/** The place of a call, also where an endpoint writes it as a text; null if it gives none. */
const placeOf = (index: unknown): number | null =>
  typeof index === 'number' ? index : typeof index === 'string' && /^\d{1,3}$/.test(index) ? Number(index) : null;

/** Fields of a delta or a message that are known, or that no endpoint wants back. */
const knownFields: ReadonlySet<string> = new Set([
  ...[
    'role',
    'content',
    'refusal',
    'tool_calls',
    'function_call',
    'name',
    'audio',
    'annotations',
    'reasoning_content',
    'reasoning',
    'thinking',
    'prefix',
  ],
  ...[
    'citations',
    'search_results',
    'executed_tools',
    'images',
    'parsed',
    'context',
    'token_ids',
    'hidden_states',
    'obfuscation',
    'logprobs',
    'stop_reason',
  ],
]);
const knownOfCalls: ReadonlySet<string> = new Set(['index', 'id', 'type', 'function']);
const knownOfFunctions: ReadonlySet<string> = new Set(['name', 'arguments', 'parsed_arguments']);

/** The fields of a call that are not known, its function's among them. */
function fieldsOf(call: Json): Json | null {
  const own = unknownFields(call, knownOfCalls);
  const ofFunction = unknownFields(objectAt(call, 'function'), knownOfFunctions);
  return ofFunction === null ? own : { ...own, function: ofFunction };
}

/**
 * Keeps the thoughts of a delta or a message under the name that they came with: some models refuse the results of
 * calls without them.
 */
function keepThoughts(answer: AnswerSink, said: unknown): void {
  if (!isObject(said)) return;
  const field = ['reasoning_content', 'reasoning'].find((name) => typeof said[name] === 'string' && said[name] !== '');
  if (field !== undefined) answer.keep(0, { [field]: said[field] as string });
  const fields = unknownFields(said, knownFields);
  if (fields !== null) answer.keepFields(fields);
}

/** Reads tool calls. `areWhole`: they come from a complete message, not from a stream event. */
function tellCalls(answer: AnswerSink, calls: readonly Json[], areWhole: boolean): void {
  for (const [at, call] of calls.entries()) {
    const { index, id } = call;
    const { name, arguments: text } = objectAt(call, 'function');
    // Some endpoints give the arguments as an object.
    const words = typeof text === 'string' ? text : isObject(text) ? JSON.stringify(text) : '';
    const place = placeOf(index);
    const called = typeof name === 'string' ? name : '';
    // No endpoint repeats a call within one delta.
    const begins =
      areWhole ||
      (called !== '' &&
        calls
          .slice(0, at)
          .some((before) => placeOf(before['index']) === place && objectAt(before, 'function')['name'] !== undefined));
    answer.call({
      index: place,
      id: typeof id === 'string' && id !== '' ? id : null,
      name: called,
      arguments: words,
      begins,
      fields: fieldsOf(call),
    });
  }
}

/** The text of a delta or a message, be it an answer or the refusal of one. */
const wordsOf = (said: unknown): string =>
  isObject(said) ? contentText(said['content']) + refusalOf(said) : contentText(said);

const refusalOf = (said: unknown): string => (isObject(said) ? contentText(said['refusal']) : '');

/** The text in a field for reasoning of a delta or a message; some endpoints have the same in two. */
const thoughtsOf = (said: unknown): string =>
  isObject(said)
    ? contentText(said['reasoning_content']) || contentText(said['reasoning']) || thoughtOf(said['content'])
    : '';

function firstChoice(json: Json): Json | null {
  const choices = json['choices'];
  const first: unknown = Array.isArray(choices) ? choices[0] : null;
  return isObject(first) ? first : null;
}

function noteUsage(answer: AnswerSink, json: Json): void {
  if (!isObject(json['usage'])) return;
  const { usage } = json as { readonly usage: Json };
  const inputTokens = countAt(usage, 'prompt_tokens');
  const outputTokens = countAt(usage, 'completion_tokens');
  if (inputTokens !== null && outputTokens !== null)
    answer.usage({ inputTokens, outputTokens, ...cachedOf(usage, inputTokens) });
}

/** Input tokens read from the cache: DeepSeek and Moonshot count them in other fields. */
function cachedOf(usage: Json, inputTokens: number): { readonly cachedInputTokens?: number } {
  const cached =
    countAt(objectAt(usage, 'prompt_tokens_details'), 'cached_tokens') ??
    countAt(usage, 'prompt_cache_hit_tokens') ??
    countAt(usage, 'cached_tokens');
  return cached ? { cachedInputTokens: Math.min(cached, inputTokens) } : {};
}
