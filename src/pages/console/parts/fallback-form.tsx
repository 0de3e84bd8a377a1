/** The models that are asked, in this order, where the assistant's own fails. */
import { useRef } from 'preact/hooks';
import type { ApiFailure } from '../api.ts';
import type { Credential } from '../types.ts';
import type { ModelDraft } from './assistant-draft.ts';
import { faultOf } from './field.tsx';
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
  const place = useRef<HTMLFieldSetElement>(null);
  const fault = faultOf(failure, path);
  const set = (index: number, fields: Partial<ModelDraft>) =>
    change(fallbacks.with(index, { ...fallbacks[index]!, ...fields }));
  // The button that was pressed is gone after the change.
  const remove = (index: number) => {
    change(fallbacks.toSpliced(index, 1));
    place.current?.focus();
  };
  const swap = () => {
    change(fallbacks.toReversed());
    place.current?.focus();
  };
  return (
    <fieldset ref={place} tabIndex={-1}>
      <legend>Fallback models</legend>
      <p class="note">
        {fallbacks.length === 0 ? 'None. ' : ''}A fallback answers if the models before it fail before any output. The
        prompt and all settings above apply.
      </p>
      {fallbacks.map((model, index) => (
        <fieldset key={index}>
          <legend>Fallback {index + 1}</legend>
          <ModelFields
            model={model}
            change={(fields) => set(index, fields)}
            credentials={credentials}
            path={`${path}.${index}.`}
            failure={failure}
          />
          <p class="acts">
            {index > 0 && (
              <button type="button" class="quiet" onClick={swap} aria-label={`Move up fallback ${index + 1}`}>
                Move up
              </button>
            )}
            <button
              type="button"
              class="quiet"
              onClick={() => remove(index)}
              aria-label={`Remove fallback ${index + 1}`}
            >
              Remove
            </button>
          </p>
        </fieldset>
      ))}
      {fault !== null && <small class="fault">{fault}</small>}
      {fallbacks.length < fallbacksMax && (
        <p>
          <button
            type="button"
            onClick={() => change([...fallbacks, { provider: 'openai', model: '', credential: '' }])}
          >
            Add a fallback
          </button>
        </p>
      )}
    </fieldset>
  );
}
