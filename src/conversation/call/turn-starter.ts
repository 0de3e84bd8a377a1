/**
 * Begins the turns of a call: when the person has finished, early and announced once they have, or later while the slots
 * are full (contract 18).
 */
import type { Words } from '../../providers/voice/pending-transcript.ts';
import { isWithdrawn } from '../../turn/states.ts';
import { beginTurn, type TurnRefusal } from './begin.ts';
import { failedMessage } from './messages.ts';
import type { CallPort } from './port.ts';
import type { Reply } from './reply.ts';
import type { SpeechInput } from './speech-input.ts';
import type { TurnFinisher } from './turn-finisher.ts';

/** Milliseconds between two requests for a slot of the workspace. */
const callSlotMs = 250;

/** Refusals of an early request that the person's end does not change. */
const lasting: ReadonlySet<TurnRefusal['refusal']> = new Set(['busy', 'over', 'barred']);

export interface TurnStarterOptions {
  readonly port: Pick<CallPort, 'services' | 'session' | 'principal' | 'requestId' | 'span' | 'now' | 'send' | 'tell'>;
  readonly speech: SpeechInput;
  readonly finisher: TurnFinisher;
  newReply(early: boolean): Reply;
  /** A turn has ended, perhaps because a person has taken the session. */
  turnEnded(): void;
  /** The turn cannot begin, and the call continues. */
  refused(reply: Reply, code: string): void;
}

interface Asked {
  readonly text: string;
  readonly words: Words | null;
  readonly speaker: Reply | null;
  readonly isEarly: boolean;
}

export class TurnStarter {
  readonly #options: TurnStarterOptions;
  /** The text that was typed for the next turn. */
  typed: string | null = null;
  /** Seconds until the newest turn can begin, where a limit refused it. */
  waitSeconds: number | undefined;

  constructor(options: TurnStarterOptions) {
    this.#options = options;
  }

