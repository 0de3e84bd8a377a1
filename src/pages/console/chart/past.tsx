/** The history of an actor as a list, newest first, and the track on which one goes through it. */
import { Component } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { duration, plural, shortId } from '../format.ts';
import { TimeOfDay } from '../parts/time.tsx';
import type { Cause } from '../types.ts';
import { codeOf, type Step } from './steps.ts';

interface Options {
  readonly steps: readonly Step[];
  readonly shown: Step | null;
  readonly choose: (step: Step) => void;
}

const drawnMax = 120;
/** Most steps of a track on which each step is marked; with more only the refusals are. */
const ticksMax = 100;
/** A pause between two steps that is worth a word. */
const pauseMs = 60_000;

interface PastOptions extends Options {
  /** The actor has ended: no further step is expected. */
  readonly over: boolean;
  /** The address of the turn that a step begins or closes; null where it does neither. */
  readonly linkOf?: ((step: Step) => string | null) | undefined;
}

export function Past({ steps, shown, choose, over, linkOf }: PastOptions) {
  const list = useRef<HTMLOListElement>(null);
  const place = shown === null ? steps.length - 1 : steps.indexOf(shown);
  const begin = Math.max(0, Math.min(place - drawnMax / 2, steps.length - drawnMax));
  const drawn = steps.slice(begin, begin + drawnMax);
  useEffect(() => {
    // The list alone scrolls, never the page.
    const [box, item] = [list.current, list.current?.querySelector<HTMLElement>('[aria-current]')];
    if (box && item && box.scrollHeight > box.clientHeight) {
      const [top, bottom] = [item.offsetTop - box.offsetTop, item.offsetTop - box.offsetTop + item.offsetHeight];
      if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
    }
  }, [shown?.id]);
  return (
    <section class="past" aria-label="History">
      <h3>
        <span>History</span>
        <span>{plural(steps.length, 'step')}</span>
      </h3>
      {steps.length === 0 && (
        <p class="note">
          {over ? 'No step is known.' : 'No step is known yet. What moves it appears here as it happens.'}
        </p>
      )}
      <ol ref={list} tabIndex={drawn.length > 5 ? 0 : undefined} role="list" aria-label="Steps, newest first">
        {drawn.toReversed().map((step, index, all) => {
          const after = all[index - 1];
          const pause = after === undefined ? 0 : after.at - step.at;
          const turn = linkOf?.(step) ?? null;
          return (
            <li key={step.id}>
              {pause > pauseMs && <p class="gap">{duration(pause / 1000)} later</p>}
              <div class={turn === null ? undefined : 'about-turn'}>
                <StepRow step={step} current={step === shown} choose={choose} />
                {turn !== null && (
                  <a href={turn} aria-label={`Turn of step ${step.id}`}>
                    Turn
                  </a>
                )}
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

interface RowOptions {
  readonly step: Step;
  readonly current: boolean;
  readonly choose: (step: Step) => void;
}

/** A row that stays as it is is left alone: fifty events a second draw one row each, not the list. */
class StepRow extends Component<RowOptions> {
  override shouldComponentUpdate({ step, current }: RowOptions): boolean {
    return step !== this.props.step || current !== this.props.current;
  }

  override render({ step, current, choose }: RowOptions) {
    return (
      <button
        type="button"
        class={step.refused ? 'step no' : 'step'}
        aria-current={current ? 'step' : undefined}
        onClick={() => choose(step)}
      >
        <TimeOfDay at={step.at} />
        <span>
          <StepWords step={step} />
          <small title={titleOf(step)}>{smallOf(step)}</small>
        </span>
      </button>
    );
  }
}

export const StepWords = ({
  step: { event, from, to, refused, outcomes },
}: {
  step: Pick<Step, 'event' | 'from' | 'to' | 'refused' | 'outcomes'>;
}) =>
  refused ? (
    <>
      <b>{event} refused</b> {codeOf(outcomes)}
    </>
  ) : (
    <>
      <b>{event}</b> {from === null || from === to ? to : `${from} → ${to}`}
    </>
  );

export const causeText = (by: Cause | null): string | null =>
  by === null ? null : by.kind === by.name ? by.kind : `${by.kind} ${by.name ?? shortId(by.id)}`;

/** A step in small print: how often, the emitted events, the cause. */
const smallOf = (step: Step): string => {
  const told = step.outcomes
    .filter(({ type }) => type !== 'refused' && type !== 'unchanged' && type !== 'accepted')
    .map(({ type }) => type);
  const times = step.count > 1 ? (step.count === 2 ? 'twice' : `${step.count} times`) : null;
  return (
    [times, ...told, causeText(step.by), step.requestId && shortId(step.requestId)].filter(Boolean).join(' · ') ||
    'no cause is kept'
  );
};
const titleOf = ({ requestId, outcomes }: Step): string =>
  [requestId, JSON.stringify(outcomes)].filter(Boolean).join('\n');

/** Returns each step's position on the track, from 0 to 1: pauses count, up to a maximum. */
export function placesOf(steps: readonly Step[]): number[] {
  const most = 60_000;
  const least = 2000;
  let sum = 0;
  const sums = steps.map(
    (step, index) => (sum += index === 0 ? 0 : Math.min(most, Math.max(least, step.at - steps[index - 1]!.at))),
  );
  return sums.map((one) => (sum === 0 ? 0.5 : one / sum));
}

interface ScrubOptions extends Options {
  /** Back to the current state. */
  readonly now: () => void;
}

export function Scrub({ steps, shown, choose, now }: ScrubOptions) {
  const track = useRef<HTMLDivElement>(null);
  if (steps.length === 0) return null;
  const last = steps.length - 1;
  const place = shown === null ? last : Math.max(0, steps.indexOf(shown));
  const places = placesOf(steps);
  const at = (index: number): string => `${2 + (places[index] ?? 1) * 96}%`;
  const to = (index: number) => {
    const step = steps[Math.max(0, Math.min(last, index))]!;
    if (index > last) now();
    else choose(step);
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => to(place - 1),
    ArrowDown: () => to(place - 1),
    ArrowRight: () => to(place + 1),
    ArrowUp: () => to(place + 1),
    PageDown: () => to(place - 10),
    PageUp: () => to(Math.min(last, place + 10)),
    Home: () => to(0),
    End: now,
  };
  const press = (event: KeyboardEvent) => {
    const act = keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  };
  const point = (event: PointerEvent) => {
    if (event.buttons !== 1) return;
    const box = track.current!.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width - 0.02) / 0.96;
    let nearest = 0;
    for (const [index, one] of places.entries())
      if (Math.abs(one - wanted) < Math.abs(places[nearest]! - wanted)) nearest = index;
    to(nearest);
  };
  const step = steps[place]!;
  return (
    <div class="scrub">
      <button type="button" class="quiet" onClick={() => to(place - 1)} disabled={place === 0}>
        ◀ Step
      </button>
      <div
        ref={track}
        class="track"
        role="slider"
        tabIndex={0}
        aria-label="Step of the history"
        aria-valuemin={1}
        aria-valuemax={steps.length}
        aria-valuenow={place + 1}
        aria-valuetext={`${step.event}, ${step.refused ? `refused ${codeOf(step.outcomes) ?? ''}` : step.to}`}
        onKeyDown={press}
        onPointerDown={point}
        onPointerMove={point}
      >
        {steps
          .map(({ id, refused }, index) =>
            refused || steps.length <= ticksMax ? (
              <s key={id} class={refused ? 'no' : undefined} style={{ left: at(index) }} />
            ) : null,
          )
          .slice(-10 * ticksMax)}
        <u style={{ left: at(place) }} />
      </div>
      <button type="button" onClick={now} disabled={shown === null}>
        Now
      </button>
    </div>
  );
}
