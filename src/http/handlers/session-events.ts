/** `GET /sessions/{id}/events`: the stream of a session (contract 23). */
import { reachSession } from '../../conversation/access-checks.ts';
import { refusedByDrain, type Services } from '../../conversation/services.ts';
import { attendanceView, messageView, type Channel } from '../../conversation/views.ts';
import type { Timer } from '../../base/clock.ts';
import type { Outlet } from '../../base/edge.ts';
import { Failure } from '../../base/errors.ts';
import { jsonText } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { endsInHalf } from '../../base/text.ts';
import type { SessionEvent, SessionReader } from '../../turn/session-stream.ts';
import { comment, eventFrame, eventStreamHeaders, startFrame } from '../edge/event-stream.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import { cursorOf } from './cursor.ts';

export async function sessionEvents(request: Request<PrincipalCaller, { after?: number }>): Promise<Reply> {
  const { caller, params, head, services } = request;
  const { principal } = caller;
  const cursor = cursorOf(request);
  const session = await reachSession(principal, params.id, services);
  if (services.draining) throw refusedByDrain();
  const reader = services.host.streams.open(session);
  head.onGone(() => reader.close());
  try {
    const begun = await reader.begin(cursor.position);
    if (begun === 'begun') return streamOf(reader, principal.channel, services);
    reader.close();
    if (begun === 'over') return { status: 204, empty: true };
  } catch (error) {
    reader.close();
    throw error;
  }
  throw new Failure(cursor.field === 'after' ? 'invalid_field' : 'unreadable_header', { field: cursor.field });
}

const streamOf = (reader: SessionReader, channel: Channel, services: Services): Reply => ({
  status: 200,
  headers: eventStreamHeaders(),
  stream: (outlet) => new SessionSink(outlet, reader, channel, services).run(),
});

/** Writes events as the client takes them, and comments in between. */
class SessionSink {
  readonly #outlet: Outlet;
  readonly #reader: SessionReader;
  readonly #channel: Channel;
  readonly #services: Services;
  #isBlocked = false;
  #drained = (): void => {};
  /** Set while the reader waits for events. */
  #heart: Timer | null = null;

  constructor(outlet: Outlet, reader: SessionReader, channel: Channel, services: Services) {
    this.#outlet = outlet;
    this.#reader = reader;
    this.#channel = channel;
    this.#services = services;
    outlet.onDrain(() => {
      this.#isBlocked = false;
      this.#drained();
    });
  }

  /** Ends with the session, and while the process drains: the client resumes elsewhere. */
  async run(): Promise<void> {
    // A write that waits for the client ends with it.
    this.#reader.onClose = () => this.#drained();
    const undrain = this.#services.host.feed.whenDraining(() => this.#reader.close());
    try {
      this.#isBlocked = !this.#outlet.write(startFrame(this.#reader.position));
      for (;;) {
        this.#rest();
        const events = await this.#reader.next();
        this.#heart?.cancel();
        if (events === null || events.length === 0) return this.#outlet.end();
        for (const event of events) await this.#send(this.#frame(event));
      }
    } finally {
      this.#heart?.cancel();
      undrain();
      this.#reader.close();
    }
  }

  #rest(): void {
    this.#heart = this.#services.clock.after(limits.heartbeatMs, () => {
      if (!this.#isBlocked) this.#isBlocked = !this.#outlet.write(comment(''));
      this.#rest();
    });
  }

  /** Sends in pieces, each once the client has taken the one before: a message may be longer than may wait. */
  async #send(frame: string): Promise<void> {
    for (let at = 0; at < frame.length && !this.#reader.isClosed;) {
      if (this.#isBlocked) await new Promise<void>((resolve) => (this.#drained = resolve));
      const piece = frame.slice(at, at + limits.deltaCharactersMax);
      const whole = endsInHalf(piece) && at + piece.length < frame.length ? piece.slice(0, -1) : piece;
      this.#isBlocked = !this.#outlet.write(whole);
      at += whole.length;
    }
  }

  #frame(event: SessionEvent): string {
    this.#services.metrics.streamEvents.inc();
    return eventFrame(event.type, event.number, jsonText(this.#dataOf(event)));
  }

  #dataOf(event: SessionEvent): object {
    switch (event.type) {
      case 'message.created':
        return messageView(event.message, this.#channel);
      case 'turn.started':
        return { turn_id: event.turn.id, message_id: event.turn.messageId };
      case 'turn.ended':
        return { turn_id: event.turn.id, status: event.turn.status };
      case 'attendance.changed':
        return { attendance: attendanceView(event.attendance) };
      case 'session.ended':
        return { status: event.status };
    }
  }
}
