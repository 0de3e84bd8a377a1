/** `POST /sessions/{id}/turns/{turn_id}/abort` and `GET /sessions/{id}/turns/{turn_id}/events`. */
import { Failure } from '../errors.ts';
import type { SessionActor } from '../host/sessions.ts';
import type { KeyCaller, Reply, Request } from '../request.ts';
import type { Services } from '../services.ts';
import { terminalOf, TurnLog } from '../turn.ts';
import type { TurnRunner } from '../turn/runner.ts';
import { turnView } from '../views.ts';
import { reachSession } from './common.ts';
import { streamReply, type StreamedTurn } from './stream.ts';

/** A turn to read: with its runner if it is in flight here, else as stored. */
export interface FoundTurn extends StreamedTurn {
  readonly runner: TurnRunner | null;
}

/** The session's turn, live here or elsewhere, or stored; null if it has none such. */
export async function findTurn(actor: SessionActor, turnId: string, { store, host }: Pick<Services, 'store' | 'host'>): Promise<FoundTurn | null> {
  const { runner } = actor;
  if (runner?.turnId === turnId) return { runner, turnId, messageId: runner.messageId, log: runner.log };
  const { id: sessionId, workspaceId } = actor.record;
  const turn = await store.turn(workspaceId, sessionId, turnId);
  if (turn === null) return null;
  const place = { workspaceId, sessionId, turnId };
  const followed = async (): Promise<FoundTurn> => ({ runner: null, turnId, messageId: turn.messageId, log: await host.foreign.follow(place) });
  if (turn.status === 'streaming') return followed();
  // Its end and its text in one look: a failover between two would give the end of one state to the text of another.
  const stored = await store.outputAfter(place, 0);
  if (stored === null) return null;
  const terminal = terminalOf(stored.turn);
  return terminal === null ? followed() : { runner: null, turnId, messageId: turn.messageId, log: TurnLog.replay(stored.text ?? '', terminal) };
}

async function reachActor(request: Request<KeyCaller>): Promise<SessionActor> {
  const { id } = await reachSession(request);
  const actor = await request.services.host.sessions.of(request.caller.workspaceId, id);
  if (actor === null) throw new Failure('session_not_found');
  return actor;
}

export async function abortTurn(request: Request<KeyCaller>): Promise<Reply> {
  const { params, services } = request;
  const { store, host } = services;
  const actor = await reachActor(request);
  const { id: sessionId, workspaceId } = actor.record;
  const read = async () => {
    const turn = await store.turn(workspaceId, sessionId, params.turn_id!);
    if (turn === null) throw new Failure('turn_not_found');
    return turn;
  };
  await read();
  await host.sessions.abort(actor, params.turn_id!);
  return { status: 200, json: turnView(await read()) };
}

export async function turnEvents(request: Request<KeyCaller, { after?: number }>): Promise<Reply> {
  const { params, services } = request;
  const cursor = cursorOf(request);
  const actor = await reachActor(request);
  const turn = await findTurn(actor, params.turn_id!, services);
  if (turn === null) throw new Failure('turn_not_found');
  if (cursor.position !== null && cursor.position > turn.log.stored) throw new Failure('invalid_field', { field: cursor.field });
  return streamReply(turn, cursor.position, services);
}

/** Where to resume: `?after=` wins over `Last-Event-ID`; without either, from the beginning (contract 12). */
function cursorOf({ query, head }: Request<KeyCaller, { after?: number }>): { position: number | null; field: string } {
  if (query.after !== undefined) return { position: query.after, field: 'after' };
  const field = 'Last-Event-ID';
  const values = head.headers('last-event-id');
  if (values.length === 0 || values[0] === '') return { position: null, field };
  if (values.length > 1 || !/^\d+$/.test(values[0]!)) throw new Failure('unreadable_header', { field });
  return { position: Number(values[0]), field };
}
