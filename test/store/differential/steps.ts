/** Makes calls on a store from the values drawn: one for each verb. */
import type { DrawnVerb } from './drawn.ts';
import { chosen } from './known.ts';
import { eraseRecord, testStep } from './test-steps.ts';
import {
  attendSession,
  awaitSession,
  beginErasure,
  chargeSession,
  createSession,
  deskSessions,
  discardSession,
  eraseSession,
  finishErasure,
  forgetTraces,
  messages,
  overdueSessions,
  saveSession,
  session,
  sessions,
  unfinishedErasures,
} from './session-steps.ts';
import {
  appendOutput,
  beginTurn,
  finishTurn,
  output,
  rateTurn,
  releaseOutput,
  renewTurn,
  requestStop,
  stepTurn,
  takeOverTurn,
  turn,
  turnCalls,
  withdrawTurn,
} from './turn-steps.ts';
import { claimDeliveries, deliveries, failDeliveries, retryDelivery, settleDelivery } from './webhook-steps.ts';
import { countUsage, readBudgets, takeBudgets, takeLimits, usage, usedLimits } from './limit-steps.ts';
import { type Make, type StoreStep, call, ofSession, ofTurn, sweep } from './making.ts';

export const storeSteps = {
  createSession,
  saveSession,
  chargeSession,
  attendSession,
  deskSessions,
  // A store may name workspaces whose sessions have left the desk.
  deskWorkspaces: () => null,
  discardSession,
  beginErasure,
  eraseSession,
  eraseRecord,
  forgetTraces,
  finishErasure,
  unfinishedErasures,
  beginTurn,
  appendOutput,
  renewTurn,
  releaseOutput,
  stepTurn,
  requestStop,
  finishTurn,
  withdrawTurn,
  takeOverTurn,
  sessions,
  takeBudgets,
  readBudgets,
  takeLimits,
  usedLimits,
  countUsage,
  usage,
  sweep,
  claimDeliveries,
  settleDelivery,
  deliveries,
  failDeliveries,
  retryDelivery,
  overdueSessions,
  session,
  orphans: (known) => call('orphans', true, [known.nowMs, 1000]),
  claimTurn: ofTurn((_, __, { place }) => call('claimTurn', true, [place])),
  rateTurn,
  turn,
  output,
  turnCalls,
  outputAfter: ofTurn(async (known, { near }, { place }) =>
    call('outputAfter', false, [place, await known.position(place, near)]),
  ),
  confirm: (known, { pick }) => call('confirm', false, [known.workspaceId(pick)]),
  turnsInFlight: (known, { pick }) => call('turnsInFlight', false, [known.workspaceId(pick)]),
  awaitSession,
  messages,
  recentMessages: ofSession((_, { which, lasts, near }, place) =>
    call('recentMessages', false, [
      ...place,
      chosen([3, 2, 1, 0, 9], which),
      chosen([100, 5, 0], lasts),
      chosen([10, 1, 2], near),
    ]),
  ),
  remembered: (known, { which, pick }) =>
    call('remembered', true, [
      known.workspaceId(pick),
      `key_${which % 2} /sessions`,
      `again ${which % 2}`,
      known.nowMs,
    ]),
  history: ofSession((known, { which, near }, [workspaceId, id]) =>
    call(
      'history',
      false,
      near > 1
        ? [
            chosen(['key', 'assistant'] as const, which),
            workspaceId,
            known.catalogId(chosen(['key', 'assistant'] as const, which), which),
          ]
        : ['session', workspaceId, id],
    ),
  ),
  ping: () => call('ping', false, []),
  testStep,
} as const satisfies Record<StoreStep, Make> & Partial<Record<DrawnVerb, Make>>;
