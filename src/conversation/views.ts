/** Records in the form in which the API returns them (contract 6 and 9). */
import { assistantKind } from '../../machines/assistant.ts';
import { sessionKind, type SessionContext } from '../../machines/session.ts';
import { migratedSnapshot } from '../actors/actor.ts';
import { greetingBefore } from '../assistant/texts.ts';
import { versionedSettingsView } from '../host/draft.ts';
import { keyStatus } from '../host/keys.ts';
import { standingTokens } from '../host/token-budget.ts';
import { secondsOf } from '../base/clock.ts';
import { hintOf } from '../access/keys.ts';
import { currentVersion, versionOfSession, type AnsweringAssistant } from '../host/versions.ts';
import { isVisitorChannel } from '../host/visitors.ts';
import type { Voice } from '../providers/voice.ts';
import type {
  Assistant,
  AttendanceChange,
  Credential,
  DeskSettings,
  Key,
  KeyStanding,
  LinkSettings,
  Message,
  PendingCall,
  Session,
  StandingBudget,
  StopReason,
  Tool,
  ToolCall,
  Webhook,
  WebhookDelivery,
  Turn,
  UsageCounts,
  Workspace,
} from '../store/store.ts';
import { linkLimitNames } from '../base/link-limits.ts';
import { attendanceOf, defaultDesk } from '../store/records/attendance.ts';
import { signedVisitorId } from '../store/records/link.ts';

export const assistantView = (assistant: AnsweringAssistant) => ({
  id: assistant.id,
  object: 'assistant',
  name: assistant.name,
  description: assistant.description,
  status: migratedSnapshot(assistantKind, assistant.machine).state,
  greeting: greetingBefore(assistant),
  channels: assistant.channels,
  visitor_fields: assistant.visitorFields,
  max_call_seconds: assistant.maxCallSeconds,
  version: assistant.version?.number ?? null,
  created_at: assistant.createdAt,
  updated_at: assistant.updatedAt,
});

/** The console sees the settings of the draft as well, but no secrets. */
export const consoleAssistantView = (assistant: Assistant) => ({
  ...assistantView(assistant),
  version: currentVersion(assistant),
  ...versionedSettingsView(assistant),
  link: assistant.link && {
    slug: assistant.link.slug,
    limits: linkLimitsView(assistant.link.limits),
    origins: assistant.link.origins,
    feedback: assistant.link.feedback ?? false,
    identity: assistant.link.identity === undefined ? null : { created_at: assistant.link.identity.createdAt },
    identity_required: assistant.link.identityRequired ?? false,
  },
  desk: deskView(assistant.desk ?? defaultDesk),
  alias: assistant.alias ?? null,
  session_policy: assistant.sessionPolicy ?? 'pin',
  require_tests: assistant.requireTests ?? false,
});

/** The version that is rolled out, without its counts; null without a rollout. */
export const candidateView = ({ release }: Pick<Assistant, 'release'>) => {
  const { candidate = null } = release ?? {};
  return (
    candidate && {
      version: candidate.version,
      percent: candidate.percent,
      halt: candidate.halt && {
        failed_percent: candidate.halt.failedPercent,
        after_turns: candidate.halt.afterTurns,
      },
      state: candidate.isHalted ? 'halted' : 'rolling',
    }
  );
};
const deskView = ({ enabled, waitSeconds, whileWaiting, texts }: DeskSettings) => ({
  enabled,
  wait_seconds: waitSeconds,
  while_waiting: whileWaiting,
  texts,
});

export const voiceView = ({ id, name, language, sampleRate }: Voice) => ({
  id,
  object: 'voice',
  name,
  language,
  sample_rate: sampleRate,
});

/** The limits that were given. An earlier version accepted any name. */
const linkLimitsView = (ceilings: LinkSettings['limits']): LinkSettings['limits'] =>
  Object.fromEntries(linkLimitNames.flatMap((name) => (ceilings[name] === undefined ? [] : [[name, ceilings[name]]])));

/** The status follows the clock: a session expires to the second, whether or not a process has noticed (contract 6). */
/** The beginning of the first message of a user; null without one, or if it was not kept. */
export const firstWords = ({ opening, messageCount }: Session): string | null =>
  opening !== undefined && opening.index < messageCount ? opening.text : null;

/** The console's view also has how many messages the model of the last turn was not sent, if any. */
export const consoleSessionView = (session: Session, nowMs: number) => ({
  ...sessionView(session, nowMs, 'console'),
  ...(session.link && { link_visitor_id: session.link.visitorId }),
  ...(session.historyLeftOut ? { history_left_out: session.historyLeftOut } : {}),
});

/** A signed visitor, or null. */
const verifiedView = (visitorId: string | null) => ({ visitor_verified: visitorId !== null, visitor_id: visitorId });

