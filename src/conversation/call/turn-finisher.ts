/**
 * Ends the replies of a call: carries out what their machines decide about turns and words (`machines/reply.ts`), one
 * turn after the other (contract 18).
 */
import type { CutBy } from '../../../machines/call.ts';
import type { ReplyEvent, ReplyOutcome } from '../../../machines/reply.ts';
import type { Cause } from '../../store/store.ts';
import type { Heard } from '../../turn/ports.ts';
import type { TurnRunner } from '../../turn/runner.ts';
import { isStopping } from '../../turn/states.ts';
import { causeByPrincipal } from '../principal.ts';
import { endMessage, failedMessage } from './messages.ts';
import type { CallPort } from './port.ts';
import type { Reply, Untimed } from './reply.ts';
import type { SpeechInput } from './speech-input.ts';

export interface TurnFinisherOptions {
  readonly port: Pick<
    CallPort,
    'services' | 'principal' | 'requestId' | 'context' | 'isClosed' | 'now' | 'tell' | 'broke'
  >;
  readonly speech: Pick<SpeechInput, 'putBack'>;
  /** The reply is not open any more. */
  ended(reply: Reply): void;
}

/** Events that end an open reply. */
export type EndingEvent = Extract<ReplyEvent, { type: 'cut' | 'fail' | 'finish' | 'withdraw' | 'leave' }>;

/** Outcomes that need the store, one after the other. */
type StepOutcome = Extract<
  ReplyOutcome,
  { type: 'turn.withdraw' | 'turn.cut' | 'turn.ended' | 'turn.fail' | 'turn.finish' }
>;

export class TurnFinisher {
  readonly #options: TurnFinisherOptions;
  readonly #cause: Cause;
  /** Replies whose turns are known and not settled, by their messages. */
  readonly replies = new Map<string, Reply>();
  /** Resolves once the turns begun and ended so far are. */
  steps: Promise<unknown> = Promise.resolve();
  /** Settling replies that hold words. */
  #owed = 0;
  /** Withdrawn replies that hold words until the store has answered whether it has them. */
  readonly #asking = new Set<Reply>();
  /** Number of times that words of a settled reply were returned. */
  returned = 0;

  constructor(options: TurnFinisherOptions) {
    this.#options = options;
    this.#cause = causeByPrincipal(options.port.principal, options.port.requestId);
  }

  /** Whether a settling reply may still return words, which come before those that the person says now. */
  get owesWords(): boolean {
    return this.#owed > 0 || this.#asking.size > 0;
  }

