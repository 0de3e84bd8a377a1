/** A turn's log as an event stream (contract 7). */
import type { FoundTurn } from '../../conversation/turns.ts';
import { comment, eventFrame } from '../edge/event-stream.ts';
import type { Outlet } from '../../base/edge.ts';
import { errors, type ErrorName } from '../../base/errors.ts';
import { jsonText } from '../../base/json.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { TurnEnd } from '../../turn/turn.ts';
import { TurnReader, type Sink } from '../../turn/reader.ts';

/** The parts of a turn that its stream shows. */
type StreamedTurn = Pick<FoundTurn, 'turnId' | 'messageId' | 'log'>;

/** Streams a turn from its beginning (`cursor` null, with `turn.started`) or from behind `cursor` code points of output. */
export const streamReply = (turn: StreamedTurn, cursor: number | null, services: Services, headers: Record<string, string> = {}): Reply => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-turn-id': turn.turnId, ...headers },
  stream: (outlet, onGone) => {
    const sink = new EventSink(outlet, turn, services);
    const reader = new TurnReader(turn.log, cursor ?? 0, sink, services.clock);
    onGone(() => reader.stop());
    if (cursor === null) sink.started();
    reader.start();
    sink.flush();
  },
});

class EventSink implements Sink {
  readonly #outlet: Outlet;
  readonly #turn: StreamedTurn;
  readonly #services: Services;
  /** Sent together with the next event. */
  #held = '';
  #begun = false;

  constructor(outlet: Outlet, turn: StreamedTurn, services: Services) {
    this.#outlet = outlet;
    this.#turn = turn;
    this.#services = services;
  }

  started(): void {
    const { turnId, messageId } = this.#turn;
    this.#held = this.#frame('turn.started', 0, { turn_id: turnId, message_id: messageId });
  }

  delta(text: string, position: number, last: boolean): boolean {
    const frame = this.#frame('message.delta', position, { text });
    if (!last) return this.#write(frame);
    this.#held += frame;
    return true;
  }

  heartbeat(): boolean {
    return this.#write(comment(''));
  }

  terminal(terminal: TurnEnd, position: number): void {
    this.#begun = true;
    const { event, data } = terminalEvent(terminal, this.#turn);
    this.#outlet.end(this.#held + this.#frame(event, position, data));
  }

  cut(): void {
    this.#outlet.cut();
  }

  onDrain(callback: () => void): void {
    this.#outlet.onDrain(callback);
  }

  /** Sends the head even if there is no event yet to send it with. */
  flush(): void {
    if (!this.#begun) this.#write(this.#held === '' ? comment('') : '');
  }

  #write(frame: string): boolean {
    const piece = this.#held + frame;
    this.#held = '';
    this.#begun = true;
    return this.#outlet.write(piece);
  }

  #frame(event: string, position: number, data: object): string {
    this.#services.metrics.streamEvents.inc();
    return eventFrame(event, position, jsonText(data));
  }
}

function terminalEvent(terminal: TurnEnd, { turnId, messageId }: StreamedTurn): { event: string; data: object } {
  if (terminal.type === 'completed') {
    const usage = { input_tokens: terminal.inputTokens, output_tokens: terminal.outputTokens };
    return { event: 'turn.completed', data: { turn_id: turnId, message_id: messageId, stop_reason: 'end', usage } };
  }
  if (terminal.type === 'aborted') return { event: 'turn.aborted', data: { turn_id: turnId, message_id: messageId, stop_reason: 'aborted' } };
  const { code, message } = errors[terminal.errorCode as ErrorName];
  return { event: 'error', data: { code, message } };
}
