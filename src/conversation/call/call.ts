/**
 * A call: carries out what its machine decides (`machines/call.ts`, contract 18). Its workers take the commands: the
 * speech input hears the person, a reply (`machines/reply.ts`) is spoken, and turns begin (`turn-starter.ts`) and end
 * (`turn-finisher.ts`) one after the other. The socket, which only reads and writes messages, is in `socket.ts`.
 */
import type { CallContext, CallEvent, CallOutcome } from '../../../machines/call.ts';
import type { TurnEnding } from '../../../machines/turn.ts';
import { steadyTime, type Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Span } from '../../base/tracing.ts';
import type { CallMessage, WireState } from '../../wire/wire.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import type { SocketActor } from '../../host/sockets.ts';
import type { Session } from '../../store/store.ts';
import type { AudioIntake } from '../audio-intake.ts';
import { causeByPrincipal, voiceCaller, type Principal } from '../principal.ts';
import type { Services } from '../services.ts';
import { choiceOf, failureOfVoice, type ReadyVoice } from '../voice-call.ts';
import { VoicePresence } from '../voice-presence.ts';
import { ChatTurns } from './chat-turns.ts';
import { failedMessage, toldState } from './messages.ts';
import { Reply, type ReplyPort } from './reply.ts';
import { SessionPoller } from './session-poller.ts';
import type { CallSettings } from './settings.ts';
import { SpeechInput, type SpeechPort } from './speech-input.ts';
import { TurnFinisher } from './turn-finisher.ts';
import { TurnStarter } from './turn-starter.ts';
import { CallUsage } from './usage.ts';

/** Milliseconds for which a call's end waits for the seal of its turn. */
const callEndMs = 120;

/** The outcomes that end a message, which may leave words over. */
const leavesWords: ReadonlySet<CallOutcome['type']> = new Set(['turn.finish', 'message.accepted']);

/** The connection of a call. */
export interface CallWire {
  /** Sends a message. */
  send(message: CallMessage): void;
  sendAudio(frame: Uint8Array): void;
  /** Whether the connection has taken the audio that was sent. */
  isFree(): boolean;
  /** Counts the seconds of audio. */
  readonly intake: Pick<AudioIntake, 'countWhenDue' | 'leaveUncounted'>;
  /** Ends the connection; `code`: the error that is sent before, or null. */
  end(code: string | null, close: number): void;
}

export interface CallOptions {
  readonly actor: SocketActor<CallEvent, CallOutcome>;
  readonly principal: Principal;
  readonly assistant: AssistantActor;
  /** The assistant as it answers the session. */
  readonly answering: AnsweringAssistant;
  readonly session: Session;
  readonly ready: ReadyVoice;
  readonly requestId: string;
  /** The span of the request that opened the call; null while traces are off. */
  readonly span: Span | null;
  readonly services: Services;
  readonly wire: CallWire;
}

export class Call implements SpeechPort, ReplyPort {
  readonly #options: CallOptions;
  settings: CallSettings;
  readonly #caller: string;
  readonly speech: SpeechInput;
  readonly #poller: SessionPoller;
  readonly #chats: ChatTurns;
  readonly #starter: TurnStarter;
  readonly #finisher: TurnFinisher;
  readonly #usage: CallUsage;
  readonly #presence: VoicePresence;
  /** The open reply. */
  reply: Reply | null = null;
  /** The reply that the client knew last, and the monotonic milliseconds of its end. */
  last: { readonly reply: Reply; readonly at: number } | null = null;
  /** The reply of the next failure message, once the call has left it. */
  #failed: Reply | null = null;
  #replies = 0;
  state = '';
  /** The state that the client knows. */
  #toldState: WireState | '' = '';
  readonly #time: () => number;
  #timer: Timer | null = null;
  #closing = false;