  /** Runs a step after the steps before it. */
  step(act: () => Promise<void> | void): void {
    this.steps = this.steps.then(act).catch((error) => this.#options.port.broke(error));
  }

  /** Ends waits for reports: the client sends no more. */
  close(): void {
    for (const reply of this.replies.values()) reply.playout.unreported();
  }

  /** Takes the position at which a client says that it cut a reply, never beyond the estimate. */
  truncate(messageId: string, samples: number): boolean {
    const reply = this.replies.get(messageId);
    const { clock } = this.#options.port.services;
    reply?.playout.report(Math.min(samples, reply.playout.position.estimated(clock.monotonic())));
    return reply !== undefined;
  }

  cut(reply: Reply, by: CutBy): void {
    this.end(reply, { type: 'cut', by, closing: this.#options.port.isClosed });
  }

  finish(reply: Reply): void {
    this.end(reply, { type: 'finish' });
  }

  /** Ends a reply that failed, and reports the failure to the client. */
  fail(reply: Reply): void {
    this.end(reply, { type: 'fail', reports: this.#options.port.context.reports }, true);
  }

  /** The call has no use for the reply: its turn cannot begin, or another turn runs. */
  leave(reply: Reply): void {
    this.end(reply, { type: 'leave' });
  }

  /**
   * Takes a reply back. `fails`: because it failed, which has another message. `by`: the cause of the cut, for a turn
   * that stays because it has stored tool calls.
   */
  withdraw(reply: Reply, fails: boolean, by: CutBy): void {
    const { reports } = this.#options.port.context;
    this.end(reply, { type: 'withdraw', called: reply.hasCalled, fails, by, reports });
  }

  /** Sends the reply's machine an event that ends it. `reports`: the client gets a message of the failure. */
  end(reply: Reply, event: Untimed<EndingEvent>, reports = false): void {
    const outcomes = reply.send(event);
    // A settling reply holds its words until its position is known.
    if (outcomes.some(({ type }) => type === 'words.return')) this.#putBack(reply);
    const settles = outcomes.some(({ type }) => type === 'position.ask');
    if (!settles && reply.context.asking) this.#asking.add(reply);
    else if (!settles) reply.giveWords();
    this.#options.ended(reply);
    for (const outcome of outcomes) {
      if (outcome.type === 'position.ask') this.#settle(reply, reports);
      else if (outcome.type === 'turn.withdraw') {
        // Later its tool calls may be stored: the steps before this one take time.
        reply.runner?.endSpeech('unheard');
        this.step(() => this.#carryOut(reply, outcome, null));
      } else if (outcome.type === 'turn.finish')
        this.step(async () => this.#carryOut(reply, outcome, await reply.position));
    }
  }

  /** Takes what a reply's machine decides as the store answers whether its turn begins. */
  answered(reply: Reply, outcomes: readonly ReplyOutcome[]): void {
    if (!this.#asking.delete(reply)) return;
    if (outcomes.some(({ type }) => type === 'words.return')) this.#return(reply);
    reply.giveWords();
  }

  /** Removes all traces of a turn that began after its reply was taken back. */
  async remove(reply: Reply): Promise<void> {
    reply.runner?.endSpeech('unheard');
    await reply.runner?.ended;
    this.replies.delete(reply.messageId);
  }

  #putBack(reply: Reply): void {
    const words = reply.giveWords();
    if (words !== null) this.#options.speech.putBack(words);
  }

  /** Waits for the listener's position, and carries out what the machine then decides. */
  #settle(reply: Reply, reports: boolean): void {
    const { ending, cutBy } = reply.context;
    const { metrics } = this.#options.port.services;
    if (ending === 'cut') metrics.calls.interruptions.inc({ kind: cutBy });
    const owed = reply.words === null ? 0 : 1;
    this.#owed += owed;
    this.step(async () => {
      try {
        await this.#settled(reply, await reply.position);
      } finally {
        this.#owed -= owed;
      }
      if (!reports) return;
      const code = reply.context.failing ?? 'assistant_unavailable';
      this.#options.port.tell(failedMessage(reply.turnId, code));
    });
  }

  async #settled(reply: Reply, heard: Heard): Promise<void> {
    const { runner } = reply;
    // A request may have ended the turn meanwhile.
    const stopped = runner !== null && (isStopping(runner.machine) || runner.log.terminal !== null);
    for (const outcome of reply.send({ type: 'settled', points: heard.points, called: reply.hasCalled, stopped })) {
      if (outcome.type === 'words.return') this.#return(reply);
      else if (isStep(outcome)) await this.#carryOut(reply, outcome, heard);
    }
    reply.giveWords();
    this.replies.delete(reply.messageId);
  }

  #return(reply: Reply): void {
    if (reply.words !== null) this.returned++;
    this.#putBack(reply);
  }

  async #carryOut(reply: Reply, outcome: StepOutcome, heard: Heard | null): Promise<void> {
    const { runner } = reply;
    if (runner === null) return;
    const { port } = this.#options;
    if (outcome.type === 'turn.withdraw') runner.endSpeech('unheard');
    else if (outcome.type === 'turn.finish') runner.endSpeech('heard');
    else if (outcome.type === 'turn.fail') runner.endSpeech({ dropped: faults[outcome.code] ?? 'ours' });
    else if (outcome.type === 'turn.cut') this.#seal(runner, outcome.by);
    await runner.ended;
    this.replies.delete(reply.messageId);
    // A client that reads the transcript after this message finds no trace of the turn.
    if (outcome.type === 'turn.withdraw' && outcome.told) port.tell({ type: 'turn.withdrawn', turn_id: runner.turnId });
    if (heard === null || outcome.type === 'turn.withdraw') return;
    port.services.metrics.calls.heard.inc({ basis: heard.voice.heard });
    const { terminal } = runner.log;
    if (terminal !== null && outcome.type !== 'turn.fail') port.tell(endMessage(terminal, runner, heard.voice.cutBy));
  }

  /** Ends the turn of a reply that was cut. The end of the session or of the process ends the turn by itself. */
  #seal(runner: TurnRunner, by: CutBy): void {
    const { reason } = this.#options.port.context;
    if (by !== 'none') runner.endSpeech('cut', this.#cause);
    else if (reason === 'session_expired') void runner.stop('expired');
    else if (reason === 'api_error') void runner.stop('drain');
    else void runner.stop('aborted');
  }
}

const steps: ReadonlySet<string> = new Set([
  'turn.withdraw',
  'turn.cut',
  'turn.ended',
  'turn.fail',
  'turn.finish',
] satisfies StepOutcome['type'][]);
const isStep = (outcome: ReplyOutcome): outcome is StepOutcome => steps.has(outcome.type);

/** Parties whose fault ends a turn whose reply failed with the code. */
const faults: Readonly<Record<string, 'provider' | 'voice'>> = {
  assistant_unavailable: 'provider',
  voice_unavailable: 'voice',
};
