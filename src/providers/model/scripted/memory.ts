/**
 * Facts that the user has told within the conversation. Nothing is kept: each turn learns them afresh from the
 * messages.
 */
import { capital, reflect } from './sentences.ts';
import type { Sentence } from './sentences.ts';

export interface Fact {
  /** The subject of the fact, as `name`, `live`, `my dog`. A later fact of the same key takes its place. */
  readonly key: string;
  /** The fact as a sentence to the user, without its full stop: "Your dog is called Rex". */
  readonly said: string;
  readonly value: string;
}

export type KnownFacts = ReadonlyMap<string, Fact>;

const valueCharactersMax = 120;
const notNames = new Set(
  'fine good great ok okay well tired happy sad sorry back here sure ready done lost new hungry bored confused german english french american british spanish italian dutch indian chinese not a an the just so very later back maybe tomorrow tonight when if anytime whatever'.split(
    ' ',
  ),
);
const notKept = /^(?:you|it|that|this|them|what|how|a question|an idea|a problem|an issue|a request|to|been|no|not)\b/i;

/** Returns the fact that a sentence states, or null; `forget` for the wish to forget all facts. */
export function factIn({ text, question }: Sentence): Fact | 'forget' | null {
  if (question) return null;
  const said = text.replace(/^(?:and|but|so|also|well|please|oh|ok|okay|yes|no),? /i, '');
  if (/^forget (?:everything|it all|all (?:of )?(?:it|that)|me|my name|what i (?:said|told you))\b/i.test(said))
    return 'forget';
  const told = /^(?:remember|note|keep in mind|don't forget|do not forget)(?: that|:)? (.+)/i.exec(said);
  const inner = told?.[1] ?? said;
  const fact = nameIn(inner) ?? ownIn(inner) ?? selfIn(inner);
  if (fact !== null || told === null) return fact;
  const value = reflect(tidy(inner));
  return { key: `note ${value.toLowerCase()}`, said: capital(value), value };
}

function nameIn(text: string): Fact | null {
  const plain = /^(?:my (?:first )?name is|i am called|you can call me|(?:just )?call me|i go by) (.+)/i.exec(
    text,
  )?.[1];
  // Takes only a capitalised word for a name, unless the sentence has the word "name".
  const bare =
    plain === undefined
      ? /^(?:[Ii] am|[Tt]his is) (\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)?)$/u.exec(text)?.[1]
      : undefined;
  const [first, ...more] = (plain ?? bare ?? '').split(/[ ,.]+/);
  if (first === undefined || !/^\p{L}[\p{L}'-]*$/u.test(first) || notNames.has(first.toLowerCase())) return null;
  const name = [capital(first)];
  for (const word of more) {
    if (!/^\p{Lu}[\p{L}'-]*$/u.test(word) || name.length === 3) break;
    name.push(word);
  }
  const value = name.join(' ');
  return { key: 'name', said: `Your name is ${value}`, value };
}

/** "My dog is called Rex", "my favourite colour is blue". */
function ownIn(text: string): Fact | null {
  const match = /^my ([\p{L}\d' -]{2,40}?) (is called|is named|is|are|was|were) (.+)/iu.exec(text);
  if (match === null || match[1]!.toLowerCase() === 'name') return null;
  const value = tidy(match[3]!);
  const naming = /(?:called|named)$/i.test(match[2]!) ? ' name' : '';
  return {
    key: ownKey(match[1]! + naming),
    said: `Your ${match[1]!} ${match[2]!.toLowerCase()} ${reflect(value)}`,
    value: reflect(value),
  };
}

const ownKey = (subject: string): string =>
  `my ${subject.toLowerCase().replace("'s name", ' name').replace('favorite', 'favourite').replace('color', 'colour')}`;

/** Statements of people about themselves, each with its key; a key that ends in a space holds many. */
const selves: readonly (readonly [RegExp, string, string])[] = [
  [/^i (?:now )?live (in .+|near .+|at .+)/i, 'live', 'You live'],
  [/^i (?:am|come) from (.+)/i, 'from', 'You come from'],
  [/^i (?:work|am working) ((?:as|at|for|in|with|on) .+)/i, 'work', 'You work'],
  [/^i am (\d{1,3})(?: years old)?$/i, 'age', 'Your age is'],
  [/^i (?:really |also |do )?(?:like|love|enjoy|adore) (.+)/i, 'like ', 'You like'],
  [/^i (?:really |also )?prefer (.+)/i, 'like ', 'You prefer'],
  [/^i (?:really |also )?(?:hate|dislike|do not like|cannot stand) (.+)/i, 'dislike ', 'You do not like'],
  [/^i (?:also )?(?:have|own) (.+)/i, 'have ', 'You have'],
  [/^i (?:also )?(?:speak) (.+)/i, 'speak ', 'You speak'],
];

function selfIn(text: string): Fact | null {
  for (const [pattern, key, verb] of selves) {
    const found = pattern.exec(text)?.[1];
    if (found === undefined || notKept.test(found)) continue;
    const value = reflect(tidy(found));
    return { key: key.endsWith(' ') ? key + value.toLowerCase() : key, said: `${verb} ${value}`, value };
  }
  return null;
}

const tidy = (value: string): string =>
  value
    .trim()
    .slice(0, valueCharactersMax)
    .replace(/(?<![.!?,;: ])[.!?,;: ]+$/, '');

/** Answers a question about the user from memory; null if the sentence is no such question. */
export function recall(text: string, memory: KnownFacts): string | null {
  if (/^(?:what|do you (?:know|remember)) (?:is )?my (?:full |first )?name$|^who am i$/i.test(text)) {
    return memory.get('name') === undefined
      ? 'You have not told me your name yet. What is it?'
      : `Your name is ${memory.get('name')!.value}.`;
  }
  if (
    /^(?:what (?:do|can) you (?:know|remember)|what have you (?:learned|learnt|stored)|tell me what you know)(?: about me)?$|^what (?:did|have) i (?:tell|told) you(?: about me| so far)?$|^do you remember (?:me|anything)/i.test(
      text,
    )
  ) {
    return everything(memory);
  }
  for (const [pattern, key, unknown] of questions) {
    if (!pattern.test(text)) continue;
    const facts = [...memory.values()].filter((fact) =>
      key.endsWith(' ') ? fact.key.startsWith(key) : fact.key === key,
    );
    return facts.length === 0 ? `You have not told me ${unknown}.` : facts.map(({ said }) => `${said}.`).join(' ');
  }
  return recallOwn(text, memory);
}

/** Questions about the facts of `selves`, with the words for a fact that is not known. */
const questions: readonly (readonly [RegExp, string, string])[] = [
  [/\bwhere (?:do|did) i live\b/i, 'live', 'where you live'],
  [/\bwhere (?:am i|do i come) from\b/i, 'from', 'where you come from'],
  [/\b(?:where|what) do i (?:work|do for a living|do for work)\b|\bwhat is my job\b/i, 'work', 'what you work as'],
  [/\bhow old am i\b|\bwhat is my age\b/i, 'age', 'how old you are'],
  [/\bwhat do i (?:like|love|enjoy|prefer)\b/i, 'like ', 'what you like'],
  [/\bwhat do i (?:hate|dislike|not like)\b/i, 'dislike ', 'what you do not like'],
  [/\bwhat do i (?:have|own)\b|\bdo i have any (?:pets|animals)\b/i, 'have ', 'what you have'],
  [/\b(?:what|which) languages? do i speak\b/i, 'speak ', 'which languages you speak'],
];

function recallOwn(text: string, memory: KnownFacts): string | null {
  const match =
    /^(?:what|who|where|when|how|which|do you (?:know|remember)(?: (?:what|who|where|when))?)(?: (?:is|are|was|were))? my ([\p{L}\d' -]{2,40}?)( is| are)?( called| named)?$/iu.exec(
      text,
    );
  if (match === null) return null;
  const subject = match[1]!;
  const key = ownKey(subject);
  const fact = match[3] === undefined ? (memory.get(key) ?? memory.get(`${key} name`)) : memory.get(`${key} name`);
  return fact === undefined ? `You have not told me about your ${subject} yet.` : `${fact.said}.`;
}

function everything(memory: KnownFacts): string {
  if (memory.size === 0) return 'Nothing yet: you have not told me anything about yourself in this conversation.';
  const lines = [...memory.values()].map(({ said }) => `- ${said}.`);
  return `From this conversation I remember:\n${lines.join('\n')}`;
}