export function sessionView(session: Session, nowMs: number, channel: Session['channel'] = 'api') {
  const { state, context } = migratedSnapshot(sessionKind, session.machine);
  const { endedAt, activeTurnId } = context as SessionContext;
  const over = state === 'ended' || state === 'expired';
  const expired = !over && secondsOf(nowMs) >= session.expiresAt;
  return {
    id: session.id,
    object: 'session',
    assistant_id: session.assistantId,
    status: expired ? 'expired' : over ? state : 'open',
    active_turn_id: activeTurnId,
    active_call_id:
      over || expired || session.call === undefined || session.call.untilMs <= nowMs ? null : session.call.id,
    pending_tool_calls:
      over || expired || activeTurnId !== null ? [] : pendingCallsView(session.pending?.calls ?? [], channel),
    channel: session.channel,
    visitor: session.visitor,
    ...verifiedView(signedVisitorId(session)),
    metadata: session.metadata,
    max_call_seconds: session.maxCallSeconds,
    assistant_version: versionOfSession(session),
    attendance: attendanceView(attendanceOf(session, nowMs)),
    created_at: session.createdAt,
    expires_at: session.expiresAt,
    ended_at: expired ? session.expiresAt : endedAt,
  };
}

/** The party that answers, with the name of a person. */
export const attendanceView = ({ state, since, name }: AttendanceChange) => ({
  state,
  since,
  person: name === null ? null : { name },
});

/** Only clients of OpenAI's API see a provider's filter (contract 7 and 14). */
const shownReason = (reason: StopReason | null): Exclude<StopReason, 'content_filter'> | null =>
  reason === 'content_filter' ? 'end' : reason;

/** A visitor gets no comment back. */
const feedbackView = ({ feedback }: Pick<Turn, 'feedback'>, channel: Channel) =>
  feedback === undefined ? null : { ...feedback, comment: isVisitorChannel(channel) ? null : feedback.comment };

export const turnView = (turn: Turn, channel: Channel = 'api') => ({
  id: turn.id,
  object: 'turn',
  session_id: turn.sessionId,
  message_id: turn.messageId,
  status: turn.status,
  stop_reason: shownReason(turn.stopReason),
  error_code: turn.errorCode,
  feedback: feedbackView(turn, channel),
  assistant_version: turn.assistantVersion ?? null,
  created_at: turn.createdAt,
  ended_at: turn.endedAt,
});

/** The console's view also has the model that was asked last; null while the turn streams. */
export const consoleTurnView = (turn: Turn) => ({ ...turnView(turn, 'console'), model: turn.model ?? null });

/** A caller by its channel: an API key, the console, or a visitor of the link or the widget. */
export type Channel = Session['channel'];

/** The calls that wait for the caller: a visitor sees those that want approval. */
export const pendingCallsView = (calls: readonly PendingCall[], channel: Channel) =>
  calls
    .filter(({ wants }) => !isVisitorChannel(channel) || wants === 'approval')
    .map(({ id, name, arguments: input, wants }) => ({ call_id: id, name, arguments: input, wants }));

/**
 * The part of a tool call that a caller sees (contract 13): the console sees all of it; everybody sees the arguments
 * that they must know to answer a call that waits.
 */
export function sightOf(
  { show, status, wants }: Pick<ToolCall, 'show' | 'status' | 'wants'>,
  channel: Channel,
): { readonly call: boolean; readonly arguments: boolean; readonly output: boolean } {
  if (channel === 'console') return { call: true, arguments: true, output: true };
  const waits = status === 'pending';
  if (isVisitorChannel(channel))
    return {
      call: waits ? wants === 'approval' : show !== 'none',
      arguments: waits && wants === 'approval',
      output: false,
    };
  return { call: waits || show !== 'none', arguments: waits || show === 'full', output: show === 'full' };
}

const toolCallsView = (calls: readonly ToolCall[], channel: Channel) =>
  calls.flatMap((call) => {
    const sight = sightOf(call, channel);
    const { id, name, position, status, error, arguments: input, output, createdAtMs, endedAtMs } = call;
    if (!sight.call) return [];
    const shown = { arguments: sight.arguments ? input : null, output: sight.output ? output : null };
    return [
      {
        id,
        object: 'tool_call',
        name,
        position,
        status,
        error,
        ...shown,
        created_at: secondsOf(createdAtMs),
        ended_at: endedAtMs === null ? null : secondsOf(endedAtMs),
      },
    ];
  });