  constructor(options: CallOptions, settings: CallSettings) {
    const { services, session, actor, principal, requestId, assistant, wire } = options;
    this.#options = options;
    this.#time = steadyTime(services.clock);
    this.settings = settings;
    this.#caller = voiceCaller(principal, services.clock.now());
    this.#usage = new CallUsage({ principal, assistant, services, intake: wire.intake });
    this.speech = new SpeechInput({
      port: this,
      caller: this.#caller,
      begins: () => void this.#presence.begins(),
      failed: (error) => this.#failedToHear(error),
    });
    // A limit refuses the turns of a call, and the call continues.
    this.#presence = new VoicePresence({
      services,
      session,
      principal,
      requestId,
      speaks: () => this.speech.busy,
      refused: () => {},
    });
    this.#finisher = new TurnFinisher({ port: this, speech: this.speech, ended: (reply) => this.#ended(reply) });
    this.#starter = new TurnStarter({
      port: this,
      speech: this.speech,
      finisher: this.#finisher,
      newReply: (early) => this.#newReply({ greeting: false, early }),
      turnEnded: () => this.#poller.findPerson(),
      refused: (reply, code) => this.#refused(reply, code),
    });
    this.#chats = new ChatTurns({
      port: this,
      owns: (turnId) => [this.reply, ...this.#finisher.replies.values()].some((reply) => reply?.turnId === turnId),
    });
    this.#poller = new SessionPoller({
      port: this,
      chats: this.#chats,
      noted: () => this.#usage.count(),
      removed: () => this.#usage.leaveUncounted(),
    });
    actor.onDecision = (outcomes) => this.#decided(outcomes);
  }

  /** Opens the call on a connection that has sent `ready`. */
  open(): void {
    const { services, answering, session } = this.#options;
    const greets = this.settings.greets && (answering.greeting ?? '') !== '' && session.messageCount === 1;
    this.send({ type: 'open', at: this.now, refusal: null, greets, bargeIn: this.settings.bargeIn });
    this.#presence.look();
    this.#poll();
    if (services.draining) this.send({ type: 'drain', at: this.now });
  }

  configure(settings: CallSettings): void {
    this.settings = settings;
    this.send({ type: 'configure', at: this.now, bargeIn: settings.bargeIn });
  }

  /** Whether the message is a reply that is not settled. */
  knows(messageId: string): boolean {
    return this.#finisher.replies.has(messageId);
  }

  played(messageId: string, samples: number): void {
    this.send({ type: 'report', at: this.now });
    this.#finisher.replies.get(messageId)?.playout.report(samples);
  }

  /** Takes the position at which the client cut a reply, never beyond the estimate; false for a settled reply. */
  truncate(messageId: string, samples: number): boolean {
    return this.#finisher.truncate(messageId, samples);
  }

  interrupt(): void {
    this.send({ type: 'interrupt', at: this.now });
  }

  message(text: string): void {
    if (this.#actor.machine.state !== 'busy') this.#starter.typed = text;
    this.send({ type: 'typed', at: this.now });
  }

  hangup(): void {
    this.send({ type: 'hangup', at: this.now });
  }

  fault(code: string, close: number): void {
    this.send({ type: 'fault', at: this.now, code, close });
  }

  /** The connection is lost. */
  left(): void {
    this.send({ type: 'leave', at: this.now });
  }

  get #actor() {
    return this.#options.actor;
  }

  get id(): string {
    return this.#actor.identity.id;
  }

  get services(): Services {
    return this.#options.services;
  }

  get session(): Session {
    return this.#options.session;
  }

  get principal(): Principal {
    return this.#options.principal;
  }

  get requestId(): string {
    return this.#options.requestId;
  }

  get span(): Span | null {
    return this.#options.span;
  }

  get ready(): ReadyVoice {
    return this.#options.ready;
  }

  get context(): CallContext {
    return this.#actor.machine.context as CallContext;
  }

  get isClosed(): boolean {
    return this.#actor.closed;
  }

  get now(): number {
    return this.#time();
  }

  send(event: CallEvent): void {
    if (!this.#closing) this.#actor.send(event);
  }

  tell(message: CallMessage): void {
    this.#options.wire.send(message);
  }

  #decided(outcomes: readonly CallOutcome[]): void {
    const { state } = this.#actor.machine;
    const told = toldState(state, this.#toldState, outcomes);
    if (told !== this.#toldState && told !== '') this.tell({ type: 'state', state: told });
    this.#toldState = told;
    this.state = state;
    this.speech.deafen(this.context.bargeIn === 'off' && (told === 'speaking' || told === 'paused'));
    const fails = outcomes.some(({ type }) => type === 'turn.failed' || type === 'turn.fail');
    for (const outcome of outcomes) this.#act(outcome, fails);
    if (this.state !== 'listening') return;
    // The person continues to speak, or has begun to while a reply was spoken.
    if (this.speech.busy) this.send({ type: 'voice', at: this.now, utterance: this.speech.utterance });
    // The chat began while the greeting was spoken.
    if (this.state === 'listening' && this.#chats.isReading) this.#chats.busy();
    // The message that was answered may have left words over.
    if (this.state === 'listening' && outcomes.some(({ type }) => leavesWords.has(type))) this.speech.goOn();
  }

  #act(outcome: CallOutcome, fails: boolean): void {
    const { reply } = this;
    switch (outcome.type) {
      case 'greeting.begin':
        return this.#greet();
      case 'turn.prepare':
        return this.#starter.begin(this.speech.early);
      case 'turn.begin':
        return reply === null ? this.#starter.begin(null) : this.#starter.tryAgain(reply);
      case 'turn.announce':
        return this.#starter.announce(reply!);
      case 'turn.started':
        return void reply?.send({ type: 'announced' });
      case 'turn.withdraw':
        return reply === null ? undefined : this.#withdraw(reply, fails);
      case 'turn.cut':
        return reply === null ? undefined : this.#finisher.cut(reply, outcome.reason);
      case 'turn.finish':
        return this.#finisher.finish(reply!);
      case 'turn.fail':
        return this.#finisher.fail(reply!);
      case 'turn.failed':
        return this.#tellFailed(outcome.code);
      case 'audio.begin':
        return void reply?.send({ type: 'begin' });
      case 'audio.pause':
        return void reply?.send({ type: 'pause' });
      case 'audio.resume':
      // Audio that came while the reply was held can begin now.
      case 'reply.resumed':
      case 'call.draining':
        return void reply?.send({ type: 'resume' });
      case 'audio.clear':
        return this.#clear();
      case 'reply.stop':
        return void reply?.send({ type: 'stop' });
      case 'call.busy':
        return reply === null ? undefined : this.#finisher.leave(reply);
      case 'call.closed':
        return void this.#close(outcome.code, outcome.close);
      case 'call.opened':
      case 'message.accepted':
      case 'utterance.begun':
      case 'utterance.ended':
      case 'call.free':
      case 'reply.held':
      case 'refused':
      case 'unchanged':
    }
  }

  /** The open reply, if the client knows it. */
  get told(): Reply | null {
    return this.reply?.isAnnounced ? this.reply : null;
  }

  #newReply(kind: { readonly greeting: boolean; readonly early: boolean }): Reply {
    const { services, ready, session, principal, requestId } = this.#options;
    const { provider, settings, access } = ready;
    const { outputEncoding: encoding, outputSampleRate: sampleRate } = this.settings;
    const { name, voice } = choiceOf(settings);
    const request = { caller: this.#caller, name, voice, speed: 1, access };
    this.reply = new Reply({
      port: this,
      actor: services.host.replies.open({
        ...kind,
        id: `${this.id}.${++this.#replies}`,
        workspaceId: session.workspaceId,
        cause: causeByPrincipal(principal, requestId),
      }),
      narrate: (spoken) => services.voice.synthesize({ provider, encoding, sampleRate, request, ...spoken }),
    });
    return this.reply;
  }

  sendAudio(reply: Reply, frame: Uint8Array, first: boolean): void {
    const { clock, metrics } = this.services;
    const { lastVoiceAt } = this.speech;
    if (first && reply.words !== null && lastVoiceAt !== null)
      metrics.calls.voiceToVoice.observe((clock.monotonic() - lastVoiceAt) / 1000);
    this.#options.wire.sendAudio(frame);
  }

  isFree(): boolean {
    return this.#options.wire.isFree();
  }

  count(characters: number): void {
    this.#usage.add(characters);
  }

  #greet(): void {
    const reply = this.#newReply({ greeting: true, early: false });
    reply.send({ type: 'announced' });
    void this.#finisher.steps
      .then(async () => {
        const { services, session } = this.#options;
        const page = await services.store.sessions.messages(session.workspaceId, session.id, {
          limit: 1,
          after: null,
          order: 'asc',
        });
        const messageId = page.items[0]?.id ?? '';
        this.#finisher.replies.set(messageId, reply);
        reply.greet(messageId, page.items[0]?.content ?? '');
      })
      .catch((error) => reply.spoil(error));
  }

  #refused(reply: Reply, code: string): void {
    this.#failed = reply;
    this.send({ type: 'refused', at: this.now, code });
  }

  /** The reply is not open any more. */
  #ended(reply: Reply): void {
    if (this.reply !== reply) return;
    this.reply = null;
    if (reply.isAnnounced) this.last = { reply, at: this.services.clock.monotonic() };
  }

  #withdraw(reply: Reply, fails: boolean): void {
    this.#failed = fails ? reply : null;
    this.#finisher.withdraw(reply, fails, this.state === 'hearing' ? 'speech' : 'client');
  }

  #clear(): void {
    const reply = this.reply ?? this.last?.reply;
    this.tell({ type: 'audio.clear', message_id: reply?.messageId ?? '' });
    if (this.reply?.context.greeting) this.#finisher.leave(this.reply);
  }

  #tellFailed(code: string): void {
    const reply = this.#failed ?? this.reply;
    this.#failed = null;
    if (this.reply !== null) this.#finisher.leave(this.reply);
    this.tell(failedMessage(reply?.isAnnounced ? reply.turnId : null, code, this.#starter.waitSeconds));
  }

  spoiled(error: unknown): string {
    this.services.log.warn({ request_id: this.requestId, err: error }, 'a reply could not be spoken');
    const { code } = failureOfVoice(error);
    return code === 'assistant_unavailable' ? 'voice_unavailable' : code;
  }

  turnStopped(reply: Reply, ending: TurnEnding): void {
    if (this.reply !== reply) return;
    const at = this.now;
    const ended = this.services.host.sessions.population.find(this.session.id)?.machine.state === 'ended';
    if (ending === 'aborted') this.send(ended ? { type: 'session.ended', at } : { type: 'abort', at });
    else if (ending === 'taken') this.send({ type: 'replaced', at, by: 'person' });
    else if (ending === 'expired') this.send({ type: 'tick', at });
  }

  broke(error: unknown): void {
    this.services.log.error({ request_id: this.requestId, err: error }, 'a step of a call failed');
    this.send({ type: 'refused', at: this.now, code: 'api_error' });
  }

  #failedToHear(error: unknown): void {
    this.services.log.warn({ request_id: this.requestId, err: error }, 'a call cannot be heard');
    this.fault(failureOfVoice(error).code, 1011);
  }

  /** Polls the deadlines, the session and chats on it. */
  #poll(): void {
    const { clock } = this.services;
    this.#timer = clock.after(limits.socketPollMs, () => {
      if (this.#closing) return;
      const { expiresAt, until, drainUntil, replyUntil, playUntil, decideUntil } = this.context;
      // A wall clock that is set ahead ends the session.
      const at = clock.now() >= expiresAt * 1000 ? clock.now() : this.now;
      const deadlines = [expiresAt * 1000, until, drainUntil, replyUntil, playUntil, decideUntil];
      if (deadlines.some((due) => due !== null && at >= due)) this.send({ type: 'tick', at });
      this.#options.wire.intake.countWhenDue();
      this.#presence.look();
      void this.#poller.poll();
      if (!this.#closing) this.#poll();
    });
  }

  /** Waits until the turn is sealed, sends the client the reason, and ends the connection. */
  async #close(code: string | null, close: number): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    const { reason } = this.context;
    this.#timer?.cancel();
    this.speech.close();
    this.#poller.close();
    this.#presence.close();
    this.#chats.close();
    if (this.reply !== null) this.#finisher.leave(this.reply);
    this.#finisher.close();
    if (reason === 'person') this.#starter.handOver();
    const late = new Promise<void>((resolve) => void this.services.clock.after(callEndMs, resolve));
    await Promise.race([this.#finisher.steps, late]);
    this.#usage.count();
    if (reason === 'hangup' || reason === 'replaced' || reason === 'person') this.tell({ type: 'ended', reason });
    this.#options.wire.end(code, close);
    await this.#finisher.steps;
    this.#usage.count();
    await this.#poller.leave();
  }
}
