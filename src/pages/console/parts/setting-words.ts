/** The settings of a version in words: the label of each path, and its value as a text that can be compared. */
import { plural } from '../format.ts';
import { durationText } from './duration.ts';

const labels: Readonly<Record<string, string>> = {
  'model.system_prompt': 'System prompt',
  greeting: 'Greeting',
  'model.provider': 'Model provider',
  'model.name': 'Model',
  'model.credential_id': 'Model credential',
  'model.history_tokens_max': 'Max history tokens',
  'model.temperature': 'Temperature',
  'model.output_tokens_max': 'Max output tokens',
  'model.reasoning': 'Reasoning',
  'model.fallbacks': 'Fallback models',
  visitor_fields: 'Pre-chat form',
  'voice.provider': 'Voice provider',
  'voice.name': 'Voice model',
  'voice.transcription_name': 'Transcription model',
  'voice.voice': 'Voice',
  'voice.credential_id': 'Voice credential',
  max_call_seconds: 'Max session length',
  tool_ids: 'Tools',
  tool_rounds_max: 'Max tool rounds per turn',
  url: 'URL',
  timeout_seconds: 'Timeout',
  repeatable: 'Retry after a lost response',
  calls_per_minute: 'Max calls per minute',
};

const order = Object.keys(labels);

export const labelOf = (path: string): string => labels[path] ?? path;

/** Position of a setting on the page: the prompt first, a path without a label last. */
export const orderOf = (path: string): number => (path in labels ? order.indexOf(path) : order.length);

/** The names of tools by their ids. */
export type ToolNames = ReadonlyMap<string, string>;

interface VisitorField {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly required: boolean;
}

/** The value of a setting as a text; null for a setting that is empty. */
export function settingText(path: string, value: unknown, tools: ToolNames): string | null {
  if (value === null || value === undefined || value === '') return null;
  if (path.endsWith('_seconds')) return durationText(value as number);
  if (Array.isArray(value) && value.length === 0) return null;
  switch (path) {
    case 'visitor_fields':
      return (value as VisitorField[])
        .map(({ name, label, type, required }) => `${label} (${name}, ${type}${required ? ', required' : ''})`)
        .join('\n');
    case 'model.fallbacks':
      return (value as { provider: string; name: string; credential_id: string | null }[])
        .map(({ provider, name, credential_id: id }) => `${provider} ${name}${id === null ? '' : `, ${id}`}`)
        .join('\n');
    case 'tool_ids':
      return (value as string[]).map((id) => tools.get(id) ?? id).join('\n');
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** The settings that changes concern, in words: "System prompt, Greeting, and 2 tool definitions". */
export function concerned(paths: readonly string[]): string {
  const tools = new Set(paths.filter((path) => path.startsWith('tools.')).map((path) => path.split('.')[1]));
  const settings = paths
    .filter((path) => !path.startsWith('tools.'))
    .toSorted((one, other) => orderOf(one) - orderOf(other))
    .map(labelOf);
  const all = [...settings, ...(tools.size > 0 ? [plural(tools.size, 'tool definition')] : [])];
  return new Intl.ListFormat('en').format(all);
}
