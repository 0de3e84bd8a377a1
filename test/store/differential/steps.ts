/**
 * Makes calls on a store from the values drawn: one for each verb, with arguments that are the same for every store.
 */
import { takeStep, type StepName, type Steps } from '../../../src/store/steps.ts';
import type {
  AskedLimit,
  AuditEntry,
  AppendOutput,
  Basis,
  BeginTurn,
  ClaimDeliveries,
  CreateSession,
  Erasure,
  Fence,
  Feedback,
  FinishTurn,
  IdempotencyRecord,
  Session,
  SessionFilter,
  SettledLimit,
  StopRequest,
  Store,
  Turn,
  TurnPlace,
  UsageQuery,
  WebhookDelivery,
  WithdrawTurn,
} from '../../../src/store/store.ts';
import { codePoints } from '../../../src/base/text.ts';
import { api, message, snapshot, streaming, toolCall } from '../fixtures.ts';
import type { Drawn, DrawnVerb } from './drawn.ts';
import { chosen, Known, picked, type KnownTurn } from './known.ts';
import { eraseRecord, testStep } from './test-steps.ts';

/** A call of one of the store's steps. */
export interface Call {
  readonly verb: string;
  readonly args: readonly unknown[];
  readonly run: (store: Store) => unknown;
  /** The arguments are valid only at this time: sent later, they would be another step. */
  readonly timed: boolean;
  /** A step that was sent before it and has not come yet: sent again, it is taken after. */
  readonly late?: Call;
  /** Records the facts that the answer reveals. */
  readonly learn?: (answer: any) => void;
}

export type StoreStep = Exclude<StepName, `catalog.${string}` | 'open' | 'close' | 'watch' | 'noteTime'>;

const call = <S extends StoreStep>(
  verb: S,
  timed: boolean,
  args: Parameters<Steps[S]>,
  learn?: Call['learn'],
): Call => ({
  verb,
  args,
  timed,
  run: (store) => takeStep(store, verb, args),
  ...(learn && { learn }),
});

const leases = [5_000, 60_000, 800, 0, 60_000, 80_000] as const;
const memories = [86_400_000, 60_000, 86_400_000, 1, 30 * 86_400_000] as const;
const daySeconds = 86_400;

/** Makes the call, or null where there is nothing yet to make it on. */
type Make = (known: Known, drawn: Drawn) => Promise<Call | null> | Call | null;

const basisOf = (known: Known, { near }: Drawn, version: number, mark: string | undefined): Basis =>
  chosen(
    [
      { version, mark },
      { version: version + 1, mark },
      { version: version - 1, mark },
      { version, mark: known.name() },
    ],
    near,
  );

function fenceOf({ fences }: Pick<KnownTurn, 'fences'>, { near }: Drawn): Fence {
  const newest = fences.at(-1)!;
  return chosen(
    [
      newest,
      fences.at(-2) ?? { ...newest, epoch: newest.epoch + 1 },
      { ...newest, owner: 'nobody' },
      { ...newest, epoch: newest.epoch + 1 },
    ],
    near,
  );
}

const rememberedOf = (known: Known, { which, lasts, text }: Drawn, resultId: string): IdempotencyRecord => ({
  scope: `key_${which % 2} /sessions`,
  key: `again ${which % 2}`,
  bodyDigest: text,
  resultId,
  untilMs: known.nowMs + chosen(memories, lasts),
});

/** A move of a session that the host would save with it. A session without a mark is one of an earlier version. */
const moved = (known: Known, record: Session, over: Partial<Session>): Session => ({
  ...record,
  ...over,
  ...(record.mark !== undefined && { mark: known.name() }),
});

