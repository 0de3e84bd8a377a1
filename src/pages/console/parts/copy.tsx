/** Values with a button that copies them. */
import { useState } from 'preact/hooks';
import { after } from '../clock.ts';

export function CopyButton({ text, label = 'Copy', quiet = true }: { text: string; label?: string; quiet?: boolean }) {
  const [said, say] = useState<string | null>(null);
  const copy = async () => {
    const copied = await navigator.clipboard.writeText(text).then(() => true, () => false);
    say(copied ? 'Copied' : 'Select it and copy it by hand');
    after(2000, () => say(null));
  };
  return (
    <button type="button" class={quiet ? 'quiet copy' : 'copy'} onClick={() => void copy()}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}

/** An id, whole, with its copy. */
export const Id = ({ id }: { id: string }) => (
  <span class="id">
    <code>{id}</code>
    <CopyButton text={id} />
  </span>
);

/** A line for a terminal. */
export const Command = ({ children }: { children: string }) => (
  <div class="command">
    <pre tabIndex={0}>
      <code>{children}</code>
    </pre>
    <CopyButton text={children} />
  </div>
);
