/** `POST /sessions/{id}/chat`: a turn is begun, or a remembered one joined; either way its log is streamed. */
import { Failure } from '../errors.ts';
import type { SessionActor } from '../host/sessions.ts';
import type { KeyCaller, Reply, Request } from '../request.ts';
import type { TurnLog } from '../turn.ts';
import { reachSession } from './common.ts';
import { idempotencyOf } from './idempotency.ts';
import { callModel } from './model-call.ts';
import { streamReply } from './stream.ts';
import { findTurn, type FoundTurn } from './turns.ts';

export async function chat(request: Request<KeyCaller, unknown, { message: string }>): Promise<Reply> {
  const { caller, params, body, services } = request;
  const { host, metrics, clock, log } = services;
  const remember = idempotencyOf(request, `/sessions/${params.id}/chat`);
  const session = await reachSession(request);
  const assistant = await host.assistants.of(caller.workspaceId, session.assistantId);
  if (assistant === null) throw new Failure('assistant_not_found');
  const actor = await host.sessions.of(caller.workspaceId, session.id);
  if (actor === null) throw new Failure('session_not_found');

  const startedAt = clock.monotonic();
  const started = await host.turns.begin(actor, {
    message: body.message,
    assistantRefusal: host.assistants.refusal(assistant),
    remember,
    act: (runner, history) => void callModel(runner, assistant.record, history, services),
    providerFailed: (reason) => log.warn({ request_id: request.requestId, session_id: session.id, reason }, 'model provider failed'),
    over: (outcome) => metrics.turns.inc({ outcome }),
  });
  if (started.kind === 'remembered') return join(actor, started.remembered.resultId, request);

  const { runner } = started;
  await begun({ runner, turnId: runner.turnId, messageId: runner.messageId, log: runner.log });
  if (runner.log.stored > 0) metrics.firstOutput.observe((clock.monotonic() - startedAt) / 1000);
  return streamReply(runner, null, services);
}

/** The stream of the turn that the same request began before. */
async function join(actor: SessionActor, turnId: string, { services }: Request): Promise<Reply> {
  const turn = await findTurn(actor, turnId, services);
  // It was withdrawn meanwhile, nearly always for its provider: this request hears what the first one did.
  if (turn === null) throw new Failure('assistant_unavailable');
  await begun(turn);
  return streamReply(turn, null, services, { 'idempotent-replayed': 'true' });
}

/**
 * A reply is status 200 only once the provider has begun to answer; what fails before is a status of its own (specification 6,
 * contract 3). An abort is no failure.
 */
async function begun({ runner, log }: FoundTurn): Promise<void> {
  if (runner === null) await begunElsewhere(log);
  else {
    const { kind } = await runner.begun;
    if (kind === 'withdrawn') throw new Failure('assistant_unavailable');
    if (kind === 'late') throw new Failure('api_error');
    if (kind === 'unavailable') throw new Failure('service_unavailable');
  }
  if (log.stored === 0 && log.terminal?.type === 'failed' && log.terminal.errorCode === 'session_expired') throw new Failure('session_expired');
}

/** As `begun`, of a turn that another process runs, or that is stored. */
async function begunElsewhere(log: TurnLog): Promise<void> {
  if (log.stored === 0 && log.terminal === null) {
    await new Promise<void>((resolve) => {
      const leave = log.follow(() => {
        leave();
        resolve();
      });
    });
  }
  if (log.withdrawn) throw new Failure('assistant_unavailable');
}
