/**
 * A state chart, drawn from the machine: a card for each state with a row for each event, arrows between states alone.
 * The current state has the ring; the row that was taken last is lit.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { count } from '../format.ts';
import { arrowKey, type Card, type Drawing, type Row } from './drawing.ts';
import { route, type Box } from './routing.ts';

export interface Lit {
  readonly row: string;
  readonly from: string | null;
  readonly to: string;
  readonly refused: boolean;
  /** Differs for each step, so that a row lit again flashes. */
  readonly times: number | string;
}

interface Options {
  readonly drawing: Drawing;
  readonly label: string;
  /** The state of the one actor that is shown; null where the chart is of many. */
  readonly current: string | null;
  readonly lit: Lit | null;
  /** Number of times that each row was taken since the page was opened. */
  readonly counts: ReadonlyMap<string, number>;
  /** Content at the right of a card's head. */
  readonly aside?: (state: string) => ComponentChildren;
  /** A state that would follow. */
  readonly hinted?: string | null;
}

export function Chart({ drawing, label, current, lit, counts, aside, hinted = null }: Options) {
  const place = useRef<HTMLDivElement>(null);
  const [under, setUnder] = useState<Row | null>(null);
  const paths = useArrows(drawing, place);
  const litArrow = lit !== null && lit.from !== null && lit.from !== lit.to ? arrowKey(lit.from, lit.to) : null;
  const hint = under?.target ?? hinted;
  const hintArrow = under?.target ? arrowKey(under.state, under.target) : null;
  const cardsOf = (final: boolean) =>
    drawing.cards
      .filter((card) => card.final === final)
      .map((card) => (
        <StateCard
          key={card.name}
          card={card}
          current={current === card.name}
          hinted={hint === card.name && current !== card.name}
          lit={lit}
          counts={counts}
          aside={aside?.(card.name)}
          enter={setUnder}
        />
      ));
  return (
    <section class="chart" aria-label={label} ref={place} onPointerLeave={() => setUnder(null)}>
      <svg aria-hidden="true">
        <defs>
          {['plain', 'lit'].map((tone) => (
            <marker
              key={tone}
              id={`arrow-${tone}`}
              viewBox="0 0 8 8"
              refX="7.5"
              refY="4"
              markerUnits="userSpaceOnUse"
              markerWidth="9"
              markerHeight="9"
              orient="auto"
            >
              <path class={`head ${tone}`} d="M0 0L8 4L0 8z" />
            </marker>
          ))}
        </defs>
        {[...paths]
          .toSorted(([one], [other]) => Number(one === litArrow) - Number(other === litArrow))
          .map(([key, d]) => {
            const tone = key === litArrow || key === hintArrow ? 'lit' : 'plain';
            return (
              <path
                key={key}
                d={d}
                class={`${tone}${key === hintArrow ? ' hint' : ''}`}
                marker-end={`url(#arrow-${tone})`}
              />
            );
          })}
      </svg>
      {cardsOf(false)}
      {drawing.cards.some(({ final }) => final) && <div class="finals">{cardsOf(true)}</div>}
    </section>
  );
}

interface CardOptions {
  readonly card: Card;
  readonly current: boolean;
  readonly hinted: boolean;
  readonly lit: Lit | null;
  readonly counts: ReadonlyMap<string, number>;
  readonly aside: ComponentChildren;
  readonly enter: (row: Row | null) => void;
}

const StateCard = ({ card, current, hinted, lit, counts, aside, enter }: CardOptions) => (
  <div class={hinted ? 'state hinted' : 'state'} data-state={card.name} aria-current={current ? 'true' : undefined}>
    <h2 title={card.description}>
      {card.name}
      <small>{aside ?? inShort(card.description)}</small>
    </h2>
    {card.rows.map((row) => {
      const isLit = lit?.row === row.key;
      const times = counts.get(row.key) ?? 0;
      const tone = [row.refusal && 'no', row.quiet && 'quiet', row.exceptional && times === 0 && 'idle', isLit && 'lit']
        .filter(Boolean)
        .join(' ');
      return (
        // Drawn anew for each step, so that it flashes again.
        <div
          class={`row ${tone}`}
          key={isLit ? `${row.key} ${lit.times}` : row.key}
          data-row={row.key}
          onPointerEnter={() => enter(row)}
        >
          <RowWords row={row} final={card.final} />
          <span class="n">{count(times)}</span>
        </div>
      );
    })}
  </div>
);

