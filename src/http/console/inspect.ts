/**
 * `/console/api/inspect`: live actors on a WebSocket (contract 9). First `{type:"actors", actors:[…]}` with everyone
 * who is awake, then `activated`, `event` and `passivated` as they happen; an event is shown once it can no longer be
 * undone. `?workspace=`, `?kind=` and `?id=` narrow it down, `watch` and `unwatch` change that, and `sync` gives
 * `actors` again, once for all that come before it. `?format=stately` says the same in the messages of Stately's
 * inspection protocol.
 */
import type { ResponseHeaders, Socket, Upgrade } from '../../base/edge.ts';
import { watchFeed, type Awake, type Watching } from '../../host/feed.ts';
import type { ActorIdentity, Inspected } from '../../actors/inspector.ts';
import { reaches, showsLive } from '../../base/roles.ts';
import { Failure } from '../../base/errors.ts';
import { jsonText } from '../../base/json.ts';
import type { OperatorCaller, Request } from '../request.ts';
import type { FeedFormat } from './feed-format.ts';
import { whileSignedIn } from './sign-in.ts';
import { StatelyFormat } from './stately.ts';
import { Watched, watchMessage, type WatchQuery } from './watching.ts';

/** Bytes that wait for a slow watcher: less than `slowReaderBytesMax`, at which the engine cuts the socket. */
const inspectBytesMax = 128 * 1024;

/** The close code of a server that drains (contract 8). */
const restarting = 1012;

const tooFast = { type: 'error', code: 'invalid_request', message: 'The messages come too fast.' };

export function watchActors(
  { caller, query, services }: Request<OperatorCaller, WatchQuery & { readonly format?: string }>,
  upgrade: Upgrade,
  headers: ResponseHeaders,
): void {
  const { host, clock } = services;
  const { format: name, ...narrowed } = query;
  if (query.workspace !== undefined && !reaches(caller.grant, query.workspace)) throw new Failure('route_not_found');
  const watched = new Watched(narrowed);
  const shows = (actor: ActorIdentity): boolean =>
    reaches(caller.grant, actor.workspaceId) && showsLive(caller.grant, actor.kind) && watched.shows(actor);
  const format = name === 'stately' ? new StatelyFormat() : plainFormat;
  let watching: Watching | null = null;
  let teller: Teller | null = null;
  const picture = (actors: readonly Awake[]): void =>
    teller?.tell(
      format.actors(
        actors.filter(({ actor }) => shows(actor)),
        clock.now(),
      ),
    );
  upgrade.accept(
    whileSignedIn(caller, services, {
      opened(socket) {
        // A watcher is not waited for: it opens another socket elsewhere (contract 8).
        const draining = (): void => socket.close(restarting);
        // The process may have begun to end since the upgrade was checked.
        if (services.draining) return draining();
        const telling = (teller = new Teller(socket, format));
        const inspected = (each: Inspected): void => {
          if (shows(each.actor)) telling.tell(format.inspected(each));
        };
        watching = watchFeed(host.feed, { actors: picture, inspected, draining });
      },
      message(data) {
        const message = watchMessage(data);
        if (message === null) return;
        if (message.type === 'sync') return watching?.again();
        const { type, ...wanted } = message;
        watched.change(type === 'watch', wanted);
      },
      tooFast() {
        teller?.end(tooFast);
        return false;
      },
      drained: () => teller?.drained(),
      closed: () => watching?.stop(),
    }),
    headers,
  );
}

/**
 * Sends what the watcher can take. Once a message has no room, it and those after it are not buffered but counted,
 * until the socket has sent all that waits; then the count is sent, though nothing else may happen.
 */
class Teller {
  readonly #socket: Socket;
  readonly #format: FeedFormat;
  #held = false;
  #dropped = 0;

  constructor(socket: Socket, format: FeedFormat) {
    this.#socket = socket;
    this.#format = format;
  }

  tell(messages: readonly object[]): void {
    for (const message of messages) {
      const text = jsonText(message);
      if (this.#dropped === 0 && this.#fits(text)) this.#send(text);
      else this.#dropped++;
    }
  }

  /** Sends the reason for the close, also if other messages wait. */
  end(error: object): void {
    this.#send(jsonText(error));
  }

  /** The socket has sent everything. */
  drained(): void {
    this.#held = false;
    if (this.#dropped === 0) return;
    for (const message of this.#format.dropped(this.#dropped)) this.#send(jsonText(message));
    this.#dropped = 0;
  }

  /**
   * Whether a message has room. Only a socket with backpressure reports that it has drained, so a message of any size
   * fits into any other.
   */
  #fits(text: string): boolean {
    return !this.#held || this.#socket.bufferedBytes + Buffer.byteLength(text) <= inspectBytesMax;
  }

  #send(text: string): void {
    this.#held = !this.#socket.send(text);
  }
}

const identityView = ({ kind, id, workspaceId }: ActorIdentity) => ({ kind, id, workspace_id: workspaceId });

const plainFormat: FeedFormat = {
  actors: (actors, at) => [
    {
      type: 'actors',
      at,
      actors: actors.map(({ actor, state, context }) => ({ ...identityView(actor), state, context })),
    },
  ],
  inspected(inspected) {
    const { type, actor, at } = inspected;
    if (type !== 'event') return [{ type, at, actor: identityView(actor), state: inspected.state }];
    const { seq, event, from, to, context, outcomes, refused, requestId, by } = inspected;
    return [
      {
        type,
        seq,
        at,
        actor: identityView(actor),
        event: event.type,
        from,
        to,
        context,
        outcomes,
        refused,
        request_id: requestId,
        by,
        data: event,
      },
    ];
  },
  dropped: (count) => [{ type: 'dropped', count }],
};
