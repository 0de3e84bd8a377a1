/** Reads the messages and the functions of a request to OpenAI's API (contract 14). */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { codePoints } from '../../base/text.ts';
import type { ChatCompletionBody, ChatCompletionMessage } from '../../base/wire.ts';
import type { FrontMessage } from '../../conversation/front.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { Services } from '../../conversation/services.ts';
import type { ModelMessage } from '../../providers/model.ts';
import type { OfferedFunction } from '../../providers/tool.ts';
import { argumentsOf } from '../../providers/tool/arguments.ts';
import { functionName, isSchema } from '../../providers/tool/schema.ts';

const wrong = (field: string): Failure => new Failure('invalid_field', { field });
const wrongMessages = (): Failure => wrong('messages');

/** A conversation as it was sent. */
export interface GivenMessages extends Pick<FrontMessage, 'text' | 'results' | 'earlier'> {
  /** The texts of system and developer messages; null for none. */
  readonly prompt: string | null;
}

/** The last message is the user's, or the results of calls are last. Throws 422 `messages` for what cannot be sent on; `sentOn`: whether the messages before it are. */
export function readMessages(messages: readonly ChatCompletionMessage[], sentOn = true): GivenMessages {
  const instructions = messages.filter(isInstruction).map(({ content }) => textOf(content));
  const said = messages.filter((message) => !isInstruction(message)).map(messageOf);
  const prompt = instructions.filter((text) => text !== '').join('\n\n') || null;
  if (sentOn) checkCalls(said);
  const last = said.at(-1);
  if (last === undefined || last.role === 'assistant' || isInstruction(messages.at(-1)!)) throw wrongMessages();
  if (last.role === 'tool') return { text: null, results: trailing(said), earlier: said, prompt };
  return { text: checkText(writtenOf(messages.at(-1)!.content), 'messages'), results: [], earlier: said.slice(0, -1), prompt };
}

const isInstruction = ({ role }: Pick<ChatCompletionMessage, 'role'>): boolean => role === 'system' || role === 'developer';

/** A message of the user has the bounds of a chat's. */
export function checkText(text: string, param: string): string {
  if (text === '' || !text.isWellFormed()) throw wrong(param);
  if (codePoints(text) > limits.messageCharactersMax) throw new Failure('message_too_long', { limit: limits.messageCharactersMax, param });
  return text;
}

function messageOf({ role, content, tool_calls: calls = [], tool_call_id: callId }: ChatCompletionMessage): ModelMessage {
  const text = textOf(content);
  if (role === 'tool') {
    if (callId === undefined || codePoints(text) > limits.toolOutputCharactersMax) throw wrongMessages();
    return { role, callId, content: text };
  }
  if (role !== 'assistant') return { role: 'user', content: text };
  if (calls.length === 0) return { role, content: text };
  return { role, content: text, calls: calls.map(({ id, function: { name, arguments: given } }) => callOf(id, name, given)) };
}

/** A call as models are sent it back: with a name that they take, and with the text of an object. */
export const callOf = (id: string, name: string, given: string) => ({ id, name: name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, limits.nameCharactersMax), arguments: argumentsOf(given) === null || given.trim() === '' ? '{}' : given });

/** The text of a message that was said before, or of a result: what a client has cut between two surrogates does not stop the conversation. */
export const textOf = (content: unknown, types?: readonly string[]): string => writtenOf(content, types).toWellFormed();

/** The text of a message as it was sent: a text, or its parts. */
export function writtenOf(content: unknown, types: readonly string[] = ['text']): string {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw wrongMessages();
  return content.map((part: { type?: unknown; text?: unknown } | null) => {
    if (part === null || typeof part !== 'object' || !types.includes(part.type as string) || typeof part.text !== 'string') throw wrongMessages();
    return part.text;
  }).join('');
}

/** Throws unless each call is answered once, by the messages behind it: models refuse any other conversation. */
function checkCalls(messages: readonly ModelMessage[]): void {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.callId)) throw wrongMessages();
      continue;
    }
    if (open.size > 0) throw wrongMessages();
    open = new Set(message.calls?.map(({ id }) => id));
    if (open.size < (message.calls?.length ?? 0)) throw wrongMessages();
  }
  if (open.size > 0) throw wrongMessages();
}

/** The results behind the last message that is none. */
function trailing(messages: readonly ModelMessage[]): FrontMessage['results'] {
  const results: { callId: string; output: string }[] = [];
  for (const message of messages) {
    if (message.role === 'tool') results.push({ callId: message.callId, output: message.content });
    else results.length = 0;
  }
  return results;
}

interface GivenFunction {
  readonly name: string;
  readonly description?: string | undefined;
  readonly parameters?: unknown;
}

/** The caller's functions, of the kind `client`. Throws 422 for what cannot be offered, `tools` for a name that is given twice. */
export function readFunctions(given: readonly GivenFunction[], path: (index: number) => string): OfferedFunction[] {
  const functions = given.map(({ name, description = null, parameters }, index): OfferedFunction => {
    const schema = parameters === undefined || isEmpty(parameters) ? { type: 'object', properties: {} } : parameters;
    if (!functionName.test(name)) throw wrong('tools');
    if (!isSchema(schema)) throw wrong(path(index));
    return { toolId: null, kind: 'client', approval: 'never', show: 'full', name, description: description && description.toWellFormed(), parameters: schema };
  });
  if (new Set(functions.map(({ name }) => name)).size < functions.length) throw wrong('tools');
  return functions;
}

const isEmpty = (value: unknown): boolean => value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** The functions of a chat completion that are offered. */
export function readTools({ tools = [], tool_choice: choice = 'auto' }: Pick<ChatCompletionBody, 'tools' | 'tool_choice'>): OfferedFunction[] {
  const given = tools.map(({ type, function: one }) => {
    if (type !== 'function' || one === undefined) throw wrong('tools');
    return one;
  });
  const functions = readFunctions(given, (index) => `tools.${index}.function.parameters`);
  return isOffered(choice) ? functions : [];
}

/** Whether the caller's functions may be called. Throws 422 for a choice that no provider can be held to here. */
export function isOffered(choice: unknown): boolean {
  if (choice !== 'auto' && choice !== 'none') throw wrong('tool_choice');
  return choice === 'auto';
}

/** Throws 422 `tools` for a name that a function of the assistant has. */
export async function checkNames(functions: readonly OfferedFunction[], { record: { workspaceId, toolIds = [] } }: AssistantActor, services: Services): Promise<void> {
  if (functions.length === 0 || toolIds.length === 0) return;
  const own = new Set((await services.host.tools.functions(workspaceId, toolIds)).map(({ name }) => name));
  if (functions.some(({ name }) => own.has(name))) throw wrong('tools');
}
