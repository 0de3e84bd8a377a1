/** A rollout: a version that a share of new sessions gets, beside the current one, with live counts of both. */
import { useState } from 'preact/hooks';
import { ask, type ApiFailure } from '../api.ts';
import { refresh } from '../data.ts';
import { count } from '../format.ts';
import { may } from '../may.ts';
import type { Assistant, Candidate, Version } from '../types.ts';
import { ConfirmDialog, Dialog } from './dialog.tsx';
import { Check, Choice, Input } from './field.tsx';
import { State } from './head.tsx';
import { failedWords, ifDraft, keepAssistant, openSessionsWords, versionPage } from './release.ts';
import { FormEnd, useSubmit } from './submit.tsx';
import { releaseAdvice } from './test-required.tsx';

interface Options {
  readonly assistant: Assistant;
  readonly path: string;
  readonly done: () => void;
}

interface PanelOptions extends Options {
  readonly candidate: Candidate;
  readonly versions: readonly Version[];
}

type Asked = 'change' | 'promote' | 'end';

/** The rollout that is under way, or that was halted. */
export function RolloutPanel({ assistant, candidate, versions, path, done }: PanelOptions) {
  const { version: current } = assistant;
  const { version, percent, state } = candidate;
  const [asking, setAsking] = useState<Asked | null>(null);
  const close = () => setAsking(null);
  const isHalted = state === 'halted';
  const move = async (verb: 'promote' | 'end') => {
    const moved = await ask<Assistant>(`${path}/rollout/${verb}`, { method: 'POST' });
    keepAssistant(path, moved);
    done();
  };
  return (
    <section class="section" aria-label="Rollout">
      <div class="comparing">
        <h2>Rollout of version {version}</h2>
        <State name={state} tone={isHalted ? 'red' : 'lit'} />
      </div>
      <div role="status">{isHalted ? <Halted of={candidate} current={current} /> : <Rolling of={candidate} />}</div>
      <Sides assistant={assistant.id} numbers={[current, version]} versions={versions} />
      {may('assistants.write') && (
        <p class="acts">
          <button type="button" class={isHalted ? undefined : 'primary'} onClick={() => setAsking('promote')}>
            Promote
          </button>
          <button type="button" onClick={() => setAsking('change')}>
            {isHalted ? 'Roll out again' : 'Change'}
          </button>
          <button type="button" onClick={() => setAsking('end')}>
            End rollout
          </button>
        </p>
      )}
      {asking === 'change' && (
        <RolloutDialog
          assistant={assistant}
          path={path}
          versions={versions}
          number={version}
          close={close}
          done={done}
        />
      )}
      {asking === 'promote' && (
        <ConfirmDialog
          name={`Promote version ${version}`}
          act="Promote"
          run={() => move('promote')}
          close={close}
          danger={isHalted}
        >
          {isHalted && <p>It was halted: {failedWords(candidate)} since the rollout began.</p>}
          <p>
            All new sessions get version {version} instead of {percent} % of them. {openSessionsWords(assistant)}
          </p>
        </ConfirmDialog>
      )}
      {asking === 'end' && (
        <ConfirmDialog
          name={`End the rollout of version ${version}`}
          act="End rollout"
          run={() => move('end')}
          close={close}
        >
          <p>
            New sessions get version {current} alone. Sessions that are on version {version} move to version {current}{' '}
            at their next turn.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

const ruleWords = ({ halt }: Candidate): string =>
  halt === null
    ? 'Nothing halts it.'
    : `It halts by itself once ${count(halt.after_turns)} turns have ended and more than ${halt.failed_percent} % of them failed.`;

const Rolling = ({ of }: { of: Candidate }) => (
  <p>
    <strong>{of.percent} %</strong> of new sessions get it. {ruleWords(of)} Since it began, {failedWords(of)}.
  </p>
);

const Halted = ({ of, current }: { of: Candidate; current: number | null }) => (
  <p>
    <strong>Halted: {failedWords(of)}</strong>
    {of.halt !== null &&
      `, more than the ${of.halt.failed_percent} % that were allowed after ${count(of.halt.after_turns)} turns`}
    . No new session gets it; its open sessions move to version {current} at their next turn.
  </p>
);

const percentOf = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((part / whole) * 100)} %`;

interface SidesOptions {
  readonly assistant: string;
  readonly numbers: readonly (number | null)[];
  readonly versions: readonly Version[];
}

/** The counts of the current version and of the candidate. */
const Sides = ({ assistant, numbers, versions }: SidesOptions) => (
  <div class="table" role="group" aria-label="Counts of both versions" tabIndex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">Sessions</th>
          <th scope="col">Turns</th>
          <th scope="col">Failed</th>
          <th scope="col">Rated up</th>
          <th scope="col">Rated down</th>
        </tr>
      </thead>
      <tbody>
        {versions
          .filter(({ number }) => numbers.includes(number))
          .map(({ number, state, sessions, turns, failed_turns: failed, feedback_up: up, feedback_down: down }) => (
            <tr key={number}>
              <th scope="row">
                <a href={versionPage(assistant, number)}>{number}</a> <span class="note">{state}</span>
              </th>
              <td>{count(sessions)}</td>
              <td>{count(turns)}</td>
              <td>
                {count(failed)} <span class="note">{percentOf(failed, turns)}</span>
              </td>
              <td>{count(up)}</td>
              <td>{count(down)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  </div>
);

interface DialogOptions extends Options {
  readonly versions: readonly Version[];
  /** The version that is proposed; null for the draft, or for the newest that is not current. */
  readonly number: number | null;
  readonly close: () => void;
}

const wholeNumber = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));

/** Starts a rollout, or changes the share or the halt rule of the one that is under way. */
export function RolloutDialog({ assistant, path, versions, number, close, done }: DialogOptions) {
  const { candidate, version: current, draft } = assistant;
  const others = versions.filter((one) => one.number !== current);
  const isChange = candidate !== null && candidate.version === number;
  const proposed = number !== null ? String(number) : draft.changed ? 'draft' : String(others[0]?.number ?? 'draft');
  const rule = isChange ? candidate.halt : defaultRule;
  const [version, setVersion] = useState(proposed);
  const [percent, setPercent] = useState(isChange ? String(candidate.percent) : '10');
  const [halts, setHalts] = useState(rule !== null);
  const [failed, setFailed] = useState(String((rule ?? defaultRule).failed_percent));
  const [after, setAfter] = useState(String((rule ?? defaultRule).after_turns));
  const sending = useSubmit(async () => {
    const body = {
      version: version === 'draft' ? 'draft' : Number(version),
      percent: wholeNumber(percent),
      halt: halts ? { failed_percent: wholeNumber(failed), after_turns: wholeNumber(after) } : null,
    };
    try {
      const headers = version === 'draft' ? ifDraft(assistant) : {};
      keepAssistant(path, await ask<Assistant>(`${path}/rollout`, { body, headers }));
    } catch (error) {
      await refresh(path);
      throw error;
    }
    done();
    close();
  });
  const { failure } = sending;
  const choices = [
    ...(draft.changed ? [['draft', 'The draft, as a new version'] as const] : []),
    ...others.map(
      (one) =>
        [
          String(one.number),
          one.note === null ? `Version ${one.number}` : `Version ${one.number}: ${one.note}`,
        ] as const,
    ),
  ];
  const replaces = candidate !== null && version !== String(candidate.version);
  return (
    <Dialog name={isChange ? `Rollout of version ${number}` : 'Start a rollout'} close={close}>
      <form onSubmit={sending.submit}>
        {!isChange && (
          <Choice
            label="Version"
            path="version"
            value={version}
            onValue={setVersion}
            choices={choices}
            failure={failure}
          />
        )}
        <Input
          label="Percent of new sessions"
          path="percent"
          type="number"
          min={1}
          max={99}
          required
          value={percent}
          onValue={setPercent}
          failure={failure}
          note="A visitor keeps the version while the rollout lasts. A higher percent takes nobody out."
        />
        <HaltFields
          halts={halts}
          setHalts={setHalts}
          failed={failed}
          setFailed={setFailed}
          after={after}
          setAfter={setAfter}
          failure={failure}
        />
        {replaces && (
          <p>
            The rollout of version {candidate.version} ends; version {candidate.version} is retired.
          </p>
        )}
        <FormEnd
          sending={sending}
          act={isChange ? (candidate.state === 'halted' ? 'Roll out again' : 'Save') : 'Start rollout'}
          cancel={close}
          advice={(problem) =>
            problem.code === 'draft_changed'
              ? 'Another person or an edited tool changed it. Look at the draft, or start again to roll it out as it is now.'
              : releaseAdvice(assistant.id)(problem)
          }
        />
      </form>
    </Dialog>
  );
}

interface HaltOptions {
  readonly halts: boolean;
  readonly setHalts: (halts: boolean) => void;
  readonly failed: string;
  readonly setFailed: (failed: string) => void;
  readonly after: string;
  readonly setAfter: (after: string) => void;
  readonly failure: ApiFailure | null;
}

/** The fields of the halt rule. */
const HaltFields = ({ halts, setHalts, failed, setFailed, after, setAfter, failure }: HaltOptions) => (
  <>
    <Check
      label="Halt by itself"
      checked={halts}
      onValue={setHalts}
      note="The turn with which too many have failed halts it: no new session gets the version."
    />
    {halts && (
      <div class="pair">
        <Input
          label="Max failed turns, percent"
          path="halt.failed_percent"
          type="number"
          min={1}
          max={100}
          required
          value={failed}
          onValue={setFailed}
          failure={failure}
        />
        <Input
          label="From this many turns on"
          path="halt.after_turns"
          type="number"
          min={10}
          max={999_999_999}
          required
          value={after}
          onValue={setAfter}
          failure={failure}
        />
      </div>
    )}
  </>
);

const defaultRule = { failed_percent: 5, after_turns: 50 };

interface RecallOptions extends Options {
  readonly close: () => void;
}

/** Moves sessions that are open to the current version. */
export const RecallDialog = ({ assistant, path, close, done }: RecallOptions) => (
  <ConfirmDialog
    name="Move open sessions"
    act="Move open sessions"
    close={close}
    run={async () => {
      keepAssistant(path, await ask<Assistant>(`${path}/recall`, { method: 'POST' }));
      done();
    }}
  >
    <p>
      Every open session gets version {assistant.version} at its next turn, whichever version it is on. A turn that runs
      ends on its version.
    </p>
    {assistant.candidate !== null && <p>That includes sessions on version {assistant.candidate.version}.</p>}
  </ConfirmDialog>
);
