/** The head of a page: its name, what identifies it, its state, and what may be done. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface Options {
  readonly name: string;
  readonly id?: string | undefined;
  readonly state?: ComponentChildren;
  /** The page above it: its address and name. */
  readonly above?: readonly [path: string, name: string] | undefined;
  readonly children?: ComponentChildren;
}

export function Head({ name, id, state, above, children }: Options) {
  useEffect(() => {
    document.title = `${id ?? name} · parley`;
  }, [name, id]);
  return (
    <header class="head">
      {above && (
        <a class="above" href={above[0]}>
          {above[1]}
        </a>
      )}
      <h1>{name}</h1>
      {id && <code>{id}</code>}
      {state}
      {children && <div class="acts">{children}</div>}
    </header>
  );
}

/** A state in words; the colour only repeats them. */
export const State = ({ name, tone = 'plain' }: { name: string; tone?: 'plain' | 'lit' | 'red' | 'good' }) => <span class={`pill ${tone}`}>{name}</span>;

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
