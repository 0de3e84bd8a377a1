/** Records to store: plausible by default, each field open to be set. */
import { WheelClock } from '../../src/base/clock.ts';
import { randomIds } from '../../src/base/ids.ts';
import type {
  AppendResult,
  Assistant,
  AssistantTest,
  TestRun,
  AssistantVersion,
  Basis,
  BeginTurn,
  BegunTurn,
  CreateSession,
  Credential,
  Fence,
  FinishTurn,
  Key,
  Message,
  PageRequest,
  IdempotencyRecord,
  Session,
  SessionFilter,
  Slot,
  Snapshot,
  Store,
  Tool,
  ToolCall,
  Turn,
  TurnPlace,
  UsageQuery,
  WithdrawTurn,
  Webhook,
  Workspace,
} from '../../src/store/store.ts';
import { testKey } from '../../src/store/records/tests.ts';
import { versionId } from '../../src/store/records/versions.ts';

export const ids = randomIds(new WheelClock());

export const snapshot = (state: string, context: unknown = {}): Snapshot => ({ version: 1, state, context });

/** The snapshot of a session's machine. */
export const sessionState = (
  state: 'open' | 'streaming' | 'ended' | 'expired',
  expiresAt: number,
  activeTurnId: string | null = null,
): Snapshot =>
  snapshot(state, { expiresAt, endedAt: state === 'ended' || state === 'expired' ? expiresAt : null, activeTurnId });

/** A session's version, and its mark where it has one. */
export const at = (version: number, mark?: string): Basis => ({ version, mark });

export const page = (over: Partial<PageRequest> = {}): PageRequest => ({
  limit: 100,
  after: null,
  order: 'asc',
  ...over,
});

export function workspace(over: Partial<Workspace> = {}): Workspace {
  return {
    id: ids.make('wks'),
    name: 'Acme',
    retentionDays: 30,
    turnsInFlightMax: 10,
    createdAt: 1,
    updatedAt: 1,
    ...over,
  };
}

export function assistant(workspaceId: string, over: Partial<Assistant> = {}): Assistant {
  return {
    id: ids.make('asst'),
    workspaceId,
    name: 'Ada',
    description: null,
    greeting: 'Hello 👋',
    channels: { voice: false, link: true, widget: false },
    visitorFields: [{ name: 'email', label: 'E-mail', type: 'email', required: true }],
    maxCallSeconds: 600,
    model: {
      provider: 'scripted',
      name: 'm',
      credentialId: null,
      systemPrompt: null,
      temperature: 0.25,
      outputTokensMax: null,
      reasoning: 'shown',
    },
    voice: null,
    link: { slug: ids.secret().slice(0, 16), limits: { minutes_per_day: null }, origins: ['https://a.example'] },
    createdAt: 1,
    updatedAt: 1,
    machine: snapshot('draft', { voice: false, since: 1.5 }),
    ...over,
  };
}

/** A version of an assistant with its settings and this tool. */
export function assistantVersion(
  { id: assistantId, workspaceId, ...settings }: Assistant,
  number: number,
  over: Partial<AssistantVersion> = {},
): AssistantVersion {
  const { greeting, visitorFields, maxCallSeconds, model, voice } = settings;
  const { id, kind, name, url, timeoutSeconds, repeatable, approval, show, callsPerMinute, functions } =
    tool(workspaceId);
  return {
    id: versionId(assistantId, number),
    workspaceId,
    assistantId,
    number,
    digest: `digest-${number}`,
    note: 'Shorter. 👋',
    createdAt: 1,
    createdBy: { id: 'prs_1', name: 'Ada' },
    settings: { greeting, visitorFields, maxCallSeconds, model, voice },
    tools: [{ id, kind, name, url, timeoutSeconds, repeatable, approval, show, callsPerMinute, functions }],
    ...over,
  };
}

/** A test of an assistant. */
export function assistantTest(
  { id: assistantId, workspaceId }: Pick<Assistant, 'id' | 'workspaceId'>,
  over: Partial<AssistantTest> = {},
): AssistantTest {
  return {
    id: testKey(assistantId, ids.make('tst')),
    workspaceId,
    assistantId,
    name: 'Order status 👋',
    visitor: { plan: 'gold', age: 7, isNew: true },
    metadata: { '': 'x' },
    steps: [
      { message: 'Where is it?', expect: { contains: ['way'], calls: [{ name: 'look_up', arguments: { order: 7 } }] } },
      { message: 'Thanks', expect: { noCalls: true, stopReason: 'end', charactersMax: 9, judge: 'It is polite.' } },
    ],
    toolResults: { look_up: [{ status: 'failed', output: '' }] },
    repeat: 2,
    fromSessionId: null,
    fromVisitorId: null,
    createdAt: 1,
    updatedAt: 1,
    ...over,
  };
}

