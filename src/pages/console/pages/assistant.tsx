/** An assistant: its form in sections, what may be done with it, and a talk with it, also while it is a draft. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { changeInLists, useList, useRead } from '../data.ts';
import { may } from '../may.ts';
import {
  faultySection,
  sectionQuery,
  sections,
  shownSection,
  type Section,
  type Shown,
} from '../parts/assistant-sections.ts';
import { forget } from '../parts/assistant-draft.ts';
import { AssistantForm } from '../parts/assistant-form.tsx';
import { IdentityDialogs, useLinkIdentity } from '../parts/identity-form.tsx';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { caught, Failure } from '../parts/failure.tsx';
import { Head, State } from '../parts/head.tsx';
import { useLinkUse } from '../parts/link-use.ts';
import { OthersNotice } from '../parts/others-changes.tsx';
import { keepAssistant } from '../parts/release.ts';
import { ReleaseBar } from '../parts/release-bar.tsx';
import { useTabs } from '../parts/tabs.ts';
import { Trial } from '../parts/trial.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { NotPermitted, UnreadAssistant } from '../parts/missing.tsx';
import type { ApiFailure } from '../api.ts';
import { apiWorkspace, go, inWorkspace, segments, setQuery } from '../route.ts';
import type { Assistant, Credential, Tool } from '../types.ts';
import { toneOf } from './assistants.tsx';

export default function AssistantPage() {
  const [, , id = ''] = segments.value;
  const isNew = id === 'new';
  const path = `${apiWorkspace()}/assistants/${id}`;
  const { value: assistant, failure } = useRead<Assistant>(isNew ? null : path);
  if (isNew && !may('assistants.write')) return <NotPermitted />;
  if (!isNew && assistant === undefined) return <UnreadAssistant path={path} failure={failure} />;
  return <Editor key={id} assistant={assistant ?? null} path={path} />;
}

function Editor({ assistant, path }: { assistant: Assistant | null; path: string }) {
  const credentials = useList<Credential>(may('credentials.read') ? `${apiWorkspace()}/credentials` : null).items;
  const tools = useList<Tool>(may('tools.read') ? `${apiWorkspace()}/tools` : null).items;
  const { draft, change, discard, dirty, busy, failure, save, others, dismissOthers } = useDraft(assistant, path);
  const use = useLinkUse(path, assistant);
  const identity = useLinkIdentity(path);
  const mayWrite = may('assistants.write');
  const section = shownSection();
  const shown = section === 'try' && !mayWrite ? 'general' : section;
  const form = useForm(failure, shown);
  const submit = (event: Event) => {
    event.preventDefault();
    if (form.isValid()) void save();
  };
  return (
    <>
      <Head
        name={assistant?.name ?? 'New assistant'}
        id={assistant?.id}
        above={[inWorkspace('assistants'), 'Assistants']}
        state={assistant && <State name={assistant.status} tone={toneOf(assistant.status)} />}
      >
        {assistant !== null && mayWrite && <Acts assistant={assistant} path={path} />}
      </Head>
      {assistant !== null && <ReleaseBar assistant={assistant} path={path} dirty={dirty} save={save} />}
      {others !== null && <OthersNotice others={others} draft={draft} change={change} dismiss={dismissOthers} />}
      {!mayWrite && <p class="note">Your role may read these settings, and not change them.</p>}
      <div class="bench editor" data-shown={shown}>
        <form class="form" ref={form.place} noValidate onSubmit={submit}>
          <SectionNav shown={shown} faulty={faultySection(failure)} />
          <fieldset class="permitted" disabled={!mayWrite}>
            <AssistantForm
              shown={shown === 'try' ? 'general' : shown}
              draft={draft}
              change={change}
              credentials={credentials}
              tools={tools}
              failure={failure}
              use={use}
              voice={{ path, assistant, dirty, save }}
              identity={identity}
              onSite={assistant && use && { assistant, use }}
            />
          </fieldset>
          {mayWrite && (
            <div class="save">
              <Failure failure={failure} />
              <p class="acts">
                <button type="submit" class="primary" disabled={busy || (!dirty && assistant !== null)}>
                  {busy ? 'Saving …' : assistant === null ? 'Create assistant' : 'Save'}
                </button>
                {dirty && assistant !== null && (
                  <button type="button" class="quiet" onClick={discard}>
                    Discard<span class="wide">{'\u00a0'}changes</span>
                  </button>
                )}
                <span class="note" role="status">
                  {dirty && (assistant === null ? 'It begins as a draft.' : 'Not saved yet.')}
                </span>
                {assistant !== null && (
                  <a
                    class="button to-trial"
                    href={location.pathname + sectionQuery(shown === 'try' ? 'general' : 'try')}
                  >
                    {shown === 'try' ? 'Back to the form' : 'Try it'}
                  </a>
                )}
              </p>
            </div>
          )}
        </form>
        {assistant !== null && <IdentityDialogs assistant={assistant} identity={identity} />}
        {mayWrite && (
          <aside>{assistant === null ? <Later /> : <Trial assistant={assistant} dirty={dirty} save={save} />}</aside>
        )}
      </div>
    </>
  );
}

/**
 * The form with its sections: a field that is refused, by the browser or the server, is shown with its section and has
 * the focus.
 */
