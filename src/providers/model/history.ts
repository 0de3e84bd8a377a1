/** The part of a conversation that a model is sent. */
import { limits } from '../../base/limits.ts';
import { codePoints, indexAfter } from '../../base/text.ts';
import type { OpaqueFields } from '../../base/opaque-fields.ts';
import type { ToolError } from '../../base/tool-errors.ts';
import { unknownResult } from '../tool.ts';
import { estimateTokens } from '../model.ts';
import type { ModelToolCall, ModelMessage, SaidMessage, ToolOffer } from '../model.ts';

/** A stored message, with the calls of its turn. */
export interface PastMessage {
  readonly role: 'user' | 'assistant' | 'person' | 'notice';
  readonly content: string;
  /** Null for a message that belongs to no turn, such as one that was accepted for a person. */
  readonly turnId?: string | null;
  readonly toolCalls?: readonly PastToolCall[];
  /** The person of the desk who wrote it. */
  readonly by?: { readonly name: string };
  /** The person who has the session from then on, and the one who had it until then. */
  readonly attendance?: { readonly name: string | null; readonly left?: string };
}

export interface PastToolCall {
  readonly id: string;
  readonly name: string;
  readonly round: number;
  readonly position: number;
  readonly status: string;
  readonly error: ToolError | 'declined' | 'cancelled' | 'unknown' | null;
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly output: string | null;
  readonly reason?: string;
  /** The tool has certainly not acted. */
  readonly didNotAct?: true;
  /** The tool's own text about its failure. */
  readonly refusalText?: string;
  readonly opaque?: OpaqueFields;
  /** The answer that it waits for, or waited for. */
  readonly wants?: 'result' | 'approval';
}

export interface Cut {
  readonly messages: ModelMessage[];
  /** Number of messages that did not fit. */
  readonly leftOut: number;
}

/**
 * Returns the end of a conversation that fits into a budget of estimated tokens. Messages are cut from the front and
 * never in part. The newest message of the user that is not `between`, and all after it, always stay. Messages without
 * text are left out, because providers refuse them, unless an empty message is the newest. A reply that was cut after
 * tool results gets a sentence in its place. An answer whose question did not fit is left out with it, as are tool
 * calls with their results.
 */
export function cutHistory(messages: readonly ModelMessage[], tokensMax: number): Cut {
  const newest = messages.length - 1;
  let left = tokensMax;
  let hasUser = false;
  let full = false;
  let leftOut = 0;
  const fitting: ModelMessage[] = [];
  for (let index = newest; index >= 0; index--) {
    const message = messages[index]!;
    const { role, content } = message;
    if (index < newest && content.trim() === '' && role !== 'tool' && message.calls === undefined) continue;
    if (!full) left -= tokensOf(message);
    full ||= left < 0 && hasUser;
    const isBetween = role === 'user' && message.between === true;
    hasUser ||= role === 'user' && !isBetween;
    // Only role and content are sent: a message may have further fields, and providers refuse fields that they do not
    // know.
    if (full) leftOut += counted(message, messages[index - 1]);
    else fitting.push(role === 'tool' || message.calls !== undefined || isBetween ? message : { role, content });
  }
  while (full && fitting.at(-1)!.role !== 'user') {
    const message = fitting.pop()!;
    leftOut += counted(message, undefined);
  }
  return { messages: bridged(fitting.reverse()), leftOut };
}

/** The reply of a turn that was cut behind the results of its calls. */
export const cutReply = '[This reply was cut off.]';

/** The end of a reply whose calls waited for an answer, where the user's next message follows their results. */
export const waitingReply = '[This reply ended with its tool calls.]';

/**
 * The messages with an answer between results and what the user says next: several providers refuse the user right
 * behind a result.
 */
function bridged(messages: ModelMessage[]): ModelMessage[] {
  const isGap = (index: number): boolean => messages[index]!.role === 'user' && messages[index - 1]?.role === 'tool';
  if (!messages.some((_, index) => isGap(index))) return messages;
  return messages.flatMap((message, index) =>
    isGap(index) ? [{ role: 'assistant', content: cutReply } as const, message] : [message],
  );
}

