/** The part of a conversation that a model is sent. */
import { estimateTokens } from '../model.ts';
import type { ModelMessage } from '../model.ts';

export interface Cut {
  readonly messages: ModelMessage[];
  /** How many messages did not fit. */
  readonly leftOut: number;
}

/**
 * The end of a conversation that fits into a budget of estimated tokens. Messages are cut from the front and never in part; the
 * newest of the user's, and what follows it, stays whatever it costs. Messages without text are left out, because providers refuse
 * them; only the newest is what it is. An answer whose question did not fit goes with it.
 */
export function cutHistory(messages: readonly ModelMessage[], tokensMax: number): Cut {
  const newest = messages.length - 1;
  let left = tokensMax;
  let hasUser = false;
  let full = false;
  let leftOut = 0;
  const kept: ModelMessage[] = [];
  for (let index = newest; index >= 0; index--) {
    const { role, content } = messages[index]!;
    if (index < newest && content.trim() === '') continue;
    if (!full) left -= estimateTokens(content);
    full ||= left < 0 && hasUser;
    hasUser ||= role === 'user';
    // Only role and content are sent: a message may have further fields, and providers refuse fields that they do not know.
    if (full) leftOut++;
    else kept.push({ role, content });
  }
  while (full && kept.at(-1)!.role === 'assistant') {
    kept.pop();
    leftOut++;
  }
  return { messages: kept.reverse(), leftOut };
}

/** Roles that take turns, as the templates of many models require: neighbours of one role are one message. */
export function alternating(messages: readonly ModelMessage[], answerFirst: boolean): ModelMessage[] {
  const turns: ModelMessage[] = [];
  for (const { role, content } of messages) {
    const last = turns.at(-1);
    if (last === undefined && role === 'assistant' && !answerFirst) continue;
    if (last?.role === role) turns[turns.length - 1] = { role, content: `${last.content}\n\n${content}` };
    else turns.push({ role, content });
  }
  return turns;
}

/** The messages with the system prompt in front of the user's first one, for a model that knows no such role. */
export function withPromptInside(messages: readonly ModelMessage[], systemPrompt: string): ModelMessage[] {
  const first = messages.findIndex(({ role }) => role === 'user');
  return messages.map((message, index) => (index === first ? { role: message.role, content: `${systemPrompt}\n\n${message.content}` } : message));
}