/** A run of tests that has not begun; a replay of no session unless `over` has another plan. */
export function testRun(
  { id: assistantId, workspaceId, ...settings }: Assistant,
  over: Partial<TestRun> = {},
): TestRun {
  const { greeting, visitorFields, maxCallSeconds, model, voice } = settings;
  return {
    id: testKey(assistantId, ids.make('run')),
    workspaceId,
    assistantId,
    version: null,
    digest: 'digest',
    settings: { greeting, visitorFields, maxCallSeconds, model, voice },
    tools: [],
    plan: { kind: 'replay', sessionIds: [] },
    origins: { sessionIds: [], visitorIds: [] },
    machine: snapshot('queued', { attempts: 0 }),
    createdAt: 1,
    startedAt: null,
    endedAt: null,
    done: 0,
    of: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    counts: null,
    testsDigest: null,
    ...over,
  };
}

export function key(workspaceId: string, over: Partial<Key> = {}): Key {
  const id = over.id ?? ids.make('key');
  const digest = Uint8Array.from({ length: 32 }, (_, index) => [0, 255, 1, 128][index % 4]!);
  return {
    id,
    workspaceId,
    publicId: id.slice('key_'.length),
    digest,
    name: 'k',
    assistantIds: null,
    expiresAt: null,
    limits: { requests: 60, speech: 30, transcriptionTokens: 10 },
    createdAt: 1,
    revokedAt: null,
    machine: snapshot('active', { expiresAt: null, revokedAt: null, debt: null }),
    ...over,
  };
}

export function credential(workspaceId: string, over: Partial<Credential> = {}): Credential {
  return {
    id: ids.make('crd'),
    workspaceId,
    kind: 'model',
    provider: 'openai',
    baseUrl: null,
    sealed: new Uint8Array([9, 0, 200]),
    createdAt: 1,
    updatedAt: 1,
    ...over,
  };
}

export function webhook(workspaceId: string, over: Partial<Webhook> = {}): Webhook {
  return {
    id: ids.make('whk'),
    workspaceId,
    url: 'https://crm.example/parley',
    events: ['turn.completed', 'session.expired'],
    enabled: true,
    sealed: new Uint8Array([7, 0, 200]),
    createdAt: 1,
    updatedAt: 1,
    ...over,
  };
}

export function tool(workspaceId: string, over: Partial<Tool> = {}): Tool {
  return {
    id: ids.make('tool'),
    workspaceId,
    kind: 'http',
    name: 'Orders',
    url: 'https://orders.example/call',
    credentialId: null,
    timeoutSeconds: 20,
    repeatable: false,
    approval: 'never',
    show: 'name',
    callsPerMinute: null,
    functions: [
      {
        name: 'look_up',
        description: 'Looks an order up. 👋',
        parameters: { type: 'object', properties: { order: { type: 'string' } } },
        enabled: true,
        approval: null,
        show: 'full',
      },
    ],
    refreshedAt: null,
    refreshError: { at: 7, step: 'list', error: 'timeout' },
    sealed: new Uint8Array([2, 0, 255]),
    previous: { sealed: new Uint8Array([1]), untilMs: 5 },
    earlier: [{ sealed: new Uint8Array([0, 3]), untilMs: 4 }],
    createdAt: 1,
    updatedAt: 1,
    ...over,
  };
}

export function message(over: Partial<Message> = {}): Message {
  return {
    id: ids.make('msg'),
    turnId: null,
    role: 'assistant',
    content: 'Hello 👋',
    status: 'completed',
    stopReason: 'end',
    errorCode: null,
    createdAt: 1,
    ...over,
  };
}

export const toolCall = (over: Partial<ToolCall> = {}): ToolCall => ({
  id: 'call_1',
  name: 'look_up',
  round: 0,
  position: 0,
  status: 'running',
  error: null,
  arguments: { order: '👋' },
  output: null,
  show: 'name',
  sent: true,
  createdAtMs: 1000,
  endedAtMs: null,
  ...over,
});

/** The assistant's message of a turn in flight, as a reader must find it. */
export const streaming = ({ id, messageId, createdAt }: Turn, content = ''): Message =>
  message({ id: messageId, turnId: id, content, status: 'streaming', stopReason: null, createdAt });

export const remembered = (
  resultId: string,
  untilMs: number,
  over: Partial<IdempotencyRecord> = {},
): IdempotencyRecord => ({
  scope: 'key_1 /sessions',
  key: 'again',
  bodyDigest: 'd',
  resultId,
  untilMs,
  ...over,
});

export const usageQuery = (start: number, end: number, over: Partial<UsageQuery> = {}): UsageQuery => ({
  assistantIds: null,
  start,
  end,
  bucketSeconds: 3600,
  ...over,
});

/** A slot of the API's turns. */
export const api = (ceiling: number): Slot => ({ name: 'api', ceiling });

/** A separate workspace in a store, with short names for the steps. */
export class Scene {
  readonly store: Store;
  readonly nowMs: number;
  readonly now: number;
  readonly workspaceId = ids.make('wks');
  readonly assistantId = ids.make('asst');
  readonly owner = ids.secret();

