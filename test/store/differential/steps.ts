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
  discardSession: (known, drawn) => (drawn.lasts > 0 ? discardSession(known, drawn) : eraseSession(known, drawn)),
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
  sessions: (known, drawn) =>
    (drawn.flag ? claimDeliveries : drawn.lasts === 0 ? deskSessions : sessions)(known, drawn),
  takeBudgets,
  readBudgets,
  takeLimits,
  usedLimits: (known, drawn) =>
    (drawn.flag ? chosen([forgetTraces, finishErasure], drawn.which) : usedLimits)(known, drawn),
  countUsage,
  usage: (known, drawn) => (drawn.flag ? settleDelivery : usage)(known, drawn),
  sweep,
  claimDeliveries,
  settleDelivery,
  deliveries,
  failDeliveries,
  retryDelivery,
  overdueSessions,
  session: (known, drawn) => (drawn.flag ? (drawn.near === 0 ? overdueSessions : deliveries) : session)(known, drawn),
  orphans: (known, drawn) => (drawn.flag ? claimDeliveries(known, drawn) : call('orphans', true, [known.nowMs, 1000])),
  claimTurn: ofTurn((known, drawn, turn) =>
    drawn.lasts < 2 ? rateTurn(known, drawn) : call('claimTurn', true, [turn.place]),
  ),
  rateTurn,
  turn: (known, drawn) => (drawn.flag ? claimDeliveries : turn)(known, drawn),
  output: (known, drawn) => (drawn.flag ? settleDelivery : output)(known, drawn),
  turnCalls: (known, drawn) => (drawn.flag ? testStep : turnCalls)(known, drawn),
  outputAfter: ofTurn(async (known, { near }, { place }) =>
    call('outputAfter', false, [place, await known.position(place, near)]),
  ),
  confirm: (known, drawn) =>
    drawn.flag
      ? chosen([beginErasure, unfinishedErasures], drawn.which)(known, drawn)
      : call('confirm', false, [known.workspaceId(drawn.pick)]),
  turnsInFlight: (known, drawn) =>
    drawn.flag ? retryDelivery(known, drawn) : call('turnsInFlight', false, [known.workspaceId(drawn.pick)]),
  awaitSession,
  messages: (known, drawn) => (drawn.flag ? awaitSession : messages)(known, drawn),
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
  ping: (known, drawn) => (drawn.flag ? settleDelivery(known, drawn) : call('ping', false, [])),
} as const satisfies Record<StoreStep, Make> & Partial<Record<DrawnVerb, Make>>;
