/**
 * The tool calls of a turn (contract 13): the calls of a round are stored together before any is sent, each result is
 * stored before anybody sees it, and the model gets the next request once all have a result.
 */
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/clock.ts';
import type { OpaqueFields } from '../base/opaque-fields.ts';
import type { Span } from '../base/tracing.ts';
import { codePoints } from '../base/text.ts';
import type { AnswerCut, ModelMessage } from '../providers/model.ts';
import { modelToolCall, resultText } from '../providers/model/history.ts';
import { cutOutput, type OfferedFunction, type ToolResult } from '../providers/tool.ts';
import {
  StoreUnavailable,
  type AmendedMessage,
  type AppendResult,
  type StopRequest,
  type ToolCall,
  type ToolError,
} from '../store/store.ts';
import { cancelledIfPending, type Approved } from './pending-tool-calls.ts';
import type { TurnTools } from '../assistant/tools.ts';
import type { CallsMade, TurnSteps } from './ports.ts';
import type { TurnLog } from './log.ts';
import { pause } from './writer.ts';
import { appendRetryMsMax, retryMs } from '../base/store-retry.ts';

/** Characters that are kept of the arguments of a tool call above `toolCallsMax`. */
export const toolArgumentsKept = 1024;

/** The turn, as its tool calls report to it. */
export interface ToolCallEvents {
  readonly turnId: string;
  /** Whether the turn is in `calling`. */
  readonly calls: boolean;
  /** Whether a result that the store rejected is sent again. */
  readonly retries: boolean;
  noted(): void;
  /**
   * Each call of the round has a result, or waits for the caller: then `awaited`; after the last round `ended`. `cut`:
   * the reason why the round is incomplete.
   */
  roundOver(how: 'answered' | 'awaited' | 'ended', cut?: AnswerCut): void;
  unstored(error: unknown): void;
  taken(): void;
  stopRequested(reason: StopRequest): void;
}

interface RequestedCall {
  readonly name: string;
  readonly text: string;
  readonly opaque: OpaqueFields | undefined;
}

/** A round of the model, and the index of its first call among the turn's. */
interface Round {
  readonly text: string;
  readonly kept: unknown;
  readonly from: number;
}

/** A call that has been sent. */
interface Running {
  call: ToolCall;
  /** The call with its result, once it has one; it may not be stored yet. */
  ended: ToolCall | null;
  readonly offered: OfferedFunction;
  readonly controller: AbortController;
}

export class ToolCallRounds implements CallsMade {
  /** The calls of the turn's own message. */
  readonly made: ToolCall[] = [];
  readonly #turn: ToolCallEvents;
  readonly #tools: TurnTools;
  readonly #steps: TurnSteps;
  readonly #log: TurnLog;
  readonly #clock: Clock;
  readonly #span: Span | null;
  readonly #rounds: Round[] = [];
  #approved: Approved | null;
  #asked: RequestedCall[] = [];
  /** The reason why the round, and perhaps its arguments, are incomplete; undefined if they are complete. */
  #cut: AnswerCut | undefined;
  #kept: unknown;
  #running: Running[] = [];
  /** The results of approved calls that were stored, one after the other. */
  #storing: Promise<unknown> = Promise.resolve();
  /** Code points of results in this turn. */
  #results = 0;
  /** Characters of the opaque fields that providers put on the turn's calls. */
  #opaques = 0;
  #over = false;

  constructor(
    turn: ToolCallEvents,
    tools: TurnTools,
    steps: TurnSteps,
    log: TurnLog,
    clock: Clock,
    approved: Approved | null = null,
    span: Span | null = null,
  ) {
    this.#turn = turn;
    this.#tools = tools;
    this.#steps = steps;
    this.#log = log;
    this.#clock = clock;
    this.#approved = approved;
    this.#span = span;
  }

  /** Ends the model's round; returns whether it contains tool calls. `cut`: the reason why the round is incomplete. */
  close(cut?: AnswerCut): boolean {
    this.#cut = cut;
    return this.#asked.length > 0;
  }

