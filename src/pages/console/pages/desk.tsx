/**
 * The desk: conversations whose visitors wait for a person, the longest first, and those that people have. A new one is
 * heard, and counted in the window's title.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { after, repeatedly } from '../clock.ts';
import { useList } from '../data.ts';
import { watch } from '../feed.ts';
import { plural } from '../format.ts';
import { Empty } from '../parts/empty.tsx';
import { caught, Failure } from '../parts/failure.tsx';
import { Head, State } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { Ago } from '../parts/time.tsx';
import { chime, sound } from '../parts/chime.ts';
import { assistantColumn } from '../parts/session-columns.tsx';
import { Key, Shortcuts, useShortcuts } from '../parts/shortcuts.tsx';
import type { ApiFailure } from '../api.ts';
import { apiWorkspace, go, inWorkspace, workspaceId } from '../route.ts';
import type { Assistant, DeskSession } from '../types.ts';

/** Time from a message of the feed to the reading of the list, and between two readings without one, in milliseconds. */
const [rereadMs, silentMs] = [200, 15_000];

export default function Desk() {
  const list = useList<DeskSession>(`${apiWorkspace()}/desk`);
  const { items: assistants, again: readAssistants } = useList<Assistant>(`${apiWorkspace()}/assistants`);
  useFollowed(list.again);
  const unknown = list.items.find(({ assistant_id: id }) => assistants.every((one) => one.id !== id))?.assistant_id;
  useEffect(() => void (unknown !== undefined && readAssistants()), [unknown]);
  const waiting = list.items.filter(({ attendance }) => attendance.state === 'waiting');
  useChime(list.begun ? waiting.map(({ id }) => id) : null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const take = async (id: string) => {
    setFailure(null);
    try {
      await ask(`${apiWorkspace()}/sessions/${id}/take`, { method: 'POST' });
      go(inWorkspace('sessions', id));
    } catch (error) {
      setFailure(caught(error));
      list.again();
    }
  };
  const next = waiting[0];
  useShortcuts({
    n: next && (() => go(inWorkspace('sessions', next.id))),
    t: next && (() => void take(next.id)),
  });
  const nameOf = (id: string): string => assistants.find((one) => one.id === id)?.name ?? id;
  const columns: readonly Column<DeskSession>[] = [
    {
      name: 'Conversation',
      width: 'minmax(0, 2fr)',
      cell: (session) => (
        <>
          <a href={inWorkspace('sessions', session.id)} title={session.id}>
            {session.reason || session.last_message?.content || 'Nothing was said yet'}
          </a>
          <small>
            <Ago at={session.attendance.since} /> · {nameOf(session.assistant_id)}
          </small>
        </>
      ),
    },
    { name: 'State', width: 'minmax(96px, max-content)', cell: ({ attendance }) => <Attended of={attendance} /> },
    {
      name: 'Since',
      width: '104px',
      numeric: true,
      wide: true,
      cell: ({ attendance: { since } }) => Ago({ at: since }),
    },
    assistantColumn(nameOf),
    {
      name: 'Visitor',
      width: 'minmax(0, 1fr)',
      wide: true,
      cell: ({ visitor }) => <span class="soft">{Object.values(visitor).map(String).join(', ') || '–'}</span>,
    },
  ];
  return (
    <>
      <Head name="Desk" title={waiting.length > 0 ? `(${waiting.length}) Desk` : 'Desk'}>
        {list.begun && <span class="note">{`${plural(waiting.length, 'visitor')} waiting`}</span>}
        <Sound />
        {next !== undefined && (
          <button type="button" class="primary" onClick={() => void take(next.id)}>
            Take the next one
            <Key of="t" />
          </button>
        )}
      </Head>
      <Failure failure={failure} />
      <Rows
        label="Sessions at the desk"
        columns={columns}
        list={list}
        depends={assistants}
        empty={
          <Empty name="Nobody waits">
            A conversation stands here when its visitor, or its assistant, asks for a person, and while a person has it.
            Visitors can ask where the assistant has a desk. You can take any open session on its page.
          </Empty>
        }
      />
      <Shortcuts />
    </>
  );
}

/** The party that answers, as a state in words. */
const Attended = ({ of: { state, person } }: { of: DeskSession['attendance'] }) => (
  <State
    name={state === 'person' ? (person?.name ?? 'person') : state === 'waiting' ? 'waiting' : 'assistant'}
    tone={state === 'waiting' ? 'lit' : 'plain'}
  />
);

/** Reads the list again when the attendance of a session changes. */
function useFollowed(again: () => void): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    let cancel: (() => void) | null = null;
    const stop = watch({ workspace: workspaceId.value, kind: 'attendance' }, () => {
      cancel ??= after(rereadMs, () => {
        cancel = null;
        latest.current();
      });
    });
    const stopReading = repeatedly(silentMs, async () => latest.current());
    return () => {
      cancel?.();
      stop();
      stopReading();
    };
  }, []);
}

/** Sounds when a visitor waits who did not when the list was read before; `waiting`: null before the first reading. */
function useChime(waiting: readonly string[] | null): void {
  const known = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (waiting === null) return;
    if (known.current !== null && waiting.some((id) => !known.current!.has(id))) chime();
    known.current = new Set(waiting);
  }, [waiting?.join()]);
}

function Sound() {
  const [on, setOn] = useState(sound.isOn);
  const turn = () => {
    sound.turn(!on);
    setOn(!on);
    if (!on) chime();
  };
  return (
    <button type="button" class="quiet" aria-pressed={on} onClick={turn}>
      {on ? 'Sound on' : 'Sound off'}
    </button>
  );
}