const createSession: Make = async (known, drawn) => {
  const { which, pick, flag, lasts, text } = drawn;
  const session: Session = {
    id: known.id('ses', which),
    workspaceId: known.workspaceId(pick),
    assistantId: `asst_${which % 3}_0`,
    channel: chosen(['api', 'api', 'link', 'console'] as const, which),
    visitor: { name: text },
    metadata: flag ? { plan: text } : JSON.parse('{"__proto__":"odd"}'),
    maxCallSeconds: 60,
    createdAt: known.now,
    expiresAt: known.now + chosen([60, 600], lasts),
    lastActivityAt: known.now - chosen([0, 0, 20, 50], lasts) * daySeconds,
    messageCount: (flag ? 1 : 0) + (which === 1 ? 1 : 0),
    machine: snapshot('open', { text }),
    ...(which > 0 && { mark: known.name() }),
    ...(which > 4 && { keyId: `key_${which % 2}` }),
    ...(lasts > 1 && { assistantVersion: 1 + (lasts % 2) }),
  };
  const greeting = flag ? message({ id: known.id('msg'), content: text }) : null;
  const step: CreateSession = {
    session,
    greeting,
    ...(which === 1 && { earlier: [message({ id: known.id('msg'), content: text })] }),
    remember: lasts > 2 ? rememberedOf(known, drawn, session.id) : null,
    ...(session.channel === 'console' && { trialsMax: 1 }),
    ...(lasts > 1 && { release: await known.releaseOf(session, drawn.near === 3) }),
    nowMs: known.nowMs,
    move: known.move(1, drawn),
    audit: known.audit(session.workspaceId, drawn),
  };
  return call(
    'createSession',
    true,
    [step],
    ({ outcome }) => void (outcome === 'created' && known.sessions.push(session)),
  );
};

/** A limit of a name has one period. */
const [counterPeriods, bucketPeriods] = [
  [1000, daySeconds * 1000],
  [3_600_000, 60_000],
] as const;

function askedOf(known: Known, { which, lasts, near }: Drawn): AskedLimit[] {
  const until = known.nowMs + chosen(leases, lasts);
  const [counted, refilled] = [chosen(counterPeriods, which), chosen(bucketPeriods, which)];
  const asked: AskedLimit[] = [
    {
      kind: 'place',
      name: 'places',
      ceiling: chosen([1, 2, 1, 0], near),
      holder: `vis_${which % 3}`,
      untilMs: until,
      ...(lasts > 2 && { seat: `ses_${lasts % 2}` }),
    },
    {
      kind: 'counter',
      name: `asst_1/day/${counted}`,
      ceiling: chosen([2, 3, 0, 60], near),
      periodMs: counted,
      cost: 1 + lasts,
    },
    {
      kind: 'bucket',
      name: `asst_1/address/{*}/${refilled}`,
      ceiling: chosen([2, 7, 1, 0], near),
      periodMs: refilled,
      cost: 1 + (lasts % 2),
    },
    {
      kind: 'quota',
      name: `key_1/tokens/${counted}`,
      ceiling: chosen([3, 2, 60, 0], near),
      periodMs: counted,
      cost: chosen([1, 2, 3, 4], lasts),
    },
  ];
  const first = which % 3;
  return asked.slice(first === 2 ? 0 : first, first === 0 ? 1 : 4);
}

function settledOf(known: Known, { which, lasts, near }: Drawn): SettledLimit[] {
  const [counted, refilled] = [chosen(counterPeriods, which), chosen(bucketPeriods, which)];
  const sinceMs = known.nowMs - (known.nowMs % counted) - chosen([0, counted, 0, 0], near);
  return [
    {
      kind: 'place',
      name: 'places',
      holder: `vis_${which % 3}`,
      seat: chosen(['', 'ses_0', 'ses_1'], lasts),
      untilMs: known.nowMs + chosen([0, 5_000, 60_000], which),
    },
    { kind: 'counter', name: `asst_1/day/${counted}`, periodMs: counted, sinceMs, cost: chosen([1, -1, -3, 2], lasts) },
    {
      kind: 'counter',
      name: `key_1/tokens/${counted}`,
      periodMs: counted,
      sinceMs,
      cost: chosen([-1, 2, -3, 1], near),
    },
    {
      kind: 'bucket',
      name: `asst_1/address/{*}/${refilled}`,
      ceiling: chosen([2, 7, 1, 0], near),
      periodMs: refilled,
      cost: chosen([-1, -2, 1], lasts),
    },
  ];
}

/** A part of the draws of `saveSession`: a verb with a separate weight would change every life that is drawn. */
const chargeSession: Make = async (known, drawn) => {
  const session = picked(known.sessions, drawn.pick);
  if (session === undefined) return null;
  const { record, version } = await known.session(session);
  const step = {
    session: moved(known, record, {}),
    ...basisOf(known, drawn, version, record.mark),
    asked: askedOf(known, drawn),
    nowMs: known.nowMs,
  };
  return call('chargeSession', true, [step]);
};