  get #now(): number {
    return this.#options.port.now;
  }

  /** `early`: the words that the model is asked with before the person has finished; null after that. */
  begin(early: Words | null): void {
    const { finisher, newReply } = this.#options;
    const reply = newReply(early !== null);
    const { typed } = this;
    this.typed = null;
    this.waitSeconds = undefined;
    if (early === null) return finisher.step(() => this.#beginOwn(reply, typed));
    const { returned } = finisher;
    // Returned words begin the message: an early text is only a part of it while some may be returned.
    if (!finisher.owesWords) reply.asked = early.text;
    finisher.step(async () => {
      if (finisher.returned !== returned) return;
      reply.asked = early.text;
      await this.#carryOut(reply, 'ask', early);
    });
  }

  async #beginOwn(reply: Reply, typed: string | null): Promise<void> {
    const { speech, port } = this.#options;
    const taken = typed === null ? null : await speech.takeWith(typed);
    if (taken === null) reply.takeWords(speech.take());
    else reply.takeWords(taken.words, { before: taken.spoken });
    const { words } = reply;
    reply.asked = words?.text ?? '';
    // The call has left the reply before its turn could begin.
    if (!reply.isOpen && words !== null) return speech.putBack(reply.giveWords()!);
    // A turn needs words.
    if (reply.isOpen && words === null) return port.send({ type: 'interrupt', at: this.#now });
    await this.#carryOut(reply, 'ask', words);
  }

  /** Asks again after the workspace's slots were full. */
  tryAgain(reply: Reply): void {
    const { port, finisher } = this.#options;
    port.services.clock.after(callSlotMs, () => finisher.step(() => this.#carryOut(reply, 'ask', reply.words)));
  }

  /** The person has finished: the turn that was asked for early is theirs. */
  announce(reply: Reply): void {
    const { speech, finisher } = this.#options;
    reply.takeWords(speech.take());
    finisher.step(() => this.#carryOut(reply, 'confirm', reply.words));
  }

  async #carryOut(reply: Reply, type: 'ask' | 'confirm', words: Words | null): Promise<void> {
    for (const outcome of reply.send({ type })) {
      if (outcome.type === 'turn.ask') await this.#ask(reply, words);
      else if (outcome.type === 'turn.announce') await this.#announce(reply);
    }
  }

  /** Stores the words that have no turn for the person who has taken the session. */
  handOver(): void {
    const { speech, finisher, port } = this.#options;
    finisher.step(async () => {
      for (let words = speech.take(); words !== null; words = speech.take()) {
        const { text } = words;
        const stored = await this.#begin({ text, words, speaker: null, isEarly: false });
        if ('acceptedId' in stored) this.#tellAccepted(stored.acceptedId, text);
        else if ('refusal' in stored) port.tell(failedMessage(null, stored.code, stored.seconds));
      }
    });
  }

  #begin({ text, words, speaker, isEarly }: Asked): ReturnType<typeof beginTurn> {
    const { principal, session, requestId, span, services } = this.#options.port;
    const voice = words === null || words.typed ? undefined : { audioMs: words.toMs - words.fromMs };
    return beginTurn(principal, { sessionId: session.id, text, voice, speaker, isEarly, requestId, span }, services);
  }

  #tellAccepted(id: string, text: string): void {
    this.#options.port.tell({ type: 'message.accepted', message_id: id, text });
  }

  async #ask(reply: Reply, words: Words | null): Promise<void> {
    const { port, finisher } = this.#options;
    const isEarly = reply.context.early;
    const refuse = (): void => finisher.answered(reply, reply.send({ type: 'refused' }));
    const begun = await this.#begin({ text: reply.asked, words, speaker: reply, isEarly }).catch((error) => {
      refuse();
      throw error;
    });
    if ('refusal' in begun) {
      refuse();
      return this.#refused(reply, begun);
    }
    if ('acceptedId' in begun) {
      const wasOpen = reply.isOpen;
      finisher.answered(reply, reply.send({ type: 'accepted' }));
      finisher.leave(reply);
      if (wasOpen) port.send({ type: 'accepted', at: this.#now });
      return this.#tellAccepted(begun.acceptedId, reply.asked);
    }
    const { runner } = begun;
    finisher.replies.set(runner.messageId, reply);
    const outcomes = reply.begun(runner);
    finisher.answered(reply, outcomes);
    void runner.ended.then(() => {
      this.#options.turnEnded();
      reply.send({ type: 'ended' });
    });
    for (const { type } of outcomes) {
      if (type === 'turn.announce') await this.#announce(reply);
      else if (type === 'turn.withdraw') await finisher.remove(reply);
    }
  }

  async #announce(reply: Reply): Promise<void> {
    const runner = reply.runner!;
    await runner.announce();
    // A take withdraws a turn that nobody knows.
    if (reply.isOpen && !isWithdrawn(runner.machine)) this.#options.port.send({ type: 'begun', at: this.#now });
  }

  #refused(reply: Reply, { refusal, code, seconds }: TurnRefusal): void {
    // The call asks again once the person has finished: a slot may be free by then, or a person have the session.
    if (!reply.isOpen || (reply.context.early && !lasting.has(refusal))) return;
    const { speech, finisher, port } = this.#options;
    const { typed } = reply;
    const at = this.#now;
    this.waitSeconds = seconds;
    if (refusal === 'limited') reply.giveWords();
    if (refusal === 'full') return port.send({ type: 'full', at });
    // A message is refused while the session answers a chat, and the words before it wait.
    if (refusal === 'busy' && typed !== null) {
      speech.untype();
      reply.takeWords(typed.before, typed);
    }
    const owed = reply.words !== null;
    finisher.leave(reply);
    if (refusal === 'barred') port.send({ type: 'fault', at, code, close: 1008 });
    else if (refusal === 'busy') port.send({ type: 'elsewhere', at, owed, typed: typed !== null });
    else if (refusal === 'over')
      port.send(code === 'session_expired' ? { type: 'tick', at } : { type: 'session.ended', at });
    else this.#options.refused(reply, code);
  }
}
