/**
 * The chart of a machine: for each state its rows, and the arrows between states. Read from the machine file itself.
 */
import { kinds, type ActorKind } from '../../../../machines/all.ts';
import { describedStates, initialState, transitionsOf, type Transition } from '../../../../machines/transitions.ts';
import type { Emitted } from '../types.ts';

/** Transitions of a state that do the same, on one or several events. */
export interface Row {
  readonly key: string;
  readonly state: string;
  readonly events: readonly string[];
  /** The guard, in words; null without one. */
  readonly condition: string | null;
  /** The other state that it leads to; null where the state stays. */
  readonly target: string | null;
  /** The code of its refusal; in round brackets where the event brings it. */
  readonly refusal: string | null;
  /** The emitted events, in words: those that all of its events have in common. */
  readonly outcomes: readonly string[];
  /** The emitted events of each of its events, in words. */
  readonly told: Readonly<Record<string, readonly string[]>>;
  /** Changes nothing and emits nothing. */
  readonly quiet: boolean;
  /** The plain case of its event is another row. */
  readonly exceptional: boolean;
}

export interface Card {
  readonly name: string;
  readonly description: string;
  readonly rows: readonly Row[];
  /** No event changes anything in it. */
  readonly final: boolean;
}

export interface Arrow {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  /** The first row that it stands for. */
  readonly row: string;
}

export interface Drawing {
  readonly kind: ActorKind;
  readonly initial: string;
  readonly cards: readonly Card[];
  readonly arrows: readonly Arrow[];
}

const drawn = new Map<ActorKind, Drawing>();

export function drawingOf(kind: ActorKind): Drawing {
  let drawing = drawn.get(kind);
  if (drawing === undefined) drawn.set(kind, (drawing = draw(kind)));
  return drawing;
}

function draw(kind: ActorKind): Drawing {
  const { machine } = kinds[kind];
  const transitions = transitionsOf(machine);
  const cards = describedStates(machine).map((state) => {
    const rows = rowsOf(transitions.filter((one) => one.state === state.name));
    return { ...state, rows, final: rows.every(({ quiet }) => quiet) };
  });
  const arrows = cards.flatMap(({ name, rows }) => {
    const targets = new Set(rows.map(({ target }) => target).filter((target) => target !== null));
    return [...targets].map((to) => ({
      key: arrowKey(name, to),
      from: name,
      to,
      row: rows.find(({ target }) => target === to)!.key,
    }));
  });
  return { kind, initial: initialState(machine), cards, arrows };
}

export const arrowKey = (from: string, to: string): string => `${from} ${to}`;

/**
 * Sorts rows event by event, the plain case first, which the definition has last; rows that change nothing come at the
 * end.
 */
function rowsOf(transitions: readonly Transition[]): Row[] {
  const rows = new Map<string, Row>();
  const events = [...new Set(transitions.map(({ event }) => event))];
  for (const transition of events.flatMap((event) => transitions.filter((one) => one.event === event).reverse())) {
    const { state, event, guard, target, outcomes } = transition;
    const refusal = outcomes.find(({ type }) => type === 'refused')?.code ?? null;
    const moves = target !== state;
    const quiet = !moves && outcomes.every(({ type }) => type === 'unchanged');
    const told = outcomes
      .filter(({ type }) => type !== 'refused' && type !== 'unchanged')
      .map(({ type, code, details }) => [type, ...(code === null ? details : [code])].join(' '));
    const same = quiet
      ? 'quiet'
      : [guard ?? '', moves ? target : '', refusal ?? '', moves ? '' : told.join()].join('|');
    const key = `${state} ${same}`;
    const found = rows.get(key);
    const condition = guard === null || quiet ? null : inWords(guard);
    if (found === undefined)
      rows.set(key, {
        key,
        state,
        events: [event],
        condition,
        target: moves ? target : null,
        refusal,
        outcomes: told,
        told: { [event]: told },
        quiet,
        exceptional: [...rows.values()].some(({ events: before }) => before.includes(event)),
      });
    else
      rows.set(key, {
        ...found,
        events: [...new Set([...found.events, event])],
        outcomes: found.outcomes.filter((one) => told.includes(one)),
        told: { [event]: told, ...found.told },
      });
  }
  const all = [...rows.values()];
  return [...all.filter(({ quiet }) => !quiet), ...all.filter(({ quiet }) => quiet)];
}

/** `isActiveTurn` → "if active turn" */
const inWords = (guard: string): string =>
  `if ${guard
    .replace(/^is(?=[A-Z])/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .trim()}`;

export interface Walked {
  readonly event: string;
  /** Null for the step that made the actor. */
  readonly from: string | null;
  readonly to: string;
  readonly outcomes: readonly Emitted[];
}

const fromEvent = (code: string | null): boolean => code?.startsWith('(') ?? false;

/** The row that a step has taken; undefined if this machine has none, as one of another version may. */
export function rowOf({ cards }: Drawing, { event, from, to, outcomes }: Walked): Row | undefined {
  const rows =
    cards
      .find(({ name }) => name === from)
      ?.rows.filter((row) => row.events.includes(event) && row.target === (to === from ? null : to)) ?? [];
  const refused = outcomes.find(({ type }) => type === 'refused');
  if (refused !== undefined)
    return rows.find(({ refusal }) => refusal === refused.code) ?? rows.find(({ refusal }) => fromEvent(refusal));
  const accepted = rows.filter(({ refusal }) => refusal === null);
  const isQuiet = outcomes.every(({ type }) => type === 'unchanged');
  const fit = (row: Row): number =>
    row.told[event]!.reduce((sum, one) => sum + Math.max(...outcomes.map((outcome) => likeness(one, outcome)), -1), 0);
  return (
    accepted.filter(({ quiet }) => quiet === isQuiet).toSorted((one, other) => fit(other) - fit(one))[0] ?? accepted[0]
  );
}

/**
 * Returns how closely an emitted event matches the words of a row: its type counts, then its code if the definition has
 * one.
 */
function likeness(words: string, { type, code, reason }: Emitted): number {
  if (words === [type, code ?? reason].filter(Boolean).join(' ')) return 2;
  return words.split(' ')[0] === type ? (words.includes('(') ? 1 : 0) : -1;
}
