/** Anthropic's Messages API, with server-sent events. */
import { isObject, type Json } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type { Model, ModelToolCall, ModelMessage, ModelRequest, ToolOffer } from '../model.ts';
import { openAnswer, streamAnswer } from './answer.ts';
import { Attempts, openBodyRepairs } from './attempts.ts';
import type { Asking, Shaped } from './attempts.ts';
import { noteFinish } from './dialect.ts';
import type { Dialect, AnswerSink } from './dialect.ts';
import { alternating, declaredTools } from './history.ts';
import { countAt, objectAt, contentText, thoughtOf } from './json.ts';
import { tryKey } from './key-trial.ts';
import { Lessons } from './learnt.ts';
import { openNameRepairs, underWireNames } from './names.ts';
import { originsOf, unknownFields } from './opaque.ts';
import { refuseRequest } from './refused.ts';
import { repairs } from './repairs.ts';
import {
  emptyFunction,
  forcedAmong,
  hasToolCalls,
  openMessageRepairs,
  ownFields,
  resultContent,
  roundFields,
  wireFunction,
  withWireIds,
  type ToolCallMessage,
} from './wire.ts';
import type { ProviderHttp } from '../client.ts';

const defaultBaseUrl = 'https://api.anthropic.com/v1';
const version = '2023-06-01';
const temperatureMax = 1;

export function anthropicModel(http: ProviderHttp): Model {
  const lessons = new Lessons(http.now);
  const originOf = originsOf('anthropic');
  return {
    provider: 'anthropic',
    needsCredential: true,
    defaultBaseUrl,
    obeys: { forcedCalls: true, formats: ['json_schema'] },
    tryKey: ({ baseUrl, apiKey }) =>
      tryKey(http, baseUrl ?? defaultBaseUrl, { 'x-api-key': apiKey, 'anthropic-version': version }),
    start(request, sink) {
      if (request.apiKey === null) return refuseRequest(sink, 'credential');
      const asking = askingOf(request, request.apiKey, originOf);
      return streamAnswer(
        http,
        { ...openAnswer(request, asking), dialect: messagesApi },
        new Attempts(asking, request, lessons, sink, http.now),
        sink,
      );
    },
  };
}

const usedRepairs =
  repairs.temperature |
  repairs.shortDescriptions |
  repairs.ids |
  repairs.thoughtStub |
  repairs.noThoughts |
  repairs.noOpaque |
  repairs.names |
  repairs.noCache;

function askingOf(request: ModelRequest, apiKey: string, originOf: (baseUrl: string) => string): Asking {
  const baseUrl = request.baseUrl ?? defaultBaseUrl;
  const origin = originOf(baseUrl);
  const headers = {
    'x-api-key': apiKey,
    'anthropic-version': version,
    'content-type': 'application/json',
    accept: 'text/event-stream',
  };
  return {
    model: `${baseUrl} ${request.name} ${apiKey}`,
    origin,
    open:
      (repairs.noCache |
        openBodyRepairs(request) |
        openMessageRepairs(request.messages, origin) |
        openNameRepairs(request)) &
      usedRepairs,
    post: (shaped) => ({
      baseUrl,
      path: '/messages',
      headers,
      body: bodyOf(...underWireNames(request, shaped), origin),
    }),
  };
}

