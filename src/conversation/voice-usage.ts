/** Counts an assistant's speech and transcription. */
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Services } from './services.ts';
import { StoreUnavailable, type Assistant, type VoiceCounts } from '../store/store.ts';
import { storeRetryMs, storeRetryMsMax } from '../base/store-retry.ts';

/** Milliseconds for which the store recognises a repeat of the step. */
const repeatMsMax = limits.redisStepKeptMs / 2;

/**
 * Counts usage for an API key (`keyId`). Resolves after the store's first answer, and never rejects: a count that the
 * store did not take is repeated in the background, and logged and lost after half a minute.
 */
export async function countVoice(
  { workspaceId, id: assistantId }: Pick<Assistant, 'workspaceId' | 'id'>,
  keyId: string | null,
  counts: Partial<VoiceCounts>,
  { store, clock, ids, log }: Services,
): Promise<void> {
  const step = {
    id: ids.secret(),
    workspaceId,
    assistantId,
    keyId,
    at: secondsOf(clock.now()),
    speechCharacters: 0,
    transcriptionSeconds: 0,
    ...counts,
  };
  if (step.speechCharacters === 0 && step.transcriptionSeconds === 0) return;
  const until = clock.monotonic() + repeatMsMax;
  const attempt = async (waitMs: number): Promise<void> => {
    try {
      await store.usage.count(step);
    } catch (error) {
      if (error instanceof StoreUnavailable && clock.monotonic() < until)
        clock.after(waitMs, () => void attempt(Math.min(2 * waitMs, storeRetryMsMax)));
      else log.error({ err: error, assistant_id: assistantId, ...counts }, 'Voice usage could not be counted.');
    }
  };
  return attempt(storeRetryMs);
}
