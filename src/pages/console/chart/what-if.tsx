/** The simulation: sends an event to a copy of the machine in this page. The server is not involved. */
import { useState } from 'preact/hooks';
import type { ActorKind } from '../../../../machines/all.ts';
import { now } from '../clock.ts';
import { Choice } from '../parts/field.tsx';
import type { Standing } from './copy.ts';
import { answerTo, questionsOf } from './questions.ts';
import { codeOf } from './steps.ts';

interface Options {
  readonly kind: ActorKind;
  readonly standing: Standing;
  /** The time of the step that is looked at, in milliseconds; null for now. */
  readonly at: number | null;
  /** Lights the state that would follow. */
  readonly hint: (state: string | null) => void;
}

export function WhatIf({ kind, standing, at, hint }: Options) {
  const [chosen, choose] = useState('');
  const questions = questionsOf(kind);
  const question = questions[Number(chosen)];
  const answer = chosen === '' || question === undefined ? null : answerTo(kind, standing, question, at ?? now());
  const pick = (value: string) => {
    choose(value);
    const asked = value === '' ? undefined : questions[Number(value)];
    hint(asked === undefined ? null : (answerTo(kind, standing, asked, at ?? now())?.state ?? null));
  };
  const choices = questions.map(({ event, when }, index): [string, string] => [
    String(index),
    when === null ? event : `${event}: ${when}`,
  ]);
  const refused = answer === null ? null : codeOf(answer.outcomes);
  return (
    <section class="what-if" aria-label="Simulation">
      <Choice label="Simulate event" value={chosen} onValue={pick} choices={[['', 'Choose an event'], ...choices]} />
      <output aria-live="polite">
        {answer !== null && (
          <>
            {refused !== null && <span class="no">Refused: {refused}. </span>}
            {answer.state === standing.state
              ? `It stays ${answer.state}.`
              : `${standing.state} → ${answer.state}.`}{' '}
            <code>
              {answer.outcomes
                .map(({ type, reason, status }) => [type, reason, status].filter(Boolean).join(' '))
                .filter((told) => told !== 'refused' && told !== 'unchanged')
                .join(', ')}
            </code>
          </>
        )}
        {answer === null && chosen !== '' && 'The result is unknown: the context at this step is not stored.'}
      </output>
      <small>Runs on a copy in this page; nothing is sent to the server.</small>
    </section>
  );
}
