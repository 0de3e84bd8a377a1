/** The sending of a form: once at a time, with its failure, a way out and the one button that submits it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiFailure } from '../api.ts';
import { caught, Failure } from './failure.tsx';

interface Sending {
  readonly failure: ApiFailure | null;
  readonly busy: boolean;
  /** The form's `onSubmit`. */
  readonly submit: (event: Event) => void;
}

/** Runs a request, with its state for the page. `run` resolves with null if the request is refused. */
export function useRequest() {
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [busy, setBusy] = useState(false);
  const run = async <Result,>(request: () => Promise<Result>): Promise<Result | null> => {
    setBusy(true);
    setFailure(null);
    try {
      return await request();
    } catch (error) {
      setFailure(caught(error));
      return null;
    } finally {
      setBusy(false);
    }
  };
  return { failure, busy, run };
}

export function useSubmit(send: () => Promise<unknown>): Sending {
  const { failure, busy, run } = useRequest();
  const submit = (event: Event) => {
    event.preventDefault();
    if (!busy) void run(send);
  };
  return { failure, busy, submit };
}

interface Options {
  readonly sending: Sending;
  /** The button's label: the action's verb. */
  readonly act: string;
  readonly cancel?: (() => void) | undefined;
  /** The action cannot be undone. */
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** The advice on a failure, where the form knows better than `adviceOn`. */
  readonly advice?: ((failure: ApiFailure) => ComponentChildren) | undefined;
}

export function FormEnd({
  sending: { failure, busy },
  act,
  cancel,
  danger = false,
  disabled = false,
  advice,
}: Options) {
  const place = useRef<HTMLParagraphElement>(null);
  // The focus goes to the field that was refused.
  useEffect(
    () => place.current!.closest('form')!.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    [failure],
  );
  return (
    <>
      <Failure failure={failure} advice={advice} />
      <p ref={place} class={cancel ? 'acts end' : 'acts'}>
        {cancel && (
          <button type="button" class="quiet" onClick={cancel}>
            Cancel
          </button>
        )}
        <button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy || disabled}>
          {busy ? `${act} …` : act}
        </button>
      </p>
    </>
  );
}
