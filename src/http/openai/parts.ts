/** The content of messages of OpenAI's API (contract 14): a text, or a list of parts. */
import { Failure } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';

/** The field that has the text of a part, by the part's type. */
const texts: ReadonlyMap<unknown, string> = new Map([
  ...['text', 'input_text', 'output_text'].map((type) => [type, 'text'] as const),
  ['refusal', 'refusal'],
]);

/** Parts that a model has thought: no other model is sent them. */
const thoughts: ReadonlySet<unknown> = new Set([
  'thinking',
  'redacted_thinking',
  'reasoning',
  'reasoning_text',
  'summary_text',
]);

/** The words in place of a part that is no text, by the part's type. */
const marks: ReadonlyMap<unknown, string> = new Map([
  ...['image', 'image_url', 'input_image'].map((type) => [type, '[image]'] as const),
  ...['audio', 'input_audio', 'output_audio'].map((type) => [type, '[audio]'] as const),
  ...['file', 'input_file', 'document', 'video_url', 'input_video'].map((type) => [type, '[file]'] as const),
]);

/**
 * Returns the text of earlier content. Nothing in it stops a conversation: a part that is no text becomes a word in
 * brackets on a separate line, and a text that a client cut between two surrogates is mended. Throws 422 for a value
 * that is not content.
 */
export function earlierText(content: unknown, path: string): string {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content.toWellFormed();
  let text = '';
  let endsInMark = false;
  for (const part of listOf(content, path)) {
    const piece = textOfPart(part);
    if (piece === '') continue;
    const breaks = text !== '' && !text.endsWith('\n') && (piece === null || endsInMark);
    text += (breaks ? '\n' : '') + (piece ?? markOf(part) ?? '[file]');
    endsInMark = piece === null;
  }
  return text.toWellFormed();
}

/** The text of a question. Throws 422 for a part that is no text, for an empty text and for a lone surrogate. */
export function askedText(content: unknown, path: string): string {
  const text =
    typeof content === 'string'
      ? content
      : listOf(content, path)
          .map((part, index) => askedPart(part, `${path}.${index}`))
          .join('');
  if (text === '' || !text.isWellFormed()) throw new Failure('invalid_field', { field: path });
  return text;
}

function askedPart(part: unknown, path: string): string {
  const text = textOfPart(part);
  if (text === null) throw new Failure(markOf(part) === undefined ? 'invalid_field' : 'text_only', { field: path });
  return text;
}

function listOf(content: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(content)) throw new Failure('invalid_field', { field: path });
  return content;
}

/** The text of a part; null if it has none. */
function textOfPart(part: unknown): string | null {
  if (typeof part === 'string') return part;
  if (!isObject(part)) return null;
  if (thoughts.has(part['type'])) return '';
  const field = texts.get(part['type']);
  const text = field === undefined ? null : part[field];
  return typeof text === 'string' ? text : null;
}

const markOf = (part: unknown): string | undefined => (isObject(part) ? marks.get(part['type']) : undefined);
