/** A request that failed: what happened, what to do, and the request id to copy. */
import type { ComponentChildren } from 'preact';
import { adviceOn, ApiFailure } from '../api.ts';
import { CopyButton } from './copy.tsx';

interface Options {
  readonly failure: ApiFailure | null;
  readonly again?: (() => void) | undefined;
  /** The advice, where the page knows better than `adviceOn`. */
  readonly advice?: ((failure: ApiFailure) => ComponentChildren) | undefined;
}

export function Failure({ failure, again, advice = adviceOn }: Options) {
  if (failure === null) return null;
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{failure.message}</strong> {advice(failure)}
      </p>
      <p class="acts">
        {again && (
          <button type="button" onClick={again}>
            Try again
          </button>
        )}
        {failure.requestId && (
          <span class="id">
            <code>{failure.requestId}</code>
            <CopyButton text={failure.requestId} label="Copy the request id" />
          </span>
        )}
      </p>
    </div>
  );
}

/** The `ApiFailure` that a handler threw; anything else is a defect and is rethrown. */
export function caught(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  throw error;
}
