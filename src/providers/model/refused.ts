/** A call that fails before anything is sent. */
import type { ModelStream, ModelFailure, ModelSink } from '../model.ts';

/** Reports to the sink in a microtask, because a sink is never called before `start` has returned. */
export function refuseRequest(sink: ModelSink, failure: ModelFailure): ModelStream {
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
