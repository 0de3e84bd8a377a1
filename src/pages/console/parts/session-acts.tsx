/** Actions on a session, on every page that shows it: its turn is aborted, or it is ended. Each asks first. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { apiWorkspace, callChart, turnChart } from '../route.ts';
import type { Session } from '../types.ts';
import { ConfirmDialog } from './dialog.tsx';

interface Options {
  readonly session: string;
  /** Called once the server has done it. */
  readonly done?: () => Promise<void>;
}

const post = async (path: string, done: Options['done']): Promise<void> => {
  await ask(path, { method: 'POST' });
  await done?.();
};

interface ChartOptions {
  readonly session: string;
  readonly turn: string | null | undefined;
  readonly call: string | null;
}

/** Links to the charts of what a session has in flight. */
export const ChartLinks = ({ session, turn, call }: ChartOptions) => (
  <>
    {turn && (
      <a class="button quiet" href={turnChart(turn, session)}>
        Turn
      </a>
    )}
    {call !== null && (
      <a class="button quiet" href={callChart(call, session)}>
        Call
      </a>
    )}
  </>
);

/** `turn`: null for the session's turn in flight. */
export function AbortTurn({ session, turn, done }: Options & { turn: string | null }) {
  const [asking, setAsking] = useState(false);
  const path = `${apiWorkspace()}/sessions/${session}`;
  const abort = async () => {
    const active = turn ?? (await ask<Session>(path)).active_turn_id;
    if (active !== null) await post(`${path}/turns/${active}/abort`, done);
  };
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>
        Abort the turn
      </button>
      {asking && (
        <ConfirmDialog name="Abort the turn" act="Abort the turn" run={abort} close={() => setAsking(false)}>
          <p>The reply stops here. What was written stays in the transcript, marked as cut.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

export function EndSession({ session, done }: Options) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>
        End
      </button>
      {asking && (
        <ConfirmDialog
          name="End the session"
          act="End the session"
          run={() => post(`${apiWorkspace()}/sessions/${session}/end`, done)}
          close={() => setAsking(false)}
        >
          <p>It takes no further turns. A turn in flight is aborted; the transcript stays.</p>
        </ConfirmDialog>
      )}
    </>
  );
}
