/**
 * A call: carries out what its machine decides (`machines/call.ts`, contract 18). The ear hears the person, a reply
 * speaks; turns begin (`beginnings.ts`) and end (`endings.ts`) one after the other. The socket, which only reads and
 * writes messages, is in `socket.ts`.
 */
import type { CallContext, CallEvent, CallOutcome } from '../../../machines/call.ts';
import type { TurnEnding } from '../../../machines/turn.ts';
import { steadyTime, type Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { SocketActor } from '../../host/sockets.ts';
import type { Session } from '../../store/store.ts';
import type { Heard } from '../../turn/ports.ts';
import type { AudioIntake } from '../audio-intake.ts';
import { causeByPrincipal, voiceCaller, type Principal } from '../principal.ts';
import type { Services } from '../services.ts';
import { choiceOf, failureOfVoice, type ReadyVoice } from '../voice-call.ts';
import { VoicePresence } from '../voice-presence.ts';
import { Beginnings } from './beginnings.ts';
import { ChatTurns } from './chat-turns.ts';
import { Counts } from './counts.ts';
import { Endings } from './endings.ts';
import { Hearing, type HeardCall } from './hearing.ts';
import { Lookout } from './lookout.ts';
import { failedMessage, toldState } from './messages.ts';
import { Reply } from './reply.ts';
import type { CallSettings } from './settings.ts';

export interface CallOptions {
  readonly actor: SocketActor<CallEvent, CallOutcome>;
  readonly principal: Principal;
  readonly assistant: AssistantActor;
  readonly session: Session;
  readonly ready: ReadyVoice;
  readonly requestId: string;
  readonly services: Services;
  /** Sends a message, or audio. */
  send(message: object): void;
  sendAudio(frame: Uint8Array): void;
  /** Whether the connection has taken the audio that was sent. */
  isFree(): boolean;
  /** Counts the seconds of audio. */
  readonly intake: Pick<AudioIntake, 'countWhenDue' | 'leaveUncounted'>;
  /** Ends the connection; `code`: of the error that is sent before, if one is. */
  end(code: string | null, close: number): void;
}

export class Call implements HeardCall {
  readonly #options: CallOptions;
  settings: CallSettings;
  readonly #caller: string;
  readonly hearing: Hearing;
  readonly #lookout: Lookout;
  readonly #chats: ChatTurns;
  readonly #beginnings: Beginnings;
  readonly #endings: Endings;
  readonly #counts: Counts;
  readonly #presence: VoicePresence;
  /** The reply that is thought of or spoken. */
  reply: Reply | null = null;
  /** The last reply, and when it ended in monotonic milliseconds. */
  last: { readonly reply: Reply; readonly at: number } | null = null;
  #greeting: Reply | null = null;
  /** The turn that a failure is told of. */
  #failedTurn: Reply | null = null;
  #reports = false;
  /** The machine's state once its outcomes are carried out. */
  state = '';
  /** The state as the client was told. */
  #toldState = '';
  readonly #time: () => number;
  #timer: Timer | null = null;
  #closing = false;

  constructor(options: CallOptions, settings: CallSettings) {
    const { services, session, actor, ready, send: tell } = options;
    this.#options = options;
    this.#time = steadyTime(services.clock);
    this.settings = settings;
    this.#caller = voiceCaller(options.principal, services.clock.now());
    const send = (event: CallEvent): void => this.#send(event);
    const now = this.#time;
    this.#counts = new Counts(options);
    const begins = (): void => void this.#presence.begins();
    const failed = (error: unknown): void => this.#failed(error);
    this.hearing = new Hearing({ services, now, caller: this.#caller, ready, call: this, send, tell, begins, failed });
    const { principal, requestId } = options;
    // A limit refuses the turns of a call, and the call continues.
    this.#presence = new VoicePresence({
      services,
      session,
      principal,
      requestId,
      speaks: () => this.hearing.busy,
      refused: () => {},
    });
    this.#endings = new Endings({
      ...{ services, tell },
      cause: causeByPrincipal(options.principal, options.requestId),
      isOver: () => actor.closed,
      reason: () => this.context.reason,
      leave: (reply) => this.#leave(reply),
      stays: this.#counts.stays,
      putBack: (words) => this.hearing.putBack(words),
      failed: (error) => this.#broken(error),
    });
    this.#beginnings = new Beginnings({
      ...{ services, now, session, send },
      ...{ principal: options.principal, requestId: options.requestId, hearing: this.hearing, endings: this.#endings },
      newReply: () => this.#newReply(),
      leave: (reply) => this.#leave(reply),
      refused: (reply, code) => this.#refused(reply, code),
      ended: (reply) => this.#turnEnded(reply),
    });
    this.#chats = new ChatTurns({
      services,
      now,
      session,
      tell,
      send,
      isFree: () => this.context.turn === 'none',
      owns: (turnId) => [this.reply, ...this.#endings.replies.values()].some((reply) => reply?.turnId === turnId),
    });
    this.#lookout = new Lookout({
      services,
      now,
      session,
      callId: actor.identity.id,
      send,
      chats: this.#chats,
      isBusy: () => this.state === 'busy',
      said: () => this.#counts.count(),
      homeless: () => this.#counts.leaveUncounted(),
    });
    actor.onDecision = (outcomes) => this.#decided(outcomes);
  }

  /** The connection is open, and `ready` is sent. */
  open(): void {
    const { services, assistant, session } = this.#options;
    const greets = this.settings.greets && (assistant.record.greeting ?? '') !== '' && session.messageCount <= 1;
    this.#send({ type: 'open', at: this.#now, refusal: null, greets, bargeIn: this.settings.bargeIn });
    this.#presence.look();
    this.#watch();
    if (services.draining) this.#send({ type: 'drain', at: this.#now });
  }

  configure(settings: CallSettings): void {
    this.settings = settings;
    this.#send({ type: 'configure', at: this.#now, bargeIn: settings.bargeIn });
  }

  /** Whether the message is a reply that is not over. */
  knows(messageId: string): boolean {
    return this.#endings.replies.has(messageId);
  }

  played(messageId: string, samples: number): void {
    this.#reports = true;
    this.#send({ type: 'report', at: this.#now });
    this.#endings.replies.get(messageId)?.report(samples);
  }

  /** Says where a reply was cut, never beyond the estimate; false for a reply that is over. */
  readonly truncate = (messageId: string, samples: number): boolean => this.#endings.truncate(messageId, samples);

  interrupt(): void {
    this.#send({ type: 'interrupt', at: this.#now });
  }

  message(text: string): void {
    if (this.#actor.machine.state === 'busy') return this.#send({ type: 'typed', at: this.#now });
    this.#beginnings.typed = text;
    this.#send({ type: 'typed', at: this.#now });
  }

  hangup(): void {
    this.#send({ type: 'hangup', at: this.#now });
  }

  fault(code: string, close: number): void {
    this.#send({ type: 'fault', at: this.#now, code, close });
  }

  /** The connection is gone. */
  left(): void {
    this.#send({ type: 'leave', at: this.#now });
  }

  get #actor() {
    return this.#options.actor;
  }

  get context(): CallContext {
    return this.#actor.machine.context as CallContext;
  }

  get #now(): number {
    return this.#time();
  }

  #send(event: CallEvent): void {
    if (!this.#closing) this.#actor.send(event);
  }

  #decided(outcomes: readonly CallOutcome[]): void {
    const { state } = this.#actor.machine;
    const told = toldState(state, this.#toldState, outcomes);
    if (told !== this.#toldState) this.#options.send({ type: 'state', state: told });
    this.#toldState = told;
    this.state = state;
    this.hearing.deafen(this.context.bargeIn === 'off' && (told === 'speaking' || told === 'paused'));
    const fails = outcomes.some(({ type }) => type === 'turn.failed' || type === 'turn.fail');
    for (const outcome of outcomes) this.#act(outcome, fails);
    if (state === 'thinking' && this.context.turn === 'begun' && this.reply?.mouth.isReady)
      this.#send({ type: 'audio', at: this.#now });
    // The person speaks on, or has begun to while a reply was spoken.
    if (this.state === 'listening' && this.hearing.busy)
      this.#send({ type: 'voice', at: this.#now, utterance: this.hearing.utterance });
    // The chat began while the greeting was spoken.
    if (this.state === 'listening' && this.#chats.isReading) this.#chats.busy();
    // The message that was answered may have left words over.
    if (this.state === 'listening' && outcomes.some(({ type }) => type === 'turn.finish')) this.hearing.goOn();
  }

  #act(outcome: CallOutcome, fails: boolean): void {
    const { send } = this.#options;
    const reply = this.reply;
    const messageId = reply?.messageId ?? '';
    switch (outcome.type) {
      case 'greeting.begin':
        return this.#greet();
      case 'turn.prepare':
        return this.#beginnings.begin(this.hearing.early);
      case 'turn.begin':
        return reply === null ? this.#beginnings.begin(null) : this.#beginnings.tryAgain(reply);
      case 'turn.announce':
        return this.#beginnings.announce(reply!);
      case 'turn.started':
        return this.#started(reply!);
      case 'turn.withdraw':
        return reply === null ? undefined : this.#withdraw(reply, !fails);
      case 'turn.cut':
        return reply === null ? undefined : this.#endings.cut(reply, outcome.reason);
      case 'turn.finish':
        return this.#endings.finish(reply!);
      case 'turn.fail':
        return this.#endings.fail(reply!);
      case 'turn.failed':
        return this.#tellFailed(outcome.code);
      case 'audio.begin':
        // The turn's beginning and the audio's may each tell of the audio.
        if (reply!.mouth.isBegun) return undefined;
        send({ type: 'audio.start', message_id: messageId, turn_id: reply!.turnId });
        return reply!.mouth.begin();
      case 'audio.pause':
        reply?.mouth.pause();
        return send({ type: 'audio.pause', message_id: messageId });
      case 'audio.resume':
        send({ type: 'audio.resume', message_id: messageId });
        return reply?.mouth.resume();
      case 'audio.clear':
        return this.#clear(reply);
      case 'reply.stop':
        if (reply !== null) reply.failing ??= 'assistant_unavailable';
        return reply?.mouth.curb();
      case 'call.busy':
        return reply === null ? undefined : this.#leave(reply);
      case 'call.closed':
        return void this.#close(outcome.code, outcome.close);
      case 'call.opened':
      case 'utterance.begun':
      case 'utterance.ended':
      case 'call.free':
      case 'call.draining':
      case 'reply.held':
      case 'reply.resumed':
      case 'refused':
      case 'unchanged':
    }
  }

  /** The reply that the client knows of: the greeting, or that of a turn. */
  get told(): Reply | null {
    const { reply } = this;
    return reply !== null && (reply.isTold || reply === this.#greeting) ? reply : null;
  }

  #newReply(): Reply {
    const { services, ready } = this.#options;
    const { provider, settings, access } = ready;
    const { outputEncoding: encoding, outputSampleRate: sampleRate, aheadMs, readersBehindMs } = this.settings;
    const { name, voice } = choiceOf(settings);
    const live =
      <T extends unknown[]>(act: (...given: T) => void) =>
      (...given: T): void => {
        if (this.reply === reply && !this.#closing) act(...given);
      };
    const wrote = (last: boolean): void => this.#send({ type: 'sentence', at: this.#now, last });
    const narration = services.voice.synthesize({
      ...{ provider, encoding, sampleRate },
      request: { caller: this.#caller, name, voice, speed: 1, access },
      begun: (characters) => void (reply.characters += characters),
      written: live(() => wrote(false)),
    });
    const reply: Reply = new Reply({
      ...{ narration, clock: services.clock, rate: sampleRate, aheadMs, readersBehindMs },
      reports: () => this.#reports,
      isFree: () => this.#options.isFree(),
      ready: live(() => this.#readied(reply)),
      due: live((due) => this.#send({ type: 'due', at: this.#now, due })),
      sent: live((samples) => this.#options.send({ type: 'audio.end', message_id: reply.messageId, samples })),
      played: live(() => this.#send({ type: 'played', at: this.#now })),
      ...{ unstored: live(() => this.#turnEnded(reply)), failed: live((error) => this.#spoiled(reply, error)) },
      send: (frame) => this.#sendAudio(reply, frame),
      delta: (text) => this.#delta(reply, text),
      wrote: live(() => wrote(true)),
      modelOver: live((reason) => this.#modelOver(reply, reason)),
      ended: (ending) => this.#endedElsewhere(reply, ending),
    });
    this.reply = reply;
    return reply;
  }

  #sendAudio(reply: Reply, frame: Uint8Array): void {
    const { services, sendAudio } = this.#options;
    const { lastVoiceAt } = this.hearing;
    if (!reply.isHeard && reply.words !== null && lastVoiceAt !== null)
      services.metrics.calls.voiceToVoice.observe((services.clock.monotonic() - lastVoiceAt) / 1000);
    reply.isHeard = true;
    sendAudio(frame);
  }

  #delta(reply: Reply, text: string): void {
    if (text !== '' && reply.runner !== null)
      this.#options.send({ type: 'message.delta', message_id: reply.messageId, text });
  }

  #readied(reply: Reply): void {
    if (reply === this.#greeting || this.context.turn === 'begun') this.#send({ type: 'audio', at: this.#now });
  }

  #greet(): void {
    const reply = this.#newReply();
    this.#greeting = reply;
    void this.#endings.steps
      .then(async () => {
        const { services, session } = this.#options;
        const page = await services.store.sessions.messages(session.workspaceId, session.id, {
          limit: 1,
          after: null,
          order: 'asc',
        });
        reply.messageId = page.items[0]?.id ?? '';
        this.#endings.replies.set(reply.messageId, reply);
        reply.text(page.items[0]?.content ?? '');
        reply.over('completed');
      })
      .catch((error) => this.#spoiled(reply, error));
  }

  #refused(reply: Reply, code: string): void {
    this.#failedTurn = reply;
    this.#send({ type: 'refused', at: this.#now, code });
  }

  #started(reply: Reply): void {
    reply.isTold = true;
    this.#options.send({
      type: 'turn.started',
      turn_id: reply.turnId,
      message_id: reply.messageId,
      text: reply.asked,
      spoken: true,
    });
    if (reply.modelIsOver) this.#send({ type: 'sentence', at: this.#now, last: true });
  }

  /** The call has to do with the reply no more; its words begin the person's next message. */
  #leave(reply: Reply): void {
    reply.isLeft = true;
    reply.mouth.stop();
    if (this.reply !== reply) return;
    this.reply = null;
    if (reply === this.#greeting) this.#counts.stays(reply);
    if (reply.isTold || reply === this.#greeting) this.last = { reply, at: this.#options.services.clock.monotonic() };
    if (reply.words !== null) this.hearing.putBack(reply.words);
    reply.words = null;
  }

  #withdraw(reply: Reply, tells: boolean): void {
    this.#failedTurn = tells ? null : reply;
    // A turn whose calls are stored stays, with its words.
    if (reply.hasCalled)
      return tells
        ? this.#endings.cut(reply, this.state === 'hearing' ? 'speech' : 'client')
        : this.#endings.fail(reply, false);
    this.#leave(reply);
    // At once: its calls may be stored before the steps that wait are taken.
    reply.runner?.endSpeech('unheard');
    this.#endings.step(() => (tells && reply.isTold ? this.#endings.withdraw(reply) : this.#endings.takeBack(reply)));
  }

  #clear(reply: Reply | null): void {
    reply?.mouth.stop();
    this.#options.send({ type: 'audio.clear', message_id: reply?.messageId ?? '' });
    if (reply !== null && reply === this.#greeting) this.#leave(reply);
  }

  #tellFailed(code: string): void {
    const reply = this.#failedTurn ?? this.reply;
    this.#failedTurn = null;
    // A turn that could not begin has left the words in hand.
    if (this.reply !== null) this.#leave(this.reply);
    this.#options.send(failedMessage(reply?.isTold ? reply.turnId : null, code, reply?.waitSeconds));
  }

  /** The turn has ended or takes no more text, though the call has not ended it: the store or the lease failed. */
  #turnEnded(reply: Reply): void {
    if (this.reply !== reply || reply.isLeft || reply.settled !== null) return;
    this.#fails(reply, 'api_error');
  }

  #modelOver(reply: Reply, reason: 'completed' | 'provider' | 'ours'): void {
    if (reason === 'completed') return;
    reply.mouth.curb();
    this.#fails(reply, reason === 'provider' ? 'assistant_unavailable' : 'api_error');
  }

  #fails(reply: Reply, code: string): void {
    reply.failing ??= code;
    this.#send({ type: 'failed', at: this.#now, code });
  }

  /** The reply cannot be spoken. */
  #spoiled(reply: Reply, error: unknown): void {
    const { services, requestId } = this.#options;
    services.log.warn({ request_id: requestId, err: error }, 'a reply could not be spoken');
    const { code } = failureOfVoice(error);
    this.#fails(reply, code === 'assistant_unavailable' ? 'voice_unavailable' : code);
  }

  /** A request or the end of the session ends the turn: says where its listener was. */
  #endedElsewhere(reply: Reply, ending: TurnEnding): Heard | Promise<Heard> {
    const at = this.#now;
    if (this.reply === reply && !this.#closing) {
      const { host } = this.#options.services;
      const { id } = this.#options.session;
      const ended = host.sessions.population.find(id)?.machine.state === 'ended';
      if (ending === 'aborted') this.#send(ended ? { type: 'session.ended', at } : { type: 'abort', at });
      else if (ending === 'expired') this.#send({ type: 'tick', at });
    }
    return reply.settled ?? reply.settle('none', 'estimate');
  }

  /** A fault in the program: the turn that was to begin has not. */
  #broken(error: unknown): void {
    const { services, requestId } = this.#options;
    services.log.error({ request_id: requestId, err: error }, 'a step of a call failed');
    this.#send({ type: 'refused', at: this.#now, code: 'api_error' });
  }

  #failed(error: unknown): void {
    const { services, requestId } = this.#options;
    services.log.warn({ request_id: requestId, err: error }, 'a call cannot be heard');
    this.fault(failureOfVoice(error).code, 1011);
  }

  /** Looks at the deadlines, at the session and at chats on it, from time to time. */
  #watch(): void {
    const { clock } = this.#options.services;
    this.#timer = clock.after(limits.socketPollMs, () => {
      if (this.#closing) return;
      const { expiresAt, until, drainUntil, replyUntil, playUntil, decideUntil } = this.context;
      // A wall clock that is set ahead ends the session.
      const at = clock.now() >= expiresAt * 1000 ? clock.now() : this.#now;
      if (
        [expiresAt * 1000, until, drainUntil, replyUntil, playUntil, decideUntil].some(
          (due) => due !== null && at >= due,
        )
      )
        this.#send({ type: 'tick', at });
      this.#options.intake.countWhenDue();
      this.#presence.look();
      void this.#lookout.look();
      if (!this.#closing) this.#watch();
    });
  }

  /** Lets the turn under way be sealed, tells the client why, and ends the connection. */
  async #close(code: string | null, close: number): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    const { services, send, end } = this.#options;
    const { reason } = this.context;
    this.#timer?.cancel();
    this.hearing.close();
    this.#lookout.close();
    this.#presence.close();
    this.#chats.close();
    if (this.reply !== null) this.#leave(this.reply);
    this.#endings.close();
    const late = new Promise<void>((resolve) => void services.clock.after(limits.callEndMs, resolve));
    await Promise.race([this.#endings.steps, late]);
    this.#counts.count();
    if (reason === 'hangup' || reason === 'replaced') send({ type: 'ended', reason });
    end(code, close);
    await this.#endings.steps;
    this.#counts.count();
    await this.#lookout.leave();
  }
}