  constructor(store: Store, nowMs: number) {
    this.store = store;
    this.nowMs = nowMs;
    this.now = Math.floor(nowMs / 1000);
  }

  session(over: Partial<Session> = {}): Session {
    const { expiresAt = this.now + 600 } = over;
    return {
      id: ids.make('ses'),
      workspaceId: this.workspaceId,
      assistantId: this.assistantId,
      channel: 'api',
      visitor: { email: 'a@b.example', age: 7, vip: true },
      metadata: { plan: 'gold' },
      maxCallSeconds: 600,
      createdAt: this.now,
      expiresAt,
      lastActivityAt: this.now,
      messageCount: 0,
      machine: sessionState('open', expiresAt),
      ...over,
    };
  }

  createStep(over: Partial<CreateSession> = {}): CreateSession {
    return { session: this.session(), greeting: null, remember: null, nowMs: this.nowMs, ...over };
  }

  async created(over: Partial<Session> = {}): Promise<Session> {
    const session = this.session(over);
    await this.store.sessions.create(this.createStep({ session }));
    return session;
  }

  beginStep(before: Session, version: number, over: Partial<BeginTurn> = {}): BeginTurn {
    const messageId = ids.make('msg');
    const turn: Turn = {
      id: ids.make('turn'),
      sessionId: before.id,
      messageId,
      messageIndex: before.messageCount + 1,
      status: 'streaming',
      stopReason: null,
      errorCode: null,
      inputTokens: 0,
      outputTokens: 0,
      createdAt: this.now,
      endedAt: null,
    };
    return {
      session: {
        ...before,
        messageCount: before.messageCount + 2,
        machine: sessionState('streaming', before.expiresAt, turn.id),
      },
      ...at(version, before.mark),
      turn,
      userMessage: message({ turnId: turn.id, role: 'user', content: 'What is it?', stopReason: null }),
      slot: before.channel === 'api' ? api(10) : null,
      owner: this.owner,
      leaseUntilMs: this.nowMs + 60_000,
      remember: null,
      nowMs: this.nowMs,
      ...over,
    };
  }

  /** A turn begun on a session. */
  async begun(before: Session, version: number, over: Partial<BeginTurn> = {}): Promise<Begun> {
    const step = this.beginStep(before, version, over);
    const answer = await this.store.turns.begin(step);
    return new Begun(this, before, step, begunOf(answer));
  }

  /** A turn that was begun on a separate session. */
  async streaming(over: Partial<BeginTurn> = {}, session: Partial<Session> = {}): Promise<Begun> {
    return this.begun(await this.created(session), 1, over);
  }

  transcript(sessionId: string): Promise<Message[]> {
    return this.store.sessions.messages(this.workspaceId, sessionId, page()).then(({ items }) => items);
  }

  filter(over: Partial<SessionFilter> = {}): SessionFilter {
    return { assistantIds: null, status: null, activeSince: 0, now: this.now, ...over };
  }
}

function begunOf(answer: BegunTurn): { version: number; fence: Fence } {
  if (answer.outcome !== 'begun') throw new Error(`The turn did not begin: ${answer.outcome}.`);
  return answer;
}

/** A turn in flight, with its further steps. */
export class Begun {
  readonly scene: Scene;
  readonly before: Session;
  readonly step: BeginTurn;
  readonly version: number;
  readonly fence: Fence;
  readonly place: TurnPlace;

  constructor(scene: Scene, before: Session, step: BeginTurn, { version, fence }: { version: number; fence: Fence }) {
    this.scene = scene;
    this.before = before;
    this.step = step;
    this.version = version;
    this.fence = fence;
    this.place = { workspaceId: scene.workspaceId, sessionId: before.id, turnId: step.turn.id };
  }

  append(position: number, text: string, fence = this.fence): Promise<AppendResult> {
    return this.scene.store.turns.append({ ...this.place, fence, position, text });
  }

  finishStep(over: Partial<FinishTurn> = {}, turn: Partial<Turn> = {}): FinishTurn {
    return {
      session: { ...this.step.session, machine: sessionState('open', this.step.session.expiresAt) },
      ...at(this.version, this.step.session.mark),
      turn: {
        ...this.step.turn,
        status: 'completed',
        stopReason: 'end',
        inputTokens: 3,
        cachedInputTokens: 2,
        outputTokens: 5,
        endedAt: this.scene.now,
        ...turn,
      },
      message: { ...streaming(this.step.turn), status: 'completed', stopReason: 'end' },
      tail: { position: 0, text: '' },
      fence: this.fence,
      nowMs: this.scene.nowMs,
      ...over,
    };
  }

  withdrawStep(over: Partial<WithdrawTurn> = {}): WithdrawTurn {
    return {
      session: this.before,
      ...at(this.version, this.step.session.mark),
      turn: this.step.turn,
      fence: this.fence,
      ...over,
    };
  }
}
