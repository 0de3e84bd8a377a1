/** Returns the reply of the rules to a conversation. A pure function: one conversation always gets one reply. */
import type { ModelMessage } from '../../model.ts';
import type { Rule } from './rule.ts';
import { codesIn, service } from './service.ts';
import { fallbacks, talk, welcomes } from './talk.ts';

/** Maximum length of the text that patterns are matched against. */
const textCharactersMax = 400;
const quoteCharactersMax = 120;
const countMax = 200;

const contractions: readonly (readonly [RegExp, string])[] = [
  [/[‘’]/g, "'"],
  [/\b(what|who|where|when|how|that|it|here|there)'s\b/gi, '$1 is'],
  [/\bI'm\b/gi, 'I am'],
  [/\byou're\b/gi, 'you are'],
  [/\bcan't\b/gi, 'cannot'],
  [/\s+/g, ' '],
];
const greeting =
  /^(?:hi+|hello+|hey+|hiya|howdy|greetings|good (?:morning|afternoon|evening|day))(?: there| again| you| all)?$/i;
const asking =
  /^(?:what|who|where|when|which|why|how|can|could|do|does|did|is|are|will|would|should|may|tell me|explain|describe|show)\b/i;
/** Questions about the service that a rule of small talk would match. */
const aboutService =
  /\b(?:real|own|another|different|other) (?:language )?model\b|\b(?:replace|stop|abort|cancel) you\b/i;

/** The reply to the newest user message. */
export function replyTo(messages: readonly ModelMessage[], assistantName: string): string {
  const written = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const earlier = Math.max(0, written.length - 1);
  const reply = (templates: readonly string[], capture = ''): string =>
    // The capture goes in last and through a function: it is the user's text, not a template.
    templates[earlier % templates.length]!.replace('{assistant}', () => assistantName).replace('{1}', () => capture);

  const message = (written.at(-1) ?? '').slice(0, textCharactersMax);
  const text = plain(message);
  if (text === '') return 'I cannot find a word in that. Say “help” for what I can do.';
  if (greeting.test(text)) return reply(earlier === 0 ? welcomes.slice(0, 1) : welcomes.slice(1));
  const isQuestion = /\?[^?\w]*$/.test(message) || asking.test(text) || text.split(' ').length <= 3;
  const ruleIn = (rules: readonly Rule[]): string | null => {
    for (const { pattern, replies } of rules) {
      const match = pattern.exec(text);
      if (match !== null) return reply(replies, match[1]);
    }
    return null;
  };
  return (
    count(text) ??
    (isQuestion ? (codesIn(text) ?? (aboutService.test(text) ? ruleIn(service) : null)) : null) ??
    ruleIn(talk) ??
    (isQuestion ? ruleIn(service) : null) ??
    reply(fallbacks, quoted(message))
  );
}

/** Counts to a number, which makes a stream of any length; null if the text does not ask for it. */
function count(text: string): string | null {
  const last = Number(/^(?:please )?count (?:up )?to (\d{1,6})$/i.exec(text)?.[1] ?? 0);
  if (last === 0) return null;
  if (last > countMax) return `That is far. I count to ${countMax} at most.`;
  return `${Array.from({ length: last }, (_, index) => index + 1).join(', ')}.`;
}

function plain(message: string): string {
  let text = message;
  for (const [pattern, replacement] of contractions) text = text.replace(pattern, replacement);
  return text.trim().replace(/(?<![.!?,;: ])[.!?,;: ]+$/, '');
}

function quoted(message: string): string {
  const characters = [...message.replace(/\s+/g, ' ').trim()];
  return characters.length <= quoteCharactersMax
    ? characters.join('')
    : `${characters.slice(0, quoteCharactersMax).join('')}…`;
}