  /** Takes a tool call of the model. Calls beyond the bound of a round are dropped without a report. */
  ask(name: string, text: string, opaque?: OpaqueFields): void {
    if (this.#asked.length < limits.toolCallsTaken)
      this.#asked.push({ name, text, opaque: opaque && this.#bounded(opaque) });
  }

  /** Drops fields that exceed the bound of the turn, and keeps the id. */
  #bounded(opaque: OpaqueFields): OpaqueFields {
    const { call, round, ...named } = opaque;
    if (call === undefined && round === undefined) return opaque;
    const characters = this.#opaques + JSON.stringify([call, round]).length;
    if (characters > limits.toolOpaquesCharactersMax) return named;
    this.#opaques = characters;
    return opaque;
  }

  keep(opaque: unknown): void {
    this.#kept = opaque;
  }

  /** The number of tool calls that the turn has sent, including approved ones. */
  get sent(): number {
    const approved =
      this.#approved?.message.toolCalls.filter(({ id, sent }) => sent && this.#approved!.ids.includes(id)).length ?? 0;
    return approved + this.made.filter(({ sent }) => sent).length;
  }

  /** Whether the model is offered tools in its next round. */
  get mayCall(): boolean {
    return this.#rounds.length < this.#tools.roundsMax;
  }

  /** The rounds so far, for the model. */
  get messages(): ModelMessage[] {
    return this.#rounds.flatMap(({ text, kept, from }, index) => {
      const calls = this.made.slice(from, this.#rounds[index + 1]?.from ?? this.made.length);
      const results = calls.map((call) => ({ role: 'tool', callId: call.id, content: resultText(call) }) as const);
      return [
        {
          role: 'assistant',
          content: text,
          calls: calls.map(modelToolCall),
          ...(kept !== undefined && { kept }),
        } as const,
        ...results,
      ];
    });
  }

  /** The earlier message with the tool calls that the turn was approved to send; null without one. */
  get amended(): AmendedMessage | null {
    return this.#approved && { index: this.#approved.index, message: this.#approved.message };
  }

  /** Stores the round's calls, after the text before them. `text`: the round's text; `position`: its end. */
  async store(text: string, position: number): Promise<void> {
    if (this.#approved !== null && this.#rounds.length === 0 && this.#asked.length === 0) return this.#turn.noted();
    try {
      const from = this.made.length;
      const calls = await this.#decided(position);
      if (!this.#turn.calls) return;
      if (!this.#goesOn(await this.#again(() => this.#steps.step(from, calls)))) return;
      this.#rounds.push({ text, kept: this.#kept, from });
      this.made.push(...calls);
      this.#asked = [];
      this.#kept = undefined;
      for (const call of calls) if (call.status === 'failed') this.#spanOf(call)?.end({ error: traceError(call) });
      if (this.#turn.calls) this.#turn.noted();
    } catch (error) {
      this.#turn.unstored(error);
    }
  }

  /** Sends the round's calls that are to be sent. */
  send(): void {
    const approved = this.#rounds.length === 0 ? this.#approved : null;
    const calls =
      approved === null
        ? this.made.slice(this.#rounds.at(-1)!.from)
        : approved.message.toolCalls.filter(({ id }) => approved.ids.includes(id));
    this.#over = false;
    for (const call of calls) {
      if (call.sent) this.#log.mark({ kind: 'started', call });
      if (call.status === 'failed') this.#log.mark({ kind: 'ended', call });
    }
    this.#running = calls
      .filter(({ status }) => status === 'running')
      .map((call) => ({ call, ended: null, offered: this.#tools.find(call.name)!, controller: new AbortController() }));
    if (this.#running.length === 0) return this.#end();
    for (const running of this.#running) void this.#run(running);
  }

  /** Cancels the running calls; their connections are closed. */
  cancel(): void {
    this.#over = true;
    for (const { controller } of this.#running) controller.abort();
  }

  /**
   * Ends the calls as the end of the turn stores them: calls without a result are cancelled, and so are calls that wait
   * for the caller, unless the turn ends in them (`awaits`).
   */
  end(awaits: boolean): void {
    this.#over = true;
    const endedAtMs = this.#clock.now();
    if (!awaits) for (const [at, call] of this.made.entries()) this.made[at] = cancelledIfPending(call, endedAtMs);
    // A result on its way to the store may be stored already, and readers elsewhere may have seen it.
    for (const running of this.#running)
      this.#replace(running, running.ended ?? { ...running.call, status: 'cancelled', error: 'cancelled', endedAtMs });
  }

  /** Notifies readers of the results that the end of the turn has stored. */
  notifyResults(): void {
    for (const { call } of this.#running) this.#log.mark({ kind: 'ended', call });
    this.#running = [];
  }

  async #run(running: Running): Promise<void> {
    const { call, offered, controller } = running;
    const span = this.#spanOf(call);
    const result = await this.#tools.call(
      offered,
      call.id,
      call.arguments ?? {},
      this.#turn.turnId,
      controller.signal,
      () => this.#stands(),
      span,
    );
    span?.end({ error: traceError(result) });
    if (this.#over) return;
    const ended = (running.ended = this.#with(call, result));
    try {
      const stored = await this.#storeResult(ended);
      if (isSilenced(stored)) running.ended = null;
      if (this.#over || !this.#goesOn(stored)) return;
    } catch (error) {
      return this.#turn.unstored(error);
    }
    this.#replace(running, ended);
    this.#running = this.#running.filter((other) => other !== running);
    this.#log.mark({ kind: 'ended', call: ended });
    if (this.#running.length === 0) this.#end();
  }

  /** The span of a tool call, with the name of an offered function alone. */
  #spanOf({ id: callId, name }: ToolCall): Span | null {
    if (this.#span === null) return null;
    const offered = this.#tools.find(name);
    return this.#span.child({ kind: 'tool', callId, name: offered && name, isMcp: offered?.kind === 'mcp' });
  }

  /**
   * Whether the turn still runs here according to the store, and no person has taken its session: a step without calls
   * changes nothing. Asks again after an answer that took so long that the turn may have ended since. Rejects if the store
   * is away.
   */
  async #stands(): Promise<boolean> {
    for (let isLate = true; isLate;) {
      const askedAt = this.#clock.monotonic();
      if (!this.#goesOn(await this.#again(() => this.#steps.step(0, []))) || this.#over) return false;
      isLate = this.#clock.monotonic() - askedAt >= limits.stopMs / 2;
    }
    return true;
  }

  #end(): void {
    if (!this.#turn.calls) return;
    const from = this.#rounds.at(-1)?.from ?? 0;
    if (this.made.slice(from).some(({ status }) => status === 'pending')) return this.#turn.roundOver('awaited');
    this.#turn.roundOver(this.#rounds.length > this.#tools.roundsMax ? 'ended' : 'answered', this.#cut);
  }

  /** The index of the call among the turn's calls; -1 for an approved call of the earlier message. */
  #placeOf({ id }: ToolCall): number {
    return this.made.findIndex((call) => call.id === id);
  }

  /**
   * Approved calls are in one message, which each step stores whole, with all results so far. The steps follow each
   * other: otherwise one would undo another.
   */
  #storeResult(call: ToolCall): Promise<AppendResult> {
    const at = this.#placeOf(call);
    if (at >= 0) return this.#again(() => this.#steps.step(at, [call]));
    this.#approved = withCall(this.#approved!, call);
    const stored = this.#storing.then(() => this.#again(() => this.#steps.step(0, [], this.#approved!)));
    this.#storing = stored.catch(() => {});
    return stored;
  }

  #replace(running: Running, call: ToolCall): void {
    running.call = call;
    const at = this.#placeOf(call);
    if (at >= 0) this.made[at] = call;
    else this.#approved = withCall(this.#approved!, call);
  }

  #with(call: ToolCall, result: ToolResult): ToolCall {
    const endedAtMs = this.#clock.now();
    if (result.status === 'failed') return { ...call, ...result, endedAtMs };
    if (result.status === 'cancelled') return { ...call, status: 'cancelled', error: 'cancelled', endedAtMs };
    const output = cutOutput(
      result.output,
      Math.min(limits.toolOutputCharactersMax, limits.toolOutputsCharactersMax - this.#results),
    );
    this.#results += codePoints(output);
    return { ...call, status: 'completed', output, endedAtMs };
  }

  /** The records of the round's calls; calls that are sent are `running`. */
  #decided(position: number): Promise<ToolCall[]> {
    const tools = this.#tools;
    const round = this.#rounds.length;
    const createdAtMs = this.#clock.now();
    return Promise.all(
      this.#asked.map(async ({ name, text, opaque }, index): Promise<ToolCall> => {
        const offered = tools.find(name);
        const input = tools.check(offered, text);
        // The arguments of calls beyond the bound are kept only if they are short: a model may make many such calls.
        const isKept = index < limits.toolCallsMax || text.length <= toolArgumentsKept;
        const base = {
          id: tools.makeId(),
          name: offered?.name ?? namable(name),
          round,
          position,
          arguments: isKept ? (input ?? tools.check(null, text)) : null,
          output: null,
          ...(opaque && { opaque }),
          show: offered?.show ?? 'name',
          createdAtMs,
        } as const;
        const failed = (error: ToolError, reason?: string): ToolCall => ({
          ...base,
          status: 'failed',
          error,
          didNotAct: true,
          ...(reason !== undefined && { reason }),
          endedAtMs: createdAtMs,
        });
        const unsent =
          index >= limits.toolCallsMax || round >= tools.roundsMax
            ? 'limit'
            : offered === null
              ? 'unknown_tool'
              : input === null || this.#isCutOff(input)
                ? 'arguments'
                : null;
        if (unsent !== null || offered === null) {
          tools.noteUnsent(unsent!);
          return unsent !== 'arguments'
            ? failed(unsent!)
            : failed(unsent, this.#cut === undefined ? tools.misfit(offered!, text) : cutReasonOf(this.#cut));
        }
        const wants = offered.kind === 'client' ? 'result' : offered.approval === 'always' ? 'approval' : null;
        if (wants !== null) return { ...base, status: 'pending', error: null, wants, endedAtMs: null };
        const refusal = await tools.admit(offered);
        if (refusal !== null) return failed(refusal);
        // A call of the desk goes to no tool, and counts as none.
        const sent = offered.kind === 'desk' ? null : ({ sent: true } as const);
        return { ...base, status: 'running', error: null, ...sent, endedAtMs: null };
      }),
    );
  }

  /** Whether arguments may be the beginning of longer ones. */
  #isCutOff(input: Readonly<Record<string, unknown>>): boolean {
    return this.#cut !== undefined && Object.keys(input).length === 0;
  }

  /** Whether the turn continues after a step. */
  #goesOn(answer: AppendResult): boolean {
    if (answer === 'fenced') this.#turn.taken();
    else if (typeof answer === 'object') this.#turn.stopRequested(answer.stop);
    return answer !== 'fenced' && !isSilenced(answer);
  }

  /** Repeats a step while the store is away, as long as the turn may wait for it. */
  async #again(step: () => Promise<AppendResult>): Promise<AppendResult> {
    for (let tries = 0; ; tries++) {
      try {
        return await step();
      } catch (error) {
        if (!this.#turn.calls || !this.#turn.retries || !(error instanceof StoreUnavailable)) throw error;
        await pause(this.#clock, Math.min(retryMs(tries), appendRetryMsMax));
      }
    }
  }
}

/** Whether a person has taken the session, so that the step has stored nothing. */
const isSilenced = (answer: AppendResult): boolean => typeof answer === 'object' && answer.stop === 'taken';

/** The error of a tool call as its span has it. */
const traceError = (call: { readonly status: string; readonly error?: ToolCall['error'] }): string | null =>
  call.status === 'completed' ? null : call.error === 'refused' ? 'tool_error' : (call.error ?? call.status);

/** The reason for the model why its provider has cut the arguments. */
const cutReasonOf = (cut: AnswerCut): string =>
  `The reply was cut off before they were complete.${cut === 'length' ? ' Call again, with less in one reply.' : ''}`;

const withCall = (approved: Approved, call: ToolCall): Approved => ({
  ...approved,
  message: {
    ...approved.message,
    toolCalls: approved.message.toolCalls.map((other) => (other.id === call.id ? call : other)),
  },
});

/** The name of an unknown tool, in the characters that a tool's name may have. */
const namable = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || '_';