const tokensOf = (message: ModelMessage): number =>
  estimateTokens(message.content) +
  (message.role === 'tool' || message.calls === undefined
    ? 0
    : message.calls.reduce((sum, call) => sum + estimateTokens(call.name + call.arguments), 0));

/** The estimated tokens of messages as they are sent, with their tool calls. */
export const estimateSent = (messages: readonly ModelMessage[]): number =>
  messages.reduce((sum, message) => sum + tokensOf(message), 0);

/** The estimated tokens of the tools that a request offers. */
export const estimateOffers = (offers: readonly ToolOffer[]): number =>
  offers.reduce(
    (sum, { name, description, parameters }) =>
      sum + estimateTokens(name + (description ?? '') + JSON.stringify(parameters)),
    0,
  );

/** A reply of several rounds is one message of the conversation. */
const counted = (message: ModelMessage, before: ModelMessage | undefined): number =>
  message.role === 'tool' || before?.role === 'tool' ? 0 : 1;

/**
 * A conversation as its model is sent it: each call of a tool is followed by exactly one result (contract 13); messages of
 * people are the assistant's, each after the name, and notices are not sent (contract 23).
 */
export function modelMessages(conversation: readonly PastMessage[]): readonly ModelMessage[] {
  if (conversation.every(isPlain)) return conversation;
  const last = conversation.findLastIndex(isOfTurn);
  const between = hasWaited(conversation[last]) ? ({ between: true } as const) : {};
  const messages: ModelMessage[] = [];
  let reply: PastMessage | undefined;
  for (const [index, message] of conversation.entries()) {
    for (const sent of messagesOf(message, index === last)) {
      const isNext = sent.role === 'user' && messages.at(-1)?.role === 'tool';
      if (isNext && hasWaited(reply)) messages.push({ role: 'assistant', content: waitingReply });
      messages.push(sent.role === 'user' && index > last ? { ...sent, ...between } : sent);
    }
    if (message.role === 'assistant') reply = message;
  }
  return messages;
}

const hasWaited = (message: PastMessage | undefined): boolean =>
  message?.toolCalls?.some(({ wants }) => wants !== undefined) ?? false;

/** Messages for a person and notices may come between a reply with pending calls and the turn that answers them. */
const isOfTurn = ({ role, turnId }: PastMessage): boolean =>
  role === 'assistant' || (role === 'user' && turnId !== null);

const isPlain = (message: PastMessage): message is SaidMessage =>
  message.toolCalls === undefined && (message.role === 'user' || message.role === 'assistant');

function messagesOf(message: PastMessage, isLast: boolean): ModelMessage[] {
  const { role, content, by, attendance, toolCalls = [] } = message;
  if (role === 'person') return [{ role: 'assistant', content: `[${by?.name ?? ''}] ${content}` }];
  if (role !== 'notice') return roundsOf({ role, content, toolCalls }, isLast);
  const sentences: ModelMessage[] = [];
  if (attendance?.left !== undefined)
    sentences.push({ role: 'user', content: `(${attendance.left} left the conversation.)` });
  if (attendance?.name != null)
    sentences.push({ role: 'user', content: `(${attendance.name} joined the conversation.)` });
  return sentences;
}

/**
 * The tools that a history without an offer speaks of: those that are closed, or as much as is known of those that were
 * called; undefined if there are no calls.
 */
export function declaredTools(
  messages: readonly ModelMessage[],
  closed: readonly ToolOffer[] | undefined,
): readonly ToolOffer[] | undefined {
  if (!messages.some(hasCalls)) return undefined;
  const called = new Set(
    messages.flatMap((message) => (hasCalls(message) ? message.calls.map(({ name }) => name) : [])),
  );
  return closed ?? [...called].map((name) => ({ name, description: null, parameters: { type: 'object' } }));
}

const hasCalls = (message: ModelMessage): message is SaidMessage & { readonly calls: readonly ModelToolCall[] } =>
  message.role !== 'tool' && message.calls !== undefined && message.calls.length > 0;

/** A tool call as it is sent to its model. */
export const modelToolCall = ({
  id,
  name,
  arguments: given,
  opaque,
}: Pick<PastToolCall, 'id' | 'name' | 'arguments' | 'opaque'>): ModelToolCall => ({
  id,
  name,
  arguments: JSON.stringify(given ?? {}),
  ...(opaque && { opaque }),
});

