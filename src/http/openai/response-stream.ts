/** A response as a stream of events (contract 14). */
import { secondsOf } from '../../base/clock.ts';
import type { Outlet } from '../../base/edge.ts';
import { jsonText } from '../../base/json.ts';
import { logText, type AdapterTurn } from '../../conversation/protocol-adapter.ts';
import type { Services } from '../../conversation/services.ts';
import type { PendingCall } from '../../store/store.ts';
import { waitingCalls, type TurnEnd } from '../../turn/log.ts';
import { TurnSink, turnStream } from '../handlers/turn-stream.ts';
import type { Reply } from '../request.ts';
import {
  callItem,
  endOf,
  itemStatusOf,
  messageItem,
  messageItemId,
  outputOf,
  responseView,
  textPart,
  type ResponseOf,
} from './response.ts';

export const streamResponse = (
  response: ResponseOf,
  headers: Record<string, string>,
  ended: AdapterTurn['ended'],
  services: Services,
): Reply =>
  turnStream(
    {
      log: response.turn.log,
      position: 0,
      headers,
      ended,
      open: (outlet) => new ResponseSink(outlet, response, services),
    },
    services,
  );

/** The assistant's own calls are not shown. */
class ResponseSink extends TurnSink {
  readonly #response: ResponseOf;
  readonly #services: Services;
  #sequence = 0;
  /** Whether the message has begun. */
  #speaks = false;

  constructor(outlet: Outlet, response: ResponseOf, services: Services) {
    super(outlet);
    this.#response = response;
    this.#services = services;
    const before = responseView(response, null, []);
    this.hold(
      this.#event('response.created', { response: before }) + this.#event('response.in_progress', { response: before }),
    );
  }

  protected textEvents(text: string): string {
    return this.#opening() + this.#event('response.output_text.delta', { ...this.#place, delta: text, logprobs: [] });
  }

  protected endEvents(end: TurnEnd): string {
    const { turn } = this.#response;
    const response = { ...this.#response, completedAt: secondsOf(this.#services.clock.now()) };
    const closing = this.#closing(end);
    const calls = waitingCalls(end)
      .map((call, index) => this.#called(call, index))
      .join('');
    return `${closing}${calls}${this.#event(`response.${endOf(end)}`, { response: responseView(response, end, outputOf(turn, end)) })}data: [DONE]\n\n`;
  }

  get #place() {
    return { item_id: messageItemId(this.#response.turn), output_index: 0, content_index: 0 };
  }

  #opening(): string {
    if (this.#speaks) return '';
    this.#speaks = true;
    const item = messageItem(this.#response.turn, 'in_progress', []);
    return (
      this.#event('response.output_item.added', { output_index: 0, item }) +
      this.#event('response.content_part.added', { ...this.#place, part: textPart('') })
    );
  }

  #closing(end: TurnEnd): string {
    if (!this.#speaks) return '';
    const { turn } = this.#response;
    const text = logText(turn.log);
    const part = textPart(text);
    return (
      this.#event('response.output_text.done', { ...this.#place, text, logprobs: [] }) +
      this.#event('response.content_part.done', { ...this.#place, part }) +
      this.#event('response.output_item.done', { output_index: 0, item: messageItem(turn, itemStatusOf(end), [part]) })
    );
  }

  #called(call: PendingCall, number: number): string {
    const { turn } = this.#response;
    const index = number + (this.#speaks ? 1 : 0);
    const item = callItem(turn, call, number, 'completed');
    const place = { item_id: item.id, output_index: index };
    return (
      this.#event('response.output_item.added', {
        output_index: index,
        item: callItem(turn, call, number, 'in_progress'),
      }) +
      this.#event('response.function_call_arguments.delta', { ...place, delta: item.arguments }) +
      this.#event('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments }) +
      this.#event('response.output_item.done', { output_index: index, item })
    );
  }

  #event(type: string, data: object): string {
    this.#services.metrics.streamEvents.inc();
    return `event: ${type}\ndata: ${jsonText({ type, sequence_number: this.#sequence++, ...data })}\n\n`;
  }
}
