/**
 * How the replies of a call end: their turns are sealed where the listener was, or taken back; one after the other
 * (contract 18).
 */
import type { CutBy } from '../../../machines/call.ts';
import type { Words } from '../../providers/voice/pending-transcript.ts';
import type { Cause } from '../../store/store.ts';
import type { Heard } from '../../turn/ports.ts';
import { isStopping } from '../../turn/states.ts';
import type { Services } from '../services.ts';
import { endMessage, failedMessage } from './messages.ts';
import type { Basis, Reply } from './reply.ts';

export interface EndingsOptions {
  readonly services: Services;
  /** The request that became the call. */
  readonly cause: Cause;
  /** Whether the call is over, and why. */
  isOver(): boolean;
  reason(): string | null;
  /** The call has to do with the reply no more. */
  leave(reply: Reply): void;
  /** The reply is not withdrawn. */
  stays(reply: Reply): void;
  putBack(words: Words): void;
  /** Tells the client. */
  tell(message: object): void;
  failed(error: unknown): void;
}

export class Endings {
  readonly #options: EndingsOptions;
  /** The replies that are not settled, by their messages. */
  readonly replies = new Map<string, Reply>();
  /** Turns begin and end in order. */
  steps: Promise<unknown> = Promise.resolve();
  /** Replies that ended and are not settled, whose words may come back. */
  #owed = 0;
  /** How often words came back to begin the person's next message. */
  returned = 0;

  constructor(options: EndingsOptions) {
    this.#options = options;
  }

  /** Whether words of an earlier turn may yet come before those that the person says now. */
  get owesWords(): boolean {
    return this.#owed > 0;
  }

  /** Takes a step once those before it are done. */
  step(act: () => Promise<void> | void): void {
    this.steps = this.steps.then(act).catch((error) => this.#options.failed(error));
  }

  /** Takes a step that may put these words back. */
  #stepWith(words: Words | null, act: () => Promise<void>): void {
    const owed = words === null ? 0 : 1;
    this.#owed += owed;
    this.step(() => act().finally(() => (this.#owed -= owed)));
  }

  #putBack(words: Words | null): void {
    if (words === null) return;
    this.returned++;
    this.#options.putBack(words);
  }

  /** The client says no more: what waits for a report ends at once. */
  close(): void {
    for (const reply of this.replies.values()) reply.unreported();
  }

  /** Says where the listener of a reply was, never beyond the estimate; false for one that is over. */
  truncate(messageId: string, samples: number): boolean {
    const reply = this.replies.get(messageId);
    reply?.report(Math.min(samples, reply.mouth.cursor.estimated(this.#options.services.clock.monotonic())));
    return reply !== undefined;
  }

  cut(reply: Reply, reason: CutBy): void {
    const { words } = reply;
    reply.words = null;
    const over = this.#options.isOver();
    const settling = reply.settle(reason, basisOf(reason, over));
    this.#options.leave(reply);
    this.#options.services.metrics.calls.interruptions.inc({ kind: reason });
    this.#stepWith(words, async () => {
      const heard = await settling;
      const { runner } = reply;
      if (runner === null) return;
      // Nobody knows of a turn that was asked for early: it never was.
      if (!reply.isTold) return this.takeBack(reply);
      // A request may have ended the turn meanwhile: it stays.
      const isStopped = isStopping(runner.machine) || runner.log.terminal !== null;
      if (
        heard.points === 0 &&
        !isStopped &&
        !reply.hasCalled &&
        !over &&
        (reason === 'speech' || reason === 'client')
      ) {
        this.#putBack(words);
        return this.withdraw(reply);
      }
      this.#options.stays(reply);
      if (!isStopped) this.#stop(reply, reason);
      await runner.ended;
      this.#tellEnd(reply, heard);
    });
  }

  /** Ends the turn of a reply that was cut. An end of the session or of the process ends it by itself. */
  #stop({ runner }: Reply, reason: CutBy): void {
    const { cause, reason: why } = this.#options;
    const code = why();
    if (reason !== 'none') runner!.endSpeech('cut', cause);
    else if (code === 'session_expired') void runner!.stop('expired');
    else if (code === 'api_error') void runner!.stop('drain');
    else void runner!.stop('aborted');
  }

  finish(reply: Reply): void {
    reply.finish();
    reply.words = null;
    this.#options.stays(reply);
    this.#options.leave(reply);
    this.step(async () => {
      if (reply.runner === null) return;
      reply.runner.endSpeech('heard');
      await reply.runner.ended;
      this.#tellEnd(reply, await reply.settled!);
    });
  }

  /** Seals a reply that failed when something of it had been heard, or its calls are stored; else it never was. */
  fail(reply: Reply, tells = true): void {
    const code = reply.failing ?? 'assistant_unavailable';
    const settling = reply.settle('none', reply.isReported ? 'report' : 'estimate');
    const words = reply.words;
    reply.words = null;
    this.#options.leave(reply);
    this.#stepWith(words, async () => {
      const heard = await settling;
      if (reply.runner !== null && (heard.points > 0 || reply.hasCalled)) {
        this.#options.stays(reply);
        reply.runner.endSpeech({ dropped: faults[code] ?? 'ours' });
        await reply.runner.ended;
        this.#options.services.metrics.calls.heard.inc({ basis: heard.voice.heard });
      } else {
        this.#putBack(words);
        await this.takeBack(reply);
      }
      this.replies.delete(reply.messageId);
      if (tells) this.#options.tell(failedMessage(reply.turnId, code));
    });
  }

  /**
   * Takes a turn back that was told, and says so once nothing of it is stored: a client that hears of it may read the
   * transcript at once.
   */
  async withdraw(reply: Reply): Promise<void> {
    await this.takeBack(reply);
    this.#options.tell({ type: 'turn.withdrawn', turn_id: reply.turnId });
  }

  async takeBack(reply: Reply): Promise<void> {
    const { runner } = reply;
    if (runner === null) return;
    runner.endSpeech('unheard');
    await runner.ended;
    this.replies.delete(reply.messageId);
  }

  /** Tells the client how the turn of a reply has ended. */
  #tellEnd(reply: Reply, { voice }: Heard): void {
    const { tell, services } = this.#options;
    this.replies.delete(reply.messageId);
    services.metrics.calls.heard.inc({ basis: voice.heard });
    const runner = reply.runner!;
    const { terminal } = runner.log;
    if (terminal !== null) tell(endMessage(terminal, runner, voice.cutBy));
  }
}

/** The ends of turns whose replies failed with these codes. */
const faults: Readonly<Record<string, 'provider' | 'voice'>> = {
  assistant_unavailable: 'provider',
  voice_unavailable: 'voice',
};

/** How the position of a reply's listener is found when the reply is cut, and when the call is over. */
function basisOf(reason: CutBy, over: boolean): Basis {
  if (reason === 'lost') return over ? 'sent' : 'report';
  return over || reason === 'none' ? 'estimate' : 'answer';
}
