/** Opens and ends sessions for a caller. */
import { greetingFor } from '../assistant/texts.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { refusedByDrain, type Services } from './services.ts';
import type { Session, VisitorField } from '../store/store.ts';
import type { AnsweringAssistant } from '../host/versions.ts';
import type { NewSession } from '../turn/new-session.ts';
import type { CreateSessionBody } from '../wire/wire.ts';
import type { Idempotency } from './idempotency.ts';
import { linkOf } from '../host/link-budget.ts';
import { useOf } from './link.ts';
import { createOnVersion } from './new-session.ts';
import { causeByPrincipal, type Principal } from './principal.ts';
import { checkPermission, keyOf, findAssistant, reachActor, reachAssistant } from './access-checks.ts';

type Visitor = CreateSessionBody['visitor'] & {};

/**
 * Opens the requested session, or returns the one that an earlier request with the same key opened (`replayed`). Throws
 * what refuses it (contract 3, 6 and 7).
 */
export async function openSession(
  principal: Principal,
  body: CreateSessionBody,
  remember: Idempotency | null,
  requestId: string,
  services: Services,
): Promise<{ session: Session; replayed: boolean }> {
  const { host } = services;
  // A repeat comes before every check that could refuse it (contract 6): the session exists, although the assistant
  // may have changed since. The caller must still be permitted to see it.
  const earlier = remember && (await host.sessions.findRemembered(principal.workspaceId, remember));
  if (earlier) checkPermission(principal, earlier.assistantId);
  if (earlier) return { session: earlier, replayed: true };
  if (services.draining) throw refusedByDrain();
  const assistant = await reachAssistant(principal, body.assistant_id, services);
  const cause = causeByPrincipal(principal, requestId);
  const use = useOf(principal, assistant, services);
  const { workspaceId, channel } = principal;
  const link = use && linkOf(use, null, Object.keys(principal.visitor?.signedFields ?? {}));
  const fieldsOf = (answering: AnsweringAssistant): NewSession => {
    const visitor = visitorOf(body.visitor ?? {}, answering.visitorFields);
    const refusal = host.assistants.refusal(assistant, cause);
    if (refusal !== null) throw new Failure(refusal);
    return {
      workspaceId,
      assistantId: assistant.record.id,
      channel,
      keyId: keyOf(principal),
      visitor,
      metadata: body.metadata ?? {},
      maxCallSeconds: answering.maxCallSeconds,
      greeting: (session) => greetingFor(answering, session),
      remember,
      cause,
      ...(link && { link }),
    };
  };
  if (use === undefined) return createOnVersion(assistant, null, fieldsOf, services);
  let isTaken = false;
  const wanted = async (answering: AnsweringAssistant): Promise<NewSession> => {
    const fields = fieldsOf(answering);
    if (!isTaken) await host.visitors.takeSession(workspaceId, use, cause);
    isTaken = true;
    return fields;
  };
  return createOnVersion(assistant, use.visitorId, wanted, services);
}

/**
 * Opens a trial of the assistant, a draft as well: a session of the channel `console` without visitor fields. Throws
 * what refuses it, and `rate_limited` while the workspace has `trialsOpenMax` of them open.
 */
export async function openTrial(
  principal: Principal,
  assistantId: string,
  requestId: string,
  services: Services,
): Promise<Session> {
  const { host } = services;
  const assistant = await findAssistant(principal, assistantId, services);
  const cause = causeByPrincipal(principal, requestId);
  const refusal = host.assistants.trialRefusal(assistant, cause);
  if (refusal !== null) throw new Failure(refusal);
  const { workspaceId, channel } = principal;
  const filter = {
    workspaceId,
    assistantId,
    channel,
    visitor: {},
    metadata: {},
    maxCallSeconds: assistant.record.maxCallSeconds,
    greeting: (session: Session) => greetingFor(assistant.record, session),
    remember: null,
    trialsMax: limits.trialsOpenMax,
    cause,
  };
  return (await host.sessions.create(filter)).session;
}

/** Ends the session and aborts its turn in flight; a session that has ended stays as it is. */
export async function endSession(
  principal: Principal,
  id: string,
  requestId: string,
  services: Services,
): Promise<Session> {
  const actor = await reachActor(principal, id, services);
  const assistant =
    principal.visitor && (await services.host.assistants.of(principal.workspaceId, actor.record.assistantId));
  await services.host.sessions.end(
    actor,
    causeByPrincipal(principal, requestId),
    assistant ? useOf(principal, assistant, services) : undefined,
  );
  return actor.record;
}

/**
 * The visitor's fields, each of the type that the assistant defines; required fields must be present and not empty
 * (contract 1).
 */
export function visitorOf(visitor: Visitor, fields: readonly VisitorField[]): Visitor {
  const has = ({ name }: VisitorField) => Object.hasOwn(visitor, name);
  const isMissing = (field: VisitorField) => field.required && (!has(field) || visitor[field.name] === '');
  const wrong = fields.find(
    (field) => has(field) && !isMissing(field) && !hasFieldType(visitor[field.name]!, field.type),
  );
  if (wrong !== undefined) throw new Failure('invalid_field', { field: `visitor.${wrong.name}` });
  const missing = fields.filter(isMissing);
  if (missing.length > 0)
    throw new Failure('missing_visitor_fields', { field: missing.map(({ name }) => `\`visitor.${name}\``).join(', ') });
  return visitor;
}

/** An empty string is a text that was left out, also of an address; it is no number and no boolean. */
function hasFieldType(value: string | number | boolean, type: VisitorField['type']): boolean {
  if (type === 'number' || type === 'boolean') return typeof value === type;
  if (typeof value !== 'string') return false;
  return type === 'text' || value === '' || /^[^\s@]+@[^\s@]+$/.test(value);
}
