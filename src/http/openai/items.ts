/** The items that a response is asked with (contract 14), as the messages of a chat completion. */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { codePoints } from '../../base/text.ts';
import type { ChatCompletionMessage, ResponseBody } from '../../base/wire.ts';
import { callOf, checkText, isOffered, readFunctions, readMessages, textOf, writtenOf, type GivenMessages } from './messages.ts';
import type { OfferedFunction } from '../../providers/tool.ts';

type Items = Exclude<ResponseBody['input'], string>;
type Item = Items[number];

const wrong = (field = 'input'): Failure => new Failure('invalid_field', { field });
const partTypes = ['input_text', 'output_text', 'text'];

/** The input of a response in a new session: its last item is the user's, or the results of calls are last. */
export const readInput = (input: ResponseBody['input']): GivenMessages => readMessages(typeof input === 'string' ? [{ role: 'user', content: input }] : messagesOf(input));

/** The input of a response that goes on: the user's messages, or the results of the calls that wait; the rest is there already. */
export function readNewInput(input: ResponseBody['input']): GivenMessages {
  if (typeof input === 'string') return readInput(input);
  const items = input.filter(({ type }) => type !== 'reasoning');
  const instructions = items.filter(isInstruction).map((item) => textOf(item.content, partTypes));
  const last = items.findLastIndex((item) => isAnswer(item) || item.type === 'function_call');
  const trailing = items.slice(last + 1);
  const texts = trailing.filter(({ role }) => role === 'user').map((item) => writtenOf(item.content, partTypes));
  const results = trailing.flatMap(({ type, call_id: callId, output }) => (type === 'function_call_output' ? [{ callId: callId ?? '', output: checkOutput(textOf(output, partTypes)) }] : []));
  if ((texts.length > 0) === (results.length > 0) || trailing.some(({ type }) => type === 'item_reference')) throw wrong();
  const text = texts.length > 0 ? checkText(texts.join('\n\n'), 'input') : null;
  return { text, results, earlier: [], prompt: instructions.filter((one) => one !== '').join('\n\n') || null };
}

const isInstruction = ({ role }: Item): boolean => role === 'system' || role === 'developer';
const isAnswer = ({ role }: Item): boolean => role === 'assistant';

function checkOutput(output: string): string {
  if (codePoints(output) > limits.toolOutputCharactersMax) throw wrong();
  return output;
}

/** Calls side by side are of one message, as are the words before them. */
function messagesOf(items: Items): ChatCompletionMessage[] {
  const messages: ChatCompletionMessage[] = [];
  // The calls of the last message.
  let calls: NonNullable<ChatCompletionMessage['tool_calls']> = [];
  for (const { type = 'message', role, content, call_id: callId, name, arguments: given, output } of items) {
    if (type === 'reasoning') continue;
    if (type === 'message' && role !== undefined) messages.push({ role: role as ChatCompletionMessage['role'], content: writtenOf(content, partTypes) });
    else if (type === 'function_call_output' && callId !== undefined) messages.push({ role: 'tool', tool_call_id: callId, content: textOf(output, partTypes) });
    else if (type === 'function_call' && callId !== undefined && name !== undefined && given !== undefined) {
      const { id, ...one } = callOf(callId, name, given);
      const last = messages.at(-1);
      if (last?.role !== 'assistant') messages.push({ role: 'assistant', tool_calls: (calls = []) });
      else if (last.tool_calls !== calls) messages[messages.length - 1] = { ...last, tool_calls: (calls = []) };
      calls.push({ id, function: one });
    } else throw wrong();
  }
  return messages;
}

/** The caller's functions that are offered. */
export function readResponseTools({ tools = [], tool_choice: choice = 'auto' }: ResponseBody): OfferedFunction[] {
  const given = tools.map(({ type, name, description, parameters }) => {
    if (type !== 'function' || name === undefined) throw wrong('tools');
    return { name, description, parameters };
  });
  const functions = readFunctions(given, (index) => `tools.${index}.parameters`);
  return isOffered(choice) ? functions : [];
}
