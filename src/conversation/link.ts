/** Charges a visitor's requests other than turns to the assistant's limits (contract 9). */
import type { AssistantActor } from '../host/assistants.ts';
import type { VisitorUse } from '../host/link-budget.ts';
import type { Services } from './services.ts';
import type { Session } from '../store/store.ts';
import { causeByPrincipal, type Principal } from './principal.ts';
import { findAssistant, reachActor } from './access-checks.ts';

/** The limits that the principal's requests take; undefined for a principal that is not a visitor. */
export const useOf = (
  { id, visitor }: Principal,
  { record }: AssistantActor,
  { host: { placeMsMax } }: Services,
): VisitorUse | undefined =>
  visitor && {
    assistantId: record.id,
    visitorId: id,
    isSigned: visitor.signedFields !== null,
    addressKey: visitor.addressKey,
    limits: record.link?.limits ?? {},
    placeMsMax,
  };

/** Charges a request that counts as a message, and starts the session's clock. Throws the 429. */
export async function takeMessage(
  principal: Principal,
  session: Session,
  requestId: string,
  services: Services,
): Promise<void> {
  const use = useOf(principal, await findAssistant(principal, session.assistantId, services), services);
  if (use !== undefined)
    await services.host.sessions.spend(
      await reachActor(principal, session.id, services),
      use,
      causeByPrincipal(principal, requestId),
    );
}