export const messageView = (message: Message, channel: Channel = 'api') => ({
  id: message.id,
  object: 'message',
  turn_id: message.turnId,
  role: message.role,
  ...(message.by !== undefined && { by: { name: message.by.name } }),
  content: message.content,
  status: message.status,
  stop_reason: shownReason(message.stopReason),
  error_code: message.errorCode,
  voice: messageVoiceView(message.voice),
  tool_calls: message.toolCalls === undefined ? [] : toolCallsView(message.toolCalls, channel),
  feedback: feedbackView(message, channel),
  ...verifiedView(message.visitorId ?? null),
  assistant_version: message.assistantVersion ?? null,
  created_at: message.createdAt,
});

function messageVoiceView(voice: Message['voice']) {
  if (voice === undefined) return null;
  const { audioMs } = voice;
  return 'heard' in voice ? { audio_ms: audioMs, heard: voice.heard, cut_by: voice.cutBy } : { audio_ms: audioMs };
}

export const usageCountsView = (counts: UsageCounts) => ({
  sessions: counts.sessions,
  turns: counts.turns,
  failed_turns: counts.failedTurns,
  input_tokens: counts.inputTokens,
  output_tokens: counts.outputTokens,
  speech_characters: counts.speechCharacters,
  transcription_seconds: counts.transcriptionSeconds,
  tool_calls: counts.toolCalls,
  cached_input_tokens: counts.cachedInputTokens,
  feedback_up: counts.feedbackUp,
  feedback_down: counts.feedbackDown,
  person_messages: counts.personMessages,
  handovers: counts.handovers,
});

export const workspaceView = (workspace: Workspace) => ({
  id: workspace.id,
  object: 'workspace',
  name: workspace.name,
  retention_days: workspace.retentionDays,
  turns_in_flight_max: workspace.turnsInFlightMax,
  created_at: workspace.createdAt,
  updated_at: workspace.updatedAt,
});

/** `usedToday`: tokens of the key's token budget. */
export const keyView = (key: Key, { usedAt, budgets }: KeyStanding, usedToday: number, nowMs: number) => ({
  id: key.id,
  object: 'key',
  name: key.name,
  hint: hintOf(key.publicId),
  status: keyStatus(key, nowMs),
  assistant_ids: key.assistantIds,
  limits: {
    requests: key.limits.requests,
    speech: key.limits.speech,
    transcription_tokens: key.limits.transcriptionTokens,
    tokens_per_day: key.limits.tokensPerDay ?? null,
  },
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  revoked_at: key.revokedAt,
  last_used_at: usedAt,
  budgets: {
    requests: budgetView(key.limits.requests, budgets.requests),
    speech: budgetView(key.limits.speech, budgets.speech),
    transcription_tokens: budgetView(key.limits.transcriptionTokens, budgets.transcriptionTokens),
    ...(key.limits.tokensPerDay != null && {
      tokens_per_day: budgetView(key.limits.tokensPerDay, standingTokens(key.limits.tokensPerDay, usedToday, nowMs)),
    }),
  },
});

const budgetView = (limit: number, { remaining, resetAt }: StandingBudget) => ({ limit, remaining, reset: resetAt });

export const credentialView = (credential: Credential) => ({
  id: credential.id,
  object: 'credential',
  name: credential.name ?? null,
  kind: credential.kind,
  provider: credential.provider,
  base_url: credential.baseUrl,
  ...(credential.kind === 'tool' && { header: credential.header ?? null }),
  created_at: credential.createdAt,
  updated_at: credential.updatedAt,
});

export const webhookView = ({ id, url, events, enabled, createdAt, updatedAt }: Webhook) => ({
  id,
  object: 'webhook',
  url,
  events,
  enabled,
  created_at: createdAt,
  updated_at: updatedAt,
});

export const deliveryView = ({ id, type, status, attempts, nextAtMs }: WebhookDelivery) => ({
  id,
  object: 'webhook_delivery',
  type,
  status,
  attempts,
  next_at: nextAtMs === null ? null : secondsOf(nextAtMs),
});

export const toolView = (tool: Tool) => ({
  id: tool.id,
  object: 'tool',
  kind: tool.kind,
  name: tool.name,
  url: tool.url,
  credential_id: tool.credentialId,
  timeout_seconds: tool.timeoutSeconds,
  repeatable: tool.repeatable,
  approval: tool.approval,
  show: tool.show,
  calls_per_minute: tool.callsPerMinute,
  disabled: tool.disabled ?? false,
  functions: tool.functions.map(({ name, description, parameters, enabled, approval, show, quarantined }) => ({
    name,
    description,
    parameters,
    enabled,
    approval,
    show,
    quarantined: quarantined === undefined ? null : { at: quarantined.at, provider: quarantined.provider },
  })),
  refreshed_at: tool.refreshedAt,
  refresh_error: tool.refreshError ?? null,
  created_at: tool.createdAt,
  updated_at: tool.updatedAt,
});
