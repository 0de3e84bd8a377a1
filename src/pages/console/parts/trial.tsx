/**
 * A talk with an assistant beside its form, a draft too, with the session's chart live beneath it. It counts in no
 * usage and no limit.
 */
import { isSending } from '../../enter.ts';
import type { FunctionComponent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, request } from '../api.ts';
import { refresh, useRead } from '../data.ts';
import { inWorkspace, apiWorkspace } from '../route.ts';
import type { ApiFailure } from '../api.ts';
import type { Assistant, Message, Session } from '../types.ts';
import { caught, Failure } from './failure.tsx';
import { State } from './head.tsx';
import { hasVariables } from './prompt-preview.tsx';
import { Transcript, useTalk } from './talk.tsx';
import { readOpen, Waiting } from './tool-calls.tsx';
import { useTrialCall } from './trial-call.tsx';

interface Options {
  readonly assistant: Assistant;
  readonly dirty: boolean;
  readonly save: () => Promise<Assistant | null>;
}

export function Trial({ assistant, dirty, save }: Options) {
  const [session, setSession] = useState<Session | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const place = `parley trial ${assistant.id}`;
  // A reload continues the trial: a tool call may wait in it for an answer.
  useEffect(() => {
    const id = sessionStorage.getItem(place);
    if (id !== null)
      void readOpen(`${apiWorkspace()}/sessions/${id}`).then((found) =>
        found === null ? sessionStorage.removeItem(place) : setSession((held) => held ?? found),
      );
  }, []);
  /** Resolves with a session to talk in; null if the unsaved changes were refused. */
  const begin = async (): Promise<Session | null> => {
    if (dirty && (await save()) === null) return null;
    const begun = await ask<Session>(`${apiWorkspace()}/assistants/${assistant.id}/trials`, { method: 'POST' });
    setSession(begun);
    sessionStorage.setItem(place, begun.id);
    return begun;
  };
  const anew = async () => {
    setFailure(null);
    const before = session;
    setSession(null);
    sessionStorage.removeItem(place);
    if (before !== null)
      await ask(`${apiWorkspace()}/sessions/${before.id}/end`, { method: 'POST' }).catch((error: unknown) =>
        setFailure(caught(error)),
      );
  };
  return (
    <section class="section trial" aria-label="Try it">
      <h2>
        Try it
        {session !== null && (
          <span class="acts">
            <a class="button quiet" href={inWorkspace('live', 'session', session.id)}>
              Chart
            </a>
            <button type="button" onClick={() => void anew()}>
              Begin anew
            </button>
          </span>
        )}
      </h2>
      <Failure failure={failure} />
      <Bench session={session} begin={begin} assistant={assistant} dirty={dirty} />
    </section>
  );
}

type Live = FunctionComponent<{ id: string | null }>;

interface BenchOptions {
  readonly session: Session | null;
  readonly begin: () => Promise<Session | null>;
  readonly assistant: Assistant;
  readonly dirty: boolean;
}

/** The talk, its box to write in, and the chart. The first message opens the session. */
function Bench({ session, begin, assistant, dirty }: BenchOptions) {
  const path = session === null ? null : pathTo(session);
  const now = useRead<Session>(path).value ?? session;
  const [times, setTimes] = useState(0);
  const talk = useTalk(path, now?.active_turn_id ?? null, `${now?.status} ${times}`);
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [busy, setBusy] = useState(false);
  const last = talk.messages.at(-1);
  const stage = useStage(talk.messages.length, last?.content.length ?? 0);
  // The end of a turn may leave calls that wait.
  useEffect(
    () => void (path !== null && last !== undefined && last.status !== 'streaming' && refresh(path)),
    [path, last?.id, last?.status],
  );
  const moved = async (open: string) => {
    await refresh(open);
    setTimes((count) => count + 1);
  };
  const call = useCall(session, begin, (open) => void moved(open));
  const say = async (event: Event) => {
    event.preventDefault();
    const message = text;
    if (message.trim() === '' || busy) return;
    setFailure(null);
    if (call.running) {
      setText('');
      return call.message(message);
    }
    setBusy(true);
    setText('');
    stage.follow();
    try {
      const open = session ?? (await begin());
      if (open === null) return setText(message);
      await send(pathTo(open), message);
      await refresh(pathTo(open));
      setTimes((count) => count + 1);
    } catch (error) {
      setText(message);
      setFailure(caught(error));
    } finally {
      setBusy(false);
    }
  };
  const abort = () =>
    void ask(`${path}/turns/${now?.active_turn_id}/abort`, { method: 'POST' }).catch((error: unknown) =>
      setFailure(caught(error)),
    );
  const streaming = now?.active_turn_id != null && talk.messages.at(-1)?.status === 'streaming';
  return (
    <>
      <div class="stage" ref={stage.box} onScroll={stage.moved} tabIndex={0} role="region" aria-label="Talk">
        {path === null ? <Before assistant={assistant} /> : <Transcript talk={talk} empty="Say something to it." />}
      </div>
      <Announced message={last} />
      {path !== null && now !== null && (
        <Waiting
          key={now.pending_tool_calls.map(({ call_id: id }) => id).join()}
          pending={now.pending_tool_calls}
          path={path}
          mayAnswer
          answered={() => void moved(path)}
        />
      )}
      <Failure failure={failure} />
      {call.bar}
      {call.running && !call.typing ? null : now !== null && now.status !== 'open' ? (
        <p>
          <State name={now.status} /> <span class="note">Begin anew to go on.</span>
        </p>
      ) : (
        <Say
          text={text}
          change={setText}
          say={(event) => void say(event)}
          abort={streaming && !call.running ? abort : null}
          call={assistant.channels.voice && !call.running ? call.start : null}
          busy={busy}
          label={session === null && dirty ? 'Save and send' : 'Send'}
        />
      )}
      <Chart id={session?.id ?? null} />
    </>
  );
}

