/**
 * How the turns of a call begin: when the person has finished, or early and announced then; later while the slots are
 * full; or not at all (contract 18).
 */
import type { CallEvent } from '../../../machines/call.ts';
import { limits } from '../../base/limits.ts';
import type { Words } from '../../providers/voice/pending-transcript.ts';
import type { Session } from '../../store/store.ts';
import type { Principal } from '../principal.ts';
import type { Services } from '../services.ts';
import { beginTurn, type TurnRefusal } from './begin.ts';
import type { Endings } from './endings.ts';
import type { Hearing } from './hearing.ts';
import type { Reply } from './reply.ts';

export interface BeginningsOptions {
  readonly services: Services;
  /** The call's time, which is not set with the wall clock. */
  now(): number;
  readonly session: Session;
  readonly principal: Principal;
  readonly requestId: string;
  readonly hearing: Hearing;
  readonly endings: Endings;
  /** Sends the machine an event. */
  send(event: CallEvent): void;
  newReply(): Reply;
  /** The call has to do with the reply no more. */
  leave(reply: Reply): void;
  /** The turn cannot begin, and the call goes on. */
  refused(reply: Reply, code: string): void;
  /** The turn has ended. */
  ended(reply: Reply): void;
}

export class Beginnings {
  readonly #options: BeginningsOptions;
  /** The text that was typed for the next turn. */
  typed: string | null = null;

  constructor(options: BeginningsOptions) {
    this.#options = options;
  }

  get #now(): number {
    return this.#options.now();
  }

  /** `early`: the words that the model is asked with before the person has finished; null if their turn is over. */
  begin(early: Words | null): void {
    const { hearing, endings, send, newReply } = this.#options;
    const reply = newReply();
    const { typed } = this;
    this.typed = null;
    const { returned } = endings;
    // Words that come back begin the message: what is asked early is no more than a part of it while some may.
    if (early !== null && !endings.owesWords) reply.asked = early.text;
    endings.step(async () => {
      if (early !== null && endings.returned !== returned) return;
      if (early !== null) reply.asked = early.text;
      if (early === null) {
        const taken = typed === null ? null : await hearing.takeWith(typed);
        reply.words = taken === null ? hearing.take() : taken.words;
        reply.typed = taken && { before: taken.spoken };
        reply.asked = reply.words?.text ?? '';
        // The person spoke on before the turn could begin.
        if (reply.isLeft && reply.words !== null) return hearing.putBack(reply.words);
        // No words, no turn.
        if (reply.asked === '' && !reply.isLeft) return send({ type: 'interrupt', at: this.#now });
      }
      await this.#ask(reply, early ?? reply.words, early !== null);
    });
  }

  /** The workspace's slots were full. */
  tryAgain(reply: Reply): void {
    const { services, endings } = this.#options;
    services.clock.after(limits.callSlotMs, () => endings.step(() => this.#ask(reply, reply.words, false)));
  }

  async #ask(reply: Reply, words: Words | null, hidden: boolean): Promise<void> {
    if (reply.isLeft || reply.runner !== null) return;
    const { principal, session, requestId, services, endings, ended } = this.#options;
    const voice = words === null || words.typed ? undefined : { audioMs: words.toMs - words.fromMs };
    const begun = await beginTurn(
      principal,
      { sessionId: session.id, text: reply.asked, voice, speaker: reply, isEarly: hidden, requestId },
      services,
    );
    if ('refusal' in begun) return this.#refused(reply, begun, hidden);
    const { runner } = begun;
    reply.runner = runner;
    reply.messageId = runner.messageId;
    endings.replies.set(runner.messageId, reply);
    void runner.ended.then(() => ended(reply));
    if (reply.isLeft) return runner.endSpeech('unheard');
    if (!hidden) await this.#begunNow(reply);
  }

  async #begunNow(reply: Reply): Promise<void> {
    await reply.runner!.announce();
    if (!reply.isLeft) this.#options.send({ type: 'begun', at: this.#now });
  }

  #refused(reply: Reply, { refusal, code, seconds }: TurnRefusal, hidden: boolean): void {
    if (reply.isLeft) return;
    const { hearing, send, leave } = this.#options;
    const at = this.#now;
    reply.waitSeconds = seconds;
    if (refusal === 'limited') reply.words = null;
    if (refusal === 'full' && !hidden) return send({ type: 'full', at });
    // A message is not taken while the session answers a chat, and the words before it wait.
    if (refusal === 'busy' && reply.typed !== null) {
      hearing.untype();
      reply.words = reply.typed.before;
    }
    const owed = reply.words !== null;
    leave(reply);
    if (refusal === 'barred') send({ type: 'fault', at, code, close: 1008 });
    else if (refusal === 'busy') send({ type: 'elsewhere', at, owed, typed: reply.typed !== null });
    else if (refusal === 'over')
      send(code === 'session_expired' ? { type: 'tick', at } : { type: 'session.ended', at });
    else this.#options.refused(reply, code);
  }

  /** The person has finished: the turn that was asked for early is theirs. */
  announce(reply: Reply): void {
    const { hearing, endings } = this.#options;
    reply.words = hearing.take();
    endings.step(async () => {
      if (!reply.isLeft && reply.runner !== null) await this.#begunNow(reply);
      // The turn that was asked for early could not begin.
      else if (!reply.isLeft) await this.#ask(reply, reply.words, false);
    });
  }
}
