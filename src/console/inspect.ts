/**
 * `/console/api/inspect`: live actors on a WebSocket (contract 9). First `{type:"actors", actors:[…]}` with everyone who is
 * awake, then `activated`, `event` and `passivated` as they happen; an event is shown once it can no longer be undone. `?workspace=`,
 * `?kind=` and `?id=` narrow it down, `watch` and `unwatch` change that, and `sync` gives `actors` again. `?format=stately` says
 * the same in the messages of Stately's inspection protocol.
 */
import type { Socket, Upgrade } from '../edge.ts';
import { followed, type Awake } from '../host/feed.ts';
import type { ActorIdentity, Inspected } from '../host/inspector.ts';
import { limits } from '../limits.ts';
import { promptly } from '../promptly.ts';
import type { OperatorCaller, Request } from '../request.ts';
import type { FeedFormat } from './feed-format.ts';
import { whileSignedIn } from './sign-in.ts';
import { StatelyFormat } from './stately.ts';
import { Watched, watchMessage, type WatchQuery } from './watching.ts';

export function watchActors({ caller, query, requestId, services }: Request<OperatorCaller, WatchQuery & { readonly format?: string }>, upgrade: Upgrade): void {
  const { host, clock } = services;
  const { format: name, ...narrowed } = query;
  const watched = new Watched(narrowed);
  const format = name === 'stately' ? new StatelyFormat() : plainFormat;
  let unwatch = () => {};
  let tell: Teller = () => {};
  const picture = (actors: readonly Awake[]): void => tell(format.actors(actors.filter(({ actor }) => watched.shows(actor)), clock.now()));
  upgrade.accept(
    whileSignedIn(caller, services, {
      opened(socket) {
        tell = teller(socket, format);
        const inspected = (each: Inspected): void => {
          if (watched.shows(each.actor)) tell(format.inspected(each));
        };
        unwatch = followed(host.feed, { actors: picture, inspected });
      },
      message(data) {
        const message = watchMessage(data);
        if (message === null) return;
        if (message.type === 'sync') return void promptly(host.feed.picture(), picture);
        const { type, ...wanted } = message;
        watched.change(type === 'watch', wanted);
      },
      closed: () => unwatch(),
    }),
    { 'x-request-id': requestId },
  );
}

type Teller = (messages: readonly object[]) => void;

/** Sends what the watcher can take. Messages that it is too slow for are not buffered: they are counted, and the count is sent. */
function teller(socket: Socket, format: FeedFormat): Teller {
  let dropped = 0;
  return (messages) => {
    if (socket.bufferedBytes > limits.inspectBytesMax) {
      dropped += messages.length;
      return;
    }
    if (dropped > 0) for (const message of format.dropped(dropped)) socket.send(JSON.stringify(message));
    dropped = 0;
    for (const message of messages) socket.send(JSON.stringify(message));
  };
}

const identityView = ({ kind, id, workspaceId }: ActorIdentity) => ({ kind, id, workspace_id: workspaceId });

const plainFormat: FeedFormat = {
  actors: (actors, at) => [{ type: 'actors', at, actors: actors.map(({ actor, state, context }) => ({ ...identityView(actor), state, context })) }],
  inspected(inspected) {
    const { type, actor, at } = inspected;
    if (type !== 'event') return [{ type, at, actor: identityView(actor), state: inspected.state }];
    const { seq, event, from, to, context, outcomes, refused, requestId, by } = inspected;
    return [{ type, seq, at, actor: identityView(actor), event: event.type, from, to, context, outcomes, refused, request_id: requestId, by, data: event }];
  },
  dropped: (count) => [{ type: 'dropped', count }],
};
