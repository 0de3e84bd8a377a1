/** Says that another person changed the draft meanwhile: what the form took, and settings that both changed. */
import { plural } from '../format.ts';
import type { AssistantDraft } from './assistant-draft.ts';
import type { OthersChanges } from './use-draft.ts';

const labels: Readonly<Record<keyof AssistantDraft, string>> = {
  name: 'Name',
  description: 'Description',
  greeting: 'Greeting',
  alias: 'Alias',
  maxCall: 'Max session length',
  sessionPolicy: 'Open sessions after a release',
  provider: 'Provider',
  model: 'Model',
  credential: 'Credential',
  fallbacks: 'Fallback models',
  historyTokens: 'Max history tokens',
  systemPrompt: 'System prompt',
  temperature: 'Temperature',
  outputTokens: 'Max output tokens',
  reasoning: 'Reasoning',
  voiceOn: 'Voice enabled',
  voiceProvider: 'Voice provider',
  voice: 'Voice',
  voiceCredential: 'Voice credential',
  toolIds: 'Tools',
  toolRounds: 'Max tool rounds per turn',
  fields: 'Pre-chat form',
  linkOn: 'Public link',
  widgetOn: 'Widget',
  slug: 'URL slug',
  feedbackOn: 'Feedback',
  identityRequired: 'Identity required',
  origins: 'Allowed origins',
  linkLimits: 'Limits',
  requireTests: 'Required tests',
  deskOn: 'Desk',
  deskWait: 'Max wait',
  deskWhileWaiting: 'While a visitor waits',
  deskWaiting: 'Note when a visitor waits',
  deskJoined: 'Note when a person joins',
  deskLeft: 'Note when the person leaves',
  deskNobody: 'Note when nobody comes',
};

interface Options {
  readonly others: OthersChanges;
  readonly draft: AssistantDraft;
  readonly change: (fields: Partial<AssistantDraft>) => void;
  readonly dismiss: () => void;
}

const list = new Intl.ListFormat('en');

export function OthersNotice({ others: { taken, both, theirs }, draft, change, dismiss }: Options) {
  const open = both.filter((name) => JSON.stringify(draft[name]) !== JSON.stringify(theirs[name]));
  return (
    <section class="banner others" role="alert" aria-label="Changed by another person">
      <p>
        <strong>Another person changed this assistant meanwhile.</strong> What you typed is still in the form; nothing
        of it was stored.
      </p>
      {taken.length > 0 && <p>The form now also has their {list.format(taken.map((name) => labels[name]))}.</p>}
      {open.length > 0 && <p>Both of you changed {plural(open.length, 'setting')}. Yours is in the form; theirs is:</p>}
      {open.map((name) => (
        <div key={name} class="theirs">
          <h3>{labels[name]}</h3>
          <Theirs text={textOf(theirs[name])} />
          <p class="acts">
            <button
              type="button"
              onClick={() => change({ [name]: theirs[name] })}
              aria-label={`Use theirs: ${labels[name]}`}
            >
              Use theirs
            </button>
          </p>
        </div>
      ))}
      <p class="acts">
        <button type="button" class="quiet" onClick={dismiss}>
          {open.length > 0 ? 'Keep mine' : 'Close'}
        </button>
      </p>
    </section>
  );
}

const Theirs = ({ text }: { text: string }) =>
  text.length <= shownMax ? (
    <p class="words">{text}</p>
  ) : (
    <details>
      <summary>{plural(text.length, 'character')}</summary>
      <p class="words">{text}</p>
    </details>
  );

/** Characters of a setting that are shown at once. */
const shownMax = 400;

const textOf = (value: AssistantDraft[keyof AssistantDraft]): string => {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') return value || 'empty';
  return JSON.stringify(value, null, 1);
};
