/** Responses of OpenAI's API: turns that are found by their ids alone, and continued (contract 14). */
import { Failure } from '../base/errors.ts';
import { bareId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { SaidMessage } from '../providers/model.ts';
import type { Session } from '../store/store.ts';
import {
  abortingOnLeave,
  endSessionAfter,
  inNamedSession,
  openAdapterSession,
  underNames,
  within,
  type AdapterMessage,
  type AdapterTurn,
  type Made,
} from './protocol-adapter.ts';
import type { Idempotency } from './idempotency.ts';
import type { Principal } from './principal.ts';
import { reachSession } from './access-checks.ts';
import type { Services } from './services.ts';
import { converse, turnOf, type SentMessage } from './turns.ts';

/**
 * The facts of a response that its turn does not have. They are stored as an idempotency record, under the turn's id.
 */
export interface ResponseFacts {
  readonly sessionId: string;
  readonly model: string;
  /** Whether its session stays open. */
  readonly stored: boolean;
  readonly previous: string | null;
  /** Absent if the request had none of them, and in records of versions that kept none. */
  readonly echoed?: Echoed;
}

/** Fields of a request that have no meaning here: a response repeats them, for clients that keep books by them. */
export interface Echoed {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly safety_identifier?: string;
  readonly prompt_cache_key?: string;
  readonly user?: string;
}

export interface FoundResponse extends ResponseFacts {
  readonly turnId: string;
  readonly session: Session;
}

const scope = 'responses';
const prefix = 'resp_';
const daySeconds = 86_400;

export const responseIdOf = (turnId: string): string => prefix + bareId(turnId);

/**
 * The response of an id. Throws 404 `turn_not_found` for one that is unknown or was not made as a response, and 403.
 */
export async function reachResponse(principal: Principal, id: string, services: Services): Promise<FoundResponse> {
  const turnId = `turn_${id.slice(prefix.length)}`;
  const stored = id.startsWith(prefix)
    ? await services.store.requests.find(principal.workspaceId, scope, turnId, services.clock.now())
    : null;
  if (stored === null) throw new Failure('turn_not_found');
  const facts = JSON.parse(stored.bodyDigest) as ResponseFacts;
  const session = await reachSession(principal, facts.sessionId, services).catch((error: unknown) => {
    throw error instanceof Failure && error.code === 'session_not_found' ? new Failure('turn_not_found') : error;
  });
  return { ...facts, turnId, session };
}

/**
 * The session of the response that a request continues: 422 `previous_response_id` unless it is known and its session's
 * latest, or the request is a repeat.
 */
export async function sessionAfter(
  principal: Principal,
  id: string,
  remember: Idempotency | null,
  services: Services,
): Promise<Session> {
  const wrong = new Failure('invalid_field', { field: 'previous_response_id' });
  const { session, turnId } = await reachResponse(principal, id, services).catch((error: unknown) => {
    throw error instanceof Failure && error.code === 'turn_not_found' ? wrong : error;
  });
  if (remember !== null && (await services.host.sessions.earlier(principal.workspaceId, remember)) !== null)
    return session;
  const { items } = await services.store.sessions.messages(principal.workspaceId, session.id, {
    limit: 1,
    after: null,
    order: 'desc',
  });
  if (items[0]?.turnId !== turnId) throw wrong;
  return session;
}

export interface ResponseRequest extends Omit<AdapterMessage, 'conversation'> {
  readonly model: string;
  /** The session that continues; null for a new one. */
  readonly session: Session | null;
  readonly previous: string | null;
  readonly stored: boolean;
  readonly echoed: Echoed;
}

/**
 * Begins the turn of a response, or joins the turn of an earlier request with the same key. Throws the refusal of the
 * turn.
 */
export function respond(
  principal: Principal,
  assistant: AssistantActor,
  request: ResponseRequest,
  services: Services,
): Promise<AdapterTurn> {
  const { earlier, requestId, remember, stored } = request;
  if (request.session !== null)
    return respondIn(principal, { session: request.session, replayed: true }, request, services);
  // Earlier messages are stored if the session continues, except calls: the store has none without their turn.
  const storedEarlier =
    stored && earlier.every(isPlainMessage) ? earlier.filter(({ content }) => content !== '') : null;
  const open = (replaces: string | null): Promise<Made> =>
    openAdapterSession(
      principal,
      assistant,
      {
        requestId,
        ...(storedEarlier && { earlier: storedEarlier }),
        ...(remember && { named: { as: remember, replaces, lasts: false } }),
      },
      services,
    );
  return inNamedSession(
    principal,
    remember,
    open,
    (made) => respondIn(principal, made, { ...request, earlier: storedEarlier === null ? earlier : [] }, services),
    requestId,
    services,
  );
}

async function respondIn(
  principal: Principal,
  { session }: Made,
  request: ResponseRequest,
  services: Services,
): Promise<AdapterTurn> {
  const { text, results, earlier, settings, onGone, requestId, span, remember, model, stored, previous, echoed } =
    request;
  const turnId = services.ids.make('turn');
  const facts: ResponseFacts = {
    sessionId: session.id,
    model,
    stored,
    previous,
    ...(Object.keys(echoed).length > 0 && { echoed }),
  };
  const alias = {
    by: { scope, key: turnId, bodyDigest: JSON.stringify(facts) },
    ms: await keptMs(principal, services),
  };
  const goesOn = request.session !== null;
  const answers = !goesOn || results.length === 0 ? undefined : results;
  const additions = { ...settings, earlier: goesOn ? [] : earlier };
  // A new session has the request's own name.
  const as = goesOn ? remember : remember && within(remember, session.id);
  const sent: SentMessage = {
    sessionId: session.id,
    text,
    answers,
    additions,
    remember: as,
    found: alias,
    turnId,
    onBegun: abortingOnLeave(principal, session.id, requestId, onGone, services),
    requestId,
    span,
  };
  const { turn, replayed } = await underNames(fieldNames, () => converse(principal, sent, services)).then(turnOf);
  return {
    session,
    turn,
    replayed,
    ended: stored || replayed ? null : endSessionAfter(principal, session, turn, requestId, services),
  };
}

/** The names that fields have here. */
const fieldNames = { tool_results: 'input', response_format: 'text.format' };

const isPlainMessage = (message: AdapterMessage['earlier'][number]): message is SaidMessage =>
  message.role !== 'tool' && message.calls === undefined;

/** A response is found as long as its session may be kept. */
async function keptMs({ workspaceId }: Principal, { host }: Services): Promise<number> {
  const workspace = await host.workspaces.of(workspaceId);
  return 1000 * daySeconds * (workspace?.record.retentionDays ?? limits.retentionDaysDefault);
}
