/** Erasing a session, or the visitor who holds it: the question, and the receipt. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { apiWorkspace, inWorkspace } from '../route.ts';
import type { Erasure } from '../types.ts';
import { ConfirmDialog } from './dialog.tsx';
import { Facts, Head } from './head.tsx';
import { MomentText } from './time.tsx';

interface Options {
  readonly session: string;
  /** Null for a session that no visitor of a link or a widget holds. */
  readonly visitor: string | null;
  readonly erased: (receipt: Erasure) => void;
}

export function Erase({ session, visitor, erased }: Options) {
  const [asking, setAsking] = useState<'session' | 'visitor' | null>(null);
  const erase = async (path: string) => erased(await ask<Erasure>(`${apiWorkspace()}/${path}`, { method: 'DELETE' }));
  const close = () => setAsking(null);
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsking('session')}>
        Erase
      </button>
      {visitor !== null && (
        <button type="button" class="danger" onClick={() => setAsking('visitor')}>
          Erase visitor
        </button>
      )}
      {asking === 'session' && (
        <ConfirmDialog
          name="Erase the session"
          act="Erase the session"
          run={() => erase(`sessions/${session}`)}
          close={close}
        >
          <p>{goes}</p>
          <p>This cannot be undone.</p>
        </ConfirmDialog>
      )}
      {asking === 'visitor' && (
        <ConfirmDialog
          name="Erase the visitor"
          act="Erase the visitor"
          run={() => erase(`visitors/${encodeURIComponent(visitor!)}`)}
          close={close}
        >
          <p>All sessions of this visitor are erased, not this one alone. {goes}</p>
          <p>This cannot be undone.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

const goes =
  'The transcript, the visitor’s fields, metadata, tool calls and the history are deleted; a turn or a call in progress is aborted. Usage counts stay.';

/** The page of an erased session. */
export function Erased({ receipt }: { receipt: Erasure }) {
  const { at, sessions, messages, turns, feedback, tests } = receipt;
  return (
    <>
      <Head name="Erased" above={[inWorkspace('sessions'), 'Sessions']} />
      <Facts
        of={[
          ['Completed', <MomentText at={at} />],
          ['Sessions', String(sessions)],
          ['Messages', String(messages)],
          ['Turns', String(turns)],
          ['Feedback', String(feedback)],
          ['Tests', String(tests)],
        ]}
      />
    </>
  );
}
