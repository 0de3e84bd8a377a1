/**
 * A conversation: its messages, the reply that grows, and why a reply was cut. All of it is shown as text and nothing
 * else.
 */
import { Fragment } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, ask, patiently, query } from '../api.ts';
import { follow } from '../stream.ts';
import type { List, Message, ToolCall } from '../types.ts';
import { cutWords } from './cut-words.ts';
import { Failure } from './failure.tsx';
import { MomentText } from './time.tsx';
import { Call } from './tool-calls.tsx';
import { Verified } from './verified.tsx';
import { Wait } from './wait.tsx';

export interface Talk {
  /** Oldest first. */
  readonly messages: readonly Message[];
  /** The cursor of earlier messages; null if all are here. */
  readonly earlier: string | null;
  readonly begun: boolean;
  readonly failure: ApiFailure | null;
}

const nothing: Talk = { messages: [], earlier: null, begun: false, failure: null };
const pageSize = 50;

interface Held extends Talk {
  readonly readEarlier: () => void;
}

/** The transcript of the session at `path`; while its turn `activeTurnId` runs, the reply grows as it is written. */
export function useTalk(path: string | null, activeTurnId: string | null, version: number | string = 0): Held {
  const [talk, setTalk] = useState(nothing);
  const latest = useRef(talk);
  const set = (fields: Partial<Talk>) => setTalk((latest.current = { ...latest.current, ...fields }));

  const page = async (after: string | null, signal: AbortSignal): Promise<void> => {
    try {
      const read = await patiently(
        () => ask<List<Message>>(`${path}/transcript${query({ order: 'desc', limit: pageSize, after })}`, { signal }),
        signal,
      );
      if (signal.aborted) return;
      const found = read.data.toReversed();
      const ids = new Set(found.map(({ id }) => id));
      const kept = latest.current.messages.filter(({ id }) => !ids.has(id));
      // A reply that grows here is ahead of the page read.
      const fresh = found.map((message) => {
        const known = latest.current.messages.find(({ id }) => id === message.id);
        return known !== undefined && message.status === 'streaming' && known.content.length > message.content.length
          ? known
          : message;
      });
      set({
        messages: after === null ? [...kept, ...fresh] : [...fresh, ...kept],
        earlier: after === null && kept.length > 0 ? latest.current.earlier : read.next_cursor,
        begun: true,
        failure: null,
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiFailure)) throw error;
      set({ failure: error, begun: true });
    }
  };

  useEffect(() => {
    latest.current = nothing;
    setTalk(nothing);
  }, [path]);

  useEffect(() => {
    if (path === null) return;
    const leaving = new AbortController();
    void page(null, leaving.signal).then(() =>
      activeTurnId === null || leaving.signal.aborted ? undefined : grow(leaving.signal),
    );
    return () => leaving.abort();
  }, [path, activeTurnId, version]);

  const grow = async (signal: AbortSignal): Promise<void> => {
    const reply = () =>
      latest.current.messages.findLast(({ turn_id: turn, role }) => turn === activeTurnId && role === 'assistant');
    const begun = reply();
    if (begun !== undefined && begun.status !== 'streaming') return;
    const base = begun?.content ?? '';
    let text = base;
    let calls: readonly ToolCall[] = begun?.tool_calls ?? [];
    const show = (fields: Partial<Message>) => {
      const { messages } = latest.current;
      const place = messages.findIndex(({ id }) => id === begun?.id);
      const made = {
        id: begun?.id ?? 'growing',
        object: 'message',
        turn_id: activeTurnId,
        role: 'assistant',
        stop_reason: null,
        error_code: null,
        created_at: messages.at(-1)?.created_at ?? 0,
        status: 'streaming',
        voice: null,
        assistant_version: null,
        ...begun,
        content: text,
        tool_calls: calls,
        ...fields,
      } as Message;
      set({
        messages: place < 0 ? [...messages.filter(({ id }) => id !== 'growing'), made] : messages.with(place, made),
      });
    };
    try {
      await follow(
        `${path}/turns/${activeTurnId}`,
        [...base].length,
        (event) => {
          if (event.type === 'delta') text += event.text;
          if (event.type === 'call') calls = withCall(calls, event.call, [...text].length);
          show(
            event.type !== 'end'
              ? {}
              : {
                  status: event.how === 'completed' ? 'completed' : 'partial',
                  stop_reason: event.how === 'completed' ? 'end' : event.how === 'aborted' ? 'aborted' : 'error',
                  error_code: event.code,
                },
          );
        },
        signal,
      );
    } catch (error) {
      if (error instanceof ApiFailure && !signal.aborted) set({ failure: error });
    }
    if (signal.aborted) return;
    // The transcript has its end, and any messages since.
    set({ messages: latest.current.messages.filter(({ id }) => id !== 'growing') });
    await page(null, signal);
  };

  return { ...talk, readEarlier: () => void page(talk.earlier, new AbortController().signal) };
}

