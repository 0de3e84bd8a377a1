/** How much of a conversation a model is given. */
import { estimateTokens } from '../model.ts';
import { codePoints } from '../text.ts';
import type { ModelMessage } from '../model.ts';

/**
 * The end of a conversation that fits, system prompt included, into a budget of estimated tokens. Messages are cut
 * from the front and never in part; the newest of the user's, and what follows it, stays whatever it costs.
 * Messages without content are left out, because providers refuse them; only the newest is what it is.
 */
export function cutHistory(messages: readonly ModelMessage[], systemPrompt: string | null, tokensMax: number): ModelMessage[] {
  const newest = messages.length - 1;
  let left = tokensMax - tokensOf(systemPrompt ?? '');
  let hasUser = false;
  const cut: ModelMessage[] = [];
  for (let index = newest; index >= 0; index--) {
    const { role, content } = messages[index]!;
    if (index < newest && content.trim() === '') continue;
    left -= tokensOf(content);
    if (left < 0 && hasUser) break;
    hasUser ||= role === 'user';
    // Nothing but what was said leaves the house: a message may come with more, and providers refuse what they do not know.
    cut.push({ role, content });
  }
  return cut.reverse();
}

const tokensOf = (text: string): number => estimateTokens(codePoints(text));
