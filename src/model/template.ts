/**
 * The events of a stream mostly differ in their text alone. Once one has been read, the next that has the same characters
 * before and behind its text needs no reading: JSON with other plain characters within a string is the same but for that string.
 */

export interface Template {
  readonly before: string;
  readonly after: string;
}

/** Makes the text another one, to see whether its place is the text's. */
const mark = '\ue000';

/** What may stand in a JSON string as it is. */
const plain = /^[^"\\\u0000-\u001f]*$/;

/**
 * The template of an event that said `text` and nothing else; null if it is not certain where. `said` reads an event: the
 * text that it says, null if it says anything else.
 */
export function templateOf(data: string, text: string, said: (data: string) => string | null): Template | null {
  if (!plain.test(text)) return null;
  const quoted = `"${text}"`;
  const at = data.indexOf(quoted);
  if (at < 0 || data.includes(quoted, at + 1)) return null;
  const template = { before: data.slice(0, at + 1), after: data.slice(at + quoted.length - 1) };
  return said(template.before + text + mark + template.after) === text + mark ? template : null;
}

/** The text of an event that fits the template; null if it must be read. */
export function textBy({ before, after }: Template, data: string): string | null {
  const end = data.length - after.length;
  if (end < before.length || !data.endsWith(after) || !data.startsWith(before)) return null;
  const text = data.slice(before.length, end);
  return plain.test(text) ? text : null;
}
