/** A page without content: what will stand here, the first step, and the same as a command. */
import type { ComponentChildren } from 'preact';
import { Command } from './copy.tsx';

interface Options {
  readonly name: string;
  readonly children: ComponentChildren;
  readonly first?: ComponentChildren;
  readonly command?: string;
}

export const Empty = ({ name, children, first, command }: Options) => (
  <div class="empty">
    <h2>{name}</h2>
    <p>{children}</p>
    {first && <p class="acts">{first}</p>}
    {command && <Command>{command}</Command>}
  </div>
);
