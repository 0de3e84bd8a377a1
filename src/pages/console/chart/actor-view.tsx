/** One actor on its chart, at any step of its past: the same on its own page and beside a talk. */
import { useState } from 'preact/hooks';
import type { ActorKind } from '../../../../machines/all.ts';
import { seconds } from '../clock.ts';
import { moment, timeOfDay } from '../format.ts';
import { Id } from '../parts/copy.tsx';
import type { Standing } from './copy.ts';
import { Chart } from './chart.tsx';
import { drawingOf, rowOf } from './drawing.ts';
import { Lane } from './lane.tsx';
import { Past, Scrub } from './past.tsx';
import { type PastOf, usePast } from './past-of.ts';
import { begun, contextsOf, type Contexts, type Step, type Subject } from './steps.ts';
import { WhatIf } from './what-if.tsx';

/** An actor at one moment. */
export interface Moment extends Standing {
  /** The step that led there; null before the first. */
  readonly step: Step | null;
  /** The context a step earlier, for what changed. */
  readonly before: unknown;
}

const folds = new Map<ActorKind, Contexts & { readonly subject: string }>();

/** The contexts of the steps; steps of the same actor that were folded before are not folded again. */
function foldOf(kind: ActorKind, steps: readonly Step[], subject: Subject): unknown[] {
  const known = folds.get(kind);
  const name = JSON.stringify(subject);
  const contexts = contextsOf(kind, steps, subject, known?.subject === name ? known : undefined);
  folds.set(kind, { steps, contexts, subject: name });
  return contexts;
}

const rows = new WeakMap<Step, string | null>();

/** The row that a step has taken. */
function rowKeyOf(kind: ActorKind, step: Step): string | null {
  let key = rows.get(step);
  if (key === undefined) rows.set(step, (key = rowOf(drawingOf(kind), step)?.key ?? null));
  return key;
}

/** The actor at a step; at the newest where `shown` is null. */
export function momentOf(
  kind: ActorKind,
  past: PastOf,
  shown: Step | null,
  subject: Subject,
  known: string | null,
): Moment {
  const { steps, live } = past;
  const step = shown ?? steps.at(-1) ?? null;
  const contexts = foldOf(kind, steps, subject);
  const place = step === null ? -1 : steps.indexOf(step);
  const before = place > 0 ? contexts[place - 1] : begun(kind, steps[0], subject);
  if (shown === null) {
    const state = live?.state ?? step?.to ?? known ?? drawingOf(kind).initial;
    return {
      step,
      state,
      context: live?.context ?? contexts[place] ?? (place < 0 ? begun(kind, undefined, subject) : null),
      before,
    };
  }
  return { step, state: shown.to, context: contexts[place] ?? null, before };
}

interface Options {
  readonly kind: ActorKind;
  readonly id: string;
  readonly past: PastOf;
  readonly moment: Moment;
  readonly shown: Step | null;
  readonly choose: (step: Step) => void;
  readonly now: () => void;
  /** Whether its state is not known: then no state is the current one. */
  readonly unknown: boolean;
  /** The address of the turn that a step begins or closes; null where it does neither. */
  readonly linkOf?: ((step: Step) => string | null) | undefined;
}

export function ActorView({ kind, id, past, moment, shown, choose, now, unknown, linkOf }: Options) {
  const [hinted, hint] = useState<string | null>(null);
  return (
    <>
      {kind === 'call' && <Lane call={id} steps={past.steps} shown={shown} />}
      <div class="work">
        <ActorChart kind={kind} past={past} moment={unknown ? { ...moment, state: null } : moment} hinted={hinted} />
        <aside>
          <Past steps={past.steps} shown={moment.step} choose={choose} over={unknown} linkOf={linkOf} />
          <Context context={moment.context} before={moment.before} at={moment.step} />
          <WhatIf kind={kind} standing={moment} at={shown?.at ?? null} hint={hint} />
        </aside>
      </div>
      <Scrub steps={past.steps} shown={shown} choose={choose} now={now} />
    </>
  );
}

/** The chart alone. */
export function ActorChart({
  kind,
  past,
  moment,
  hinted = null,
}: Pick<Options, 'kind' | 'past'> & {
  moment: Omit<Moment, 'state'> & { state: string | null };
  hinted?: string | null;
}) {
  const drawing = drawingOf(kind);
  const { step } = moment;
  const row = step === null ? null : rowKeyOf(kind, step);
  const lit =
    step === null || row === null
      ? null
      : { row, from: step.from, to: step.to, refused: step.refused, times: `${step.id} ${step.count}` };
  const counts = new Map<string, number>();
  for (const one of past.steps) {
    const key = rowKeyOf(kind, one);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + one.count);
  }
  return (
    <Chart
      drawing={drawing}
      label={`State chart of the ${kind}`}
      current={moment.state}
      lit={lit}
      counts={counts}
      hinted={hinted}
    />
  );
}

const fieldsOf = (context: unknown): [string, unknown][] =>
  typeof context === 'object' && context !== null ? Object.entries(context) : [];

/** Shows a number that is a time as one. */
function valueOf(name: string, value: unknown): string {
  if (typeof value === 'number' && /At$/.test(name)) return `${moment(value, seconds())} · ${value}`;
  if (typeof value === 'number' && /Until$/.test(name)) return `${timeOfDay(value)} · ${value}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The machine's context at this step; the fields that the step changed are marked. */
function Context({ context, before, at }: { context: unknown; before: unknown; at: Step | null }) {
  const earlier = new Map(fieldsOf(before));
  return (
    <section class="ctx" aria-label="Context">
      <h3>Context{at === null ? '' : ` after step ${at.id}`}</h3>
      {at?.requestId && (
        <p class="request">
          <Id id={at.requestId} />
        </p>
      )}
      {context === null && <p>{at === null ? 'Not known.' : 'Not kept at this step.'}</p>}
      {fieldsOf(context).map(([name, value]) => {
        const text = valueOf(name, value);
        const changed = earlier.size > 0 && JSON.stringify(earlier.get(name)) !== JSON.stringify(value);
        return (
          <div key={name}>
            {name} {changed ? <mark>{text}</mark> : text}
          </div>
        );
      })}
    </section>
  );
}

/** Draws the chart; without an id, as it is before there is a session. */
export function ChartBeside({ id }: { id: string | null }) {
  const past = usePast('session', id);
  const found = momentOf('session', past, null, { expiresAt: null, endedAt: null }, 'open');
  const moment = id === null ? { ...found, state: null } : found;
  return (
    <div class="beside">
      <ActorChart kind="session" past={past} moment={moment} />
    </div>
  );
}
