/** A signing secret, which is shown this once. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { Check } from './field.tsx';

interface Options {
  /** The name of what has it. */
  readonly of: string;
  readonly secret: string;
  readonly close: () => void;
  /** The use of the secret, in sentences. */
  readonly children: ComponentChildren;
}

/** The server returns the secret this once: the dialog closes by its own button, and the text is kept nowhere. */
export function SecretOnce({ of, secret, close, children }: Options) {
  const [kept, setKept] = useState(false);
  return (
    <Dialog name={`The signing secret of “${of}”`} close={close} held>
      <div class="stack">
        <p>{children} It is shown this once.</p>
        <code class="once">{secret}</code>
        <p class="acts">
          <CopyButton text={secret} label="Copy the secret" quiet={false} />
        </p>
        <Check label="I have saved it" checked={kept} onValue={setKept} />
        <p class="acts end">
          <button type="button" class="primary" disabled={!kept} onClick={close}>
            Done
          </button>
        </p>
      </div>
    </Dialog>
  );
}
