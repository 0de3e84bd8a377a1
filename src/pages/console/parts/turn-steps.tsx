/** The calls of a turn and its text in order, with the time that each took. */
import { useEffect } from 'preact/hooks';
import { refresh, useRead } from '../data.ts';
import { count } from '../format.ts';
import { apiWorkspace } from '../route.ts';
import type { List, TurnStep } from '../types.ts';
import { TimeOfDay } from './time.tsx';
import { CallState } from './tool-calls.tsx';

const words: Readonly<Record<TurnStep['kind'], string>> = { text: 'writes', call: 'calls', result: 'result' };

/** Shows the tool calls of a turn; empty for a turn without any. `moved` changes when the turn has moved. */
export function TurnSteps({ session, turn, moved }: { session: string; turn: string; moved: number }) {
  const path = `${apiWorkspace()}/sessions/${session}/turns/${turn}/steps`;
  const steps = useRead<List<TurnStep>>(path).value?.data ?? [];
  useEffect(() => void (moved > 0 && refresh(path)), [moved]);
  if (!steps.some(({ kind }) => kind === 'call' || kind === 'result')) return null;
  return (
    <section class="section" aria-label="Text and calls">
      <h2>Text and calls</h2>
      <div class="table">
        <table class="turn-steps">
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col" class="words">
                Function
              </th>
              <th scope="col" class="words">
                How it ended
              </th>
              <th scope="col">Took</th>
              <th scope="col">At</th>
            </tr>
          </thead>
          <tbody>
            {steps.map(({ seq, at, kind, call_id: call, name, status, error, milliseconds }) => (
              <tr key={seq}>
                <th scope="row">{words[kind]}</th>
                <td class="words" title={call ?? undefined}>
                  {name !== null && <code>{name}</code>}
                </td>
                <td class="words">{status !== null && <CallState status={status} error={error} />}</td>
                <td>{milliseconds !== null && `${count(milliseconds)} ms`}</td>
                <td>
                  <TimeOfDay at={at * 1000} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
