/**
 * Facts that the user has told within the conversation. Nothing is kept: each turn learns them afresh from the
 * messages.
 */
import type { Sentence } from './sentences.ts';

export interface Fact {
  /** The subject of the fact, as `name`, `live`, `my dog`. A later fact of the same key takes its place. */
  readonly key: string;
  /** The user's words. */
  readonly said: string;
  /** The user's name, for the key `name`. */
  readonly name: string | null;
}

export type KnownFacts = ReadonlyMap<string, Fact>;

/** Words that follow "my name is" and "call me" without being names. */
const notNames = /^(?:not|a|an|the|later|back|when|if|maybe|tomorrow|whatever)$/i;

/** Returns the fact that a sentence states, or null; `forget` for the wish to forget all facts. */
export function factIn({ text, question }: Sentence): Fact | 'forget' | null {
  if (question) return null;
  if (/^(?:please )?forget (?:everything|all|me|my name|what i)\b/i.test(text)) return 'forget';
  const name = /^(?:my name is|i am called|call me) (\p{L}[\p{L}'-]*)/iu.exec(text)?.[1] ?? bareName(text);
  if (name !== null && !notNames.test(name)) return { key: 'name', said: text, name: capital(name) };
  const own = /^(my [\p{L}\d' -]{2,40}?) (?:is|are|was|were) /iu.exec(text)?.[1];
  if (own !== undefined && own.toLowerCase() !== 'my name') return { key: keyOf(own), said: text, name: null };
  const verb = /^i (live|work|like|love|prefer|have|come|speak) \S/i.exec(text)?.[1];
  if (verb !== undefined) return { key: keyOf(verb), said: text, name: null };
  return /^(?:remember|note)(?: that|:)? \S/i.test(text) ? { key: text.toLowerCase(), said: text, name: null } : null;
}

/** Words that follow "I am" with a capital letter without being names. */
const notBareNames =
  /^(?:german|english|french|american|british|spanish|italian|dutch|indian|chinese|japanese|fine|good|great|tired|sad|happy|sorry|ready|back|here|not)$/i;

/** "I am Ada". */
function bareName(text: string): string | null {
  const word = /^[Ii] am (\p{Lu}[\p{L}'-]*)$/u.exec(text)?.[1];
  return word === undefined || notBareNames.test(word) ? null : word;
}

/** Verbs of one meaning have one key, as "my dog's name" and "my dog" have. */
const keyOf = (subject: string): string =>
  subject
    .toLowerCase()
    .replace(/^(?:love|prefer)$/, 'like')
    .replace(/'s name$/, '');

/** Answers a question about the user from memory; null if the sentence is no such question. */
export function recall(text: string, memory: KnownFacts): string | null {
  if (/^(?:what|do you (?:know|remember)) (?:is )?my name$|^who am i$/i.test(text)) {
    const name = memory.get('name')?.name;
    return name === undefined ? 'You have not told me your name yet. What is it?' : `Your name is ${name}.`;
  }
  if (/^what (?:do|can) you (?:know|remember) about me$|^what (?:did|have) i (?:tell|told) you\b/i.test(text))
    return memory.size === 0
      ? 'Nothing yet: you have not told me anything about yourself in this conversation.'
      : `You told me:\n${[...memory.values()].map(({ said }) => `- ${said}`).join('\n')}`;
  const key =
    /^(?:what|who|where|when|how) (?:is|are|was|were) (my [\p{L}\d' -]{2,40}?)(?: called| named)?$/iu.exec(text)?.[1] ??
    /^(?:what|where|which) (?:\w+ )?do i (live|work|like|love|prefer|have|come|speak)\b/i.exec(text)?.[1];
  if (key === undefined) return null;
  const fact = memory.get(keyOf(key));
  return fact === undefined ? 'You have not told me that yet.' : `You told me: “${fact.said}”.`;
}

/** The text with its first letter in upper case. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
