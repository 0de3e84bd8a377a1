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
  const spoken = messages.filter(({ content }, index) => index === newest || content.trim() !== '');
  const kept = Math.max(0, spoken.findLastIndex(({ role }) => role === 'user'));
  let left = tokensMax - tokensOf(systemPrompt ?? '');
  let start = spoken.length;
  while (start > 0) {
    left -= tokensOf(spoken[start - 1]!.content);
    if (left < 0 && start <= kept) break;
    start--;
  }
  // Nothing but what was said leaves the house: a message may come with more, and providers refuse what they do not know.
  return spoken.slice(start).map(({ role, content }) => ({ role, content }));
}

const tokensOf = (text: string): number => estimateTokens(codePoints(text));
