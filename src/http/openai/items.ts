/** The items that a response is asked with (contract 14), as messages of a conversation. */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ResponseBody } from '../../wire/wire.ts';
import type { ModelToolCall } from '../../providers/model.ts';
import { cutOutput } from '../../providers/tool.ts';
import { callOf, promptOf, readConversation, type GivenConversation, type GivenMessage } from './messages.ts';
import { askedText, earlierText } from './parts.ts';

type Items = Exclude<ResponseBody['input'], string>;
export type Item = Items[number];

/** An item with its path in the body. */
export interface PlacedItem {
  readonly path: string;
  readonly item: Item;
}

const wrong = (field = 'input'): Failure => new Failure('invalid_field', { field });

/** The items of an input, without a model's thoughts: they mean nothing to another model. */
export const placedItems = (input: ResponseBody['input']): readonly PlacedItem[] =>
  typeof input === 'string'
    ? [{ path: 'input', item: { role: 'user', content: input } }]
    : input.map((item, index) => ({ path: `input.${index}`, item })).filter(({ item }) => item.type !== 'reasoning');

/** Reads the input of a response in a new session: its last item is the user's, or the results of calls are last. */
export const readInput = (items: readonly PlacedItem[]): GivenConversation =>
  readConversation(messagesOf(items), 'input');

/**
 * Reads the input of a continued response: the user's messages, or the results of the waiting calls; the earlier
 * conversation is stored already.
 */
export function readNewInput(items: readonly PlacedItem[]): GivenConversation {
  const trailing = items.slice(items.findLastIndex(({ item }) => isAnswer(item)) + 1);
  const texts = trailing
    .filter(({ item }) => item.role === 'user')
    .map((one) => askedText(one.item.content, contentPath(one)));
  const results = trailing.flatMap(({ item, path }) =>
    item.type === 'function_call_output' ? [{ callId: item.call_id ?? '', output: outputOf(item, path) }] : [],
  );
  if (texts.length > 0 === results.length > 0) throw wrong();
  const instructions = items.filter(({ item: { role } }) => role === 'system' || role === 'developer');
  return {
    text: texts.length > 0 ? texts.join('\n\n') : null,
    results,
    earlier: [],
    prompt: promptOf(
      instructions.map((one) => ({ path: contentPath(one), role: 'system', content: one.item.content })),
    ),
  };
}

const isAnswer = ({ role, type }: Item): boolean =>
  role === 'assistant' || type === 'function_call' || type === 'item_reference';

const outputOf = ({ output }: Item, path: string): string =>
  cutOutput(earlierText(output, `${path}.output`), limits.toolOutputCharactersMax);

/** Returns the path of an item's content; an input that is one text has no separate content. */
const contentPath = ({ path }: PlacedItem): string => (path === 'input' ? path : `${path}.content`);

/** Calls side by side are of one message, as are the words before them. */
function messagesOf(items: readonly PlacedItem[]): GivenMessage[] {
  const messages: GivenMessage[] = [];
  /** The calls of the last message. */
  let calls: ModelToolCall[] = [];
  for (const { path, item } of items) {
    const { type = 'message', role, content, call_id: callId, name, arguments: given, output } = item;
    if (type === 'message' && role !== undefined)
      messages.push({ path: contentPath({ path, item }), role: role === 'developer' ? 'system' : role, content });
    else if (type === 'function_call_output' && callId !== undefined)
      messages.push({ path: `${path}.output`, role: 'tool', callId, content: output });
    else if (type === 'function_call' && callId !== undefined && name !== undefined) {
      const call = callOf(callId, name, given ?? '');
      const last = messages.at(-1);
      if (last?.role !== 'assistant') messages.push({ path, role: 'assistant', content: null, calls: (calls = []) });
      else if (last.calls === undefined) messages[messages.length - 1] = { ...last, calls: (calls = []) };
      calls.push(call);
    } else throw wrong(path);
  }
  return messages;
}
