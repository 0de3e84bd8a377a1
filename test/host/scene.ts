/** A host on a store in memory, with a manual clock and a model whose text the test sets. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { pino } from 'pino';
import { draftSnapshot } from '../../src/host/assistants.ts';
import type { SpanStart } from '../../src/base/tracing.ts';
import type { LiveSession } from '../../src/turn/in-flight.ts';
import { Host } from '../../src/host.ts';
import { randomIds } from '../../src/base/ids.ts';
import type { TurnFault } from '../../src/metrics/metrics.ts';
import type { ModelStream, ModelSink } from '../../src/providers/model.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { stepOf, storeOf, type Steps } from '../../src/store/steps.ts';
import type { Cause, Message, IdempotencyRecord, Session, Store } from '../../src/store/store.ts';
import type { PreparedRequest, TurnModel } from '../../src/assistant/model.ts';
import type { TurnTools } from '../../src/assistant/tools.ts';
import type { Speaker, TurnReports } from '../../src/turn/ports.ts';
import type { TurnRunner } from '../../src/turn/runner.ts';
import { ManualClock } from '../providers/model/provider.ts';
import * as records from '../store/fixtures.ts';
import type { NewSession } from '../../src/turn/new-session.ts';

export const turnMsMax = 100_000;

/** A turn in flight as the test has it. */
export interface Talk {
  readonly runner: TurnRunner;
  readonly model: ModelSink;
  readonly history: readonly Message[];
  readonly cancelled: () => boolean;
}

/** A model that says what the test has it say. */
export class StagedModel implements TurnModel {
  /** The messages that it was given. */
  conversation: readonly Message[] = [];
  sink: ModelSink | null = null;
  cancelled = false;
  readonly tools = noTools;
  readonly fallbacks = 0;
  readonly asked = null;
  readonly #says: (sink: ModelSink) => void;

  /** `says`: what it says at once. */
  constructor(says: (sink: ModelSink) => void = () => {}) {
    this.#says = says;
  }

  next(): void {}

  noteEnd(): void {}

  /** The length of the last message. */
  tokensMax(conversation: readonly { readonly content: string }[]): number {
    return conversation.at(-1)!.content.length;
  }

  prepare(conversation: readonly Message[]): PreparedRequest {
    this.conversation = conversation;
    return { leftOut: 0, start: (sink) => this.#start(sink), describe };
  }

  #start(sink: ModelSink): ModelStream {
    this.sink = sink;
    this.#says(sink);
    return { cancel: () => void (this.cancelled = true) };
  }
}

export const describe = (): SpanStart => ({
  kind: 'round',
  provider: 'scripted',
  model: 'scripted',
  outputTokensMax: null,
  temperature: null,
  address: null,
});

/** The tools of an assistant that has none. */
export const noTools: TurnTools = {
  roundsMax: 8,
  find: () => null,
  check: () => null,
  misfit: () => '',
  noteOffered: () => {},
  makeId: () => 'call_1',
  admit: async () => 'unknown_tool',
  admitApproved: async () => 'unknown_tool',
  noteUnsent: () => {},
  call: async () => ({ status: 'cancelled' }),
};

export const unreported: TurnReports = {
  providerFailed: () => {},
  leftOut: () => {},
  ourFault: () => {},
  over: () => {},
};

export class Scene {
  readonly clock: ManualClock;
  readonly engine: MemoryEngine;
  readonly store: Store;
  readonly host: Host;
  readonly workspaceId: string;
  readonly assistantId: string;
  /** Ends of this host's turns. */
  readonly overs: string[] = [];
  /** Turns that failed for a fault of ours. */
  readonly faults: { readonly reason: TurnFault; readonly cause: unknown }[] = [];

  /** Another process' view of the same rows, or of the same store, is made with `beside`. */
  private constructor(parts: {
    clock: ManualClock;
    engine: MemoryEngine;
    store: Store;
    workspaceId: string;
    assistantId: string;
  }) {
    this.clock = parts.clock;
    this.engine = parts.engine;
    this.store = parts.store;
    this.workspaceId = parts.workspaceId;
    this.assistantId = parts.assistantId;
    this.host = new Host(parts.store, parts.clock, randomIds(parts.clock), pino({ level: 'silent' }), turnMsMax);
  }

