/** A person answers the visitor of a session: takes it, writes, and gives it back to the assistant or to the desk. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { newIdempotencyKey } from '../../../client/clock.ts';
import { isSending } from '../../enter.ts';
import { ask, base } from '../api.ts';
import { apiWorkspace, go, inWorkspace } from '../route.ts';
import type { ApiFailure } from '../api.ts';
import { drawnFor } from '../person.ts';
import type { ConsoleSession, DeskSession, List } from '../types.ts';
import { caught, Failure } from './failure.tsx';
import { Key, Shortcuts, useShortcuts } from './shortcuts.tsx';

interface Options {
  readonly session: ConsoleSession;
  /** The session's path in the API. */
  readonly path: string;
  /** Number of messages that are shown. */
  readonly shown: number;
  /** Called once the server has stored a change. */
  readonly done: () => void;
}

/** The events of a session after which it is read again. */
const events = ['message.created', 'turn.started', 'turn.ended', 'attendance.changed', 'session.ended'];

/** Calls `moved` for each event of the session at `path` while `on`; the browser opens a lost stream again by itself. */
export function useEvents(path: string, on: boolean, moved: () => void): void {
  useEffect(() => {
    if (!on) return;
    const source = new EventSource(`${base}${path}/events`);
    for (const name of events) source.addEventListener(name, moved);
    source.addEventListener('session.ended', () => source.close());
    return () => source.close();
  }, [path, on]);
}

/** Texts that were typed and not sent, by session, for as long as the page is open. */
const drafts = new Map<string, string>();

export function Attend({ session: { id, status, attendance }, path, shown, done }: Options) {
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [busy, setBusy] = useState(false);
  const [text, setText] = useState(drafts.get(id) ?? '');
  const [key, setKey] = useState(newIdempotencyKey);
  const write = (value: string) => {
    drafts.set(id, value);
    setText(value);
    // A repeat of the same text after a lost answer is stored once; another text is another message.
    setKey(newIdempotencyKey());
  };
  const post = async (verb: string, options: object = {}): Promise<boolean> => {
    if (busy) return false;
    setBusy(true);
    setFailure(null);
    try {
      await ask(`${path}/${verb}`, { method: 'POST', ...options });
      return true;
    } catch (error) {
      setFailure(caught(error));
      return false;
    } finally {
      setBusy(false);
      done();
    }
  };
  const say = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === '') return;
    if (await post('messages', { body: { text }, headers: { 'idempotency-key': key } })) write('');
  };
  const isMine = attendance.state === 'person' && attendance.person?.name === drawnFor.value?.name;
  const end = useRef<HTMLDivElement>(null);
  // The newest message stays in sight of the person who answers.
  useEffect(() => void (isMine && end.current?.scrollIntoView({ block: 'end' })), [isMine, shown]);
  const { next, isNobody } = useNext(id, setFailure);
  const place = useRef<HTMLElement>(null);
  const isOpen = status === 'open';
  useShortcuts({
    n: next,
    t: isOpen && attendance.state !== 'person' ? () => void post('take') : undefined,
    r: isMine ? () => place.current?.querySelector('textarea')?.focus() : undefined,
    b: isMine ? () => void post('return') : undefined,
  });
  if (!isOpen) return null;
  return (
    <>
      <div class="attend-end" ref={end} />
      <section class="attend" aria-label="Desk" ref={place}>
        <p role="status" class="note">
          {attendance.state === 'person'
            ? isMine
              ? 'You have this conversation. The assistant is silent.'
              : `${attendance.person?.name ?? 'A person'} has this conversation.`
            : attendance.state === 'waiting'
              ? 'The visitor waits for a person.'
              : 'The assistant answers.'}
          {isNobody && ' Nobody else waits.'}
        </p>
        <Failure failure={failure} />
        {isMine && <Reply text={text} change={write} say={(event) => void say(event)} busy={busy} />}
        <p class="acts">
          {isMine ? (
            <>
              <button type="button" disabled={busy} onClick={() => void post('return')}>
                Return to the assistant
                <Key of="b" />
              </button>
              <button type="button" disabled={busy} onClick={() => void post('release')}>
                Leave to another person
              </button>
            </>
          ) : (
            attendance.state !== 'person' && (
              <button
                type="button"
                class={attendance.state === 'waiting' ? 'primary' : undefined}
                disabled={busy}
                onClick={() => void post('take')}
              >
                Take the conversation
                <Key of="t" />
              </button>
            )
          )}
        </p>
        <Shortcuts />
      </section>
    </>
  );
}

/** Opens the conversation that waits longest, but for the one that is open. */
function useNext(id: string, setFailure: (failure: ApiFailure) => void) {
  const [isNobody, setNobody] = useState(false);
  const next = async () => {
    try {
      const { data } = await ask<List<DeskSession>>(`${apiWorkspace()}/desk`);
      const found = data.find((one) => one.id !== id && one.attendance.state === 'waiting');
      setNobody(found === undefined);
      if (found !== undefined) go(inWorkspace('sessions', found.id));
    } catch (error) {
      setFailure(caught(error));
    }
  };
  return { next: () => void next(), isNobody };
}

interface ReplyOptions {
  readonly text: string;
  readonly change: (text: string) => void;
  readonly say: (event: Event) => void;
  readonly busy: boolean;
}

function Reply({ text, change, say, busy }: ReplyOptions) {
  const keys = (event: KeyboardEvent) => {
    if (isSending(event)) say(event);
    if (event.key === 'Escape' && !event.isComposing) (event.currentTarget as HTMLElement).blur();
  };
  return (
    <form class="say" onSubmit={say}>
      <label>
        <span class="visually-hidden">Message to the visitor</span>
        <textarea
          rows={2}
          value={text}
          placeholder="Message to the visitor"
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={keys}
          maxLength={8000}
        />
      </label>
      <span class="acts">
        <button type="submit" class="primary" disabled={text.trim() === '' || busy}>
          Send
        </button>
      </span>
    </form>
  );
}