/** Longer lists of events stand above what they do, not beside it. */
const besideMax = 20;
/** Longer lists of events that change nothing are folded. */
const listedMax = 4;

function RowWords({ row, final }: { row: Row; final: boolean }) {
  const events = row.events.join(', ');
  const words = (
    <span class="to" title={wordsOf(row)}>
      <Words row={row} />
    </span>
  );
  if (final) return <span class="all">Nothing follows.</span>;
  if (row.quiet && row.events.length > listedMax)
    return (
      <details class="all">
        <summary>{row.events.length} events change nothing</summary>
        <b>{events}</b>
      </details>
    );
  if (row.quiet)
    return (
      <span class="all">
        <b>{events}</b> {row.events.length === 1 ? 'changes' : 'change'} nothing
      </span>
    );
  if (events.length > besideMax)
    return (
      <span class="all many">
        <b>{events}</b> {words}
      </span>
    );
  return (
    <>
      <b>{events}</b>
      {words}
    </>
  );
}

/** `Tombstone of a key that was revoked; …` → "was revoked" */
function inShort(description: string): string {
  const [first = ''] = description
    .replace(/\.$/, '')
    .replace(/^Tombstone of an? \w+ that /, '')
    .split(/[;,]/);
  return first.charAt(0).toLowerCase() + first.slice(1);
}

function Words({ row: { target, refusal, outcomes, condition } }: { row: Row }) {
  const codes =
    refusal === null
      ? null
      : refusal === '(assistantRefusal)'
        ? 'refused for the assistant'
        : refusal.startsWith('(')
          ? 'refused'
          : refusal;
  return (
    <>
      {target !== null && `→\u00a0${target}`}
      {target !== null && codes !== null && ', '}
      {codes}
      {target === null && codes === null && outcomes.join(', ')}
      {condition !== null && refusal !== '(assistantRefusal)' && <i> {condition}</i>}
    </>
  );
}

const wordsOf = ({ target, refusal, outcomes, condition }: Row): string =>
  [target && `goes to ${target}`, refusal && `refused ${refusal}`, ...outcomes, condition].filter(Boolean).join(' · ');

/** The arrows' paths, measured again when the cards change their sizes. None where the cards stand in one column. */
function useArrows(drawing: Drawing, place: { readonly current: HTMLDivElement | null }): ReadonlyMap<string, string> {
  const [paths, setPaths] = useState<ReadonlyMap<string, string>>(new Map());
  const measure = () => place.current && setPaths(measureRoutes(drawing, place.current));
  useLayoutEffect(() => void measure(), [drawing]);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, [drawing]);
  return paths;
}

function measureRoutes({ arrows }: Drawing, place: HTMLElement): ReadonlyMap<string, string> {
  const origin = place.getBoundingClientRect();
  const cards = [...place.querySelectorAll<HTMLElement>('.state')];
  if (
    new Set(cards.filter(({ parentElement }) => parentElement === place).map(({ offsetLeft }) => offsetLeft)).size < 2
  )
    return new Map();
  const tops = [...new Set(cards.map((card) => card.offsetTop))].toSorted((one, other) => one - other);
  const boxes = new Map(
    cards.map((card): [string, Box] => {
      const { left, right, top, bottom } = card.getBoundingClientRect();
      const column = (left + right) / 2 < (origin.left + origin.right) / 2 ? 0 : 1;
      const box = {
        left: left - origin.left,
        right: right - origin.left,
        top: top - origin.top,
        bottom: bottom - origin.top,
        row: tops.indexOf(card.offsetTop),
        column,
        final: card.parentElement !== place,
      } as const;
      return [card.dataset['state']!, box];
    }),
  );
  const heightOf = (row: string): number => {
    const found = cards
      .flatMap((card) => [...card.querySelectorAll<HTMLElement>('.row')])
      .find((one) => one.dataset['row'] === row)!
      .getBoundingClientRect();
    return (found.top + found.bottom) / 2 - origin.top;
  };
  return route(
    arrows.map(({ key, from, to, row }) => ({ key, from: boxes.get(from)!, to: boxes.get(to)!, y: heightOf(row) })),
  );
}
