/** The head of a page: its name, what identifies it, its state, and what may be done. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { arriveAt } from '../arrival.ts';

interface Options {
  readonly name: string;
  readonly id?: string | undefined;
  /** The item's name in the window's title, if `name` does not distinguish it from others. */
  readonly title?: string | undefined;
  readonly state?: ComponentChildren;
  /** The page above it: its address and name. */
  readonly above?: readonly [path: string, name: string] | undefined;
  readonly children?: ComponentChildren;
}

export function Head({ name, id, title = name, state, above, children }: Options) {
  const heading = useRef<HTMLHeadingElement>(null);
  const whole = [title, above?.[1], 'parley'].filter(Boolean).join(' · ');
  useEffect(() => arriveAt(heading.current!, whole), [whole]);
  return (
    <header class="head">
      {above && (
        <a class="above" href={above[0]}>
          {above[1]}
        </a>
      )}
      <h1 ref={heading} tabIndex={-1}>
        {name}
      </h1>
      {id && <code>{id}</code>}
      {state}
      {children && <div class="acts">{children}</div>}
    </header>
  );
}

/** A state in words; the colour only repeats them. */
export const State = ({ name, tone = 'plain' }: { name: string; tone?: 'plain' | 'lit' | 'red' | 'good' }) => (
  <span class={`pill ${tone}`}>{name}</span>
);

/** Facts about a thing: a label and a value each. */
export const Facts = ({ of }: { of: readonly (readonly [label: string, value: ComponentChildren])[] }) => (
  <dl class="facts">
    {of.map(([label, value]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
