/** JSON of unknown make-up, as providers send it. */
import { isObject, type Json } from '../../base/json.ts';

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

/** Text as such, or the text of a content part or of a list of them; of anything else none. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(partText).join('');
  return partText(content);
}

/** Returns the reasoning of content parts. */
export const thoughtOf = (content: unknown): string =>
  Array.isArray(content) ? content.map(partThought).join('') : partThought(content);

/** Endpoints that leave out the kind of a part mean text. */
const textKinds: readonly unknown[] = [undefined, 'text', 'text_delta', 'output_text'];

function partText(part: unknown): string {
  if (typeof part === 'string') return part;
  if (!isObject(part)) return '';
  const text = part['type'] === 'refusal' ? part['refusal'] : textKinds.includes(part['type']) ? part['text'] : null;
  return typeof text === 'string' ? text : '';
}

/** The reasoning of a part may itself be a list of parts. */
const partThought = (part: unknown): string =>
  isObject(part) && ['thinking', 'thinking_delta'].includes(part['type'] as string)
    ? contentText(part['thinking'])
    : '';
