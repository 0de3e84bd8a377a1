/** The models that are asked, in this order, where the assistant's own fails. */
import type { ApiFailure } from '../api.ts';
import type { Credential } from '../types.ts';
import type { ModelDraft } from './assistant-draft.ts';
import { faultOf } from './field.tsx';
import { ListField } from './list-field.tsx';
import { ModelFields } from './model-fields.tsx';

interface Options {
  readonly fallbacks: readonly ModelDraft[];
  readonly change: (fallbacks: readonly ModelDraft[]) => void;
  readonly credentials: readonly Credential[];
  readonly failure: ApiFailure | null;
}

const fallbacksMax = 2;
const path = 'model.fallbacks';

export function FallbackForm({ fallbacks, change, credentials, failure }: Options) {
  return (
    <fieldset tabIndex={-1}>
      <legend>Fallback models</legend>
      <p class="note">
        {fallbacks.length === 0 ? 'None. ' : ''}A fallback answers if the models before it fail before any output. The
        prompt and all settings above apply.
      </p>
      <ListField
        rows={fallbacks}
        change={change}
        add={fallbacks.length < fallbacksMax ? 'Add a fallback' : null}
        added={{ provider: 'openai', model: '', credential: '' }}
        fault={faultOf(failure, path)}
      >
        {(model, index, { set, remove, moveUp }) => (
          <fieldset>
            <legend>Fallback {index + 1}</legend>
            <ModelFields
              model={model}
              change={set}
              credentials={credentials}
              path={`${path}.${index}.`}
              failure={failure}
            />
            <p class="acts">
              {moveUp(`fallback ${index + 1}`)}
              {remove(`fallback ${index + 1}`)}
            </p>
          </fieldset>
        )}
      </ListField>
    </fieldset>
  );
}
