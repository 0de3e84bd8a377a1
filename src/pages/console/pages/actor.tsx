/**
 * One actor: its chart as it runs, its context, and its whole past to go back through. A sleeping one is shown without
 * waking it.
 */
import { actorKinds, type ActorKind } from '../../../../machines/all.ts';
import { ActorView, momentOf } from '../chart/actor-view.tsx';
import { drawingOf } from '../chart/drawing.ts';
import { usePast, type PastOf } from '../chart/past-of.ts';
import { turnOf, type Step, type Subject } from '../chart/steps.ts';
import { refresh, useRead } from '../data.ts';
import { Failure } from '../parts/failure.tsx';
import { Facts, Head, State } from '../parts/head.tsx';
import { Lost, Unread } from '../parts/missing.tsx';
import { shortId } from '../format.ts';
import { may } from '../may.ts';
import { verifiedFact } from '../parts/verified.tsx';
import { versionFact } from '../parts/version-fact.tsx';
import { AbortTurn, ChartLinks, EndSession } from '../parts/session-acts.tsx';
import { Day, MomentText, Until } from '../parts/time.tsx';
import { TurnSteps } from '../parts/turn-steps.tsx';
import { Wait } from '../parts/wait.tsx';
import { apiWorkspace, inWorkspace, search, segments, setQuery, turnChart } from '../route.ts';
import type { Assistant, Session } from '../types.ts';

/** The fields read of the record of any actor whose kind has one. */
type Stored = Partial<
  Pick<
    Session,
    | 'active_turn_id'
    | 'active_call_id'
    | 'assistant_id'
    | 'assistant_version'
    | 'channel'
    | 'ended_at'
    | 'created_at'
    | 'visitor_id'
  >
> & { readonly name?: string; readonly status?: string; readonly expires_at?: number | null };

/** Reads the state from the record while the actor sleeps. A key's debt is known to its actor alone. */
function stateOf(kind: ActorKind, record: Stored | undefined): string | null {
  if (record?.status === undefined) return null;
  return kind === 'session' && record.active_turn_id ? 'streaming' : record.status;
}

const subjectOf = (record: Stored | undefined): Subject => ({
  expiresAt: record?.expires_at ?? null,
  endedAt: record?.ended_at ?? null,
});

const names: Readonly<Record<ActorKind, string>> = {
  session: 'Session',
  turn: 'Turn',
  call: 'Call',
  reply: 'Reply of a call',
  key: 'Key',
  workspace: 'Workspace',
  assistant: 'Assistant',
  release: 'Release',
  run: 'Test run',
  socket: 'Socket',
  visitor: 'Visitor',
  attendance: 'Attendance',
};
const kept: readonly ActorKind[] = ['session', 'key', 'assistant'];

/** The states of a turn that another process owns. */
const leftStates: readonly string[] = ['asking', 'following'];

export default function ActorPage() {
  const [, , kind = '', id = ''] = segments.value;
  const known = actorKinds.find((one) => one === kind);
  if (known === undefined || id === '')
    return (
      <Lost name="There is no such actor">
        The address may be wrong. The live charts list the actors that are awake.
      </Lost>
    );
  return <Actor key={id} kind={known} id={id} />;
}

function Actor({ kind, id }: { kind: ActorKind; id: string }) {
  const path = kind === 'workspace' ? apiWorkspace() : kept.includes(kind) ? `${apiWorkspace()}/${kind}s/${id}` : null;
  const { value: record, failure } = useRead<Stored>(path);
  const assistant = useRead<Assistant>(
    record?.assistant_id === undefined ? null : `${apiWorkspace()}/assistants/${record.assistant_id}`,
  ).value;
  const session = kind === 'turn' ? sessionHere() : null;
  const past = usePast(kind, id, session);
  const at = search.value.get('at');
  const shown = at === null ? null : (past.steps.find((step) => step.id === at) ?? null);
  const moment = momentOf(kind, past, shown, subjectOf(record), stateOf(kind, record));
  const choose = (step: Step) => setQuery({ at: step.id });
  if (path !== null && record === undefined)
    return (
      <Unread what={kind} list={[inWorkspace('live'), 'Live']} failure={failure} again={() => void refresh(path)} />
    );
  if (!past.begun) return <Wait />;
  const lack = lackOf(kind, session, past);
  // The state is unknown: there is no past, no live actor and no end.
  const gone = path === null && past.live === null && !isOver(kind, past);
  const name =
    kind === 'session' && assistant !== undefined ? `Session with ${assistant.name}` : (record?.name ?? names[kind]);
  const live = past.live?.context as { readonly activeTurnId?: string | null } | null | undefined;
  const turn = live ? live.activeTurnId : record?.active_turn_id;
  const tone = shown !== null ? 'plain' : 'lit';
  return (
    <>
      <Head
        name={name}
        id={id}
        title={record?.name ?? `${name} ${shortId(id)}`}
        above={[inWorkspace('live') + (kind === 'session' ? '' : `?kind=${kind}`), 'Live']}
        state={
          (!gone || shown !== null) && (
            <State name={shown === null ? moment.state : `${moment.state} at step ${shown.id}`} tone={tone} />
          )
        }
      >
        <Acts
          kind={kind}
          id={id}
          turn={turn}
          call={record?.active_call_id ?? null}
          state={past.live?.state ?? moment.state}
          awake={past.live !== null}
        />
      </Head>
      <FactsOf kind={kind} record={record} steps={past.steps} state={past.live?.state ?? null} />
      <Failure failure={past.failure} />
      {path === null && lack !== null && <p class="note">{lack}</p>}
      {kind === 'turn' && session !== null && past.steps.some(({ event }) => event === 'called') && (
        <TurnSteps session={session} turn={id} moved={past.steps.length} />
      )}
      <ActorView
        kind={kind}
        id={id}
        past={past}
        moment={moment}
        shown={shown}
        choose={choose}
        now={() => setQuery({ at: null })}
        unknown={gone && shown === null}
        linkOf={kind === 'session' ? (step) => turnLink(id, step) : undefined}
      />
    </>
  );
}

