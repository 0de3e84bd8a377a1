/** A response as a stream of events (contract 14). */
import { secondsOf } from '../../base/clock.ts';
import type { Outlet } from '../../base/edge.ts';
import { jsonText } from '../../base/json.ts';
import { textOf } from '../../conversation/front.ts';
import type { Services } from '../../conversation/services.ts';
import type { PendingCall } from '../../store/store.ts';
import { TurnReader, type Sink } from '../../turn/reader.ts';
import type { TurnEnd } from '../../turn/turn.ts';
import { comment } from '../edge/event-stream.ts';
import type { Reply } from '../request.ts';
import { callItem, itemStatusOf, messageItem, outputOf, pendingOf, responseView, textPart, type ResponseOf } from './response.ts';

export const streamResponse = (response: ResponseOf, headers: Record<string, string>, services: Services): Reply => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', ...headers },
  stream: (outlet, onGone) => {
    const sink = new ResponseSink(outlet, response, services);
    const reader = new TurnReader(response.turn.log, 0, sink, services.clock);
    onGone(() => reader.stop());
    reader.start();
    sink.flush();
  },
});

class ResponseSink implements Sink {
  readonly #outlet: Outlet;
  readonly #response: ResponseOf;
  readonly #services: Services;
  #sequence = 0;
  /** Sent together with the next event. */
  #held: string;
  /** Whether the message has begun. */
  #speaks = false;
  #begun = false;

  constructor(outlet: Outlet, response: ResponseOf, services: Services) {
    this.#outlet = outlet;
    this.#response = response;
    this.#services = services;
    const before = responseView(response, null, []);
    this.#held = this.#event('response.created', { response: before }) + this.#event('response.in_progress', { response: before });
  }

  delta(text: string, _position: number, last: boolean): boolean {
    const events = this.#opening() + this.#event('response.output_text.delta', { ...this.#place, delta: text, logprobs: [] });
    if (!last) return this.#write(events);
    this.#held += events;
    return true;
  }

  /** The assistant's own calls are not shown. */
  mark(): boolean {
    return true;
  }

  heartbeat(): boolean {
    return this.#write(comment(''));
  }

  terminal(end: TurnEnd): void {
    this.#begun = true;
    const { turn } = this.#response;
    const response = { ...this.#response, completedAt: secondsOf(this.#services.clock.now()) };
    const type = end.type === 'aborted' ? 'incomplete' : end.type;
    const calls = pendingOf(end).map((call, index) => this.#called(call, index + (this.#speaks ? 1 : 0))).join('');
    const last = this.#closing(end) + calls + this.#event(`response.${type}`, { response: responseView(response, end, outputOf(turn, end)) });
    this.#outlet.end(`${this.#held}${last}data: [DONE]\n\n`);
  }

  cut(): void {
    this.#outlet.cut();
  }

  onDrain(callback: () => void): void {
    this.#outlet.onDrain(callback);
  }

  /** Sends the head even if there is no event yet to send it with. */
  flush(): void {
    if (!this.#begun) this.#write('');
  }

  get #place() {
    return { item_id: this.#response.turn.messageId, output_index: 0, content_index: 0 };
  }

  #opening(): string {
    if (this.#speaks) return '';
    this.#speaks = true;
    const item = messageItem(this.#response.turn, 'in_progress', []);
    return this.#event('response.output_item.added', { output_index: 0, item }) + this.#event('response.content_part.added', { ...this.#place, part: textPart('') });
  }

  #closing(end: TurnEnd): string {
    if (!this.#speaks) return '';
    const { turn } = this.#response;
    const text = textOf(turn.log);
    const part = textPart(text);
    return (
      this.#event('response.output_text.done', { ...this.#place, text, logprobs: [] }) +
      this.#event('response.content_part.done', { ...this.#place, part }) +
      this.#event('response.output_item.done', { output_index: 0, item: messageItem(turn, itemStatusOf(end), [part]) })
    );
  }

  #called(call: PendingCall, index: number): string {
    const item = callItem(call, 'completed');
    const place = { item_id: item.id, output_index: index };
    return (
      this.#event('response.output_item.added', { output_index: index, item: callItem(call, 'in_progress') }) +
      this.#event('response.function_call_arguments.delta', { ...place, delta: item.arguments }) +
      this.#event('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments }) +
      this.#event('response.output_item.done', { output_index: index, item })
    );
  }

  #event(type: string, data: object): string {
    this.#services.metrics.streamEvents.inc();
    return `event: ${type}\ndata: ${jsonText({ type, sequence_number: this.#sequence++, ...data })}\n\n`;
  }

  #write(events: string): boolean {
    const piece = this.#held + events;
    this.#held = '';
    this.#begun = true;
    return this.#outlet.write(piece);
  }
}
