/** Calls of the steps of sessions and of their erasures. */
import type { CreateSession, Erasure, Session, SessionFilter } from '../../../src/store/store.ts';
import { message, snapshot } from '../fixtures.ts';
import type { Drawn } from './drawn.ts';
import { Known, chosen, picked } from './known.ts';
import { type Make, audited, basisOf, call, daySeconds, moved, ofSession, pageOf, rememberedOf } from './making.ts';
import { askedOf, settledOf } from './limit-steps.ts';

export const createSession: Make = async (known, drawn) => {
  const { which, pick, flag, lasts, text } = drawn;
  const session: Session = {
    id: known.id('ses', which),
    workspaceId: known.workspaceId(pick),
    assistantId: chosen(['asst_0_0', 'asst_0_0', 'asst_1_0', 'asst_2_0'] as const, which),
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
    ...(lasts > 1 && session.channel !== 'console' && { release: await known.releaseOf(session, drawn.near === 3) }),
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

export const chargeSession: Make = async (known, drawn) => {
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

export const deskSessions: Make = (known, { pick, which }) =>
  call('deskSessions', false, [
    known.workspaceId(pick),
    { limit: 2, after: null, order: which % 2 === 0 ? 'asc' : 'desc' },
  ]);

export const attendSession: Make = async (known, drawn) => {
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

export const saveSession: Make = async (known, drawn) => {
  const session = picked(known.sessions, drawn.pick);
  if (session === undefined) return null;
  const { record, version } = await known.session(session);
  const machine = snapshot(chosen(['open', 'ended', 'open', 'expired'], drawn.which), { text: drawn.text });
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

/** A session that a request has made, with the memory of that request or another. */
export const discardSession: Make = async (known, drawn) => {
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

export const awaitSession: Make = ofSession((_, __, place) => call('awaitSession', false, place));

export const messages: Make = ofSession((_, drawn, place) =>
  call('messages', false, [...place, pageOf(drawn, chosen(['0', '1', '2', '7', 'no index'], drawn.near))]),
);

/** An erasure of one of a few visitors, or of a session. */
const erasureOf = (known: Known, { which, near }: Drawn, sessionId: string): Erasure =>
  near === 0
    ? { workspaceId: known.workspaceId(which), kind: 'visitor', id: `vis_${which % 2}` }
    : { workspaceId: known.workspaceId(which), kind: 'session', id: sessionId };

export const beginErasure = ofSession((known, drawn, [, id]) => {
  const erasure = erasureOf(known, drawn, id);
  return call('beginErasure', true, [erasure, known.nowMs, known.audit(erasure.workspaceId, drawn)]);
});

export const eraseSession = ofSession((known, drawn, [workspaceId, id]) =>
  call('eraseSession', true, [{ ...erasureOf(known, drawn, id), workspaceId }, id]),
);
export const finishErasure = ofSession((known, drawn, [, id]) =>
  call('finishErasure', true, [erasureOf(known, drawn, id)]),
);

export const forgetTraces = ofSession((_, { flag }, [workspaceId, id]) => {
  const places = flag ? [{ holder: 'vis_1', seat: null }] : [];
  return call('forgetTraces', true, [workspaceId, { sessionIds: new Set([id]), places, limits: [] }]);
});

/** Lists the erasures in one order, since the stores have none. */
export const unfinishedErasures: Make = () => ({
  verb: 'unfinishedErasures',
  args: [],
  timed: false,
  run: async (store) => (await store.erasures.unfinished()).map((each) => JSON.stringify(each)).sort(),
});

export const sessions: Make = (known, drawn) => {
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

export const session = ofSession((_, __, place) => call('session', false, place));

/** Sessions past their deadline, in one order, since the stores have none among workspaces. */
export const overdueSessions: Make = (known) => ({
  verb: 'overdueSessions',
  args: [known.nowMs, 1000],
  timed: true,
  run: async (store) =>
    (await store.webhooks.overdueSessions(known.nowMs, 1000)).map((each) => JSON.stringify(each)).sort(),
});
