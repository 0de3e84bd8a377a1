/**
 * From a conversation to the reply that the rules give. A pure function: the same conversation always gets the same
 * reply.
 */
import type { ModelMessage } from '../../model.ts';
import { capital, factIn, recall } from './memory.ts';
import type { Fact, KnownFacts } from './memory.ts';
import { rules, service, serviceReply, unknownQuestion, unknownStatement } from './rules.ts';
import { messageSentences } from './sentences.ts';
import type { Sentence } from './sentences.ts';

interface Situation {
  readonly assistantName: string;
  readonly memory: KnownFacts;
  /** The user's earlier messages, oldest first. */
  readonly earlier: readonly string[];
}

const repliesMax = 3;
const quoteCharactersMax = 120;
const countMax = 200;

const greeting = /^(?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?: there| again| everyone| friend| bot)?$/i;

/** The reply to the newest user message. */
export function replyTo(messages: readonly ModelMessage[], assistantName: string): string {
  const earlier = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const sentences = messageSentences(earlier.pop() ?? '');
  const memory = new Map<string, Fact>();
  for (const message of earlier) for (const sentence of messageSentences(message)) learn(memory, sentence);
  const situation = { assistantName, memory, earlier };
  // Uses the name known before this message, so that a user who gives their name now is not greeted by it twice.
  const hello = fill('Hello{name}!', situation);
  const topics = sentences.filter(({ text }) => !greeting.test(text));
  const parts = new Set<string>();
  for (const sentence of topics) {
    const part = learn(memory, sentence) ?? answerTo(sentence, situation);
    if (part !== null && parts.size < repliesMax) parts.add(part);
  }
  const isGreeted = topics.length < sentences.length;
  if (topics.length === 0 && isGreeted) return welcome(hello, situation);
  if (parts.size === 0) return lastResort(topics, situation);
  return [...(isGreeted ? [hello] : []), ...parts].join(' ');
}

const welcome = (hello: string, situation: Situation): string =>
  situation.earlier.length > 0
    ? `${hello.slice(0, -1)}, still here. Say “help” for what I can do.`
    : fill(
        `${hello} I am {assistant}, a small rule-based assistant (not a language model) that comes with this service. I can chat a little and remember what you tell me. Say “help” for examples.`,
        situation,
      );

/** Takes a fact in and says so, or null. */
function learn(memory: Map<string, Fact>, sentence: Sentence): string | null {
  const fact = factIn(sentence);
  if (fact === null) return null;
  if (fact === 'forget') {
    memory.clear();
    return 'Forgotten. It still stands in the transcript, but I no longer use it.';
  }
  memory.set(fact.key, fact);
  return fact.name === null
    ? `“${fact.said}”: I will remember that for this conversation.`
    : `Nice to meet you, ${fact.name}!`;
}

/** Returns the reply of memory, a count or a rule, or null. */
function answerTo({ text, question }: Sentence, situation: Situation): string | null {
  const remembered = recallSaid(text, situation.earlier) ?? recall(text, situation.memory) ?? countIn(text);
  if (remembered !== null) return remembered;
  for (const { pattern, replies } of rules) {
    const match = pattern.exec(text);
    if (match !== null) return fill(pick(replies, situation), situation, match[1]);
  }
  return question && service.test(text) ? serviceReply : null;
}

function recallSaid(text: string, earlier: readonly string[]): string | null {
  const match =
    /^what (?:did i (?:just )?say(?: (first|before|last))?|was my (first|last|previous) (?:message|question))/i.exec(
      text,
    );
  if (match === null) return null;
  const message = (match[1] ?? match[2])?.toLowerCase() === 'first' ? earlier[0] : earlier.at(-1);
  return message === undefined
    ? 'Nothing before this: it is your first message here.'
    : `You wrote: “${quoted(message)}”`;
}

/** "Count to ten", which makes a stream of any length wished for; null if nobody asks for it. */
function countIn(text: string): string | null {
  const last = Number(/^(?:please )?count to (\d{1,6})$/i.exec(text)?.[1] ?? 0);
  if (last > countMax) return `That is far. I count to ${countMax} at most.`;
  return last === 0 ? null : `${Array.from({ length: last }, (_, index) => index + 1).join(', ')}.`;
}

function lastResort(sentences: readonly Sentence[], situation: Situation): string {
  const sentence = sentences.findLast(({ question }) => question) ?? sentences.at(-1);
  if (sentence === undefined)
    return fill('I cannot find a word in that{name}. Say “help” for what I can do.', situation);
  const text = quoted(sentence.question ? `${sentence.text}?` : sentence.text);
  return fill(pick(sentence.question ? unknownQuestion : unknownStatement, situation), situation, text);
}

/** Takes turns with the templates, so that a question asked again is not answered in the same words. */
const pick = (templates: readonly string[], { earlier }: Situation): string =>
  templates[earlier.length % templates.length]!;

function fill(template: string, { assistantName, memory }: Situation, capture = ''): string {
  const name = memory.get('name')?.name;
  // One pass, through a function: names and captures are the user's words, and no template of ours.
  const words: Readonly<Record<string, string>> = {
    assistant: assistantName,
    name: name === undefined ? '' : `, ${name}`,
    1: capture,
  };
  return capital(template.replace(/\{(assistant|name|1)\}/g, (_, key: string) => words[key]!));
}

const quoted = (text: string): string => {
  const characters = [...text.replace(/\s+/g, ' ').trim()];
  return characters.length <= quoteCharactersMax
    ? characters.join('')
    : `${characters.slice(0, quoteCharactersMax).join('')}…`;
};
