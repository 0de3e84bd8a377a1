/** Values with a button that copies them. */
import { useState } from 'preact/hooks';
import { after } from '../clock.ts';

export function CopyButton({ text, label = 'Copy', quiet = true }: { text: string; label?: string; quiet?: boolean }) {
  const [said, say] = useState<string | null>(null);
  const copy = async () => {
    const copied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
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

/** A line for a terminal. A command of parley's names this server, unless it is the one that it asks by default. */
export function Command({ children }: { children: string }) {
  const { origin } = location;
  const line = children.startsWith('npx parley ') && origin !== byDefault ? `${children} --url ${origin}` : children;
  return (
    <div class="command">
      <pre tabIndex={0}>
        <code>{line}</code>
      </pre>
      <CopyButton text={line} />
    </div>
  );
}

const byDefault = 'http://127.0.0.1:8080';
