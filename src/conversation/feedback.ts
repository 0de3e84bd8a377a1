/** Feedback on turns (contract 19). */
import { secondsOf } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import type { RateTurnBody } from '../wire/wire.ts';
import type { Feedback, Turn } from '../store/store.ts';
import { findAssistant, reachSession } from './access-checks.ts';
import { useOf } from './link.ts';
import { causeByPrincipal, type Principal } from './principal.ts';
import type { Services } from './services.ts';
import { reachTurn } from './turns.ts';

/**
 * Stores the feedback on a finished turn in place of earlier feedback, or removes it (null), and returns the turn. A
 * visitor's request is charged to the hourly limit of the address alone.
 */
export async function rateTurn(
  principal: Principal,
  { sessionId, turnId }: { readonly sessionId: string; readonly turnId: string },
  given: RateTurnBody | null,
  requestId: string,
  services: Services,
): Promise<Turn> {
  const { store, host, clock } = services;
  const { workspaceId } = principal;
  const session = await reachSession(principal, sessionId, services);
  const assistant = principal.visitor && (await findAssistant(principal, session.assistantId, services));
  if (assistant && !assistant.record.link?.feedback) throw new Failure('route_not_found');
  await reachTurn(principal, sessionId, turnId, services);
  const turn = await store.turns.read(workspaceId, sessionId, turnId);
  if (turn === null) throw new Failure('turn_not_found');
  if (turn.status === 'streaming') throw new Failure('turn_in_progress');
  const use = assistant && useOf(principal, assistant, services);
  if (use) await host.visitors.takeSession(workspaceId, use, causeByPrincipal(principal, requestId));
  const feedback = given && feedbackOf(given, secondsOf(clock.now()));
  if (!(await store.turns.rate({ session, turn, feedback }))) throw new Failure('turn_not_found');
  const { feedback: _, ...unrated } = turn;
  return feedback === null ? unrated : { ...unrated, feedback };
}

const feedbackOf = ({ rating, comment }: RateTurnBody, at: number): Feedback => ({
  rating: rating,
  comment: comment || null,
  at,
});
