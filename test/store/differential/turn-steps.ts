/** Calls of the steps of turns. */
import type {
  AppendOutput,
  BeginTurn,
  Feedback,
  Fence,
  FinishTurn,
  StopRequest,
  Turn,
  TurnPlace,
  WithdrawTurn,
} from '../../../src/store/store.ts';
import { codePoints } from '../../../src/base/text.ts';
import { api, message, snapshot, streaming, toolCall } from '../fixtures.ts';
import type { Drawn } from './drawn.ts';
import { Known, type KnownTurn, chosen, picked } from './known.ts';
import { type Make, audited, basisOf, call, fenceOf, isOver, leases, moved, ofTurn, rememberedOf } from './making.ts';
import { askedOf, settledOf } from './limit-steps.ts';

export const beginTurn: Make = async (known, drawn) => {
  const session = picked(known.sessions, drawn.pick);
  if (session === undefined) return null;
  const { record, version } = await known.session(session);
  if (isOver(record) || (drawn.near === 0 && (await known.isStreaming(session.id)))) return null;
  const [turnId, messageId] = [known.id('turn', drawn.which), known.id('msg')];
  const turn: Turn = {
    id: turnId,
    sessionId: session.id,
    messageId,
    messageIndex: record.messageCount + 1,
    status: 'streaming',
    stopReason: null,
    errorCode: null,
    inputTokens: 0,
    outputTokens: 0,
    createdAt: known.now,
    endedAt: null,
    ...(record.assistantVersion !== undefined && { assistantVersion: record.assistantVersion }),
  };
  const leaseUntilMs = known.nowMs + chosen(leases, drawn.lasts);
  const step: BeginTurn = {
    session: moved(known, record, {
      messageCount: record.messageCount + 2,
      lastActivityAt: known.now,
      machine: snapshot('streaming', { activeTurnId: turnId }),
    }),
    ...basisOf(known, drawn, version, record.mark),
    turn,
    owner: known.name(),
    leaseUntilMs,
    slot: chosen(
      [api(1), { name: 'visitor/vis_1', ceiling: 1 }, api(1), null, api(1), api(2), api(Infinity), api(1)],
      drawn.which,
    ),
    nowMs: known.nowMs,
    userMessage: message({ id: known.id('msg'), turnId, role: 'user', content: drawn.text, stopReason: null }),
    remember: drawn.flag ? rememberedOf(known, drawn, turnId) : null,
    ...(drawn.which === 2 && {
      found: { ...rememberedOf(known, drawn, turnId), scope: 'key_0 /sessions', key: 'again 1' },
    }),
    ...(drawn.which === 3 && { asked: askedOf(known, drawn) }),
    ...(record.assistantVersion !== undefined && { release: await known.releaseOf(record, drawn.which === 6) }),
    ...(drawn.flag && drawn.near < 3 && { released: drawn.near - 1 }),
    move: known.move(version + 1, drawn),
    ...audited(known, session.workspaceId, drawn),
  };
  const place = { workspaceId: session.workspaceId, sessionId: session.id, turnId };
  return call('beginTurn', true, [step], ({ outcome, fence }) => {
    if (outcome !== 'begun' || known.turns.some((each) => each.place.turnId === turnId)) return;
    known.leaseUntilMs = Math.max(known.leaseUntilMs, leaseUntilMs);
    known.turns.push({ place, begun: step, fences: [fence], orphaned: false, over: false });
  });
};

/** The end of the lease requested. A process that has died requests none. */
function leaseOf(known: Known, { orphaned }: KnownTurn, { lasts }: Drawn): number | null {
  if (orphaned) return null;
  const untilMs = known.nowMs + chosen(leases, lasts);
  known.leaseUntilMs = Math.max(known.leaseUntilMs, untilMs);
  return untilMs;
}

export const appendOutput = ofTurn(async (known, drawn, turn) => {
  const lease = drawn.flag ? leaseOf(known, turn, drawn) : null;
  // Fence and position are not wrong together: the first of the two would hide the other.
  const position = await known.position(turn.place, drawn.which > 4 ? drawn.near : 0);
  const fence = fenceOf(turn, drawn.which > 4 ? { ...drawn, near: 0 } : drawn);
  const step: AppendOutput = {
    ...turn.place,
    fence,
    position,
    text: drawn.text,
    ...(lease !== null && { leaseUntilMs: lease, nowMs: known.nowMs }),
  };
  return call('appendOutput', lease !== null, [step]);
});

