/** What a visitor's requests take of the assistant's limits beside turns (contract 9). */
import type { AssistantActor } from '../host/assistants.ts';
import type { VisitorUse } from '../host/link-use.ts';
import { causeOf, type Party } from '../request.ts';
import type { Services } from '../services.ts';
import type { Session } from '../store.ts';
import { knownAssistant, reachActor } from './reach.ts';

/** The limits that the party's requests take; undefined for a party that is no visitor. */
export const useOf = ({ id, visitor }: Party, { record }: AssistantActor): VisitorUse | undefined =>
  visitor && { assistantId: record.id, visitorId: id, addressKey: visitor.addressKey, limits: record.link?.limits ?? {} };

/** Takes what a message takes, for a request that counts as one, and starts the session's clock. Throws the 429. */
export async function takeMessage(party: Party, session: Session, requestId: string, services: Services): Promise<void> {
  const use = useOf(party, await knownAssistant(party, session.assistantId, services));
  if (use !== undefined) await services.host.sessions.spend(await reachActor(party, session.id, services), use, causeOf(party, requestId));
}
