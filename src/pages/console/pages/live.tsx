/**
 * Live: the chart of each kind of actor with how many are in each state, what happens, and from a count to the actors
 * behind it.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { actorKinds, type ActorKind } from '../../../../machines/all.ts';
import { boardAfter, emptyBoard, inState, type Board, type Happened } from '../chart/board.ts';
import { Chart } from '../chart/chart.tsx';
import { drawingOf, type Drawing } from '../chart/drawing.ts';
import { causeText, StepWords } from '../chart/past.tsx';
import { watch } from '../feed.ts';
import { count, plural, shortId } from '../format.ts';
import { Command } from '../parts/copy.tsx';
import { Head } from '../parts/head.tsx';
import { Lost } from '../parts/missing.tsx';
import { useTabs } from '../parts/tabs.ts';
import { Ago, TimeOfDay } from '../parts/time.tsx';
import { Wait } from '../parts/wait.tsx';
import { address, inWorkspace, search, turnChart, workspaceId } from '../route.ts';

const names: Readonly<Record<ActorKind, string>> = {
  session: 'Sessions',
  turn: 'Turns',
  call: 'Calls',
  reply: 'Replies',
  key: 'Keys',
  workspace: 'Workspace',
  assistant: 'Assistants',
  release: 'Releases',
  run: 'Test runs',
  socket: 'Sockets',
  visitor: 'Visitors',
  attendance: 'Attendances',
};

/** A turn does not sleep. */
const awake = (kind: ActorKind): string => (kind === 'turn' ? 'in flight' : 'awake');

/** The board of a workspace: another one with each frame that brings something. */
function useBoard(workspace: string): Board {
  const [board, setBoard] = useState(emptyBoard);
  useEffect(() => {
    setBoard(emptyBoard);
    return watch({ workspace }, (messages) => setBoard((before) => boardAfter(before, messages)));
  }, [workspace]);
  return board;
}

/** The address of the same page with another choice. */
function here(fields: Readonly<Record<string, string | null>>): string {
  const url = new URL(address.value);
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.pathname + url.search;
}

export default function Live() {
  const board = useBoard(workspaceId.value!);
  const [asked, state] = [search.value.get('kind') || 'session', search.value.get('state') || null];
  const kind = actorKinds.find((one) => one === asked);
  const drawing = kind && drawingOf(kind);
  const tabs = useTabs(kind ?? '');
  const chosen = drawing?.cards.find(({ name }) => name === state)?.name ?? null;
  if (kind === undefined || drawing === undefined || chosen !== state)
    return (
      <Lost name="There is no such page" to={[inWorkspace('live'), 'To the live charts']}>
        {kind === undefined ? 'There is no such kind of actor.' : `No ${kind} has such a state.`}
      </Lost>
    );
  const happened = board.happened[kind];
  const [last] = happened;
  const lit = last?.row ? { row: last.row, from: last.from, to: last.to, refused: last.refused, times: last.id } : null;
  const of = (state: string) => <InState number={inState(board, kind, state).length} state={state} kind={kind} />;
  return (
    <>
      <Head name="Live">
        <span class="note">
          {board.begun ? `${plural(board.actors[kind].size, kind)} ${awake(kind)}` : 'Connecting …'}
        </span>
      </Head>
      <nav class="tabs" aria-label="Kinds of actors" ref={tabs}>
        {actorKinds.map((one) => (
          <a
            key={one}
            href={here({ kind: one === 'session' ? null : one, state: null })}
            aria-current={one === kind ? 'page' : undefined}
          >
            {names[one]}
            <span>{board.begun ? count(board.actors[one].size) : ''}</span>
          </a>
        ))}
      </nav>
      <div class="work">
        <div class="stack-wide">
          <OnPhone folded={<States board={board} kind={kind} drawing={drawing} chosen={chosen} />}>
            <Chart
              drawing={drawing}
              label={`State chart of every ${kind}`}
              current={null}
              lit={lit}
              counts={board.counts[kind]}
              aside={of}
            />
          </OnPhone>
          <Actors board={board} kind={kind} state={chosen} />
        </div>
        <aside>
          <Stream board={board} happened={happened} kind={kind} />
        </aside>
      </div>
    </>
  );
}

const phone = matchMedia('(max-width: 720px)');

/**
 * Folds the chart on a phone, where its cards would stand above the list for several screens; `folded` says in short
 * what it shows.
 */
function OnPhone({ folded, children }: { folded: ComponentChildren; children: ComponentChildren }) {
  const [isPhone, setPhone] = useState(phone.matches);
  useEffect(() => {
    const follow = () => setPhone(phone.matches);
    phone.addEventListener('change', follow);
    return () => phone.removeEventListener('change', follow);
  }, []);
  if (!isPhone) return <>{children}</>;
  return (
    <>
      {folded}
      <details class="fold">
        <summary>State chart</summary>
        {children}
      </details>
    </>
  );
}

