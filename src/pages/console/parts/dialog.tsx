/** A dialog: the browser's own, which keeps the focus, closes on Escape and gives the focus back. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiFailure } from '../api.ts';
import { FormEnd, useSubmit } from './submit.tsx';

interface Options {
  readonly name: string;
  readonly children: ComponentChildren;
  readonly close: () => void;
  /** Closes by its own buttons only, since its content is shown only once. */
  readonly held?: boolean;
}

export function Dialog({ name, children, close, held = false }: Options) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { activeElement: before } = document;
    dialog.current!.showModal();
    return () => {
      // A dialog that is removed, unlike one that is closed, gives no focus back.
      if (
        before instanceof HTMLElement &&
        before.isConnected &&
        (document.activeElement === null || document.activeElement === document.body)
      )
        before.focus({ preventScroll: true });
    };
  }, []);
  return (
    // Browsers close a dialog with the second Escape, even if the first was prevented.
    <dialog
      ref={dialog}
      aria-label={name}
      onClose={held ? () => dialog.current?.showModal() : close}
      onCancel={(event) => held && event.preventDefault()}
    >
      <h2>{name}</h2>
      {children}
    </dialog>
  );
}

interface Question {
  readonly name: string;
  readonly children: ComponentChildren;
  /** The label of the confirming button: the action's verb. */
  readonly act: string;
  readonly run: () => Promise<void>;
  readonly close: () => void;
  /** Closes it without the action; by default `close`. */
  readonly cancel?: () => void;
  /** A text to type before the action can be confirmed. */
  readonly typed?: string;
  /** The advice on a failure, where the dialog knows better. */
  readonly advice?: (failure: ApiFailure) => string;
  /** Whether the action cannot be undone; by default it cannot. */
  readonly danger?: boolean;
}

/** Asks for confirmation of an action. */
export function ConfirmDialog({
  name,
  children,
  act,
  run,
  close,
  cancel = close,
  typed,
  advice,
  danger = true,
}: Question) {
  const [text, setText] = useState('');
  const sending = useSubmit(() => run().then(close));
  return (
    <Dialog name={name} close={cancel}>
      <form onSubmit={sending.submit}>
        {children}
        {typed !== undefined && (
          <label class="field">
            <span>Type “{typed}” to confirm</span>
            <input
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
        )}
        <FormEnd
          sending={sending}
          act={act}
          cancel={cancel}
          danger={danger}
          disabled={typed !== undefined && text !== typed}
          advice={advice}
        />
      </form>
    </Dialog>
  );
}
