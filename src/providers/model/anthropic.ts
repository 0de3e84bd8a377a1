/** Anthropic's Messages API, with server-sent events. */
import { isObject, type Json } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type { Model, ModelMessage, ModelRequest } from '../model.ts';
import { streamAnswer } from './answer.ts';
import { Attempts, openOmissions } from './attempts.ts';
import type { Asking } from './attempts.ts';
import { noteFinish } from './dialect.ts';
import type { Dialect, Teller } from './dialect.ts';
import { alternating, declaredTools } from './history.ts';
import { countAt, objectAt, textOf, thoughtOf } from './json.ts';
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

function bodyOf({ name, systemPrompt, temperature, outputTokensMax, tools, closedTools }: ModelRequest, messages: readonly ModelMessage[], shape: number): string {
  const body: Record<string, unknown> = {
    model: name,
    max_tokens: outputTokensMax ?? limits.outputTokensDefault,
    // The API wants the user to speak first.
    messages: alternating(messages, false).reduce(withMessage, []),
    stream: true,
  };
  // The API refuses a history with calls unless tools are declared.
  const declared = tools ?? declaredTools(messages, closedTools);
  if (declared !== undefined) body['tools'] = declared.map(({ name: tool, description, parameters }) => ({ name: tool, ...(description !== null && { description }), input_schema: parameters }));
  if (declared !== tools) body['tool_choice'] = { type: 'none' };
  if (systemPrompt !== null) body['system'] = systemPrompt;
  // The scale ends at 1 here and at 2 elsewhere; a value between would be refused on every turn.
  if (temperature !== null && (shape & omits.temperature) === 0) body['temperature'] = Math.min(temperature, temperatureMax);
  return JSON.stringify(body);
}

interface ApiMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string | readonly object[];
}

/** The messages with one more: results are blocks of the user's, and those of one round are one message with what the user says next. */
function withMessage(before: ApiMessage[], message: ModelMessage): ApiMessage[] {
  const last = before.at(-1);
  if (message.role === 'tool') {
    const block = { type: 'tool_result', tool_use_id: message.callId, content: message.content };
    if (last?.role !== 'user' || typeof last.content === 'string') return [...before, { role: 'user', content: [block] }];
    return [...before.slice(0, -1), { role: 'user', content: [...last.content, block] }];
  }
  if (message.calls !== undefined) {
    const kept = (message.kept ?? []) as readonly object[];
    // A text of white space alone is refused.
    const text = message.content.trim() === '' ? [] : [{ type: 'text', text: message.content }];
    return [...before, { role: 'assistant', content: [...kept, ...text, ...message.calls.map(({ id, name, arguments: given }) => ({ type: 'tool_use', id, name, input: JSON.parse(given) as unknown }))] }];
  }
  if (message.role === 'user' && last?.role === 'user' && typeof last.content !== 'string') {
    return [...before.slice(0, -1), { role: 'user', content: [...last.content, { type: 'text', text: message.content }] }];
  }
  return [...before, { role: message.role, content: message.content }];
}

/** A block of an answer that is no text: a call, or a thought that the API wants back with the calls. */
function tellBlock(answer: Teller, index: number, block: Json): void {
  if (block['type'] === 'tool_use') {
    const { id, name, input } = block;
    const given = isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
    answer.call({ index, id: typeof id === 'string' ? id : null, name: typeof name === 'string' ? name : '', arguments: given });
  } else if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') {
    const texts = Object.entries(block).filter((field): field is [string, string] => typeof field[1] === 'string');
    answer.keep(index, Object.fromEntries(texts));
  }
}

/** A piece of such a block. */
function tellDelta(answer: Teller, index: number, delta: Json): void {
  const { type, partial_json: json, thinking, signature } = delta;
  if (type === 'input_json_delta' && typeof json === 'string') answer.call({ index, id: null, name: '', arguments: json });
  if (type === 'thinking_delta' && typeof thinking === 'string') answer.keep(index, { thinking });
  if (type === 'signature_delta' && typeof signature === 'string') answer.keep(index, { signature });
}

const indexOf = (event: Json): number => countAt(event, 'index') ?? 0;

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
    if (Array.isArray(message['content'])) for (const [index, block] of message['content'].entries()) if (isObject(block)) tellBlock(answer, index, block);
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
          tellBlock(answer, indexOf(event), objectAt(event, 'content_block'));
          return say(answer, event['content_block']);
        case 'content_block_delta':
          tellDelta(answer, indexOf(event), objectAt(event, 'delta'));
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