/**
 * The rounds of a reply, each with its tool calls and their results. Results of earlier turns are shortened; `isLast`:
 * no turn follows the reply, so the results that it waited for belong to this turn.
 */
function roundsOf(
  { role, content, toolCalls }: SaidMessage & { readonly toolCalls: readonly PastToolCall[] },
  isLast: boolean,
): ModelMessage[] {
  if (toolCalls.length === 0) return [{ role, content }];
  const roundMessages: ModelMessage[] = [];
  let at = 0;
  for (const round of new Set(toolCalls.map((call) => call.round))) {
    const calls = toolCalls.filter((call) => call.round === round);
    const end = indexAfter(content, calls[0]!.position);
    roundMessages.push({ role, content: content.slice(at, Math.max(at, end)), calls: calls.map(modelToolCall) });
    for (const call of calls)
      roundMessages.push({
        role: 'tool',
        callId: call.id,
        content: isLast && call.wants !== undefined ? resultText(call) : cutResult(resultText(call)),
      });
    at = Math.max(at, end);
  }
  return content.slice(at).trim() === '' ? roundMessages : [...roundMessages, { role, content: content.slice(at) }];
}

const cutResult = (text: string): string =>
  codePoints(text) <= limits.toolEarlierCharactersMax
    ? text
    : text.slice(0, indexAfter(text, limits.toolEarlierCharactersMax));

const mayHaveActed = 'Whether it has acted is not known.';

const sentences: Readonly<Record<ToolError | 'declined' | 'cancelled' | 'unknown', string>> = {
  arguments: 'The call was not made: its arguments do not fit the schema of the tool.',
  unknown_tool: 'The call was not made: there is no tool of this name.',
  limit: 'The call was not made: too many calls were asked for.',
  timeout: `The tool did not answer in time. ${mayHaveActed}`,
  unreachable: `The connection to the tool was lost before it answered. ${mayHaveActed}`,
  refused: `The tool answered with an error. ${mayHaveActed}`,
  too_large: `The answer of the tool was too large to be read. ${mayHaveActed}`,
  malformed: `The answer of the tool could not be read. ${mayHaveActed}`,
  declined: 'The call was declined by the user and was not made.',
  cancelled: 'The call was cancelled. Whether the tool has acted is not known.',
  unknown: unknownResult,
};

/** The sentences for a tool that has certainly not acted. */
const unactedSentences: Partial<typeof sentences> = {
  unreachable: 'The tool cannot be reached. It has not acted.',
  refused: 'The tool refused the call. It has not acted.',
};

/** The result of a tool call as it is sent to the model. */
export function resultText({ status, output, error, reason, didNotAct, refusalText }: PastToolCall): string {
  if (status === 'completed') return output ?? '';
  if (refusalText !== undefined) return refusalText;
  const ending = error ?? (status === 'pending' ? 'declined' : 'unknown');
  const sentence = (didNotAct === true && unactedSentences[ending]) || sentences[ending];
  return reason === undefined ? sentence : `${sentence} ${reason}`;
}

/** Roles that take turns, as the templates of many models require: neighbours of one role are one message. */
export function alternating(messages: readonly ModelMessage[], answerFirst: boolean): ModelMessage[] {
  const turns: { message: ModelMessage; readonly texts: string[] }[] = [];
  for (const message of messages) {
    const { role, content } = message;
    const last = turns.at(-1);
    if (last === undefined && role !== 'user' && !answerFirst) continue;
    // The text before calls is their round's.
    if (role !== 'tool' && last?.message.role === role && last.message.calls === undefined) {
      last.message = message;
      last.texts.push(content);
    } else turns.push({ message, texts: [content] });
  }
  return turns.map(({ message, texts }) =>
    texts.length === 1 ? message : { ...message, content: texts.filter((text) => text.trim() !== '').join('\n\n') },
  );
}

/** The messages with the system prompt in front of the user's first one, for a model that knows no such role. */
export function withPromptInside(messages: readonly ModelMessage[], systemPrompt: string): ModelMessage[] {
  const first = messages.findIndex(({ role }) => role === 'user');
  return messages.map((message, index) =>
    index === first
      ? ({ role: 'user', content: `${systemPrompt}\n\n${message.content}` } satisfies SaidMessage)
      : message,
  );
}
