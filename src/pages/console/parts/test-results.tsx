/** The results of a run of tests: what failed first, each with what was expected, said and called. */
import type { ComponentChildren } from 'preact';
import { plural } from '../format.ts';
import type { TestResult } from '../types.ts';
import { State } from './head.tsx';
import { failuresFirst, failureWords, verdictTones, type Verdict } from './test-state.ts';
import { CallState } from './tool-calls.tsx';
import { testPage } from './use-tests.ts';

type Repeat = TestResult['repeats'][number];
type Step = Repeat['steps'][number];

export const VerdictState = ({ of }: { of: Verdict }) => <State name={of} tone={verdictTones[of]} />;

/** `assistant`: its id. */
export const TestResults = ({ of, assistant }: { of: readonly TestResult[]; assistant: string }) => (
  <div class="results">
    {failuresFirst(of).map((result) => (
      <OneResult key={result.test_id} of={result} assistant={assistant} />
    ))}
  </div>
);

function OneResult({ of: { test_id: id, name, verdict, repeats }, assistant }: { of: TestResult; assistant: string }) {
  const [only] = repeats;
  const passed = repeats.filter((one) => one.verdict === 'passed').length;
  return (
    <details class="result" open={verdict !== 'passed'} aria-label={name}>
      <summary>
        <strong>{name}</strong> <VerdictState of={verdict} />
        {repeats.length > 1 && (
          <span class="note">
            {passed} of {plural(repeats.length, 'repetition')} passed
          </span>
        )}
      </summary>
      <div class="stack-wide">
        <p>
          <a href={testPage(assistant, id)}>Edit the test</a>
        </p>
        {repeats.length === 1 ? <Steps of={only!} /> : <Repeats of={repeats} />}
      </div>
    </details>
  );
}

const tenths = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** The repetitions: those that failed come first, and the first of them is open. */
function Repeats({ of }: { of: readonly Repeat[] }) {
  const numbered = failuresFirst(of.map((one, index) => ({ ...one, number: index + 1 })));
  return (
    <>
      {numbered.map((one, index) => (
        <details key={one.number} class="repeat" open={index === 0 && one.verdict !== 'passed'}>
          <summary>
            Repetition {one.number} <VerdictState of={one.verdict} />
            {one.seconds !== null && <span class="note"> {tenths.format(one.seconds)} s</span>}
          </summary>
          <Steps of={one} />
        </details>
      ))}
    </>
  );
}

const Steps = ({ of: { verdict, steps } }: { of: Repeat }) => (
  <ol class="exchanges">
    {steps.map((step, index) => (
      <li key={index} class="exchange">
        <OneStep of={step} isError={verdict === 'error' && index === steps.length - 1} />
      </li>
    ))}
  </ol>
);

const OneStep = ({ of, isError }: { of: Step; isError: boolean }) => (
  <>
    <Words name="Visitor" kind="user">
      {of.message}
    </Words>
    {of.calls.map((call, index) => (
      <OneCall key={index} of={call} />
    ))}
    <Words name="Assistant" kind="assistant">
      {of.reply || <span class="soft">No reply.</span>}
    </Words>
    {isError && <p class="unmet">The model’s provider failed: this says nothing about the assistant.</p>}
    {of.failures.length > 0 && (
      <ul class="plain" aria-label="Expectations that are not met">
        {of.failures.map((failure, index) => {
          const { expected, saw } = failureWords(failure);
          return (
            <li key={index} class="unmet">
              <strong>Expected: {expected}</strong>
              {saw !== null && <p>{saw}</p>}
            </li>
          );
        })}
      </ul>
    )}
    {of.judged && <p class="note">Judged by the assistant’s own model.</p>}
  </>
);

/** The words of one side, with its name for screen readers. */
export const Words = ({
  name,
  kind,
  children,
}: {
  name: string;
  kind: 'user' | 'assistant';
  children: ComponentChildren;
}) => (
  <div class={`said ${kind}`}>
    <p class="words">
      <span class="visually-hidden">{name}: </span>
      {children}
    </p>
  </div>
);

function OneCall({ of: { name, arguments: args, status, error } }: { of: Step['calls'][number] }) {
  return (
    <p class="played-call">
      <code>{name}</code> <code class="soft">{args === null ? 'no arguments' : JSON.stringify(args)}</code>{' '}
      {status === 'failed' && error === 'refused' ? (
        <>
          <State name="failed" tone="red" /> <span class="note">The test has no result for it, or one that fails.</span>
        </>
      ) : (
        <CallState status={status} error={error} />
      )}
    </p>
  );
}
