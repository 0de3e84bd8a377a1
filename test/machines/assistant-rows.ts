import type { AssistantContext, AssistantEvent } from '../../machines/assistant.ts';
import type { Row } from './machine.ts';

const refused = (code: string) => ({ type: 'refused', code });
const accepted = { type: 'accepted' };
const unchanged = { type: 'unchanged' };
const configured = { type: 'configured' };
const moved = (status: string) => ({ type: 'moved', status });
const mute: AssistantContext = { voice: false };
const speaking: AssistantContext = { voice: true };

type AssistantRow = Row<AssistantContext, AssistantEvent>;

type Verb = Exclude<AssistantEvent['type'], 'configure'>;

const row = (from: string, type: Verb, to: string, outcome: { type: string }, context = speaking): AssistantRow => ({
  from,
  context,
  event: { type },
  to,
  outcomes: [outcome],
});

export const assistantRows: AssistantRow[] = [
  row('draft', 'publish', 'published', moved('published')),
  row('draft', 'unpublish', 'draft', unchanged),
  row('draft', 'disable', 'disabled', moved('disabled')),
  row('draft', 'enable', 'published', moved('published')),
  row('draft', 'converse', 'draft', refused('assistant_not_published')),
  row('draft', 'rehearse', 'draft', accepted),
  row('draft', 'speak', 'draft', refused('assistant_not_published')),
  row('draft', 'speak', 'draft', refused('assistant_not_published'), mute),

  row('published', 'publish', 'published', unchanged),
  row('published', 'unpublish', 'draft', moved('draft')),
  row('published', 'disable', 'disabled', moved('disabled')),
  row('published', 'enable', 'published', unchanged),
  row('published', 'converse', 'published', accepted),
  row('published', 'converse', 'published', accepted, mute),
  row('published', 'rehearse', 'published', accepted),
  row('published', 'speak', 'published', accepted),
  row('published', 'speak', 'published', refused('voice_disabled'), mute),

  row('disabled', 'publish', 'published', moved('published')),
  row('disabled', 'unpublish', 'draft', moved('draft')),
  row('disabled', 'disable', 'disabled', unchanged),
  row('disabled', 'enable', 'published', moved('published')),
  row('disabled', 'converse', 'disabled', refused('assistant_disabled')),
  row('disabled', 'rehearse', 'disabled', refused('assistant_disabled')),
  // Not answering at all comes before not speaking (contract 3, step 7).
  row('disabled', 'speak', 'disabled', refused('assistant_disabled')),
  row('disabled', 'speak', 'disabled', refused('assistant_disabled'), mute),

  ...['draft', 'published', 'disabled'].flatMap((state): AssistantRow[] => [
    {
      from: state,
      context: mute,
      event: { type: 'configure', voice: true },
      to: state,
      outcomes: [configured],
      changes: speaking,
    },
    {
      from: state,
      context: speaking,
      event: { type: 'configure', voice: false },
      to: state,
      outcomes: [configured],
      changes: mute,
    },
  ]),
];
