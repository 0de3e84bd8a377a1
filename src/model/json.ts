/** JSON of unknown make-up, as providers send it. */

export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The text as a JSON object; null if it is none. */
export function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The member as an object; an empty one where it is anything else. */
export const objectAt = (json: Json, key: string): Json => {
  const value = json[key];
  return isObject(value) ? value : {};
};

/** The member as a whole number from 0 up, else null. */
export const countAt = (json: Json, key: string): number | null => {
  const value = json[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
};

/** Text as such, or the text parts of a list of content parts; of anything else none. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const part of content) if (isObject(part) && part['type'] === 'text' && typeof part['text'] === 'string') text += part['text'];
  return text;
}
