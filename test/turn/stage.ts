/** A turn in flight whose store answers when the test lets it, and whose model's text the test sets. */
import { nobody } from '../../src/actors/cause.ts';
import { Inspector } from '../../src/actors/inspector.ts';
import type { ModelStream, ModelFailure, ModelSink, ModelUsage } from '../../src/providers/model.ts';
import { describe, noTools } from '../host/scene.ts';
import type { AppendResult, ToolCall } from '../../src/store/store.ts';
import type { TurnFault } from '../../src/metrics/metrics.ts';
import { Pace } from '../../src/turn/pace.ts';
import type { PreparedRequest } from '../../src/assistant/model.ts';
import type { TurnTools } from '../../src/assistant/tools.ts';
import type { Fate, TurnResult, Speaker } from '../../src/turn/ports.ts';
import { TurnRunner } from '../../src/turn/runner.ts';
import { ManualClock } from '../providers/model/provider.ts';

interface StartOptions {
  readonly holdable?: boolean;
  readonly credential?: boolean;
  readonly fault?: unknown;
}

/** A step of the store that waits for its answer. */
export class Step<Asked, Answer> {
  readonly asked: Asked;
  readonly answer: Promise<Answer>;
  resolve!: (answer: Answer) => void;
  reject!: (error: Error) => void;

  constructor(asked: Asked) {
    this.asked = asked;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

export interface Finish {
  readonly outcome: TurnResult;
  readonly tail: { readonly position: number; readonly text: string } | null;
  readonly usage: ModelUsage | null;
  /** The code points that count. */
  readonly length: number;
}

export const counted: ModelUsage = { inputTokens: 1, outputTokens: 2 };
export const turnMsMax = 5000;

export class Stage {
  readonly clock = new ManualClock();
  readonly pace = new Pace(this.clock);
  readonly appends: Step<{ position: number; text: string }, AppendResult>[] = [];
  readonly steps: Step<{ from: number; calls: readonly ToolCall[] }, AppendResult>[] = [];
  tools: TurnTools = noTools;
  readonly finishes: Step<Finish, 'fenced' | ModelUsage>[] = [];
  readonly withdrawals: Step<null, boolean>[] = [];
  readonly fates: Step<number, Fate | null | 'unknown'>[] = [];
  /** Whether somebody waits for the fate that was asked for last. */
  wanted: () => boolean = () => false;
  readonly reasons: ModelFailure[] = [];
  readonly faults: { readonly reason: TurnFault; readonly cause: unknown }[] = [];
  /** The statuses that `over` was called with. */
  readonly statuses: string[] = [];
  readonly runner: TurnRunner;
  model!: ModelSink;
  #prepare: () => PreparedRequest | null = () => null;
  calls = 0;
  cancelled = 0;
  /** Whether the model may send: null for a model without backpressure. */
  heard: boolean | null = null;
  begun: string | null = null;
  settled: boolean | null = null;
  over = false;
  /** Number of times that the turn's end became known. */
  ends = 0;
  /** Number of times that the next model was chosen. */
  nexts = 0;
  /** Number of times that the turn was left. */
  left = 0;

  /** `unsure`: as on a store that processes share. */
  constructor({ unsure = false, fallbacks = 0, inspector = new Inspector(), speaker = null as Speaker | null } = {}) {
    const step = <Asked, Answer>(steps: Step<Asked, Answer>[], asked: Asked): Promise<Answer> => {
      const made = new Step<Asked, Answer>(asked);
      steps.push(made);
      return made.answer;
    };
    this.runner = new TurnRunner(
      { turnId: 'turn_1', messageId: 'msg_1', workspaceId: 'ws_1', cause: nobody },
      {
        steps: {
          open: () => {},
          append: (position, text) => step(this.appends, { position, text }),
          finish: ({ result: outcome, tail, usage, log }) =>
            step(this.finishes, { outcome, tail, usage, length: tail === null ? log.stored : log.length }),
          withdraw: () => step(this.withdrawals, null),
          fate: (position, wanted) => {
            this.wanted = wanted;
            return step(this.fates, position);
          },
          noteLeftOut: () => {},
          release: async () => {},
          beganAt: 0,
          conversation: () => [],
          approved: null,
          step: (from, calls) => step(this.steps, { from, calls }),
          leave: () => void this.left++,
        },
        speaker,
        span: null,
        model: {
          prepare: () => this.#prepare(),
          tools: this.tools,
          fallbacks,
          asked: null,
          next: () => void this.nexts++,
          noteEnd: () => {},
          tokensMax: () => 0,
        },
        reports: {
          leftOut: () => {},
          providerFailed: (reason) => void this.reasons.push(reason),
          ourFault: (_turnId, reason, cause) => void this.faults.push({ reason, cause }),
          over: (status) => void this.statuses.push(status),
        },
        clock: this.clock,
        pace: this.pace,
        inspector,
        turnMsMax,
        shared: unsure,
      },
    );
    void this.runner.begun.then(({ kind }) => (this.begun = kind));
    void this.runner.settled.then((stored) => (this.settled = stored));
    void this.runner.over.then(() => (this.over = true));
    void this.runner.ended.then(() => this.ends++);
  }

  /** Calls the model. `fault`: that its credential cannot be looked up; `credential`: whether there is one. */
  start({ holdable = false, credential = true, fault = null }: StartOptions = {}): this {
    const start = (sink: ModelSink): ModelStream => {
      this.calls++;
      this.model = sink;
      const cancel = (): void => void this.cancelled++;
      if (!holdable) return { cancel };
      this.heard = true;
      return { cancel, hold: () => (this.heard = false), resume: () => (this.heard = true) };
    };
    this.#prepare = () => {
      if (fault !== null) throw fault;
      return credential ? { leftOut: 0, start, describe } : null;
    };
    this.runner.start();
    return this;
  }

  /** The model says something and the store takes it. */
  async says(text: string): Promise<void> {
    this.model.text(text);
    await settle();
    this.appends.at(-1)!.resolve('stored');
    await settle();
  }

  /** The text that a reader sees. */
  get seen(): string {
    const { pieces, storedPieces } = this.runner.log;
    return pieces.slice(0, storedPieces).join('');
  }

  /** The end as readers see it; null while it runs. */
  get end(): string | null {
    const { terminal } = this.runner.log;
    if (terminal === null) return null;
    return terminal.type === 'failed' ? terminal.errorCode : terminal.type;
  }
}

/** Lets every promise that can settle settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await null;
}
