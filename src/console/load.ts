/** `/console/api/load`: the last hour of all processes. */
import { limits } from '../limits.ts';
import type { Reply } from '../request.ts';
import type { ConsoleRequest } from './common.ts';

export async function getLoad({ services }: ConsoleRequest): Promise<Reply> {
  const data = (await services.load.steps()).map((step) => ({
    start: step.start,
    requests: step.requests,
    refused: step.refused,
    turns_in_flight: step.turnsInFlight,
    events: step.events,
    first_output_p50_ms: step.firstOutputP50Ms,
    first_output_p99_ms: step.firstOutputP99Ms,
    loop_lag_ms: step.lagMs,
    memory_bytes: step.memoryBytes,
    store_ms: step.storeMs,
  }));
  return { status: 200, json: { object: 'load', step_seconds: limits.loadStepSeconds, data } };
}