const deskSessions: Make = (known, { pick, which }) =>
  call('deskSessions', false, [
    known.workspaceId(pick),
    { limit: 2, after: null, order: which % 2 === 0 ? 'asc' : 'desc' },
  ]);

/** A part of the draws of `saveSession`, too. */
const attendSession: Make = async (known, drawn) => {
  const session = picked(known.sessions, drawn.pick);
  if (session === undefined) return null;
  const { record, version } = await known.session(session);
  const count = drawn.which % 3;
  const messages = Array.from({ length: count }, (_, at) => ({
    ...message({ id: `msg_${known.now}_${drawn.which}_${at}`, role: 'notice', content: drawn.text }),
    sequence: 1 + at,
  }));
  const state = chosen(['waiting', 'person', 'assistant'], drawn.which);
  const attendance = snapshot(state, { since: known.now, person: null, untilMs: null });
  const { activeTurnId = null } = record.machine.context as { readonly activeTurnId?: string | null };
  const step = {
    session: moved(known, record, { messageCount: record.messageCount + count, attendance }),
    ...basisOf(known, drawn, version, record.mark),
    messages,
    ...(activeTurnId !== null && { silences: { turnId: activeTurnId, leaseUntilMs: known.nowMs + 5_000 } }),
    remember: drawn.near > 1 ? null : rememberedOf(known, drawn, `msg_${known.now}`),
    ...(drawn.which > 5 && { asked: askedOf(known, drawn) }),
    ...(drawn.which > 2 && { counts: { personMessages: count, handovers: 1 } }),
    ...(count > 0 && { reports: messages[0]!.id }),
    ...audited(known, record.workspaceId, drawn),
    nowMs: known.nowMs,
  };
  return call('attendSession', true, [step]);
};

const saveSession: Make = async (known, drawn) => {
  if (drawn.lasts === 5) return (drawn.flag ? attendSession : chargeSession)(known, drawn);
  const session = picked(known.sessions, drawn.pick);
  if (session === undefined) return null;
  const { record, version } = await known.session(session);
  const machine = snapshot(chosen(['open', 'ended', 'expired'], drawn.which), { text: drawn.text });
  const lastActivityAt = drawn.flag ? known.now : record.lastActivityAt;
  const move = drawn.pick > 1 ? undefined : known.move(version + 1, drawn);
  const given = [
    moved(known, record, { machine, lastActivityAt }),
    basisOf(known, drawn, version, record.mark),
    move,
  ] as const;
  return drawn.lasts > 1
    ? call('saveSession', false, [...given])
    : call('saveSession', true, [
        ...given,
        settledOf(known, drawn),
        known.nowMs,
        known.audit(record.workspaceId, drawn),
      ]);
};

/** The row in the audit of a step that leaves out the field without one. */
function audited(known: Known, workspaceId: string, drawn: Drawn): { readonly audit?: AuditEntry } {
  const audit = known.audit(workspaceId, drawn);
  return audit === undefined ? {} : { audit };
}

/** A session that a request has made, with the memory of that request or another. */
const discardSession: Make = async (known, drawn) => {
  const session = picked(known.sessions, drawn.pick);
  if (session === undefined) return null;
  const { record, version } = await known.session(session);
  const { scope, key } = rememberedOf(known, drawn, session.id);
  return call('discardSession', true, [
    record,
    basisOf(known, drawn, version, record.mark),
    drawn.flag ? { scope, key } : null,
  ]);
};

const ofSession =
  (make: (known: Known, drawn: Drawn, place: [workspaceId: string, sessionId: string]) => Call): Make =>
  (known, drawn) => {
    const session = picked(known.sessions, drawn.pick);
    const place =
      session === undefined
        ? ([known.workspaceId(0), 'no session: {*}'] as const)
        : ([session.workspaceId, session.id] as const);
    return make(known, drawn, [...place]);
  };

const awaitSession: Make = ofSession((_, __, place) => call('awaitSession', false, place));

const messages: Make = ofSession((_, drawn, place) =>
  call('messages', false, [...place, pageOf(drawn, chosen(['0', '1', '2', '7', 'no index'], drawn.near))]),
);

