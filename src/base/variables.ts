/**
 * Variables in prompts and greetings (contract 19): `{{NAME}}` or `{{NAME|default}}`; `\{{` is a literal `{{`. Parses,
 * checks and fills them; knows no assistant and no session.
 */
import { indexAfter } from './text.ts';

/** Values that every session has. */
const sessionFacts = ['channel', 'date', 'time', 'weekday', 'assistant.name', 'session.id'] as const;
/** Values that the notes of the desk have besides: the person who joins or leaves. */
export const personFacts = ['person.name'] as const;
const facts = [...sessionFacts, ...personFacts];
export type Fact = (typeof facts)[number];

export type Variable = {
  /** The text that stands for a missing value; null without a default. */
  readonly fallback: string | null;
} & ({ readonly of: 'visitor' | 'metadata'; readonly name: string } | { readonly of: 'facts'; readonly name: Fact });

/** A literal text or a variable. */
export type TemplatePart = string | Variable;

interface VisitorField {
  readonly name: string;
  readonly required: boolean;
}

/** A value is cut after this many code points. */
const valueCharactersMax = 512;

const opening = '{{';
const closing = '}}';

/** The parts of a text; null if a name is unknown or a brace does not close. */
export function parseTemplate(text: string): TemplatePart[] | null {
  const parts: TemplatePart[] = [];
  let literal = '';
  let at = 0;
  for (;;) {
    const open = text.indexOf(opening, at);
    if (open < 0) break;
    if (open > at && text[open - 1] === '\\') {
      literal += text.slice(at, open - 1) + opening;
      at = open + opening.length;
      continue;
    }
    literal += text.slice(at, open);
    const close = text.indexOf(closing, open + opening.length);
    const variable = close < 0 ? null : parseVariable(text.slice(open + opening.length, close));
    if (variable === null) return null;
    if (literal !== '') parts.push(literal);
    parts.push(variable);
    literal = '';
    at = close + closing.length;
  }
  literal += text.slice(at);
  if (literal !== '') parts.push(literal);
  return parts;
}

/** The variable between two braces; null for an unknown name. */
function parseVariable(inside: string): Variable | null {
  // The first brace does not close.
  if (inside.includes(opening)) return null;
  const bar = inside.indexOf('|');
  const path = (bar < 0 ? inside : inside.slice(0, bar)).trim();
  const fallback = bar < 0 ? null : inside.slice(bar + 1).trim();
  const fact = facts.find((name) => name === path);
  if (fact !== undefined) return { of: 'facts', name: fact, fallback };
  for (const of of ['visitor', 'metadata'] as const) {
    const name = path.slice(of.length + 1);
    if (name !== '' && path.startsWith(`${of}.`)) return { of, name, fallback };
  }
  return null;
}

/**
 * Whether each variable has a value in every session: `metadata` needs a default, and `visitor` does unless the field
 * is required. `moreFacts`: further facts that the text may name.
 */
export function isTemplate(
  text: string | null,
  visitorFields: readonly VisitorField[],
  moreFacts: readonly Fact[] = [],
): boolean {
  const parts = parseTemplate(text ?? '');
  const known: readonly Fact[] = [...sessionFacts, ...moreFacts];
  return (
    parts !== null &&
    parts.every(
      (part) =>
        typeof part === 'string' ||
        (part.of === 'facts'
          ? known.includes(part.name)
          : part.fallback !== null ||
            (part.of === 'visitor' && visitorFields.some(({ name, required }) => required && name === part.name))),
    )
  );
}

/**
 * Fills the variables of a text. `valueOf` returns undefined or an empty text for a missing value: then the default is
 * inserted, or an empty text. Values are not scanned for variables. A text that is no template is returned as it is.
 */
export function fillTemplate(text: string, valueOf: (variable: Variable) => string | undefined): string {
  if (!text.includes(opening)) return text;
  const parts = parseTemplate(text);
  if (parts === null) return text;
  return parts
    .map((part) => (typeof part === 'string' ? part : inserted(valueOf(part) || (part.fallback ?? ''))))
    .join('');
}

/** A value as one line of text: control characters and line breaks are spaces. */
const inserted = (value: string): string =>
  value.slice(0, indexAfter(value, valueCharactersMax)).replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ');

/** The template whose filled text is `text`, for a text from before variables existed. */
export const literalTemplate = (text: string): string => text.replaceAll(opening, `\\${opening}`);

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

/** The variables of time, in UTC. */
export function timeFact(fact: 'date' | 'time' | 'weekday', seconds: number): string {
  const at = new Date(seconds * 1000);
  if (fact === 'weekday') return weekdays[at.getUTCDay()]!;
  const text = at.toISOString();
  return fact === 'date' ? text.slice(0, 10) : text.slice(11, 16);
}
