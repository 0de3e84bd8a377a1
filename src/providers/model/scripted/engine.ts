/**
 * From a conversation to the reply that the rules give. A pure function: the same conversation always gets the same
 * reply.
 */
import type { ModelMessage } from '../../model.ts';
import { countIn, sumIn } from './arithmetic.ts';
import { factIn, recall } from './memory.ts';
import type { Fact, KnownFacts } from './memory.ts';
import type { Rule } from './rule.ts';
import { capital, reflect, messageSentences } from './sentences.ts';
import type { Sentence } from './sentences.ts';
import { codesIn, service } from './service.ts';
import { lastForQuestions, lastForStatements, reflections, talk } from './talk.ts';

interface Situation {
  readonly assistantName: string;
  readonly memory: KnownFacts;
  /** The user's earlier messages, oldest first. */
  readonly earlier: readonly string[];
}

const repliesMax = 3;
const quoteCharactersMax = 120;

/** The reply to the newest user message. */
export function replyTo(messages: readonly ModelMessage[], assistantName: string): string {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const newest = said.pop() ?? '';
  const memory = new Map<string, Fact>();
  for (const message of said) for (const sentence of messageSentences(message)) learn(memory, sentence);
  return answer(messageSentences(newest), memory, said, assistantName);
}

function answer(
  sentences: readonly Sentence[],
  memory: Map<string, Fact>,
  earlier: readonly string[],
  assistantName: string,
): string {
  const situation = { assistantName, memory, earlier };
  const parts: string[] = [];
  // Uses the name known before this message, so that a user who gives their name now is not greeted by it twice.
  const hello = fill('Hello{name}!', situation);
  let greeted = false;
  for (const sentence of sentences) {
    if (greeting.test(sentence.text)) {
      greeted = true;
      continue;
    }
    const part = learn(memory, sentence) ?? known(sentence, situation);
    if (part !== null && !parts.includes(part) && parts.length < repliesMax) parts.push(part);
  }
  if (parts.length > 0) {
    const text = parts.join(parts.some((part) => part.includes('\n')) ? '\n\n' : ' ');
    return greeted ? `${hello} ${text}` : text;
  }
  if (greeted && sentences.every(({ text }) => greeting.test(text))) return welcome(situation);
  return lastResort(sentences, situation);
}

const greeting =
  /^(?:hi+|hello+|hey+|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day))(?: there| again| you| all| everyone| friend| bot| assistant)?$/i;

const welcome = (situation: Situation): string =>
  fill(
    situation.earlier.length === 0
      ? 'Hello{name}! I am {assistant}, a small rule-based assistant (not a language model) that comes with this service. I can chat a little, do sums, remember what you tell me, and explain how the service works. Say “help” for examples.'
      : pick(
          ['Hello again{name}! What shall we do?', 'Hello{name}, still here. Ask me anything that is in my table.'],
          situation,
        ),
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
  const before = memory.get(fact.key);
  memory.delete(fact.key);
  memory.set(fact.key, fact);
  if (fact.key === 'name')
    return before === undefined ? `Nice to meet you, ${fact.value}!` : `Then I call you ${fact.value} from now on.`;
  if (before !== undefined && before.said !== fact.said) return `I take it back, then. ${fact.said}.`;
  return `${fact.said}: I will remember that for this conversation.`;
}

/** Returns the reply of memory, arithmetic or a rule, or null. */
function known(sentence: Sentence, situation: Situation): string | null {
  const { text } = sentence;
  const asked = sentence.question || text.split(' ').length <= 3;
  return (
    recallSaid(text, situation.earlier) ??
    recall(text, situation.memory) ??
    sum(text) ??
    countIn(text) ??
    (asked ? (codesIn(text) ?? ruleIn(serviceFirst.test(text) ? service : [], text, situation)) : null) ??
    ruleIn(talk, text, situation) ??
    (asked ? ruleIn(service, text, situation) : null)
  );
}

/** Questions that small talk would catch but that are about the service. */
const serviceFirst =
  /\b(?:real|own|another|different|other) (?:language )?model\b|\b(?:replace|stop|abort|cancel) you\b|\bparley\b|\b(?:speech|session|stream\w*|transcript|usage)\b/i;

const sum = (text: string): string | null => {
  const result = sumIn(text);
  return result === null ? null : `${result}${result.endsWith('.') ? '' : '.'}`;
};

function recallSaid(text: string, earlier: readonly string[]): string | null {
  const match =
    /^what (?:did i (?:just )?(?:say|ask|write)(?: (first|before|last))?|was my (first|last|previous) (?:message|question|sentence))/i.exec(
      text,
    );
  if (match === null) return null;
  const message = (match[1] ?? match[2])?.toLowerCase() === 'first' ? earlier[0] : earlier.at(-1);
  return message === undefined
    ? 'Nothing before this: it is your first message here.'
    : `You wrote: “${quoted(message)}”`;
}

function ruleIn(rules: readonly Rule[], text: string, situation: Situation): string | null {
  for (const { pattern, replies } of rules) {
    const match = pattern.exec(text);
    if (match !== null) return fill(pick(replies, situation), situation, match[1]);
  }
  return null;
}

function lastResort(sentences: readonly Sentence[], situation: Situation): string {
  const sentence = sentences.findLast(({ question }) => question) ?? sentences.at(-1);
  if (sentence === undefined)
    return fill('I cannot find a word in that{name}. Say “help” for what I can do.', situation);
  return (
    ruleIn(reflections, sentence.text, situation) ??
    fill(
      pick(sentence.question ? lastForQuestions : lastForStatements, situation),
      situation,
      quoted(sentence.text),
      true,
    )
  );
}

/** Takes turns with the templates, so that a question asked again is not answered in the same words. */
const pick = (templates: readonly string[], { earlier }: Situation): string =>
  templates[earlier.length % templates.length]!;

function fill(template: string, { assistantName, memory }: Situation, capture = '', verbatim = false): string {
  const name = memory.get('name')?.value;
  // Captures go in last and through a function: they are the user's words, and no template of ours.
  const text = template
    .replace('{assistant}', () => assistantName)
    .replace('{name}', () => (name === undefined ? '' : `, ${name}`));
  return capital(
    text.replace(/\{1(!?)\}/, (_, literal: string) => (verbatim || literal !== '' ? capture : reflect(capture))),
  );
}

const quoted = (text: string): string => {
  const characters = [...text.replace(/\s+/g, ' ').trim()];
  return characters.length <= quoteCharactersMax
    ? characters.join('')
    : `${characters.slice(0, quoteCharactersMax).join('')}…`;
};
