/** One version of an assistant: its differences to another version or the draft, and all of its settings. */
import { useEffect, useState } from 'preact/hooks';
import { refresh, useList, useRead } from '../data.ts';
import { count } from '../format.ts';
import { may } from '../may.ts';
import { Failure } from '../parts/failure.tsx';
import { Choice } from '../parts/field.tsx';
import { Facts, Head, State } from '../parts/head.tsx';
import { Unread } from '../parts/missing.tsx';
import { RolloutDialog } from '../parts/rollout.tsx';
import { failedWords, newer, versionsPage, versionTones } from '../parts/release.ts';
import { labelOf, orderOf, settingText, type ToolNames } from '../parts/setting-words.ts';
import { MomentText } from '../parts/time.tsx';
import { RestoreDialog, RollbackDialog } from '../parts/version-acts.tsx';
import { VersionChanges } from '../parts/version-changes.tsx';
import { Wait } from '../parts/wait.tsx';
import { apiWorkspace, go, search, segments, setQuery } from '../route.ts';
import type { Assistant, Tool, Version, VersionChange, VersionWithConfig } from '../types.ts';

export default function VersionPage() {
  const [, , id = '', , number = ''] = segments.value;
  const path = `${apiWorkspace()}/assistants/${id}`;
  const own = `${path}/versions/${number}`;
  const assistant = useRead<Assistant>(path).value;
  const { value: version, failure } = useRead<VersionWithConfig>(own);
  if (version === undefined || assistant === undefined)
    return (
      <Unread what="version" list={[versionsPage(id), 'Versions']} failure={failure} again={() => void refresh(own)} />
    );
  return <Shown assistant={assistant} version={version} path={path} />;
}

interface Options {
  readonly assistant: Assistant;
  readonly version: VersionWithConfig;
  readonly path: string;
}

function Shown({ assistant, version, path }: Options) {
  const { number, note, state, created_at: at, created_by: by } = version;
  const tools = useToolNames(version);
  return (
    <>
      <Head
        name={`Version ${number}`}
        title={`Version ${number} of ${assistant.name}`}
        above={[versionsPage(assistant.id), `Versions of ${assistant.name}`]}
        state={<State name={state} tone={versionTones[state]} />}
      >
        {may('assistants.write') && <Acts assistant={assistant} version={version} path={path} />}
      </Head>
      {note !== null && <p class="version-note">{note}</p>}
      <Facts
        of={[
          ['Published', <MomentText at={at} />],
          ['By', by?.name ?? 'before versions existed'],
          ['Sessions', count(version.sessions)],
          ['Turns', count(version.turns)],
          ['Failed', version.turns === 0 ? '0' : failedWords(version)],
          ['Feedback', `${count(version.feedback_up)} up, ${count(version.feedback_down)} down`],
        ]}
      />
      <Comparison assistant={assistant} number={number} path={path} tools={tools} />
      <Settings version={version} tools={tools} />
    </>
  );
}

/** The names of the tools of the version and of the workspace. */
function useToolNames({ config: { tools = [] } }: VersionWithConfig): ToolNames {
  const all = useList<Tool>(may('tools.read') ? `${apiWorkspace()}/tools` : null).items;
  return new Map([...all, ...tools].map(({ id, name }) => [id, name]));
}

function Acts({ assistant, version, path }: Options) {
  const { number, state } = version;
  const [asking, setAsking] = useState<'restore' | 'rollback' | 'rollout' | null>(null);
  const options = { assistant, path, number, close: () => setAsking(null) };
  return (
    <>
      <button type="button" onClick={() => setAsking('restore')}>
        Restore as draft
      </button>
      {state === 'retired' && (
        <>
          <button type="button" onClick={() => setAsking('rollout')}>
            Roll out
          </button>
          <button type="button" onClick={() => setAsking('rollback')}>
            {assistant.version !== null && number > assistant.version ? 'Make current' : 'Roll back to it'}
          </button>
        </>
      )}
      {asking === 'restore' && <RestoreDialog {...options} />}
      {asking === 'rollback' && <RollbackDialog {...options} done={() => void refresh(`${path}/versions/${number}`)} />}
      {asking === 'rollout' && (
        <RolloutDialog {...options} versions={[version]} done={() => go(versionsPage(assistant.id))} />
      )}
    </>
  );
}