/** The calls with one that has begun or ended; what was said of it before stays. */
function withCall(
  calls: readonly ToolCall[],
  call: Pick<ToolCall, 'id'> & Partial<ToolCall>,
  position: number,
): readonly ToolCall[] {
  const place = calls.findIndex(({ id }) => id === call.id);
  const blank = {
    object: 'tool_call',
    position,
    error: null,
    arguments: null,
    output: null,
    created_at: 0,
    ended_at: null,
  };
  return place < 0 ? [...calls, { ...blank, ...call } as ToolCall] : calls.with(place, { ...calls[place]!, ...call });
}

/** Returns the reason for an incomplete reply. */
export function cutBecause({ status, stop_reason: reason, error_code: code, voice }: Message): string | null {
  if (status !== 'partial') return null;
  if (reason === 'aborted') return cutWords[voice?.cut_by ?? 'api'];
  if (reason === 'expired') return 'the session ran out of time';
  if (reason === 'taken') return 'a person took the session';
  return code === 'assistant_unavailable' ? 'the provider failed' : `cut short${code === null ? '' : `: ${code}`}`;
}

/** The note on a message that no turn answers or made: a greeting, or the name of a person of the desk. */
function originOf({ role, turn_id: turnId, by }: Message): string | null {
  if (role === 'person') return by?.name ?? null;
  return role === 'assistant' && turnId === null ? 'greeting' : null;
}

const speakers = { user: 'Visitor', assistant: 'Assistant', person: 'Person', notice: 'Notice' } as const;

const second = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/**
 * Returns a message's spoken length, and how its heard part is known if the client did not report it; null for a typed
 * message.
 */
function spokenOf({ voice }: Pick<Message, 'voice'>): string | null {
  if (voice === null) return null;
  const basis = voice.heard === 'estimated' ? ', heard as estimated' : voice.heard === 'sent' ? ', heard as sent' : '';
  return `spoken, ${second.format(voice.audio_ms / 1000)} s${basis}`;
}

/** Whether the visitor is verified from this message on; null where the visitor's message before says the same. */
function verifiedFrom(messages: readonly Message[], index: number): boolean | null {
  const { role, visitor_verified: is } = messages[index]!;
  if (role !== 'user') return null;
  let before = false;
  for (let place = index - 1; place >= 0; place--) {
    if (messages[place]!.role !== 'user') continue;
    before = messages[place]!.visitor_verified;
    break;
  }
  return is === before ? null : is;
}

/** Whether a reply is from another version than the replies before it. */
function isNewVersion(messages: readonly Message[], index: number): boolean {
  const { role, assistant_version: version } = messages[index]!;
  if (role !== 'assistant' || version === null) return false;
  const before = messages
    .slice(0, index)
    .findLast((message) => message.role === 'assistant' && message.assistant_version !== null);
  return before !== undefined && before.assistant_version !== version;
}

interface TranscriptOptions {
  readonly talk: Held;
  readonly empty?: string;
  /** The address of a reply's turn. */
  readonly turnLink?: (turn: string) => string;
}

