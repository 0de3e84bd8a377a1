/** `/console/api/load`: the last hour of all processes. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptedCoding } from '../handlers/file.ts';
import { jsonText } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { jsonType, type Reply } from '../request.ts';
import type { ConsoleRequest } from './common.ts';

const gzipped = promisify(gzip);

/**
 * An hour in steps is some 150 KB, mostly figures that are alike: a page over a slow network waits for a tenth of it.
 */
export async function getLoad({ head, services }: ConsoleRequest): Promise<Reply> {
  const data = (await services.load.steps()).map((step) => ({
    start: step.start,
    requests: step.requests,
    refused: step.refused,
    turns_in_flight: step.turnsInFlight,
    open_calls: step.openCalls,
    events: step.events,
    first_output_p50_ms: step.firstOutputP50Ms,
    first_output_p99_ms: step.firstOutputP99Ms,
    voice_to_voice_p50_ms: step.voiceToVoiceP50Ms,
    voice_to_voice_p99_ms: step.voiceToVoiceP99Ms,
    loop_lag_ms: step.lagMs,
    memory_bytes: step.memoryBytes,
    store_ms: step.storeMs,
  }));
  const json = { object: 'load', step_seconds: limits.loadStepSeconds, data };
  if (acceptedCoding(head, ['gzip']) === null) return { status: 200, headers: { vary: 'accept-encoding' }, json };
  const bytes = await gzipped(jsonText(json), { level: 4 });
  return {
    status: 200,
    headers: { 'content-type': jsonType, 'content-encoding': 'gzip', vary: 'accept-encoding' },
    bytes,
  };
}
