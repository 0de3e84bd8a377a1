/** The form's part about the voice, with a sentence to hear it by. */
import { useEffect, useState } from 'preact/hooks';
import { request } from '../api.ts';
import { useRead } from '../data.ts';
import type { Assistant, Credential, List, Voice } from '../types.ts';
import { bound, type FormOptions } from './assistant-draft.ts';
import { Failure } from './failure.tsx';
import { useRequest } from './submit.tsx';
import { Check, Choice, Input } from './field.tsx';

/** The stored assistant, and a function that saves unsaved changes first. */
export interface VoiceStand {
  readonly path: string;
  readonly assistant: Assistant | null;
  readonly dirty: boolean;
  readonly save: () => Promise<Assistant | null>;
}

interface Options extends FormOptions {
  readonly credentials: readonly Credential[];
  readonly voice: VoiceStand;
}

const providers = [
  ['embedded', 'Embedded: English, offline'],
  ['openai', 'Any endpoint of OpenAI’s kind'],
  ['local', 'Voices of your own'],
] as const;

export function VoiceForm(options: Options) {
  const { draft, change, credentials, voice } = options;
  const usable = credentials.filter(({ kind, provider }) => kind === 'voice' && provider === draft.voiceProvider);
  const choices = providers.some(([name]) => name === draft.voiceProvider)
    ? providers
    : [...providers, [draft.voiceProvider, draft.voiceProvider] as const];
  return (
    <>
      <Check
        label="Voice enabled"
        note="Visitors and callers can talk to it."
        checked={draft.voiceOn}
        onValue={(voiceOn) => change({ voiceOn })}
      />
      {draft.voiceOn && (
        <>
          <div class="pair">
            <Choice
              label="Voice provider"
              {...bound(options, 'voiceProvider', 'voice.provider')}
              onValue={(voiceProvider) => change({ voiceProvider, voice: '', voiceCredential: '' })}
              choices={choices}
            />
            <Which {...options} />
            {draft.voiceProvider === 'openai' && (
              <Choice
                label="Voice credential"
                {...bound(options, 'voiceCredential', 'voice.credential_id')}
                choices={[
                  ['', 'None'],
                  ...usable.map(({ id, name, base_url: url, provider }) => [id, name ?? url ?? provider] as const),
                ]}
              />
            )}
          </div>
          {voice.assistant !== null && <Hear {...voice} />}
        </>
      )}
    </>
  );
}

/** A list where the stored provider has one; otherwise the id is typed. */
function Which(options: Options) {
  const { draft, voice } = options;
  const provider = voice.assistant?.voice?.provider ?? 'embedded';
  const isStored = voice.assistant !== null && provider === draft.voiceProvider;
  const voices =
    useRead<List<Voice>>(isStored && provider !== 'openai' ? `${voice.path}/voices?limit=100` : null).value?.data ?? [];
  const field = bound(options, 'voice', 'voice.voice');
  if (voices.length === 0)
    return (
      <Input
        label="Voice"
        {...field}
        note="An id that the provider knows; empty: its default."
        spellcheck={false}
        autocomplete="off"
      />
    );
  const named = voices.map(({ id, name, language }) => [id, `${name} · ${language}`] as const);
  const known = draft.voice === '' || voices.some(({ id }) => id === draft.voice);
  return (
    <Choice
      label="Voice"
      {...field}
      choices={[['', 'The provider’s default'], ...named, ...(known ? [] : [[draft.voice, draft.voice] as const])]}
    />
  );
}

/** Speaks a sentence with the stored voice: unsaved changes are saved first, as in a trial. */
function Hear({ path, dirty, save }: VoiceStand) {
  const [text, setText] = useState('We are open from nine to six. Is there anything else?');
  const [sound, setSound] = useState<string | null>(null);
  const { failure, busy, run } = useRequest();
  useEffect(() => () => void (sound !== null && URL.revokeObjectURL(sound)), [sound]);
  const hear = () => {
    setSound(null);
    return run(async () => {
      if (dirty && (await save()) === null) return;
      const answer = await request(`${path}/speech`, { body: { text } });
      setSound(URL.createObjectURL(await answer.blob()));
    });
  };
  return (
    <div class="hear" role="group" aria-label="Play sample">
      <Input label="Preview text" value={text} onValue={setText} maxLength={1000} autocomplete="off" />
      <button type="button" onClick={() => void hear()} disabled={busy || text.trim() === ''}>
        {busy ? 'Speaking …' : dirty ? 'Save and play sample' : 'Play sample'}
      </button>
      {sound !== null && <audio controls autoPlay src={sound} />}
      <Failure failure={failure} />
    </div>
  );
}
