/** The fields that name a model: the assistant's own, or one that is asked where it fails. */
import type { ApiFailure } from '../api.ts';
import { inWorkspace } from '../route.ts';
import type { Credential } from '../types.ts';
import type { ModelDraft } from './assistant-draft.ts';
import { Choice, faultOf, Input } from './field.tsx';

const providers = [
  ['scripted', 'Embedded, rule-based: for trying things out'],
  ['openai', 'OpenAI or compatible'],
  ['anthropic', 'Anthropic'],
] as const;

interface Options {
  readonly model: ModelDraft;
  readonly change: (fields: Partial<ModelDraft>) => void;
  readonly credentials: readonly Credential[];
  /** The path of the model's object in the API, with the full stop after it. */
  readonly path: string;
  readonly failure: ApiFailure | null;
}

export const isEmbedded = ({ provider }: ModelDraft): boolean => provider === 'scripted';

export function ModelFields({ model, change, credentials, path, failure }: Options) {
  const known = providers.some(([name]) => name === model.provider);
  const choices = known ? providers : [...providers, [model.provider, model.provider] as const];
  const usable = credentials.filter(({ kind, provider }) => kind === 'model' && provider === model.provider);
  const choose = (provider: string) =>
    change({
      provider,
      credential: '',
      model: provider === 'scripted' ? 'scripted' : isEmbedded(model) ? '' : model.model,
    });
  const credentialPath = `${path}credential_id`;
  return (
    <>
      <Choice
        label="Provider"
        path={`${path}provider`}
        value={model.provider}
        onValue={choose}
        choices={choices}
        failure={failure}
      />
      {!isEmbedded(model) && (
        <div class="pair">
          <Input
            label="Model"
            required
            path={`${path}name`}
            value={model.model}
            onValue={(name) => change({ model: name })}
            failure={failure}
            spellcheck={false}
            autocomplete="off"
          />
          <Choice
            label="Credential"
            path={credentialPath}
            value={model.credential}
            onValue={(credential) => change({ credential })}
            choices={[
              ['', 'None'],
              ...usable.map(({ id, name, base_url: url, provider }) => [id, name ?? url ?? provider] as const),
            ]}
            failure={failure}
            note={
              usable.length === 0 && faultOf(failure, credentialPath) === null ? (
                <a href={inWorkspace('credentials')}>Enter one first</a>
              ) : undefined
            }
          />
        </div>
      )}
    </>
  );
}