interface ComparisonOptions {
  readonly assistant: Assistant;
  readonly number: number;
  readonly path: string;
  readonly tools: ToolNames;
}

/** The differences to another version or the draft. The newer side is the later version, or the draft. */
function Comparison({ assistant, number, path, tools }: ComparisonOptions) {
  const asked = search.value.get('from');
  const from = asked ?? (number > 1 ? String(number - 1) : null);
  const versions = useList<Version>(`${path}/versions`).items;
  const changesPath = from === null ? null : `${path}/versions/${number}/changes?from=${from}`;
  const { value, failure } = useRead<{ data: VersionChange[] }>(changesPath);
  useEffect(() => void (from === 'draft' && refresh(changesPath!)), [assistant.draft.digest]);
  const isOlder = from === 'draft' || Number(from) > number;
  const other = from === 'draft' ? 'Draft' : `Version ${from}`;
  const sides = isOlder ? ([`Version ${number}`, other] as const) : ([other, `Version ${number}`] as const);
  const numbers = versions.map((one) => one.number).filter((one) => one !== number);
  const choices = [
    ['draft', 'Draft'] as const,
    ...[...new Set([...numbers, ...(from === null || from === 'draft' ? [] : [Number(from)])])]
      .toSorted((one, two) => two - one)
      .map((one) => [String(one), `Version ${one}`] as const),
  ];
  return (
    <section class="section" aria-label="Comparison">
      <div class="comparing">
        <h2>{from === null ? 'It is the first version' : `${sides[0]} → ${sides[1]}`}</h2>
        <Choice
          label="Compare with"
          value={from ?? ''}
          onValue={(value) => setQuery({ from: value }, { replace: false })}
          choices={from === null ? [['', 'Choose'] as const, ...choices] : choices}
        />
      </div>
      {failure !== null ? (
        <Failure failure={failure} again={() => void refresh(changesPath!)} />
      ) : from === null ? null : value === undefined ? (
        <Wait what="Comparing" />
      ) : (
        <VersionChanges of={isOlder ? value.data.map(newer) : value.data} sides={sides} tools={tools} />
      )}
    </section>
  );
}

/** All settings of the version. */
function Settings({ version: { config }, tools }: { version: VersionWithConfig; tools: ToolNames }) {
  const flat = [
    ...Object.entries(config.model).map(([name, value]) => [`model.${name}`, value] as const),
    ...Object.entries(config.voice ?? {}).map(([name, value]) => [`voice.${name}`, value] as const),
    ...(['greeting', 'visitor_fields', 'max_call_seconds', 'tool_rounds_max'] as const).map(
      (name) => [name, config[name]] as const,
    ),
  ];
  const settings = flat
    .flatMap(([path, value]) => {
      const text = settingText(path, value, tools);
      return text === null ? [] : [{ path, text }];
    })
    .toSorted((one, two) => orderOf(one.path) - orderOf(two.path));
  return (
    <section class="section" aria-label="Settings">
      <h2>Settings</h2>
      <dl class="settings">
        {settings.map(({ path, text }) => (
          <div key={path}>
            <dt>{labelOf(path)}</dt>
            <dd class="words">{text}</dd>
          </div>
        ))}
        {config.tools && (
          <div>
            <dt>Tools</dt>
            <dd>{config.tools.length === 0 ? 'none' : <Tools of={config.tools} />}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}

const Tools = ({ of }: { of: NonNullable<VersionWithConfig['config']['tools']> }) => (
  <ul class="plain">
    {of.map(({ id, name, url, functions }) => (
      <li key={id}>
        {name}
        {url !== null && (
          <>
            {' '}
            <code>{url}</code>
          </>
        )}
        <span class="note"> {functions.map((one) => one.name).join(', ') || 'no function'}</span>
      </li>
    ))}
  </ul>
);
