/** Rows as text, one JSON object a line, and back: rows of a file are validated by a schema. */
import { Type } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { TSchema } from 'typebox';
import { limits } from '../../base/limits.ts';
import type { OpaqueFields } from '../../base/opaque-fields.ts';
import { roles } from '../../base/roles.ts';
import { entrySteps, toolErrors } from '../../base/tool-errors.ts';
import type { DumpRow } from '../dump.ts';
import { base64, bytesOf, toolWith, type TextRow } from './secrets.ts';
import {
  Base64,
  Count,
  held,
  MapOf,
  Millis,
  Name,
  Nullable,
  OneOf,
  record,
  row,
  Seconds,
  secondsMax,
  stamps,
  Text,
  Whole,
  type Fields,
} from './fields.ts';
import { ReleaseFields, releaseRow } from './release.ts';
import { deskMessage, DeskRow } from './desk.ts';
import { assistantTest } from './tests.ts';
import type { StoredDelivery } from '../parts/webhooks.ts';
import type {
  AskedModel,
  Assistant,
  AssistantVersion,
  AuditChange,
  AuditEntry,
  Credential,
  FallbackModel,
  Feedback,
  IdempotencyRecord,
  Key,
  LinkClock,
  LinkIdentity,
  LinkSettings,
  Message,
  ModelSettings,
  Move,
  PendingCall,
  Quarantine,
  RefreshError,
  Session,
  ReplacedSecret,
  Snapshot,
  Tool,
  ToolCall,
  ToolFunction,
  Turn,
  TurnPast,
  VersionedSettings,
  VersionedTool,
  VisitorField,
  VoiceSettings,
  Workspace,
  Webhook,
} from '../records.ts';
import { webhookEvents } from '../../base/webhook-events.ts';
import { usageFields } from '../usage.ts';
import { linkLimitNames } from '../../base/link-limits.ts';

/** The number of counts of the first version. */
const firstCounts = usageFields.indexOf('toolCalls');

const SnapshotOf = () =>
  Type.Object({ version: Count(), state: Name(), context: MapOf(Type.Unknown()) } satisfies Fields<Snapshot>);
const Fence = () => Type.Object({ epoch: Whole(), owner: Type.String() });
const Answered = () => Type.Object({ fence: Fence(), version: Whole() });
const Bucket = () =>
  Type.Optional(
    Type.Object({
      level: Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      at: Millis(),
    }),
  );
const StopReason = () =>
  Nullable(OneOf('end', 'length', 'content_filter', 'aborted', 'error', 'expired', 'tool_calls', 'taken'));
const Arguments = () => Nullable(MapOf(Type.Unknown()));
const Wants = () => OneOf('result', 'approval');
const ToolCalls = () =>
  Type.Array(
    Type.Object({
      id: Name(),
      name: Text(),
      round: Whole(),
      position: Whole(),
      status: OneOf('running', 'pending', 'completed', 'failed', 'declined', 'cancelled', 'unknown'),
      error: Nullable(OneOf(...toolErrors, 'declined', 'cancelled', 'unknown')),
      arguments: Arguments(),
      reason: Type.Optional(Text()),
      didNotAct: Type.Optional(Type.Literal(true)),
      refusalText: Type.Optional(Text()),
      opaque: Type.Optional(
        Type.Object({
          origin: Text(),
          id: Type.Optional(Text()),
          call: Type.Optional(MapOf(Type.Unknown())),
          round: Type.Optional(MapOf(Type.Unknown())),
        } satisfies Fields<OpaqueFields>),
      ),
      output: Nullable(Text()),
      show: OneOf('none', 'name', 'full'),
      wants: Type.Optional(Wants()),
      sent: Type.Optional(Type.Literal(true)),
      createdAtMs: Millis(),
      endedAtMs: Nullable(Millis()),
    } satisfies Fields<ToolCall>),
  );
const LinkLimits = () =>
  Type.Object(Object.fromEntries(linkLimitNames.map((name) => [name, Type.Optional(Nullable(Whole()))])));
const ReplacedSecretRow = () => Type.Object({ sealed: Base64(), untilMs: Millis() } satisfies Fields<ReplacedSecret>);