function bodyOf(request: ModelRequest, { messages: history, shape, refused }: Shaped, origin: string): string {
  const { name, systemPrompt, temperature, outputTokensMax, tools, closedTools } = request;
  // The API wants the user to speak first.
  const messages = withWireIds(alternating(history, false), origin, (shape & repairs.ids) !== 0);
  const caches = (shape & repairs.noCache) === 0;
  const body: Record<string, unknown> = {
    model: name,
    max_tokens: outputTokensMax ?? limits.outputTokensDefault,
    stream: true,
  };
  // The scale ends at 1 here and at 2 elsewhere; a value between would be refused on every turn.
  if (temperature !== null && (shape & repairs.temperature) === 0)
    body['temperature'] = Math.min(temperature, temperatureMax);
  const offered = tools?.filter((tool) => !refused.has(tool.name));
  // The API refuses a history with calls unless tools are declared.
  const closed =
    offered === undefined || offered.length === 0
      ? declaredTools(messages, tools ?? closedTools)?.map((tool) =>
          refused.has(tool.name) ? emptyFunction(tool.name) : tool,
        )
      : undefined;
  const declared = closed ?? offered;
  if (declared !== undefined && declared.length > 0) {
    const views = declared.map((tool) => toolView(tool, shape));
    body['tools'] = caches ? withMark(views) : views;
  }
  if (closed !== undefined) body['tool_choice'] = { type: 'none' };
  const forced = forcedAmong(offered, request.forced);
  if (forced !== undefined) body['tool_choice'] = forced === 'any' ? { type: 'any' } : { type: 'tool', ...forced };
  if (request.format?.type === 'json_schema')
    body['output_config'] = { format: { type: 'json_schema', schema: request.format.schema } };
  // An empty text cannot be marked, and says nothing.
  if (systemPrompt !== null && systemPrompt.trim() !== '')
    body['system'] = caches ? withMark([textBlock(systemPrompt)]) : systemPrompt;
  // Messages come last: a request begins with the bytes of the one before it, up to its mark.
  body['messages'] = marked(apiMessages(messages, { origin, shape }), caches);
  return JSON.stringify(body);
}

/** The provider reads what comes before such a mark from its cache, and the request then costs less. */
const mark = { cache_control: { type: 'ephemeral' } };

const textBlock = (text: string): object => ({ type: 'text', text });

/** The items with a mark at their end. */
const withMark = (items: readonly object[]): object[] => items.with(-1, { ...items.at(-1), ...mark });

/**
 * The messages with a mark at the end of the newest one. Texts of the user are blocks in every message, so that a
 * message has the same bytes once it is no longer the newest.
 */
function marked(messages: readonly ApiMessage[], caches: boolean): readonly ApiMessage[] {
  if (!caches) return messages;
  const blocks = messages.map(({ role, content }) =>
    role === 'user' && typeof content === 'string' ? { role, content: [textBlock(content)] } : { role, content },
  );
  const last = blocks.at(-1);
  if (last === undefined || typeof last.content === 'string' || isBlank(last.content.at(-1))) return blocks;
  return blocks.with(-1, { ...last, content: withMark(last.content) });
}

/** A text of white space alone cannot be marked. */
const isBlank = (block: object | undefined): boolean =>
  block === undefined || ('text' in block && typeof block.text === 'string' && block.text.trim() === '');

function toolView(tool: ToolOffer, shape: number): object {
  const { parameters, ...rest } = wireFunction(tool, shape);
  return { ...rest, input_schema: parameters };
}

interface ApiMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string | object[];
}

/** A provider, and the shape of a request to it. */
interface Shape {
  readonly origin: string;
  readonly shape: number;
}

/**
 * The messages in the format of this API: tool results are blocks of a user message. The results of one round share a
 * message with the next text of the user.
 */
function apiMessages(messages: readonly ModelMessage[], shape: Shape): ApiMessage[] {
  const apiMessages: ApiMessage[] = [];
  for (const message of messages) {
    const last = apiMessages.at(-1);
    const results = last?.role === 'user' && typeof last.content !== 'string' ? last.content : null;
    if (message.role === 'tool') {
      const block = { type: 'tool_result', tool_use_id: message.callId, content: resultContent(message.content) };
      if (results === null) apiMessages.push({ role: 'user', content: [block] });
      else results.push(block);
    } else if (hasToolCalls(message)) {
      apiMessages.push({
        role: 'assistant',
        content: [
          ...thoughts(message, shape),
          ...textOfRound(message),
          ...message.calls.map((call) => calledBlock(call, shape)),
        ],
      });
    } else if (message.role === 'user' && results !== null) results.push({ type: 'text', text: message.content });
    else apiMessages.push({ role: message.role, content: message.content });
  }
  return apiMessages;
}

/** A text of white space alone is refused. */
const textOfRound = ({ content }: ToolCallMessage): object[] =>
  content.trim() === '' ? [] : [{ type: 'text', text: content }];

const calledBlock = (call: ModelToolCall, { origin, shape }: Shape): object => ({
  type: 'tool_use',
  id: call.id,
  name: call.name,
  input: JSON.parse(call.arguments) as unknown,
  ...ownFields(call, origin, shape),
});

