/** A turn's log as an event stream (contract 7). */
import type { FoundTurn } from '../../conversation/turns.ts';
import { comment, eventFrame } from '../edge/event-stream.ts';
import type { Outlet } from '../../base/edge.ts';
import { errors, type ErrorName } from '../../base/errors.ts';
import { jsonText } from '../../base/json.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import { pendingCallsView, sightOf, type Channel } from '../../conversation/views.ts';
import type { CallMark, TurnEnd } from '../../turn/turn.ts';
import { TurnReader, type Sink } from '../../turn/reader.ts';

/** The parts of a turn that its stream shows. */
type StreamedTurn = Pick<FoundTurn, 'turnId' | 'messageId' | 'log'>;

/** Where a stream begins, and what its reader sees. */
interface Streaming {
  /** Null for the beginning, with `turn.started`; else behind so many code points of output. */
  readonly cursor: number | null;
  readonly channel: Channel;
  readonly headers?: Record<string, string>;
}

export const streamReply = (turn: StreamedTurn, { cursor, channel, headers = {} }: Streaming, services: Services): Reply => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-turn-id': turn.turnId, ...headers },
  stream: (outlet, onGone) => {
    const sink = new EventSink(outlet, turn, channel, services);
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
  readonly #channel: Channel;
  readonly #services: Services;
  /** Sent together with the next event. */
  #held = '';
  #begun = false;

  constructor(outlet: Outlet, turn: StreamedTurn, channel: Channel, services: Services) {
    this.#outlet = outlet;
    this.#turn = turn;
    this.#channel = channel;
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

  mark({ kind, call }: CallMark, position: number): boolean {
    const sight = sightOf({ ...call, status: kind === 'started' ? 'running' : call.status }, this.#channel);
    if (!sight.call) return true;
    const { id, name, status, error, arguments: given, output } = call;
    if (kind === 'started') return this.#write(this.#frame('tool.started', position, { call_id: id, name, ...(sight.arguments && { arguments: given }) }));
    return this.#write(this.#frame('tool.ended', position, { call_id: id, name, status, error, ...(sight.output && { output }) }));
  }

  heartbeat(): boolean {
    return this.#write(comment(''));
  }

  terminal(terminal: TurnEnd, position: number): void {
    this.#begun = true;
    const { event, data } = terminalEvent(terminal, this.#turn, this.#channel);
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

function terminalEvent(terminal: TurnEnd, { turnId, messageId }: StreamedTurn, channel: Channel): { event: string; data: object } {
  if (terminal.type === 'completed') {
    const usage = { input_tokens: terminal.inputTokens, output_tokens: terminal.outputTokens };
    const { pending } = terminal;
    if (pending === undefined) return { event: 'turn.completed', data: { turn_id: turnId, message_id: messageId, stop_reason: 'end', usage } };
    return { event: 'turn.completed', data: { turn_id: turnId, message_id: messageId, stop_reason: 'tool_calls', tool_calls: pendingCallsView(pending, channel), usage } };
  }
  if (terminal.type === 'aborted') return { event: 'turn.aborted', data: { turn_id: turnId, message_id: messageId, stop_reason: 'aborted' } };
  const { code, message } = errors[terminal.errorCode as ErrorName];
  return { event: 'error', data: { code, message } };
}