/** The settings of an assistant that its versions contain. */
const settings = {
  greeting: Nullable(Text()),
  visitorFields: Type.Array(
    Type.Object({
      name: Text(),
      label: Text(),
      type: OneOf('text', 'email', 'number', 'boolean'),
      required: Type.Boolean(),
    } satisfies Fields<VisitorField>),
  ),
  maxCallSeconds: Whole(),
  model: Type.Object({
    provider: Text(),
    name: Text(),
    credentialId: Nullable(Text()),
    historyTokensMax: Type.Optional(Nullable(Whole())),
    systemPrompt: Nullable(Text()),
    temperature: Nullable(Type.Number()),
    outputTokensMax: Nullable(Whole()),
    reasoning: Type.Optional(OneOf('hidden', 'shown')),
    fallbacks: Type.Optional(
      Type.Array(
        Type.Object({ provider: Text(), name: Text(), credentialId: Nullable(Text()) } satisfies Fields<FallbackModel>),
      ),
    ),
  } satisfies Fields<ModelSettings>),
  voice: Nullable(
    Type.Object({
      provider: Text(),
      name: Nullable(Text()),
      transcriptionName: Type.Optional(Nullable(Text())),
      voice: Nullable(Text()),
      credentialId: Nullable(Text()),
    } satisfies Fields<VoiceSettings>),
  ),
  toolIds: Type.Optional(Type.Array(Name())),
  toolRoundsMax: Type.Optional(Whole()),
  hasVariables: Type.Optional(Type.Literal(true)),
} satisfies Fields<VersionedSettings>;

const assistant = record('assistant', {
  ...held,
  name: Text(),
  description: Nullable(Text()),
  ...settings,
  channels: Type.Object({ voice: Type.Boolean(), link: Type.Boolean(), widget: Type.Boolean() }),
  link: Nullable(
    Type.Object({
      slug: Nullable(Text()),
      limits: LinkLimits(),
      origins: Type.Array(Text()),
      feedback: Type.Optional(Type.Boolean()),
      identity: Type.Optional(
        Type.Object({
          id: Name(),
          sealed: Base64(),
          createdAt: Seconds(),
          replaced: Type.Optional(Type.Array(ReplacedSecretRow())),
        } satisfies Fields<LinkIdentity>),
      ),
      identityRequired: Type.Optional(Type.Boolean()),
    } satisfies Fields<LinkSettings>),
  ),
  desk: Type.Optional(DeskRow()),
  alias: Type.Optional(Nullable(Name())),
  release: Type.Optional(Nullable(ReleaseFields())),
  sessionPolicy: Type.Optional(OneOf('pin', 'follow')),
  requireTests: Type.Optional(Type.Boolean()),
  ...stamps,
  machine: SnapshotOf(),
} satisfies Fields<Assistant>);

const key = record(
  'key',
  {
    ...held,
    publicId: Name(),
    digest: Base64(),
    name: Text(),
    assistantIds: Nullable(Type.Array(Text())),
    expiresAt: Nullable(Seconds()),
    ownExpiresAt: Type.Optional(Nullable(Seconds())),
    limits: Type.Object({
      requests: Whole(),
      speech: Whole(),
      transcriptionTokens: Whole(),
      tokensPerDay: Type.Optional(Nullable(Whole())),
    }),
    createdAt: Seconds(),
    revokedAt: Nullable(Seconds()),
    machine: SnapshotOf(),
  } satisfies Fields<Key>,
  {
    budgets: Type.Object({ requests: Bucket(), speech: Bucket(), transcriptionTokens: Bucket() }),
    usedAt: Type.Optional(Seconds()),
  },
);