/** Links to the states that somebody is in, as the cards of the chart have them. */
function States({
  board,
  kind,
  drawing,
  chosen,
}: {
  board: Board;
  kind: ActorKind;
  drawing: Drawing;
  chosen: string | null;
}) {
  const present = drawing.cards
    .map(({ name }) => ({ name, number: inState(board, kind, name).length }))
    .filter(({ name, number }) => number > 0 || name === chosen);
  if (present.length === 0) return null;
  return (
    <nav class="states" aria-label="States">
      {present.map(({ name, number }) => (
        <a
          key={name}
          class="button"
          href={here({ state: name === chosen ? null : name })}
          aria-current={name === chosen ? 'true' : undefined}
        >
          {name} <b>{count(number)}</b>
        </a>
      ))}
    </nav>
  );
}

const InState = ({ number, state, kind }: { number: number; state: string; kind: ActorKind }) =>
  number === 0 ? (
    <span class="awake">none</span>
  ) : (
    <a
      class="awake"
      href={here({ state, kind: kind === 'session' ? null : kind })}
      aria-label={`${plural(number, kind)} ${state}`}
    >
      {count(number)}
    </a>
  );

const listedMax = 200;

/** The page of an actor; a turn's names its session. */
const chartOf = (board: Board, kind: ActorKind, id: string): string =>
  kind === 'turn' ? turnChart(id, board.sessions.get(id) ?? null) : inWorkspace('live', kind, id);

const SessionOf = ({ id }: { id: string | null }) =>
  id === null ? null : (
    <a class="note in-session" href={inWorkspace('sessions', id)}>
      in {shortId(id)}
    </a>
  );

/** A table of links to the actors in the chosen state, or to all. */
function Actors({ board, kind, state }: { board: Board; kind: ActorKind; state: string | null }) {
  const found = inState(board, kind, state);
  const listed = found.toSorted((one, other) => (other.since ?? 0) - (one.since ?? 0)).slice(0, listedMax);
  if (!board.begun) return <Wait what="Connecting" />;
  return (
    <section class="section" aria-label="Actors">
      <h2>
        {state === null
          ? kind === 'turn'
            ? 'Every turn in flight'
            : `Every ${kind} that is awake`
          : `${plural(found.length, kind)} ${state}`}
        {state !== null && (
          <a class="note show-all" href={here({ state: null })}>
            Show all
          </a>
        )}
      </h2>
      {found.length === 0 && <Nobody kind={kind} state={state} />}
      {listed.length > 0 && (
        <div
          class="rows"
          role="table"
          aria-label="Actors"
          style={{ '--tracks': 'minmax(0, 2fr) 120px 140px', '--tracks-narrow': 'minmax(0, 2fr) 90px' }}
        >
          <div role="rowgroup">
            <div role="row" class="names">
              <span role="columnheader">Id</span>
              <span role="columnheader">State</span>
              <span role="columnheader" class="n wide">
                Since
              </span>
            </div>
          </div>
          <div role="rowgroup">
            {listed.map(({ actor, since }) => (
              <div role="row" key={actor.id}>
                <span role="cell">
                  <a href={chartOf(board, kind, actor.id)}>
                    <code>{actor.id}</code>
                  </a>
                  {kind === 'turn' && <SessionOf id={board.sessions.get(actor.id) ?? null} />}
                </span>
                <span role="cell">{actor.state}</span>
                <span role="cell" class="n wide">
                  {since === null ? <span class="soft">before</span> : <Ago at={Math.floor(since / 1000)} />}
                </span>
              </div>
            ))}
          </div>
        </div>
      )}
      {found.length > listedMax && (
        <p class="note">
          The {listedMax} that moved last are listed; {count(found.length - listedMax)} more are {awake(kind)}.
        </p>
      )}
    </section>
  );
}

const Nobody = ({ kind, state }: { kind: ActorKind; state: string | null }) => (
  <>
    <p class="note">
      {state !== null
        ? `No ${kind} is ${state} now.`
        : kind === 'turn'
          ? 'No turn is in flight. One begins with the next message of a session, and appears here.'
          : `No ${kind} is awake: actors sleep in the store until something is asked of them. One that wakes appears here.`}
    </p>
    {state === null && (kind === 'session' || kind === 'turn') && <Command>npx parley chat</Command>}
  </>
);

const drawnMax = 30;

/** The latest events, newest first. */
const Stream = ({ board, happened, kind }: { board: Board; happened: readonly Happened[]; kind: ActorKind }) => (
  <section class="happened" aria-label="Events as they happen">
    <h3>
      <span>As it happens</span>
      {board.dropped > 0 && <span>{count(board.dropped)} left out</span>}
    </h3>
    {happened.length === 0 && <p class="note">Nothing since this page was opened.</p>}
    <ol>
      {happened.slice(0, drawnMax).map((one) => (
        <li key={one.id}>
          <a class={one.refused ? 'step no' : 'step'} href={chartOf(board, kind, one.actor.id)}>
            <TimeOfDay at={one.at} />
            <span>
              <StepWords step={one} />
              <small title={one.requestId ?? undefined}>
                {[shortId(one.actor.id), causeText(one.by), one.requestId && shortId(one.requestId)]
                  .filter(Boolean)
                  .join(' · ')}
              </small>
            </span>
          </a>
        </li>
      ))}
    </ol>
  </section>
);