/** An erasure of one of a few visitors, or of a session. */
const erasureOf = (known: Known, { which, near }: Drawn, sessionId: string): Erasure =>
  near === 0
    ? { workspaceId: known.workspaceId(which), kind: 'visitor', id: `vis_${which % 2}` }
    : { workspaceId: known.workspaceId(which), kind: 'session', id: sessionId };

const beginErasure = ofSession((known, drawn, [, id]) => {
  const erasure = erasureOf(known, drawn, id);
  return call('beginErasure', true, [erasure, known.nowMs, known.audit(erasure.workspaceId, drawn)]);
});
const eraseSession = ofSession((known, drawn, [workspaceId, id]) =>
  call('eraseSession', true, [{ ...erasureOf(known, drawn, id), workspaceId }, id]),
);
const finishErasure = ofSession((known, drawn, [, id]) => call('finishErasure', true, [erasureOf(known, drawn, id)]));
const forgetTraces = ofSession((_, { flag }, [workspaceId, id]) => {
  const places = flag ? [{ holder: 'vis_1', seat: null }] : [];
  return call('forgetTraces', true, [workspaceId, { sessionIds: new Set([id]), places, limits: [] }]);
});

/** Lists the erasures in one order, since the stores have none. */
const unfinishedErasures: Make = () => ({
  verb: 'unfinishedErasures',
  args: [],
  timed: false,
  run: async (store) => (await store.erasures.unfinished()).map((each) => JSON.stringify(each)).sort(),
});