const session = record(
  'session',
  {
    ...held,
    assistantId: Name(),
    channel: OneOf('api', 'link', 'widget', 'console', 'test'),
    keyId: Type.Optional(Nullable(Name())),
    visitor: MapOf(Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
    metadata: MapOf(Type.String()),
    maxCallSeconds: Whole(),
    createdAt: Seconds(),
    expiresAt: Seconds(),
    lastActivityAt: Seconds(),
    messageCount: Whole(),
    machine: SnapshotOf(),
    mark: Type.Optional(Text()),
    historyLeftOut: Type.Optional(Whole()),
    call: Type.Optional(Type.Object({ id: Name(), untilMs: Millis(), turnId: Type.Optional(Name()) })),
    pending: Type.Optional(
      Type.Object({
        index: Whole(),
        calls: Type.Array(
          Type.Object({
            id: Name(),
            name: Text(),
            arguments: Arguments(),
            wants: Wants(),
          } satisfies Fields<PendingCall>),
        ),
      }),
    ),
    opening: Type.Optional(Type.Object({ index: Whole(), text: Text() })),
    assistantVersion: Type.Optional(Count()),
    recalls: Type.Optional(Count()),
    eventCount: Type.Optional(Whole()),
    turnEnd: Type.Optional(Type.Object({ turnId: Name(), number: Count() })),
    withdrawnEvents: Type.Optional(Type.Array(Type.Object({ from: Count(), count: Count() }))),
    attendance: Type.Optional(SnapshotOf()),
    isForeign: Type.Optional(Type.Literal(true)),
    link: Type.Optional(
      Type.Object({
        visitorId: Name(),
        signed: Type.Optional(Type.Literal(true)),
        signedFields: Type.Optional(Type.Array(Text())),
        clock: Nullable(
          Type.Object({
            untilMs: Millis(),
            dayMs: Millis(),
            chargedMs: Millis(),
            movedBy: Text(),
            endMs: Type.Optional(Type.Integer({ minimum: -secondsMax * 1000, maximum: secondsMax * 1000 })),
          } satisfies Fields<LinkClock>),
        ),
      }),
    ),
  } satisfies Fields<Session>,
  { withdrawn: Nullable(Type.Object({ turnId: Name(), fence: Fence(), version: Whole() })) },
);

const Cause = () =>
  Type.Object({
    requestId: Nullable(Text()),
    by: Nullable(Type.Object({ kind: OneOf('key', 'visitor', 'person', 'operator'), id: Name(), name: Text() })),
  });

const history = row('history', {
  workspaceId: Name(),
  kind: OneOf('session', 'key', 'assistant'),
  id: Name(),
  moves: Type.Array(
    Type.Object({
      seq: Count(),
      atMs: Millis(),
      version: Count(),
      event: Type.Object({ type: Name() }),
      from: Nullable(Name()),
      to: Name(),
      outcomes: Type.Array(Type.Object({ type: Name() })),
      cause: Cause(),
      snapshot: Nullable(SnapshotOf()),
      turn: Type.Optional(
        Type.Object({
          turnId: Name(),
          version: Count(),
          runsUntil: Whole(),
          shared: Type.Boolean(),
          spoken: Type.Optional(Type.Literal(true)),
          fallbacks: Type.Optional(Count()),
          events: Type.Array(Type.Object({ type: Name(), at: Millis() }), { maxItems: limits.turnEventsKept }),
          stoppedBy: Cause(),
        } satisfies Fields<TurnPast>),
      ),
    } satisfies Fields<Move>),
  ),
});

const message = row('message', {
  workspaceId: Name(),
  sessionId: Name(),
  index: Whole(),
  record: Type.Object({
    id: Name(),
    turnId: Nullable(Name()),
    role: OneOf('user', 'assistant', 'person', 'notice'),
    content: Text(),
    status: OneOf('completed', 'partial', 'streaming'),
    stopReason: StopReason(),
    errorCode: Nullable(Text()),
    createdAt: Seconds(),
    voice: Type.Optional(
      Type.Object({
        audioMs: Whole(),
        heard: Type.Optional(OneOf('played', 'estimated', 'sent')),
        cutBy: Type.Optional(Nullable(OneOf('speech', 'client', 'api', 'lost'))),
      }),
    ),
    toolCalls: Type.Optional(ToolCalls()),
    assistantVersion: Type.Optional(Count()),
    feedback: Type.Optional(Type.Never()),
    visitorId: Type.Optional(Name()),
    ...deskMessage,
  } satisfies Fields<Message>),
});

const turn = row('turn', {
  workspaceId: Name(),
  record: Type.Object({
    id: Name(),
    sessionId: Name(),
    messageId: Name(),
    messageIndex: Whole(),
    status: OneOf('streaming', 'completed', 'aborted', 'failed'),
    stopReason: StopReason(),
    errorCode: Nullable(Text()),
    inputTokens: Whole(),
    outputTokens: Whole(),
    cachedInputTokens: Type.Optional(Count()),
    model: Type.Optional(
      Type.Object({ provider: Text(), name: Text(), fallback: Whole() } satisfies Fields<AskedModel>),
    ),
    createdAt: Seconds(),
    endedAt: Nullable(Seconds()),
    claimed: Type.Optional(Type.Never()),
    feedback: Type.Optional(
      Type.Object({ rating: OneOf('up', 'down'), comment: Nullable(Text()), at: Seconds() } satisfies Fields<Feedback>),
    ),
    link: Type.Optional(Type.Never()),
    reserved: Type.Optional(Type.Never()),
    spoken: Type.Optional(Type.Literal(true)),
    answered: Type.Optional(Type.Object({ index: Whole(), ids: Type.Array(Name()), approved: Type.Array(Name()) })),
    unasked: Type.Optional(Type.Literal(true)),
    calls: Type.Optional(Type.Object({ made: Whole(), sent: Whole() })),
    traceparent: Type.Optional(Type.String({ pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' })),
    assistantVersion: Type.Optional(Count()),
    sequence: Type.Optional(Count()),
    endSequence: Type.Optional(Count()),
    certain: Type.Optional(Type.Literal(true)),
  } satisfies Fields<Turn>),
  begun: Answered(),
  finished: Nullable(Answered()),
  flight: Nullable(
    Type.Object({
      fence: Fence(),
      stop: Nullable(OneOf('aborted', 'expired', 'taken')),
      remembered: Nullable(Type.Object({ scope: Text(), key: Text() })),
      released: Type.Optional(Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER })),
      calls: Type.Optional(ToolCalls()),
    }),
  ),
});

/** The definition of a tool that a version contains. */
const definition = {
  kind: OneOf('http', 'mcp', 'client'),
  name: Text(),
  url: Nullable(Text()),
  timeoutSeconds: Whole(),
  repeatable: Type.Boolean(),
  approval: OneOf('never', 'always'),
  show: OneOf('none', 'name', 'full'),
  callsPerMinute: Nullable(Whole()),
  functions: Type.Array(
    Type.Object({
      name: Name(),
      description: Nullable(Text()),
      parameters: MapOf(Type.Unknown()),
      enabled: Type.Boolean(),
      approval: Nullable(OneOf('never', 'always')),
      show: Nullable(OneOf('none', 'name', 'full')),
      remoteName: Type.Optional(Text()),
      quarantined: Type.Optional(
        Type.Object({ at: Seconds(), provider: Text(), origin: Text() } satisfies Fields<Quarantine>),
      ),
    } satisfies Fields<ToolFunction>),
  ),
} satisfies Fields<Omit<VersionedTool, 'id'>>;

const assistantVersion = record('assistant_version', {
  ...held,
  assistantId: Name(),
  number: Count(),
  digest: Name(),
  note: Nullable(Text()),
  createdAt: Seconds(),
  createdBy: Nullable(Type.Object({ id: Name(), name: Text() })),
  settings: Type.Object(settings),
  tools: Type.Array(Type.Object({ id: Name(), ...definition })),
} satisfies Fields<AssistantVersion>);

const schemas: Readonly<Record<DumpRow['type'], TSchema>> = {
  workspace: record('workspace', {
    id: Name(),
    name: Text(),
    retentionDays: Whole(),
    turnsInFlightMax: Whole(),
    ...stamps,
  } satisfies Fields<Workspace>),
  assistant,
  assistant_version: assistantVersion,
  assistant_test: assistantTest,
  credential: record('credential', {
    ...held,
    kind: OneOf('model', 'voice', 'tool'),
    provider: Text(),
    baseUrl: Nullable(Text()),
    sealed: Base64(),
    header: Type.Optional(Nullable(Text())),
    name: Type.Optional(Nullable(Text())),
    ...stamps,
  } satisfies Fields<Credential>),
  tool: record('tool', {
    ...held,
    ...definition,
    credentialId: Nullable(Name()),
    refreshedAt: Nullable(Seconds()),
    refreshError: Type.Optional(
      Type.Object({
        at: Seconds(),
        step: OneOf(...entrySteps),
        error: OneOf(...toolErrors),
      } satisfies Fields<RefreshError>),
    ),
    sealed: Nullable(Base64()),
    previous: Type.Optional(Nullable(ReplacedSecretRow())),
    earlier: Type.Optional(Type.Array(ReplacedSecretRow())),
    disabled: Type.Optional(Type.Literal(true)),
    deletedAt: Type.Optional(Seconds()),
    ...stamps,
  } satisfies Fields<Tool>),
  webhook: record('webhook', {
    ...held,
    url: Text(),
    events: Type.Array(OneOf(...webhookEvents)),
    enabled: Type.Boolean(),
    sealed: Base64(),
    failingSinceMs: Type.Optional(Millis()),
    ...stamps,
  } satisfies Fields<Webhook>),
  key,
  session,
  history,
  message,
  turn,
  memory: row('memory', {
    workspaceId: Name(),
    record: Type.Object({
      scope: Text(),
      key: Text(),
      bodyDigest: Text(),
      resultId: Name(),
      untilMs: Millis(),
    } satisfies Fields<IdempotencyRecord>),
  }),
  release: row('release', releaseRow),
  usage: row('usage', {
    workspaceId: Name(),
    assistantId: Name(),
    keyId: Type.Optional(Name()),
    grain: OneOf('second', 'hour'),
    start: Seconds(),
    // Exports of earlier versions lack the counts that were added since.
    counts: Type.Object(
      Object.fromEntries(usageFields.map((name, at) => [name, at < firstCounts ? Whole() : Type.Optional(Whole())])),
    ),
  }),
  delivery: row('delivery', {
    record: Type.Object({
      ...held,
      webhookId: Name(),
      type: OneOf(...webhookEvents),
      body: Text(),
      traceparent: Type.Optional(Text()),
      status: OneOf('pending', 'delivered', 'failed'),
      attempts: Whole(),
      nextAtMs: Nullable(Millis()),
      sessionId: Name(),
      sourceId: Name(),
    } satisfies Fields<StoredDelivery>),
  }),
  audit: row('audit', {
    record: Type.Object({
      ...held,
      at: Seconds(),
      by: Type.Object({ id: Name(), name: Text(), role: OneOf(...roles), address: Nullable(Text()) }),
      action: Name(),
      objectType: Name(),
      objectId: Name(),
      inWorkspaceId: Nullable(Name()),
      changes: Type.Array(
        Type.Object({ path: Name(), before: Type.Unknown(), after: Type.Unknown() } satisfies Fields<AuditChange>),
      ),
    } satisfies Fields<AuditEntry>),
  }),
};

const compiled = new Map<string, Validator>();

/** A fault in a row; the message begins with the path of the field: `record.name must be string`. */
export class RowProblem extends Error {}

export function rowText(row: DumpRow): string {
  if (row.type === 'key')
    return JSON.stringify({ ...row, record: { ...row.record, digest: base64(row.record.digest) } });
  if (row.type === 'credential' || row.type === 'webhook')
    return JSON.stringify({ ...row, record: { ...row.record, sealed: base64(row.record.sealed) } });
  if (row.type === 'tool') return JSON.stringify({ ...row, record: toolWith(row.record, base64) });
  // The charges of a turn in flight to a link's limits name its visitor's address, which no export holds (contract 9).
  if (row.type === 'turn' && row.record.link !== undefined)
    return JSON.stringify({ ...row, record: { ...row.record, link: undefined } });
  return JSON.stringify(row);
}

/** The row in parsed JSON; throws `RowProblem` if it is not one. */
export function rowOf(value: unknown): DumpRow {
  if (!isTyped(value)) throw new RowProblem('type must name a kind of row');
  const { type } = value;
  let validator = compiled.get(type);
  if (validator === undefined) compiled.set(type, (validator = Compile(schemas[type])));
  if (!validator.Check(value)) throw new RowProblem(problemOf(validator.Errors(value)[0]));
  const row = value as TextRow;
  if (row.type === 'key') return { ...row, record: { ...row.record, digest: bytesOf(row.record.digest) } };
  // The two are alike, but a spread of their union has no type.
  if (row.type === 'credential') return { ...row, record: { ...row.record, sealed: bytesOf(row.record.sealed) } };
  if (row.type === 'webhook') return { ...row, record: { ...row.record, sealed: bytesOf(row.record.sealed) } };
  if (row.type === 'tool') return { ...row, record: toolWith(row.record, bytesOf) };
  return row;
}

const isTyped = (value: unknown): value is { readonly type: DumpRow['type'] } =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  Object.hasOwn(schemas, value.type);

const problemOf = (error: { readonly instancePath: string; readonly message: string } | undefined): string =>
  error === undefined
    ? 'it is not as it must be'
    : `${error.instancePath.split('/').filter(Boolean).join('.')} ${error.message}`.trim();