function useForm(failure: ApiFailure | null, shown: Shown) {
  const place = useRef<HTMLFormElement>(null);
  const [invalid, setInvalid] = useState<HTMLInputElement | null>(null);
  useEffect(() => {
    const section = faultySection(failure);
    if (section !== null) setQuery({ section: section === 'general' ? null : section });
  }, [failure]);
  useEffect(() => {
    place.current!.querySelector<HTMLElement>('section:not([hidden]) [aria-invalid="true"]')?.focus();
  }, [failure, failure !== null && shown]);
  useEffect(() => {
    if (invalid === null || !invalid.checkVisibility()) return;
    invalid.reportValidity();
    setInvalid(null);
  }, [invalid, shown]);
  const isValid = (): boolean => {
    const found = place.current!.querySelector<HTMLInputElement>('[data-section] :invalid:not(fieldset)');
    if (found === null) return true;
    const section = found.closest<HTMLElement>('[data-section]')!.dataset['section']!;
    setQuery({ section: section === 'general' ? null : section });
    setInvalid(found);
    return false;
  };
  return { place, isValid };
}

const SectionNav = ({ shown, faulty }: { shown: Shown; faulty: Section | null }) => (
  <nav class="tabs" aria-label="Sections of the assistant" ref={useTabs(shown)}>
    {sections.map(([name, words]) => (
      <a
        key={name}
        href={location.pathname + sectionQuery(name)}
        aria-current={name === shown ? 'page' : undefined}
        class={name === faulty ? 'faulty' : undefined}
      >
        {words}
        {name === faulty && <span class="visually-hidden"> has a fault</span>}
      </a>
    ))}
  </nav>
);

const Later = () => (
  <section class="section" aria-label="Try it">
    <h2>Try it</h2>
    <p class="note">
      Once it is created you can talk to it here, as a draft, before anybody else can, and watch its session on the
      state chart.
    </p>
  </section>
);

const words = { unpublish: 'Unpublish', disable: 'Disable', enable: 'Enable' } as const;
type Verb = keyof typeof words;

const verbs: Readonly<Record<Assistant['status'], readonly Verb[]>> = {
  draft: ['disable'],
  published: ['unpublish', 'disable'],
  disabled: ['enable', 'unpublish'],
};

function Acts({ assistant, path }: { assistant: Assistant; path: string }) {
  const { id, name, status } = assistant;
  const [asking, setAsking] = useState<'disable' | 'delete' | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const close = () => setAsking(null);
  const move = async (verb: Verb) => {
    keepAssistant(path, await ask<Assistant>(`${path}/${verb}`, { method: 'POST' }));
  };
  const run = (verb: Verb) => {
    setFailure(null);
    void move(verb).catch((error: unknown) => setFailure(caught(error)));
  };
  const remove = async () => {
    await ask(path, { method: 'DELETE' });
    forget(id);
    changeInLists(id, null);
    go(inWorkspace('assistants'));
  };
  return (
    <>
      <Failure failure={failure} />
      <a class="button quiet" href={inWorkspace('live', 'assistant', id)}>
        Chart
      </a>
      <button type="button" class="quiet" onClick={() => setAsking('delete')}>
        Delete
      </button>
      {verbs[status].map((verb) => (
        <button
          key={verb}
          type="button"
          class={verb === 'enable' ? 'primary' : undefined}
          onClick={() => (verb === 'disable' ? setAsking('disable') : run(verb))}
        >
          {words[verb]}
        </button>
      ))}
      {asking === 'disable' && (
        <ConfirmDialog name={`Disable “${name}”`} act="Disable" run={() => move('disable')} close={close}>
          <p>
            It refuses new sessions and turns at once, with assistant_disabled. Turns that run go on to their end.
            Enabling it brings it back.
          </p>
        </ConfirmDialog>
      )}
      {asking === 'delete' && (
        <ConfirmDialog name={`Delete “${name}”`} act="Delete assistant" run={remove} close={close} typed={name}>
          <p>
            Its sessions can take no more turns. Transcripts and usage stay as long as the workspace keeps them. This
            cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