const beginTurn: Make = async (known, drawn) => {
  const session = picked(known.sessions, drawn.pick);
  if (session === undefined) return null;
  const { record, version } = await known.session(session);
  if (drawn.near === 0 && (await known.isStreaming(session.id))) return null;
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
      machine: snapshot('streaming', { turnId }),
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

/** The verbs that are about a turn. */
const ofTurn =
  (make: (known: Known, drawn: Drawn, turn: KnownTurn) => Promise<Call | null> | Call | null): Make =>
  (known, drawn) => {
    const alive = drawn.alive ? known.turns.filter(({ over }) => !over) : [];
    const turn = picked(alive.length > 0 ? alive : known.turns, drawn.pick);
    return turn === undefined ? null : make(known, drawn, turn);
  };

const appendOutput = ofTurn(async (known, drawn, turn) => {
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

const renewTurn = ofTurn((known, drawn, turn) => {
  const lease = leaseOf(known, turn, drawn);
  return lease === null ? null : call('renewTurn', true, [turn.place, fenceOf(turn, drawn), lease, known.nowMs]);
});

const releaseOutput = ofTurn(async (known, drawn, turn) => {
  const points = drawn.near === 0 ? drawn.which : await known.position(turn.place, drawn.near);
  return call('releaseOutput', false, [turn.place, fenceOf(turn, drawn.flag ? drawn : { ...drawn, near: 0 }), points]);
});

const stepTurn = ofTurn((_, drawn, turn) => {
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

const requestStop = ofTurn((known, drawn, { place }) => {
  const { which, lasts } = drawn;
  const reason = chosen<StopRequest>(['aborted', 'expired'], which);
  const leaseUntilMs = known.nowMs + chosen([1_000, 0, 100, 600_000], lasts);
  return call('requestStop', true, [place, reason, leaseUntilMs, known.nowMs, known.audit(place.workspaceId, drawn)]);
});

const takeOverTurn = ofTurn((known, drawn, turn) => {
  const leaseUntilMs = known.nowMs + chosen(leases, drawn.lasts);
  return call('takeOverTurn', true, [turn.place, known.name(), leaseUntilMs, known.nowMs], (seized: Fence | null) => {
    if (seized === null || turn.fences.some(({ owner }) => owner === seized.owner)) return;
    known.leaseUntilMs = Math.max(known.leaseUntilMs, leaseUntilMs);
    turn.fences.push({ epoch: seized.epoch, owner: seized.owner });
    turn.orphaned = false;
  });
});

const over =
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

const finishTurn = ofTurn(async (known, drawn, turn) => {
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
  const turn = (await known.turn(place)) ?? begun.turn;
  // The messages were the last ones, or the transcript has a gap from now on.
  const messageCount = record.messageCount - (record.messageCount === turn.messageIndex + 1 ? 2 : 0);
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

/** A turn whose beginning is still under way, and comes too late. */
const withdrawUnbegun: Make = async (known, drawn) => {
  const late = await beginTurn(known, drawn);
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

const withdrawTurn: Make = (known, drawn) =>
  drawn.which === 7 ? withdrawUnbegun(known, drawn) : withdrawKnown(known, drawn);

const pageOf = ({ which, lasts, flag }: Drawn, after: string | null) =>
  ({ limit: chosen([100, 1, 2, 3], which), after: lasts > 2 ? after : null, order: flag ? 'asc' : 'desc' }) as const;

const sessions: Make = (known, drawn) => {
  const { pick, which, lasts, near } = drawn;
  const filter = {
    assistantIds: chosen([null, ['asst_0_0', 'asst_1_0'], ['asst_2_0', 'asst_2_0'], []], which),
    status: chosen([null, 'open', 'ended', 'expired'] as const, near),
    activeSince: chosen([0, known.now - 30 * daySeconds], lasts),
    now: known.now + chosen([0, 60], lasts),
    ...chosen<Partial<SessionFilter>>(
      [{}, { channels: ['link', 'widget'] }, { keyId: 'key_1' }, { beginning: 'a' }, {}, {}],
      lasts,
    ),
  };
  return call('sessions', false, [
    known.workspaceId(pick),
    filter,
    pageOf(drawn, picked(known.sessions, pick)?.id ?? 'a cursor: {*}'),
  ]);
};

const takeBudgets: Make = async (known, { pick, which, lasts, near }) => {
  const workspaceId = known.workspaceId(pick);
  const keyId = known.catalogId('key', which);
  if ((await known.isThere('key', workspaceId, keyId)) === null) return null;
  const ceiling = chosen([1, 2, 3, 60], near);
  // The request's own budget always comes first (contract 3).
  const others = chosen([[], ['speech'], ['transcriptionTokens'], ['speech', 'transcriptionTokens']] as const, lasts);
  return call('takeBudgets', true, [
    workspaceId,
    keyId,
    [{ budget: 'requests', ceiling }, ...others.map((budget) => ({ budget, ceiling: 2 }))],
    known.nowMs,
  ]);
};

const readBudgets: Make = (known, { pick, which, near }) => {
  const asked = [which, which + 1].map((each) => ({
    id: known.catalogId('key', each % 8),
    limits: { requests: chosen([1, 2, 3, 60], near), speech: 2, transcriptionTokens: 2 },
  }));
  return call('readBudgets', true, [known.workspaceId(pick), asked, known.nowMs]);
};

const takeLimits: Make = (known, drawn) =>
  call('takeLimits', true, [
    { workspaceId: known.workspaceId(drawn.pick), asked: askedOf(known, drawn), nowMs: known.nowMs },
  ]);

const usedLimits: Make = (known, { pick, which }) => {
  const counted = chosen(counterPeriods, which);
  return call('usedLimits', true, [
    known.workspaceId(pick),
    [
      { kind: 'place', name: 'places' },
      { kind: 'counter', name: `asst_1/day/${counted}`, periodMs: counted },
      { kind: 'counter', name: `key_1/tokens/${counted}`, periodMs: counted },
    ],
    known.nowMs,
  ]);
};

/** A repeat is known for a minute; sent later it would count again. */
const countUsage: Make = (known, { pick, which, near, lasts }) =>
  call('countUsage', true, [
    {
      id: known.name(),
      workspaceId: known.workspaceId(pick),
      assistantId: chosen(['asst_0_0', 'asst_1_0'], near),
      ...(which > 2 && { keyId: `key_${which % 2}` }),
      at: known.now - chosen([0, 1], lasts),
      speechCharacters: which,
      transcriptionSeconds: lasts,
    },
  ]);

const usage: Make = (known, { pick, which, lasts, near }) => {
  const end = known.now + chosen([1, 0, 3_600, 17], near);
  const query: UsageQuery = {
    assistantIds: chosen([null, ['asst_0_0', 'asst_1_0'], []], which),
    ...(which > 3 && { keyId: chosen([null, 'key_0', 'key_1'], lasts) }),
    start: end - chosen([3_600, 10, 2 * daySeconds, 0], lasts),
    end,
    bucketSeconds: chosen([3600, 86_400] as const, which),
  };
  return call('usage', false, [known.workspaceId(pick), query]);
};

/** Sweeps until nothing is left, since the order among several workspaces is not defined. */
const sweep: Make = (known, { which }) => {
  const limit = chosen([100, 1, 2], which);
  const run = async (store: Store): Promise<number[]> => {
    const swept: number[] = [];
    do swept.push(await store.sweep(known.nowMs, limit));
    while (swept.at(-1) === limit);
    return swept;
  };
  return { verb: 'sweep', args: [known.nowMs, limit], timed: true, run };
};

const rateTurn = ofTurn(async (known, { which }, { place, begun }) => {
  const { record: session } = await known.session({ workspaceId: place.workspaceId, id: place.sessionId });
  const { now } = known;
  const feedback: Feedback | null =
    which % 3 === 0 ? null : { rating: which % 3 === 1 ? 'up' : 'down', comment: null, at: now };
  return call('rateTurn', true, [{ session, turn: { ...begun.turn, endedAt: now }, feedback }]);
});

const session = ofSession((_, __, place) => call('session', false, place));
const turn = ofTurn((_, __, { place }) => call('turn', false, [place.workspaceId, place.sessionId, place.turnId]));
const output = ofTurn((_, __, { place }) => call('output', false, [place]));

const webhookOf = (known: Known, { pick, which }: Drawn): [workspaceId: string, webhookId: string] => [
  known.workspaceId(pick),
  known.catalogId('webhook', which),
];

/** Claims all that is due, in one order, since the stores have none among several webhooks. */
const claimDeliveries: Make = (known, { which, lasts }) => {
  const owner = known.name();
  const leaseUntilMs = known.nowMs + chosen(leases, lasts);
  const skip = new Set(which % 3 === 0 ? [known.catalogId('webhook', which)] : []);
  const step: ClaimDeliveries = { owner, nowMs: known.nowMs, leaseUntilMs, limit: 1000, skip };
  const run = async (store: Store): Promise<WebhookDelivery[]> =>
    (await store.webhooks.claim(step)).sort((one, other) => (one.id < other.id ? -1 : 1));
  return {
    verb: 'claimDeliveries',
    args: [step],
    timed: true,
    run,
    learn(claimed: WebhookDelivery[]) {
      if (claimed.length > 0) known.leaseUntilMs = Math.max(known.leaseUntilMs, leaseUntilMs);
      known.claims.push(...claimed.map((delivery) => ({ owner, delivery })));
    },
  };
};

const settleDelivery: Make = (known, drawn) => {
  const claim = picked(known.claims, drawn.pick);
  if (claim === undefined) return claimDeliveries(known, drawn);
  const { delivery } = claim;
  const status = chosen(['pending', 'delivered', 'failed'] as const, drawn.which);
  const nextAtMs = status === 'pending' ? known.nowMs + chosen(leases, drawn.lasts) : null;
  const owner = drawn.near === 3 ? 'nobody' : claim.owner;
  return call('settleDelivery', true, [{ delivery, owner, status, attempts: delivery.attempts + 1, nextAtMs }]);
};

const deliveries: Make = (known, drawn) => call('deliveries', false, webhookOf(known, drawn));
const failDeliveries: Make = (known, drawn) => call('failDeliveries', true, webhookOf(known, drawn));
const retryDelivery: Make = (known, drawn) => {
  const claim = picked(known.claims, drawn.pick);
  if (claim === undefined) return failDeliveries(known, drawn);
  const { workspaceId, webhookId, id } = claim.delivery;
  return call('retryDelivery', true, [workspaceId, webhookId, drawn.near === 3 ? 'dlv_unknown' : id, known.nowMs]);
};

/** Sessions past their deadline, in one order, since the stores have none among workspaces. */
const overdueSessions: Make = (known) => ({
  verb: 'overdueSessions',
  args: [known.nowMs, 1000],
  timed: true,
  run: async (store) =>
    (await store.webhooks.overdueSessions(known.nowMs, 1000)).map((each) => JSON.stringify(each)).sort(),
});

const turnCalls: Make = ofTurn((_, __, { place }) => call('turnCalls', false, [place]));

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
