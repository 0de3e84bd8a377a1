/** Turns whose process died: their stored output becomes the partial message, and the session is free again. */
import { sessionMachine, sessionVersion, type SessionEvent, type SessionOutcome } from '../../machines/session.ts';
import { secondsOf } from '../clock.ts';
import { limits } from '../limits.ts';
import { estimateInputTokens, estimateTokens } from '../model.ts';
import type { Session, Turn, Versioned } from '../store.ts';
import { codePoints } from '../text.ts';
import { openActor } from './actor.ts';
import type { SessionsOptions } from './options.ts';

/** What a sealed turn reports: why it was asked to stop, or else by the state of the session that it was found in. */
const endings = {
  aborted: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  ended: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  expired: { status: 'failed', stopReason: 'expired', errorCode: 'session_expired' },
  died: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
} as const;

/** Seals the session's turn if its lease has run out: the session as it is then. Another process' living turn is left alone. */
export async function sealOrphan(options: SessionsOptions, found: Versioned<Session>, turnId: string): Promise<Versioned<Session>> {
  const { store, clock, inspector, owner } = options;
  const { id: sessionId, workspaceId } = found.record;
  const place = { workspaceId, sessionId, turnId };
  const nowMs = clock.now();
  const seized = await store.seizeTurn(place, owner, nowMs + limits.leaseMs, nowMs);
  const turn = seized && (await store.turn(workspaceId, sessionId, turnId));
  if (!seized || !turn) return found;
  const { stop, ...fence } = seized;

  const machine = openActor<SessionEvent, SessionOutcome>(
    sessionMachine,
    sessionVersion,
    { snapshot: found.record.machine },
    { kind: 'session', id: sessionId, workspaceId },
    inspector,
  );
  // A session whose deadline passed while nobody ran it expired first, and its turn was cut by that.
  machine.send({ type: 'tick', at: nowMs });
  const ending = endings[stop ?? (machine.state as keyof typeof endings)] ?? endings.died;
  machine.send({ type: 'finished', at: nowMs, turnId });

  const output = await store.output(place);
  // What its provider counted died with the process: the estimate stands in (see `estimateTokens`).
  const said = await store.recentMessages(workspaceId, sessionId, turn.messageIndex, limits.historyTokensMax * 4, limits.historyMessagesMax);
  const counted = { inputTokens: estimateInputTokens(said), outputTokens: estimateTokens(codePoints(output)) };
  const sealed: Turn = { ...turn, ...ending, ...counted, endedAt: secondsOf(nowMs) };
  const session = { ...found.record, mark: options.mark(), machine: machine.snapshot() };
  const finished = await store.finishTurn({
    session,
    version: found.version,
    mark: found.record.mark,
    turn: sealed,
    message: {
      id: turn.messageId,
      turnId,
      role: 'assistant',
      content: output,
      status: 'partial',
      stopReason: ending.stopReason,
      errorCode: ending.errorCode,
      createdAt: turn.createdAt,
    },
    tail: { position: codePoints(output), text: '' },
    fence,
    nowMs,
  });
  if (finished.outcome === 'finished') return { record: session, version: finished.version };
  return (await store.session(workspaceId, sessionId)) ?? found;
}
