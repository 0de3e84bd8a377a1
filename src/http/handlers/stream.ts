/** A turn's log as an event stream (contract 7). */
import type { FoundTurn } from '../../conversation/turns.ts';
import { eventFrame } from '../edge/event-stream.ts';
import type { Outlet } from '../../base/edge.ts';
import { rowOfCode } from '../../base/errors.ts';
import { jsonText } from '../../base/json.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import { pendingCallsView, sightOf, type Channel } from '../../conversation/views.ts';
import { usageOf, type CallMark, type TurnEnd } from '../../turn/log.ts';
import { TurnSink, turnStream } from './turn-stream.ts';

/** The parts of a turn that its stream shows. */
type StreamedTurn = Pick<FoundTurn, 'turnId' | 'messageId' | 'log'>;

/** The start of a stream, and the form of its events. */
interface Streaming {
  /** Null for the beginning, with `turn.started`; else behind so many code points of output. */
  readonly cursor: number | null;
  readonly channel: Channel;
  readonly headers?: Record<string, string>;
}

export const streamReply = (
  turn: StreamedTurn,
  { cursor, channel, headers = {} }: Streaming,
  services: Services,
): Reply =>
  turnStream(
    {
      log: turn.log,
      position: cursor ?? 0,
      headers: { 'x-turn-id': turn.turnId, ...headers },
      open: (outlet) => new EventSink(outlet, turn, { cursor, channel }, services),
    },
    services,
  );

class EventSink extends TurnSink {
  readonly #turn: StreamedTurn;
  readonly #channel: Channel;
  readonly #services: Services;

  constructor(outlet: Outlet, turn: StreamedTurn, { cursor, channel }: Streaming, services: Services) {
    super(outlet);
    this.#turn = turn;
    this.#channel = channel;
    this.#services = services;
    if (cursor === null)
      this.hold(this.#frame('turn.started', 0, { turn_id: turn.turnId, message_id: turn.messageId }));
  }

  protected textEvents(text: string, position: number): string {
    return this.#frame('message.delta', position, { text });
  }

  protected override markEvents({ kind, call }: CallMark, position: number): string {
    const sight = sightOf({ ...call, status: kind === 'started' ? 'running' : call.status }, this.#channel);
    if (!sight.call) return '';
    const { id, name, status, error, arguments: given, output } = call;
    if (kind === 'started')
      return this.#frame('tool.started', position, { call_id: id, name, ...(sight.arguments && { arguments: given }) });
    return this.#frame('tool.ended', position, { call_id: id, name, status, error, ...(sight.output && { output }) });
  }

  protected endEvents(end: TurnEnd, position: number): string {
    const { event, data } = terminalEvent(end, this.#turn, this.#channel);
    return this.#frame(event, position, data);
  }

  #frame(event: string, position: number, data: object): string {
    this.#services.metrics.streamEvents.inc();
    return eventFrame(event, position, jsonText(data));
  }
}

function terminalEvent(
  terminal: TurnEnd,
  { turnId, messageId }: StreamedTurn,
  channel: Channel,
): { event: string; data: object } {
  if (terminal.type === 'completed') {
    const usage = usageOf(terminal);
    const { pending } = terminal;
    if (pending === undefined)
      return {
        event: 'turn.completed',
        data: {
          turn_id: turnId,
          message_id: messageId,
          stop_reason: terminal.cut === 'length' ? 'length' : 'end',
          usage,
        },
      };
    return {
      event: 'turn.completed',
      data: {
        turn_id: turnId,
        message_id: messageId,
        stop_reason: 'tool_calls',
        tool_calls: pendingCallsView(pending, channel),
        usage,
      },
    };
  }
  if (terminal.type === 'aborted')
    return {
      event: 'turn.aborted',
      data: { turn_id: turnId, message_id: messageId, stop_reason: terminal.isTaken ? 'taken' : 'aborted' },
    };
  const { code, message } = rowOfCode(terminal.errorCode);
  return { event: 'error', data: { code, message } };
}