/**
 * The blocks of what the model thought: as they came in this turn, as they are stored, or a stub where an endpoint
 * wants one.
 */
function thoughts({ kept, calls }: ToolCallMessage, { origin, shape }: Shape): readonly object[] {
  const own =
    (shape & repairs.noThoughts ? undefined : (kept as readonly object[] | undefined)) ??
    (roundFields(calls, origin, shape)?.['blocks'] as readonly object[] | undefined) ??
    [];
  return own.length === 0 && shape & repairs.thoughtStub ? [{ type: 'thinking', thinking: ' ', signature: '' }] : own;
}

const knownOfCalls: ReadonlySet<string> = new Set(['type', 'id', 'name', 'input']);

/** A block of an answer that is no text: a call, or a thought that the API wants back with the calls. */
function tellBlock(answer: AnswerSink, index: number, block: Json): void {
  if (block['type'] === 'tool_use') {
    const { id, name, input } = block;
    const argumentText = isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : '';
    answer.call({
      index,
      id: typeof id === 'string' ? id : null,
      name: typeof name === 'string' ? name : '',
      arguments: argumentText,
      begins: true,
      fields: unknownFields(block, knownOfCalls),
    });
  } else if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') {
    const texts = Object.entries(block).filter((field): field is [string, string] => typeof field[1] === 'string');
    answer.keep(index, Object.fromEntries(texts));
  }
}

/** A piece of such a block. */
function tellDelta(answer: AnswerSink, index: number, delta: Json): void {
  const { type, partial_json: json, thinking, signature } = delta;
  if (type === 'input_json_delta' && typeof json === 'string')
    answer.call({ index, id: null, name: '', arguments: json, begins: false, fields: null });
  if (type === 'thinking_delta' && typeof thinking === 'string') answer.keep(index, { thinking });
  if (type === 'signature_delta' && typeof signature === 'string') answer.keep(index, { signature });
}

const indexOf = (event: Json): number => countAt(event, 'index') ?? 0;

/**
 * Thoughts as they are stored: signed ones without their text, which the API does not read, and those that only it can.
 */
function signedOf(blocks: readonly Json[]): Json | null {
  const signed = blocks
    .filter(({ signature, data }) => signature !== undefined || data !== undefined)
    .map((block) => ('thinking' in block ? { ...block, thinking: '' } : block));
  return signed.length === 0 ? null : { blocks: signed };
}

const ownEvents = /^(?:message|content_block)(?:_|$)/;

/** One per answer: the input's tokens come with the first event, the output's with the last. */
function messagesApi(): Dialect {
  // The API counts three kinds of input apart: read from its cache, written to it, and the rest.
  let rest: number | null = null;
  let read: number | null = null;
  let written: number | null = null;
  const noteUsage = (answer: AnswerSink, usage: Json): void => {
    rest = countAt(usage, 'input_tokens') ?? rest;
    read = countAt(usage, 'cache_read_input_tokens') ?? read;
    written = countAt(usage, 'cache_creation_input_tokens') ?? written;
    const outputTokens = countAt(usage, 'output_tokens');
    if (rest === null || outputTokens === null) return;
    const inputTokens = rest + (read ?? 0) + (written ?? 0);
    answer.usage({ inputTokens, outputTokens, ...(read && { cachedInputTokens: read }) });
  };
  const say = (answer: AnswerSink, content: unknown): void => {
    answer.begin();
    answer.reasoning(thoughtOf(content));
    answer.text(contentText(content));
  };
  const whole = (answer: AnswerSink, message: Json): void => {
    if (message['type'] !== 'message' && !Array.isArray(message['content'])) return answer.fail('malformed');
    noteUsage(answer, objectAt(message, 'usage'));
    say(answer, message['content']);
    if (Array.isArray(message['content']))
      for (const [index, block] of message['content'].entries()) if (isObject(block)) tellBlock(answer, index, block);
    noteFinish(answer, message['stop_reason']);
    answer.finish();
  };
  return {
    owns: (name) => ownEvents.test(name),
    storedOf: signedOf,
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
        // Ignores `ping`, block boundaries and unknown kinds of events: the API's versioning asks clients to ignore
        // kinds that it adds.
      }
    },
    whole,
  };
}