export function Transcript({ talk, empty, turnLink }: TranscriptOptions) {
  const { messages, begun, failure, earlier } = talk;
  if (!begun) return <Wait />;
  return (
    <div class="talk">
      {earlier !== null && (
        <p class="more">
          <button type="button" class="quiet" onClick={talk.readEarlier}>
            Earlier messages
          </button>
        </p>
      )}
      {messages.length === 0 && failure === null && <p class="note">{empty ?? 'Nothing was said yet.'}</p>}
      {messages.map((message, index) => (
        <Said
          key={message.id}
          role={message.role}
          text={message.content}
          verified={verifiedFrom(messages, index)}
          version={message.assistant_version}
          isNewVersion={isNewVersion(messages, index)}
          calls={message.tool_calls}
          at={message.created_at}
          spoken={spokenOf(message)}
          growing={message.status === 'streaming'}
          note={cutBecause(message) ?? originOf(message)}
          feedback={message.feedback}
          cut={message.status === 'partial'}
          turn={message.role === 'assistant' && message.turn_id !== null ? turnLink?.(message.turn_id) : undefined}
        />
      ))}
      <Failure failure={failure} />
    </div>
  );
}

interface SaidOptions {
  readonly role: Message['role'];
  readonly text: string;
  /** Whether the site has signed who says it; null where that is as before. */
  readonly verified?: boolean | null;
  /** The number of the version that a reply is from; null in a trial and for a visitor's message. */
  readonly version?: number | null;
  /** Whether the replies before are from another version. */
  readonly isNewVersion?: boolean;
  readonly calls?: readonly ToolCall[];
  readonly at?: number;
  readonly spoken?: string | null;
  readonly growing?: boolean;
  readonly cut?: boolean;
  readonly note?: string | null;
  readonly feedback?: Message['feedback'] | undefined;
  /** The address of its turn. */
  readonly turn?: string | undefined;
}

interface Part {
  /** The call that stands before the words; null before the first. */
  readonly call: ToolCall | null;
  readonly words: string;
}

/** The text cut where its calls stand. */
function partsOf(text: string, calls: readonly ToolCall[]): readonly Part[] {
  if (calls.length === 0) return [{ call: null, words: text }];
  const points = [...text];
  const ordered = calls.toSorted((one, other) => one.position - other.position);
  return [
    { call: null, words: points.slice(0, ordered[0]!.position).join('') },
    ...ordered.map((call, index) => ({
      call,
      words: points.slice(call.position, ordered[index + 1]?.position).join(''),
    })),
  ];
}

const Said = ({
  role,
  text,
  verified = null,
  version = null,
  isNewVersion = false,
  calls = [],
  at,
  spoken = null,
  growing = false,
  cut = false,
  note = null,
  feedback = null,
  turn,
}: SaidOptions) => (
  <article class={`said ${role}`} tabIndex={0} aria-label={speakers[role]}>
    {isNewVersion && <p class="aside">From here on version {version} answers.</p>}
    {partsOf(text, calls).map(({ call, words }) => (
      <Fragment key={call?.id ?? ''}>
        {call !== null && <Call of={call} />}
        {words !== '' && <p class="words">{words}</p>}
      </Fragment>
    ))}
    {verified !== null && <Verified is={verified} />}
    {growing && (
      <p class="growing">
        {calls.some(({ status }) => status === 'running')
          ? 'calling …'
          : text === ''
            ? 'waiting for the first words …'
            : 'writing …'}
      </p>
    )}
    {note !== null && <p class={cut ? 'cut' : 'aside'}>{note}</p>}
    {feedback && (
      <p class={feedback.rating === 'down' ? 'cut' : 'aside'}>
        {feedback.rating === 'up' ? 'Rated good' : 'Rated poor'}
        {feedback.comment && `: ${feedback.comment}`}
      </p>
    )}
    {at !== undefined && (
      <small>
        <MomentText at={at} />
        {spoken !== null && `, ${spoken}`}
        {version !== null && `, version ${version}`}
        {turn && <a href={turn}>Turn</a>}
      </small>
    )}
  </article>
);
