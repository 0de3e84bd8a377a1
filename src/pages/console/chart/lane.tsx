/**
 * The last half minute of a call, above its chart: its voices and what they led to. The same stands as a list beneath
 * it.
 */
import { Fragment } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { now, tick } from '../clock.ts';
import { TimeOfDay } from '../parts/time.tsx';
import { useReplies } from './replies.ts';
import { inMs, laneOf, type Mark, type Side, type Span } from './lane-of.ts';
import type { Step } from './steps.ts';

const shownMs = 30_000;
/** Between two lines of the ground. */
const lineMs = 10_000;
/** The ground moves by so much at a time. */
const [usualMs, calmMs] = [1_000, 10_000];
/** Pixels of a letter of a mark, and between two marks. */
const [letterPx, gapPx] = [6.6, 16];

const sides: readonly { readonly side: Side; readonly name: string }[] = [
  { side: 'person', name: 'Person' },
  { side: 'assistant', name: 'Assistant' },
];

interface Options {
  /** The id of the call. */
  readonly call: string;
  readonly steps: readonly Step[];
  /** The step that is looked at; null for the present. */
  readonly shown: Step | null;
}

export function Lane({ call, steps, shown }: Options) {
  const replies = useReplies(call);
  const [width, place] = useWidth();
  const clock = useServerClock(steps.at(-1));
  const live = shown === null && steps.at(-1)?.to !== 'closed';
  const seen = shown === null ? steps : steps.slice(0, steps.indexOf(shown) + 1);
  const stepMs = matchMedia('(prefers-reduced-motion: reduce)').matches ? calmMs : usualMs;
  const last = live ? clock() : (seen.at(-1)?.at ?? 0);
  const to = live ? Math.ceil(last / stepMs) * stepMs : last;
  const from = to - shownMs;
  const { spans, marks } = laneOf(seen, shown === null ? replies : replies.filter(({ at }) => at <= shown.at));
  const recent = marks.filter(({ at }) => at >= from);
  return (
    <section class="lane" aria-label="The last 30 seconds">
      <div class="ground" aria-hidden="true">
        {sides.map(({ side, name }) => (
          <div key={side} class={side}>
            <span>{name}</span>
            <Ground
              spans={spans.filter((one) => one.side === side)}
              marks={recent.filter((one) => one.side === side)}
              from={from}
              now={last}
              width={width}
              place={side === 'person' ? place : null}
            />
          </div>
        ))}
        <p class="times">
          {[30, 20, 10].map((seconds) => (
            <span key={seconds} style={{ left: `${100 - (seconds * 1000 * 100) / shownMs}%` }}>
              {seconds} s before
            </span>
          ))}
          <span class="end">{live ? 'now' : <TimeOfDay at={to} />}</span>
        </p>
      </div>
      <details>
        <summary>The same as a list</summary>
        <Told marks={recent} spans={spans.filter((span) => (span.to ?? last) >= from)} now={last} />
      </details>
    </section>
  );
}

interface GroundOptions {
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
  readonly from: number;
  readonly now: number;
  readonly width: number;
  readonly place: { readonly current: HTMLDivElement | null } | null;
}

/** One side: the time in which it spoke, and its marks. */
function Ground({ spans, marks, from, now, width, place }: GroundOptions) {
  const share = (at: number): number => Math.max(0, Math.min(100, ((at - from) * 100) / shownMs));
  const lines = Array.from({ length: shownMs / lineMs }, (_, index) => (index * 100 * lineMs) / shownMs);
  const labels = fitting(marks, (mark) => (share(mark.at) * width) / 100, width);
  return (
    <div class="line" ref={place}>
      {lines.map((at) => (
        <hr key={at} style={{ left: `${at}%` }} />
      ))}
      {spans
        .filter(({ to }) => (to ?? now) > from)
        .map((span) => {
          const [left, right] = [share(span.from), share(span.to ?? now)];
          return (
            <i
              key={span.from}
              class={span.to === null ? 'spoken lasts' : 'spoken'}
              style={{ left: `${left}%`, width: `${Math.max(right - left, 0.2)}%` }}
            />
          );
        })}
      {marks.map((mark) => {
        const tone = mark.fails ? 'no' : undefined;
        const at = labels.get(mark);
        return (
          <Fragment key={`${mark.at} ${mark.word}`}>
            <s class={tone} style={{ left: `${share(mark.at)}%` }} />
            {at !== undefined && (
              <b class={tone} style={{ left: `${at}px` }}>
                {labelOf(mark)}
              </b>
            )}
          </Fragment>
        );
      })}
    </div>
  );
}

const labelOf = ({ word, ms }: Mark): string => (ms === null ? word : `${word} ${inMs(ms)}`);

/**
 * The marks that have room for their words, the newest first, and where the words of each begin: left of its line where
 * they else had none.
 */
function fitting(marks: readonly Mark[], placeOf: (mark: Mark) => number, width: number): ReadonlyMap<Mark, number> {
  const labels = new Map<Mark, number>();
  let free = width;
  for (const mark of marks.toReversed()) {
    const wide = labelOf(mark).length * letterPx;
    const at = placeOf(mark);
    const begin = Math.min(at, free - wide);
    if (begin < Math.max(0, at - wide)) continue;
    labels.set(mark, begin);
    free = begin - gapPx;
  }
  return labels;
}

interface ToldOptions {
  readonly marks: readonly Mark[];
  readonly spans: readonly Span[];
  readonly now: number;
}

/** Newest first. */
function Told({ marks, spans, now }: ToldOptions) {
  const spoke = spans.map(({ side, from, to }) => ({
    at: from,
    text: `${side === 'person' ? 'The person' : 'The assistant'} speaks${to === null ? ', so far' : ''} for ${inMs(Math.round((to ?? now) - from))}`,
  }));
  const lines = [...spoke, ...marks.map(({ at, told }) => ({ at, text: told }))].toSorted(
    (one, other) => other.at - one.at,
  );
  if (lines.length === 0) return <p class="note">Nobody has spoken.</p>;
  return (
    <ol role="list">
      {lines.map(({ at, text }) => (
        <li key={`${at} ${text}`}>
          <TimeOfDay at={at} /> {text}
        </li>
      ))}
    </ol>
  );
}

/** The server's time, worked out of the last step: the clock of the page may differ. Drawn anew each second. */
function useServerClock(last: Step | undefined): () => number {
  const known = useRef<{ step: Step; at: number } | null>(null);
  if (last !== undefined && known.current?.step !== last) known.current = { step: last, at: now() };
  void tick.value;
  return () => (known.current === null ? now() : known.current.step.at + now() - known.current.at);
}

function useWidth(): [number, { readonly current: HTMLDivElement | null }] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const sizes = new ResizeObserver(() => setWidth(place.current?.clientWidth ?? 0));
    sizes.observe(place.current!);
    return () => sizes.disconnect();
  }, []);
  return [width, place];
}
