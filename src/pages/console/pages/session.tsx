/** A session: its transcript as it is written, and what may be done to it. */
import { useEffect, useState } from 'preact/hooks';
import { adviceOn, ask, request } from '../api.ts';
import { after } from '../clock.ts';
import { refresh, useRead } from '../data.ts';
import { watch } from '../feed.ts';
import { shortId } from '../format.ts';
import { may } from '../may.ts';
import { caught, Failure } from '../parts/failure.tsx';
import { Facts, Head, State } from '../parts/head.tsx';
import { Erase, Erased } from '../parts/erasing.tsx';
import { Attend, useEvents } from '../parts/attend.tsx';
import { AbortTurn, ChartLinks, EndSession } from '../parts/session-acts.tsx';
import { Transcript, useTalk, type Talk } from '../parts/talk.tsx';
import { useRequest } from '../parts/submit.tsx';
import { testPage } from '../parts/use-tests.ts';
import { Waiting } from '../parts/tool-calls.tsx';
import { MomentText, Until } from '../parts/time.tsx';
import { Unread } from '../parts/missing.tsx';
import { verifiedFact } from '../parts/verified.tsx';
import { versionFact } from '../parts/version-fact.tsx';
import type { ApiFailure } from '../api.ts';
import { apiWorkspace, go, inWorkspace, segments, turnChart, workspaceId } from '../route.ts';
import type { Assistant, AssistantTest, ConsoleSession, Erasure, FeedMessage } from '../types.ts';

export default function SessionPage() {
  const [, , id = ''] = segments.value;
  const path = `${apiWorkspace()}/sessions/${id}`;
  const { value: session, failure } = useRead<ConsoleSession>(path);
  const [erasure, setErasure] = useState<{ readonly of: string; readonly receipt: Erasure } | null>(null);
  const assistant = useRead<Assistant>(
    session === undefined ? null : `${apiWorkspace()}/assistants/${session.assistant_id}`,
  ).value;
  const [heard, setHeard] = useState(0);
  const isAttended = session?.status === 'open' && session.attendance.state !== 'assistant';
  const reread = () => void refresh(path).then(() => setHeard((times) => times + 1));
  useEvents(path, isAttended, reread);
  const moved = useMoved(id, path);
  const talk = useTalk(
    session === undefined ? null : path,
    session?.active_turn_id ?? null,
    `${session?.status} ${session?.active_turn_id ? '' : `${moved} ${heard}`}`,
  );
  if (erasure?.of === path) return <Erased receipt={erasure.receipt} />;
  if (session === undefined)
    return (
      <Unread
        what="session"
        list={[inWorkspace('sessions'), 'Sessions']}
        failure={failure}
        again={() => void refresh(path)}
      />
    );
  const streaming = session.active_turn_id !== null;
  const visitor = Object.entries(session.visitor);
  return (
    <>
      <Head
        name={assistant === undefined ? 'Session' : `Session with ${assistant.name}`}
        id={id}
        title={[firstWords(talk), assistant === undefined ? shortId(id) : `Session with ${assistant.name}`]
          .filter(Boolean)
          .join(' · ')}
        above={[inWorkspace('sessions'), 'Sessions']}
        state={<State name={streaming ? 'streaming' : session.status} tone={streaming ? 'lit' : 'plain'} />}
      >
        {assistant !== undefined && session.channel !== 'test' && (
          <MakeTest session={session} name={firstWords(talk)} />
        )}
        <Acts session={session} path={path} erased={(receipt) => setErasure({ of: path, receipt })} />
      </Head>
      <Facts
        of={[
          ['Opened', <MomentText at={session.created_at} />],
          session.ended_at === null
            ? ['Expires in', <Until at={session.expires_at} />]
            : ['Ended', <MomentText at={session.ended_at} />],
          ...(session.history_left_out === undefined
            ? []
            : [
                [
                  'Not sent to the model',
                  `${session.history_left_out} of the messages before the last turn: the conversation is too long`,
                ] as const,
              ]),
          ['Channel', session.channel === 'api' ? 'API' : session.channel],
          versionFact(session),
          ...verifiedFact(session.visitor_id),
          ...visitor.map(([name, value]) => [`Visitor: ${name}`, String(value)] as const),
          ...Object.entries(session.metadata).map(([name, value]) => [name, value] as const),
        ]}
      />
      <section class="section" aria-label="Transcript">
        <Transcript talk={talk} turnLink={(turn) => turnChart(turn, id)} />
        <Waiting
          key={session.pending_tool_calls.map(({ call_id: one }) => one).join()}
          pending={session.pending_tool_calls}
          path={path}
          mayAnswer={session.channel === 'console' && may('assistants.try')}
          answered={() => void refresh(path)}
        />
      </section>
      {may('desk.work') && <Attend key={id} session={session} path={path} shown={talk.messages.length} done={reread} />}
    </>
  );
}

