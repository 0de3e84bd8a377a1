/** `/console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/steps`: what a turn did, in order (contract 13). */
import { secondsOf } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { readSession } from '../../conversation/access-checks.ts';
import type { ToolCall, Turn } from '../../store/store.ts';
import { outputWithCalls } from '../../turn/pending-tool-calls.ts';
import { codePoints } from '../../base/text.ts';
import type { Reply } from '../request.ts';
import { reachWorkspace, type ConsoleRequest } from './common.ts';

interface Step {
  readonly at: number;
  readonly kind: 'text' | 'call' | 'result';
  readonly call_id: string | null;
  readonly name: string | null;
  readonly status: string | null;
  readonly error: string | null;
  readonly milliseconds: number | null;
}

export async function turnSteps(request: ConsoleRequest): Promise<Reply> {
  const { params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const { id: sessionId } = await readSession(workspaceId, params.id, services);
  const found = await outputWithCalls(services.store, { workspaceId, sessionId, turnId: params.turn_id }, 0);
  if (found === null) throw new Failure('turn_not_found');
  const steps = stepsOf(found.turn, codePoints(found.text ?? ''), found.calls ?? []);
  return {
    status: 200,
    json: {
      object: 'list',
      data: steps.map((step, index) => ({ seq: index + 1, ...step })),
      has_more: false,
      next_cursor: null,
    },
  };
}

/** A round's text comes before its calls, and the last text after all of them. */
function stepsOf(turn: Turn, length: number, calls: readonly ToolCall[]): Step[] {
  const steps: Step[] = [];
  let told = 0;
  for (const round of new Set(calls.map((call) => call.round))) {
    const together = calls.filter((call) => call.round === round);
    const first = together[0]!;
    if (first.position > told) steps.push({ ...textStep, at: secondsOf(first.createdAtMs) });
    told = Math.max(told, first.position);
    for (const call of together) steps.push(stepOf(call, 'call', call.createdAtMs));
    const ended = together
      .filter((call) => call.endedAtMs !== null)
      .sort((one, other) => one.endedAtMs! - other.endedAtMs!);
    for (const call of ended)
      steps.push({ ...stepOf(call, 'result', call.endedAtMs!), milliseconds: call.endedAtMs! - call.createdAtMs });
  }
  if (length > told) steps.push({ ...textStep, at: turn.endedAt ?? turn.createdAt });
  return steps;
}

const textStep = { kind: 'text', call_id: null, name: null, status: null, error: null, milliseconds: null } as const;

const stepOf = ({ id, name, status, error }: ToolCall, kind: 'call' | 'result', atMs: number): Step => ({
  at: secondsOf(atMs),
  kind,
  call_id: id,
  name,
  status: kind === 'call' ? null : status,
  error: kind === 'call' ? null : error,
  milliseconds: null,
});
