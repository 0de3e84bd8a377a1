/**
 * `/console/api/inspect`: live actors on a WebSocket. First `{type:"actors", actors:[…]}` with everyone who is awake,
 * then `activated`, `event` and `passivated` as they happen. `?workspace=`, `?kind=` and `?id=` narrow it down.
 */
import type { Socket, Upgrade } from '../edge.ts';
import type { ActorIdentity, Inspected } from '../host/inspector.ts';
import { limits } from '../limits.ts';
import type { OperatorCaller, Request } from '../request.ts';
import { whileSignedIn } from './sign-in.ts';

/** What narrows the actors down; without it all are watched. */
export interface WatchQuery {
  readonly workspace?: string;
  readonly kind?: string;
  readonly id?: string;
}

type Wanted = (actor: ActorIdentity) => boolean;

export function watchActors({ caller, query, requestId, services }: Request<OperatorCaller, WatchQuery>, upgrade: Upgrade): void {
  const wanted = filterOf(query);
  let unwatch = () => {};
  upgrade.accept(
    whileSignedIn(caller, services, {
      opened(socket) {
        const actors = services.host.awake().filter(({ actor }) => wanted(actor));
        const tell = teller(socket);
        tell({ type: 'actors', at: services.clock.now(), actors: actors.map(({ actor, ...rest }) => ({ ...identityView(actor), ...rest })) });
        unwatch = services.host.inspector.watch((inspected) => {
          if (wanted(inspected.actor)) tell(view(inspected, services.clock.now()));
        });
      },
      message() {
        // Watching is one way; what a watcher sends has no meaning.
      },
      closed: () => unwatch(),
    }),
    { 'x-request-id': requestId },
  );
}

/** Sends what the watcher can take. Events that it is too slow for are not buffered: they are counted, and the count is sent. */
function teller(socket: Socket): (message: object) => void {
  let dropped = 0;
  return (message) => {
    if (socket.bufferedBytes > limits.inspectBytesMax) {
      dropped++;
      return;
    }
    if (dropped > 0) socket.send(JSON.stringify({ type: 'dropped', count: dropped }));
    dropped = 0;
    socket.send(JSON.stringify(message));
  };
}

const filterOf =
  ({ workspace, kind, id }: WatchQuery): Wanted =>
  (actor) =>
    (workspace ?? actor.workspaceId) === actor.workspaceId && (kind ?? actor.kind) === actor.kind && (id ?? actor.id) === actor.id;

const identityView = ({ kind, id, workspaceId }: ActorIdentity) => ({ kind, id, workspace_id: workspaceId });

function view(inspected: Inspected, at: number): object {
  const { type, actor } = inspected;
  if (type !== 'event') return { type, at, actor: identityView(actor), state: inspected.state };
  const { event, from, to, context, outcomes } = inspected;
  return { type, at, actor: identityView(actor), event, from, to, context, outcomes };
}
