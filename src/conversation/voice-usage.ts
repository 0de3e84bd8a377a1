/** Counts an assistant's speech and transcription. */
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Services } from './services.ts';
import { StoreUnavailable, type Assistant, type VoiceCounts } from '../store/store.ts';

/** For so long a repeat of the step is known to the store as one. */
const repeatMsMax = limits.redisStepKeptMs / 2;

/** `keyId`: the API key that asked for it. Never rejects: a count that the store does not accept within half a minute is logged and lost. */
export async function countVoice({ workspaceId, id: assistantId }: Pick<Assistant, 'workspaceId' | 'id'>, keyId: string | null, counts: Partial<VoiceCounts>, { store, clock, ids, log }: Services): Promise<void> {
  const step = { id: ids.secret(), workspaceId, assistantId, keyId, at: secondsOf(clock.now()), speechCharacters: 0, transcriptionSeconds: 0, ...counts };
  if (step.speechCharacters === 0 && step.transcriptionSeconds === 0) return;
  const until = clock.monotonic() + repeatMsMax;
  for (let waitMs: number = limits.storeRetryMs; ; waitMs = Math.min(2 * waitMs, limits.storeRetryMsMax)) {
    try {
      return await store.usage.count(step);
    } catch (error) {
      if (error instanceof StoreUnavailable && clock.monotonic() < until) {
        await new Promise<void>((resolve) => clock.after(waitMs, resolve));
        continue;
      }
      log.error({ err: error, assistant_id: assistantId, ...counts }, 'voice usage is not counted');
      return;
    }
  }
}