/** A call on the trial, which it opens. Spoken messages are read as in any other turn. */
function useCall(session: Session | null, begin: BenchOptions['begin'], reread: (path: string) => void) {
  const path = useRef<string | null>(null);
  useEffect(() => void (path.current = session && pathTo(session)), [session]);
  const token = async (): Promise<string> => {
    const open = path.current === null ? await begin() : null;
    if (open !== null) path.current = pathTo(open);
    // The changes were refused, and the form says why.
    if (path.current === null) throw new Error('The changes were not saved.');
    return (await ask<{ url: string }>(`${path.current}/call-tokens`, { method: 'POST' })).url;
  };
  return useTrialCall(token, ({ type }) => {
    if (path.current !== null && (type.startsWith('turn.') || type === 'closed')) reread(path.current);
  });
}

const pathTo = ({ id }: Session): string => `${apiWorkspace()}/sessions/${id}`;

/**
 * Sends a message. The head of the response says that the turn has begun; its stream is then read like any other turn.
 */
async function send(path: string, message: string): Promise<void> {
  const leave = new AbortController();
  await request(`${path}/chat`, { body: { message }, signal: leave.signal });
  leave.abort();
}

/** Distance from the end of the talk within which a reader counts as being there, in pixels. */
const endPx = 24;

/** Keeps the newest words in sight, for a reader who is at the end; one who has scrolled up stays where they are. */
function useStage(...moved: readonly number[]) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, moved);
  return {
    box,
    moved: ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: { readonly currentTarget: HTMLElement }) =>
      void (isAtEnd.current = scrollHeight - scrollTop - clientHeight <= endPx),
    follow: () => void (isAtEnd.current = true),
  };
}

/**
 * Says a reply to screen readers once it is whole: a text that grows would be read from its beginning with each piece.
 */
const Announced = ({ message }: { message: Message | undefined }) => (
  <div class="visually-hidden" role="log" aria-label="Replies">
    {message?.role === 'assistant' && message.status !== 'streaming' && message.turn_id !== null && (
      <p key={message.id}>{message.content}</p>
    )}
  </div>
);

const Before = ({ assistant: { status, greeting } }: { assistant: Assistant }) => (
  <div class="talk">
    {greeting && !hasVariables(greeting) && <p class="words">{greeting}</p>}
    <p class="note">
      {status === 'draft' ? 'It is a draft: nobody but you can talk to it. ' : ''}A trial counts in no usage and takes
      no limit. It stays among the sessions, under the channel “console”.
    </p>
  </div>
);

interface SayOptions {
  readonly text: string;
  readonly change: (text: string) => void;
  readonly say: (event: Event) => void;
  readonly abort: (() => void) | null;
  readonly call: (() => void) | null;
  readonly busy: boolean;
  readonly label: string;
}

function Say({ text, change, say, abort, call, busy, label }: SayOptions) {
  const keys = (event: KeyboardEvent) => {
    if (isSending(event)) say(event);
  };
  return (
    <form class="say" onSubmit={say}>
      <label>
        <span class="visually-hidden">Message</span>
        <textarea
          rows={1}
          value={text}
          placeholder="Message"
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={keys}
          maxLength={16_000}
        />
      </label>
      <span class="acts">
        {call !== null && (
          <button type="button" class="quiet" onClick={call}>
            Call
          </button>
        )}
        {abort !== null ? (
          <button type="button" onClick={abort}>
            Abort
          </button>
        ) : (
          <button type="submit" class="primary" disabled={text.trim() === '' || busy}>
            {label}
          </button>
        )}
      </span>
    </form>
  );
}

/** The charts bring the machines along, and are loaded when there is one to be seen. */
function Chart({ id }: { id: string | null }) {
  const [Beside, setBeside] = useState<Live | null>(null);
  useEffect(() => {
    import('../pages/charts.ts').then(
      ({ beside }) => setBeside(() => beside),
      () => {},
    );
  }, []);
  return Beside === null ? null : <Beside id={id} />;
}