  static async open({ retentionDays = 30, turnsInFlightMax = 10 } = {}): Promise<Scene> {
    const clock = new ManualClock();
    const engine = new MemoryEngine();
    const store = new EmbeddedStore(engine);
    await store.open(clock.now());
    const workspace = records.workspace({ retentionDays, turnsInFlightMax });
    const assistant = records.assistant(workspace.id, { machine: { ...draftSnapshot(false), state: 'published' } });
    await store.catalog.create('workspace', workspace);
    await store.catalog.create('assistant', assistant);
    return new Scene({ clock, engine, store, workspaceId: workspace.id, assistantId: assistant.id });
  }

  /** A second process on the same store. */
  beside(store: Store = this.store): Scene {
    return new Scene({ ...this, store });
  }

  /** A process that starts on what this one left in its store when it died. */
  async afterDeath(): Promise<Scene> {
    this.host.close();
    const store = new EmbeddedStore(this.engine);
    await store.open(this.clock.now());
    return new Scene({ ...this, store });
  }

  async session({
    maxCallSeconds = 3600,
    greeting = null,
    channel = 'api',
  }: Partial<Pick<NewSession, 'maxCallSeconds' | 'greeting' | 'channel'>> = {}): Promise<Session> {
    const { workspaceId, assistantId } = this;
    const wanted = {
      workspaceId,
      assistantId,
      channel,
      visitor: {},
      metadata: {},
      maxCallSeconds,
      greeting,
      remember: null,
    };
    return (await this.host.sessions.create(wanted)).session;
  }

  async actor(sessionId: string): Promise<LiveSession> {
    const actor = await this.host.sessions.of(this.workspaceId, sessionId);
    if (actor === null) throw new Error('There is no such session.');
    return actor;
  }

  /** Begins a turn; throws the refusal. */
  async begin(
    sessionId: string,
    remember: Omit<IdempotencyRecord, 'resultId' | 'untilMs'> | null = null,
    takesSlot = true,
    cause?: Cause,
    speaker?: Speaker,
  ): Promise<Talk> {
    const model = new StagedModel();
    const started = await this.host.turns.begin(await this.actor(sessionId), {
      message: 'Hello',
      assistantRefusal: null,
      takesSlot,
      remember,
      ...(cause && { cause }),
      ...(speaker && { speaker }),
      model,
      reports: {
        ...unreported,
        ourFault: (_turnId, reason, cause) => this.faults.push({ reason, cause }),
        over: (status) => this.overs.push(status),
      },
    });
    if (started.kind !== 'started') throw new Error(`The turn is ${started.kind}.`);
    const { conversation: history, sink } = model;
    if (sink === null) throw new Error('The turn was over before its model was called.');
    return { runner: started.runner, model: sink, history, cancelled: () => model.cancelled };
  }

  /** Begins a turn and has its first words stored. */
  async streaming(sessionId: string, words = 'one ', takesSlot = true, cause?: Cause): Promise<Talk> {
    const talk = await this.begin(sessionId, null, takesSlot, cause);
    talk.model.text(words);
    await talk.runner.begun;
    return talk;
  }

  async transcript(sessionId: string): Promise<Message[]> {
    return (await this.store.sessions.messages(this.workspaceId, sessionId, records.page())).items;
  }

  async state(sessionId: string): Promise<string | undefined> {
    return (await this.store.sessions.read(this.workspaceId, sessionId))?.record.machine.state;
  }
}

/** The store with some of its steps replaced, or with another lease. */
export function withSteps(
  store: Store,
  { leaseMs = store.leaseMs, ...steps }: Partial<Steps & Pick<Store, 'leaseMs'>>,
): Store {
  return storeOf({ name: store.name, leaseMs }, (name) => steps[name] ?? stepOf(store, name));
}

/** Time passes in steps that let what fell due happen. */
export async function pass(scene: Scene, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    scene.clock.advance(Math.min(left, 50));
    await turnOfTheLoop();
  }
}