export const renewTurn = ofTurn((known, drawn, turn) => {
  const lease = leaseOf(known, turn, drawn);
  return lease === null ? null : call('renewTurn', true, [turn.place, fenceOf(turn, drawn), lease, known.nowMs]);
});

export const releaseOutput = ofTurn(async (known, drawn, turn) => {
  const points = drawn.near === 0 ? drawn.which : await known.position(turn.place, drawn.near);
  return call('releaseOutput', false, [turn.place, fenceOf(turn, drawn.flag ? drawn : { ...drawn, near: 0 }), points]);
});

export const stepTurn = ofTurn((_, drawn, turn) => {
  const { which, lasts, near, text } = drawn;
  const opaque = [
    undefined,
    { origin: text, id: text, call: { signature: { of: text } }, round: { details: [text, lasts] } },
  ];
  const calls = Array.from({ length: which % 3 }, (_, index) =>
    toolCall({
      id: `call_${which}${index}`,
      output: text,
      status: chosen(['running', 'completed', 'pending'] as const, lasts),
      opaque: opaque[(index + lasts) % 2],
    }),
  );
  const { messageIndex } = turn.begun.turn;
  // The assistant's message before the turn's own two.
  const amends =
    near === 1 && messageIndex > 2
      ? { index: messageIndex - 2, message: message({ id: 'msg_amended', content: text, toolCalls: calls }) }
      : undefined;
  return call('stepTurn', false, [
    {
      ...turn.place,
      fence: fenceOf(turn, drawn.flag ? drawn : { ...drawn, near: 0 }),
      from: chosen([0, 1], lasts),
      calls,
      amends,
    },
  ]);
});

export const requestStop = ofTurn((known, drawn, { place }) => {
  const { which, lasts } = drawn;
  const reason = chosen<StopRequest>(['aborted', 'expired'], which);
  const leaseUntilMs = known.nowMs + chosen([1_000, 0, 100, 600_000], lasts);
  return call('requestStop', true, [place, reason, leaseUntilMs, known.nowMs, known.audit(place.workspaceId, drawn)]);
});

export const takeOverTurn = ofTurn((known, drawn, turn) => {
  const leaseUntilMs = known.nowMs + chosen(leases, drawn.lasts);
  return call('takeOverTurn', true, [turn.place, known.name(), leaseUntilMs, known.nowMs], (seized: Fence | null) => {
    if (seized === null || turn.fences.some(({ owner }) => owner === seized.owner)) return;
    known.leaseUntilMs = Math.max(known.leaseUntilMs, leaseUntilMs);
    turn.fences.push({ epoch: seized.epoch, owner: seized.owner });
    turn.orphaned = false;
  });
});

export const over =
  (turn: KnownTurn) =>
  ({ outcome }: { outcome: string }): void =>
    void (outcome === 'finished' && (turn.over = true));

/**
 * Position at which a listener cuts a turn: at the end of its text or of the stored part, within, or beyond;
 * undefined without a cut.
 */
async function cutOf(
  known: Known,
  { which, lasts }: Drawn,
  place: TurnPlace,
  tail: FinishTurn['tail'],
): Promise<number | undefined> {
  if (lasts % 3 !== 1) return undefined;
  const stored = await known.position(place, 0);
  const end = Math.max(stored, tail.position + codePoints(tail.text));
  return chosen(
    [Math.max(0, end - 1), 0, stored, Math.max(0, stored - 1), end, end + 1, 1, Math.floor(end / 2)],
    which,
  );
}

