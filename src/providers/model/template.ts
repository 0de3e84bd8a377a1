/**
 * The events of a stream mostly differ in their text alone. Once one event has been parsed, the next one with the same
 * characters before and after its text need not be parsed: in JSON, other plain characters within a string change
 * nothing but that string.
 */

export interface Template {
  readonly before: string;
  readonly after: string;
}

/** Appended to the text to check that the place found in the event really holds the text. */
const mark = '\ue000';

/** Characters that need no escape in a JSON string. */
const plain = /^[^"\\\u0000-\u001f]*$/;

/**
 * The template of an event that contained `text` and nothing else; null if the text's place is not certain. `said`
 * parses an event: returns its text, or null if it contains anything else.
 */
export function templateOf(data: string, text: string, said: (data: string) => string | null): Template | null {
  if (!plain.test(text)) return null;
  const quoted = `"${text}"`;
  const at = data.indexOf(quoted);
  if (at < 0 || data.includes(quoted, at + 1)) return null;
  const template = { before: data.slice(0, at + 1), after: data.slice(at + quoted.length - 1) };
  return said(template.before + text + mark + template.after) === text + mark ? template : null;
}

/** The text of an event that fits the template; null if the event must be parsed. */
export function textBy({ before, after }: Template, data: string): string | null {
  const end = data.length - after.length;
  if (end < before.length || !data.endsWith(after) || !data.startsWith(before)) return null;
  const text = data.slice(before.length, end);
  return plain.test(text) ? text : null;
}
