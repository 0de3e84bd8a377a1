/** A turn's log as an event stream, for each format of events (contract 7 and 14). */
import type { Outlet } from '../../base/edge.ts';
import type { Services } from '../../conversation/services.ts';
import { TurnReader, type Sink } from '../../turn/reader.ts';
import type { CallMark, TurnEnd, TurnLog } from '../../turn/log.ts';
import { comment, eventStreamHeaders } from '../edge/event-stream.ts';
import type { Reply } from '../request.ts';

export interface TurnStreaming {
  readonly log: TurnLog;
  /** The stream begins behind so many code points of output. */
  readonly position: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Holds back the end of the stream until it resolves. */
  readonly ended?: Promise<void> | null;
  open(outlet: Outlet): TurnSink;
}

export const turnStream = (
  { log, position, headers, ended = null, open }: TurnStreaming,
  services: Services,
): Reply => ({
  status: 200,
  headers: eventStreamHeaders(headers),
  stream: (outlet, onGone) => {
    const sink = open(outlet);
    sink.after = ended;
    const reader = new TurnReader(log, position, sink, services.clock);
    onGone(() => reader.stop());
    reader.start();
    sink.flush();
  },
});

/** Writes events to a client. The last text is sent together with the end. */
export abstract class TurnSink implements Sink {
  readonly #outlet: Outlet;
  /** Sent together with the next event. */
  #held = '';
  #begun = false;
  /** Holds back the end until it resolves. */
  after: Promise<void> | null = null;

  constructor(outlet: Outlet) {
    this.#outlet = outlet;
  }

  /** Returns the events of a text, or of the turn's end. */
  protected abstract textEvents(text: string, position: number): string;
  protected abstract endEvents(end: TurnEnd, position: number): string;

  /** The events of a step of a call; empty for one that is not shown. */
  protected markEvents(_mark: CallMark, _position: number): string {
    return '';
  }

  /** Keeps events for the next ones. */
  protected hold(events: string): void {
    this.#held += events;
  }

  delta(text: string, position: number, last: boolean): boolean {
    const events = this.textEvents(text, position);
    if (!last) return this.#write(events);
    this.hold(events);
    return true;
  }

  mark(mark: CallMark, position: number): boolean {
    const events = this.markEvents(mark, position);
    return events === '' || this.#write(events);
  }

  heartbeat(): boolean {
    return this.#write(comment(''));
  }

  terminal(end: TurnEnd, position: number): void {
    this.#begun = true;
    const send = (): void => this.#outlet.end(this.#held + this.endEvents(end, position));
    if (this.after === null) send();
    else void this.after.then(send);
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

  #write(events: string): boolean {
    const piece = this.#held + events;
    this.#held = '';
    this.#begun = true;
    return this.#outlet.write(piece);
  }
}