/** The beginning of the first message of the visitor, for the title; null while it is not here. */
function firstWords({ messages, earlier }: Talk): string | null {
  const first = earlier === null ? messages.find(({ role }) => role === 'user') : undefined;
  return first === undefined ? null : first.content.slice(0, 60).replaceAll(/\s+/g, ' ').trim();
}

/**
 * Reads the session again when it is changed elsewhere. Returns how often it was: a turn may be over before the session
 * that it was in is read.
 */
function useMoved(id: string, path: string): number {
  const [times, setTimes] = useState(0);
  useEffect(() => {
    let cancel: (() => void) | null = null;
    const receive = (messages: readonly FeedMessage[]) => {
      const moved = messages.some(
        (message) =>
          message.type === 'actors' ||
          (message.type === 'event' && (message.from !== message.to || message.event === 'finished')),
      );
      if (!moved || cancel !== null) return;
      // The feed reports a decision when it is committed; several in a row cause one read.
      cancel = after(60, () => {
        cancel = null;
        void refresh(path).then(() => setTimes((count) => count + 1));
      });
    };
    const stops = ['session', 'attendance'].map((kind) => watch({ workspace: workspaceId.value, kind, id }, receive));
    return () => {
      cancel?.();
      for (const stop of stops) stop();
    };
  }, [id]);
  return times;
}

function Acts({
  session: { id, status, active_turn_id: turn, active_call_id: call, link_visitor_id: visitor },
  path,
  erased,
}: {
  session: ConsoleSession;
  path: string;
  erased: (receipt: Erasure) => void;
}) {
  const done = () => refresh(path);
  return (
    <>
      <a class="button quiet" href={inWorkspace('live', 'session', id)}>
        Chart
      </a>
      <ChartLinks session={id} turn={turn} call={call} />
      <Export id={id} path={path} />
      {turn !== null && may('sessions.end') && <AbortTurn session={id} turn={turn} done={done} />}
      {status === 'open' && may('sessions.end') && <EndSession session={id} done={done} />}
      {may('sessions.erase') && <Erase session={id} visitor={visitor ?? null} erased={erased} />}
    </>
  );
}

interface MakeTestOptions {
  readonly session: ConsoleSession;
  /** The name of the test; null for the server's. */
  readonly name: string | null;
}

/** Makes a test of the conversation, and opens it. */
function MakeTest({ session: { id, assistant_id: assistant }, name }: MakeTestOptions) {
  const { failure, busy, run } = useRequest();
  if (!may('assistants.write')) return null;
  const make = () =>
    run(async () => {
      const body = { from_session: id, ...(name && { name }) };
      const test = await ask<AssistantTest>(`${apiWorkspace()}/assistants/${assistant}/tests`, { body });
      go(testPage(assistant, test.id));
    });
  return (
    <>
      <Failure failure={failure} advice={(problem) => (problem.status === 422 ? noTest : adviceOn(problem))} />
      <button type="button" class="quiet" disabled={busy} onClick={() => void make()}>
        Make a test of this conversation
      </button>
    </>
  );
}

const noTest = 'A test needs a message of a visitor, has 50 messages at most, and an assistant has 200 tests at most.';

/** The whole transcript as a file; JSON page by page, since a page of it is bounded. */
function Export({ id, path }: { id: string; path: string }) {
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const save = async (kind: 'json' | 'markdown') => {
    setFailure(null);
    try {
      if (kind === 'markdown')
        return download(`${id}.md`, await (await request(`${path}/transcript?format=markdown`)).blob());
      const messages: unknown[] = [];
      for (let next: string | null = ''; next !== null;) {
        const page: { data: unknown[]; next_cursor: string | null } = await ask(
          `${path}/transcript?order=asc&limit=100${next === '' ? '' : `&after=${next}`}`,
        );
        messages.push(...page.data);
        next = page.next_cursor;
      }
      download(
        `${id}.json`,
        new Blob([JSON.stringify({ session: await ask(path), messages }, null, 2)], { type: 'application/json' }),
      );
    } catch (error) {
      setFailure(caught(error));
    }
  };
  return (
    <>
      <button type="button" class="quiet" onClick={() => void save('markdown')}>
        Markdown
      </button>
      <button type="button" class="quiet" onClick={() => void save('json')}>
        JSON
      </button>
      <Failure failure={failure} />
    </>
  );
}

function download(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  after(10_000, () => URL.revokeObjectURL(link.href));
}
