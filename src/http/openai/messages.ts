/** Reads the messages of a request to OpenAI's API (contract 14). */
import { Failure } from '../../base/errors.ts';
import { isNestedWithin } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type { ChatCompletionMessage } from '../../wire/wire.ts';
import type { AdapterMessage } from '../../conversation/protocol-adapter.ts';
import type { ModelToolCall, SaidMessage } from '../../providers/model.ts';
import { cutOutput } from '../../providers/tool.ts';
import { argumentsNestingMax, objectOf } from '../../providers/tool/arguments.ts';
import { paired, type GivenResult } from './pairs.ts';
import { askedText, earlierText } from './parts.ts';

/** A message as either of the two ways to ask has it. */
export interface GivenMessage {
  /** The path of its content in the body. */
  readonly path: string;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: unknown;
  readonly calls?: readonly ModelToolCall[];
  readonly callId?: string | undefined;
  readonly name?: string | undefined;
}

/** A conversation as it was sent. */
export interface GivenConversation extends Pick<AdapterMessage, 'text' | 'results' | 'earlier'> {
  /** The texts of system and developer messages; null for none. */
  readonly prompt: string | null;
}

/** Reads the messages of a chat completion; `sentOn`: whether the earlier ones are sent to the model. */
export const readMessages = (messages: readonly ChatCompletionMessage[], sentOn: boolean): GivenConversation =>
  readConversation(
    messages.map((message, index) => givenOf(message, `messages.${index}`)),
    'messages',
    sentOn,
  );

/**
 * Reads a conversation whose last message, instructions aside, is the user's or a result. Earlier messages are mended
 * where a model would refuse them. Throws 422: `field` for a conversation that ends otherwise or whose last calls are
 * not all answered, else the path of a message or a part.
 */
export function readConversation(given: readonly GivenMessage[], field: string, sentOn = true): GivenConversation {
  const said = given.filter((message) => message.role !== 'system');
  const last = said.at(-1);
  if (last === undefined || last.role === 'assistant') throw new Failure('invalid_field', { field });
  const prompt = promptOf(given);
  if (last.role === 'user') {
    const text = askedText(last.content, last.path);
    return { text, results: [], earlier: paired(said.slice(0, -1).map(earlierOf)).messages, prompt };
  }
  const all = said.map(earlierOf);
  const { messages, isAnswered } = paired(all);
  if (sentOn && !isAnswered) throw new Failure('invalid_field', { field });
  return { text: null, results: trailing(all), earlier: messages, prompt };
}

/** The texts of the instructions; null for none. */
export const promptOf = (given: readonly GivenMessage[]): string | null =>
  given
    .filter(({ role }) => role === 'system')
    .map(({ content, path }) => earlierText(content, path))
    .filter((text) => text !== '')
    .join('\n\n') || null;

function givenOf(message: ChatCompletionMessage, path: string): GivenMessage {
  const {
    role,
    content = null,
    refusal,
    tool_calls: calls = [],
    function_call: call,
    tool_call_id: callId,
    name,
  } = message;
  const at = `${path}.content`;
  if (role === 'system' || role === 'developer') return { path: at, role: 'system', content };
  if (role === 'user') return { path: at, role, content };
  if (role === 'tool') return { path: at, role, content, callId };
  // The name of a function is all that a message of this older role has.
  if (role === 'function') return { path: at, role: 'tool', content, name: calledName(name ?? '') };
  const made = calls.map((one, index) => {
    if (one.function !== undefined) return callOf(one.id, one.function.name, one.function.arguments);
    if (one.custom !== undefined) return callOf(one.id, one.custom.name, { input: one.custom.input ?? '' });
    throw new Failure('invalid_field', { field: `${path}.tool_calls.${index}` });
  });
  if (made.length === 0 && call !== undefined) made.push(callOf(undefined, call.name, call.arguments));
  const isSaid = content !== null && content !== '' && !(Array.isArray(content) && content.length === 0);
  return { path: at, role, content: isSaid ? content : (refusal ?? null), ...(made.length > 0 && { calls: made }) };
}

/** A message as models are sent it. Results have the bound of those that the server keeps. */
function earlierOf({ path, role, content, calls, callId, name }: GivenMessage): SaidMessage | GivenResult {
  const text = earlierText(content, path);
  if (role === 'tool') return { role, callId, name, content: cutOutput(text, limits.toolOutputCharactersMax) };
  return role === 'assistant' ? { role, content: text, ...(calls && { calls }) } : { role: 'user', content: text };
}

/**
 * A call as models are sent it back: with a name that they take, and with the text of an object. `given`: the text, or
 * the object.
 */
export function callOf(id: string | undefined, name: string, given: unknown): ModelToolCall {
  const text =
    typeof given === 'string' ? given : isNestedWithin(given, argumentsNestingMax) ? (JSON.stringify(given) ?? '') : '';
  const isObject = text.trim() !== '' && objectOf(text) !== null;
  return { id: id ?? '', name: calledName(name), arguments: isObject ? text.toWellFormed() : '{}' };
}

const calledName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, limits.nameCharactersMax) || '_';

/** The results after the last message of another role. */
const trailing = (said: readonly (SaidMessage | GivenResult)[]): AdapterMessage['results'] =>
  said
    .slice(said.findLastIndex(({ role }) => role !== 'tool') + 1)
    .flatMap((one) => (one.role === 'tool' ? [{ callId: one.callId ?? '', output: one.content }] : []));
