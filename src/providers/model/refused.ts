/** A call that fails before anything is sent. */
import type { ModelCall, ModelFailure, ModelSink } from '../model.ts';

/** Tells the sink in a microtask, since a sink is never called before `start` has returned. */
export function refuseCall(sink: ModelSink, failure: ModelFailure): ModelCall {
  let cancelled = false;
  queueMicrotask(() => {
    if (!cancelled) sink.failed(failure);
  });
  return {
    cancel() {
      cancelled = true;
    },
  };
}
