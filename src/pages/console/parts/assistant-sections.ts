/** The sections of an assistant's page: their names, and the section of each field of the API. */
import type { ApiFailure } from '../api.ts';
import { search } from '../route.ts';

export const sections = [
  ['general', 'General'],
  ['model', 'Model'],
  ['tools', 'Tools'],
  ['voice', 'Voice'],
  ['pre-chat', 'Pre-chat form'],
  ['link', 'Link'],
  ['widget', 'Widget'],
  ['desk', 'Desk'],
] as const;

export type Section = (typeof sections)[number][0];

/** The trial is beside the form on a desk, and in its place on a phone. */
export type Shown = Section | 'try';

/** The section that the address asks for. */
export function shownSection(): Shown {
  const asked = search.value.get('section');
  return asked === 'try' ? 'try' : (sections.find(([name]) => name === asked)?.[0] ?? 'general');
}

const beginnings: readonly (readonly [path: string, section: Section])[] = [
  ['model.', 'model'],
  ['tool_', 'tools'],
  ['voice', 'voice'],
  ['channels.voice', 'voice'],
  ['visitor_fields', 'pre-chat'],
  ['link.origins', 'widget'],
  ['channels.widget', 'widget'],
  ['link', 'link'],
  ['channels.link', 'link'],
  ['desk', 'desk'],
];

/** The section of a field by its path in the API. */
const sectionOf = (path: string): Section =>
  beginnings.find(([beginning]) => path.startsWith(beginning))?.[1] ?? 'general';

/** The section with the field that a failure names; null where it names none. */
export function faultySection(failure: ApiFailure | null): Section | null {
  const [, path] = /`([\w.[\]]+)`/.exec(failure?.status === 422 ? failure.message : '') ?? [];
  return path === undefined ? null : sectionOf(path);
}

/** The query of a section. */
export const sectionQuery = (section: Shown): string => (section === 'general' ? '' : `?section=${section}`);