/** Whether the last step that is known leads to a final state. */
const isOver = (kind: ActorKind, { steps }: PastOf): boolean =>
  drawingOf(kind).cards.some(({ name, final }) => final && name === steps.at(-1)?.to);

const lost = 'the process that ran it died or lost it before they were stored, or had another version of the machine';

/** Returns the reason for a missing or incomplete past; null if the page shows all of it. */
function lackOf(kind: ActorKind, session: string | null, past: PastOf): string | null {
  const { steps, live, failure } = past;
  if (failure !== null) return null;
  const [first] = steps;
  if (kind !== 'turn')
    return live === null && first === undefined
      ? 'It sleeps or is over; calls, replies, sockets and visitors keep no history. What happens to it while this page is open appears here.'
      : null;
  if (live === null && !isOver(kind, past)) {
    if (session === null)
      return 'It is over. The steps of a turn are kept with its session, which this address does not name.';
    return first === undefined
      ? `Its steps are not known: ${lost}.`
      : `It is over, but its last steps are not known: ${lost}.`;
  }
  if (first?.seq === 1 || (first === undefined && live?.state === 'waiting')) return null;
  if (session === null) return 'Its earlier steps are kept with its session, which this address does not name.';
  return live === null
    ? `Its earlier steps are not known: ${lost}.`
    : 'It runs in another process: its earlier steps appear here once it is over.';
}

/** The page of the turn that a step of the session begins or closes. */
function turnLink(session: string, step: Step): string | null {
  const turn = turnOf(step);
  return turn === null ? null : turnChart(turn, session);
}

/** The session of the turn that the page shows, if the link to it named it: a turn itself does not know it. */
const sessionHere = (): string | null => search.value.get('session');

function FactsOf({
  kind,
  record,
  steps,
  state,
}: {
  kind: ActorKind;
  record: Stored | undefined;
  steps: readonly Step[];
  state: string | null;
}) {
  const facts: (readonly [string, preact.ComponentChildren])[] = [];
  if (record?.created_at !== undefined)
    facts.push([
      kind === 'session' ? 'Opened' : 'Created',
      kind === 'session' ? <MomentText at={record.created_at} /> : <Day at={record.created_at} />,
    ]);
  if (kind === 'session' && record?.expires_at != null)
    facts.push(
      record.ended_at == null
        ? ['Expires in', <Until at={record.expires_at} />]
        : ['Ended', <MomentText at={record.ended_at} />],
    );
  if (kind === 'session') {
    facts.push(['Turns', steps.filter(({ outcomes }) => outcomes.some(({ type }) => type === 'turn.begun')).length]);
    const by = steps.findLast(({ by }) => by !== null)?.by;
    if (by)
      facts.push([
        by.kind === 'key' ? 'Key' : 'By',
        by.kind === 'key' ? <a href={inWorkspace('keys', by.id)}>{by.name ?? by.id}</a> : (by.name ?? by.kind),
      ]);
    if (record?.channel !== undefined) facts.push(['Channel', record.channel === 'api' ? 'API' : record.channel]);
    if (record?.assistant_id !== undefined && record.assistant_version !== undefined)
      facts.push(versionFact({ assistant_id: record.assistant_id, assistant_version: record.assistant_version }));
    facts.push(...verifiedFact(record?.visitor_id));
  }
  const session = sessionHere();
  if ((kind === 'turn' || kind === 'call') && session !== null)
    facts.push([
      'Session',
      <a href={inWorkspace('sessions', session)}>
        <code>{session}</code>
      </a>,
    ]);
  if (kind === 'turn')
    facts.push([
      'Turn',
      state === null ? 'over' : leftStates.includes(state) ? 'taken over by another process' : 'in flight',
    ]);
  else facts.push(['Actor', state === null ? 'asleep in the store' : 'awake']);
  return <Facts of={facts} />;
}

interface ActOptions {
  readonly kind: ActorKind;
  readonly id: string;
  /** The session's turn in flight. */
  readonly turn: string | null | undefined;
  /** The session's open call. */
  readonly call: string | null;
  readonly state: string;
  readonly awake: boolean;
}

/** The actions on the actor, and a link to its record. */
function Acts({ kind, id, turn, call, state, awake }: ActOptions) {
  const session = sessionHere();
  if (kind === 'key')
    return (
      <a class="button quiet" href={inWorkspace('keys', id)}>
        Key
      </a>
    );
  if (kind === 'assistant')
    return (
      <a class="button quiet" href={inWorkspace('assistants', id)}>
        Assistant
      </a>
    );
  if (kind === 'turn')
    return (
      session !== null && (
        <>
          <a class="button quiet" href={inWorkspace('live', 'session', session)}>
            Session
          </a>
          {awake && !leftStates.includes(state) && may('sessions.end') && <AbortTurn session={session} turn={id} />}
        </>
      )
    );
  if (kind === 'call')
    return (
      session !== null && (
        <a class="button quiet" href={inWorkspace('live', 'session', session)}>
          Session
        </a>
      )
    );
  if (kind !== 'session') return null;
  return (
    <>
      <a class="button quiet" href={inWorkspace('sessions', id)}>
        Transcript
      </a>
      <ChartLinks session={id} turn={turn} call={call} />
      {(state === 'streaming' || turn) && may('sessions.end') && <AbortTurn session={id} turn={null} />}
      {(state === 'open' || state === 'streaming') && may('sessions.end') && <EndSession session={id} />}
    </>
  );
}