export const finishTurn = ofTurn(async (known, drawn, turn) => {
  const { which, text, flag } = drawn;
  const { record, version } = await known.session({ workspaceId: turn.place.workspaceId, id: turn.place.sessionId });
  const [status, stopReason] = chosen(
    [
      ['completed', 'end'],
      ['aborted', 'aborted'],
      ['failed', 'error'],
    ] as const,
    which,
  );
  // One of version, fence and position is wrong at most.
  const exact = { ...drawn, near: 0 };
  const wrong = which % 3;
  const tail = { position: await known.position(turn.place, wrong === 2 ? drawn.near : 0), text };
  const cutAt = await cutOf(known, drawn, turn.place, tail);
  const step: FinishTurn = {
    session: moved(known, record, { machine: snapshot('open'), lastActivityAt: known.now }),
    ...basisOf(known, wrong === 0 ? drawn : exact, version, record.mark),
    turn: {
      ...turn.begun.turn,
      status,
      stopReason,
      inputTokens: which,
      ...(which > 1 && { cachedInputTokens: which - 1 }),
      outputTokens: text.length,
      endedAt: flag ? known.now : null,
    },
    message: { ...streaming(turn.begun.turn), status: status === 'completed' ? 'completed' : 'partial', stopReason },
    tail,
    ...(cutAt !== undefined && { cutAt }),
    fence: fenceOf(turn, wrong === 1 ? drawn : exact),
    nowMs: known.nowMs,
    ...(drawn.lasts > 2 && { settled: settledOf(known, drawn) }),
    move: known.move(version + 1, drawn),
    ...audited(known, turn.place.workspaceId, drawn),
  };
  return call('finishTurn', true, [step], over(turn));
});

const withdrawal = async (known: Known, drawn: Drawn, { place, begun, fences }: KnownTurn): Promise<WithdrawTurn> => {
  const { record, version } = await known.session({ workspaceId: place.workspaceId, id: place.sessionId });
  const exact = { ...drawn, near: 0 };
  const stored = await known.turn(place);
  const turn = stored ?? begun.turn;
  // The messages were the last ones, or the transcript has a gap from now on. A turn that is gone has none: those at
  // its place are another turn's.
  const isLast = stored !== null && record.messageCount === turn.messageIndex + 1;
  const messageCount = record.messageCount - (isLast ? 2 : 0);
  // A finished turn is withdrawn by the owner that began it.
  const owner = { fences: turn.endedAt === null ? fences : fences.slice(0, 1) };
  return {
    session: moved(known, record, { messageCount, machine: snapshot('open') }),
    ...basisOf(known, drawn.flag ? drawn : exact, version, record.mark),
    turn,
    fence: fenceOf(owner, drawn.flag ? exact : drawn),
    remember: begun.remember,
    ...(drawn.which > 4 && { settled: settledOf(known, drawn), nowMs: known.nowMs }),
    move: known.move(version + 1, drawn),
  };
};

const withdrawKnown = ofTurn(async (known, drawn, turn) =>
  call('withdrawTurn', true, [await withdrawal(known, drawn, turn)], over(turn)),
);

/** A turn whose beginning is still under way, and comes too late: it is of the version before the withdrawal. */
const withdrawUnbegun: Make = async (known, drawn) => {
  const late = await beginTurn(known, { ...drawn, near: 0 });
  if (late === null) return null;
  const begun = late.args[0] as BeginTurn;
  const place = { workspaceId: begun.session.workspaceId, sessionId: begun.session.id, turnId: begun.turn.id };
  const step = await withdrawal(known, drawn, {
    place,
    begun,
    fences: [{ epoch: 1, owner: begun.owner }],
    orphaned: false,
    over: false,
  });
  return {
    ...call('withdrawTurn', true, [
      { ...step, session: { ...step.session, messageCount: begun.session.messageCount - 2 } },
    ]),
    late,
  };
};

export const withdrawTurn: Make = (known, drawn) =>
  drawn.which === 7 ? withdrawUnbegun(known, drawn) : withdrawKnown(known, drawn);

export const rateTurn = ofTurn(async (known, { which }, { place, begun }) => {
  const { record: session } = await known.session({ workspaceId: place.workspaceId, id: place.sessionId });
  const { now } = known;
  const feedback: Feedback | null =
    which % 3 === 0 ? null : { rating: which % 3 === 1 ? 'up' : 'down', comment: null, at: now };
  return call('rateTurn', true, [{ session, turn: { ...begun.turn, endedAt: now }, feedback }]);
});
export const turn = ofTurn((_, __, { place }) =>
  call('turn', false, [place.workspaceId, place.sessionId, place.turnId]),
);
export const output = ofTurn((_, __, { place }) => call('output', false, [place]));

export const turnCalls: Make = ofTurn((_, __, { place }) => call('turnCalls', false, [place]));
