/**
 * `/console/api/inspect`: live actors on a WebSocket. First `{type:"actors", actors:[…]}` with everyone who is awake,
 * then `activated`, `event` and `passivated` as they happen. `?workspace=`, `?kind=` and `?id=` narrow it down.
 */
import type { Socket, Upgrade } from '../edge.ts';
import type { ActorIdentity, Inspected } from '../host/inspector.ts';
import { limits } from '../limits.ts';
import type { Services } from '../services.ts';

type Wanted = (actor: ActorIdentity) => boolean;

export function watchActors(upgrade: Upgrade, requestId: string, services: Services): void {
  const wanted = filterOf(new URLSearchParams(upgrade.query));
  let unwatch = () => {};
  upgrade.accept(
    {
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
    },
    { 'x-request-id': requestId },
  );
}

/** Sends what the watcher can take; what it is too slow for is counted and told instead of buffered. */
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

function filterOf(query: URLSearchParams): Wanted {
  const workspace = query.get('workspace');
  const kind = query.get('kind');
  const id = query.get('id');
  return (actor) =>
    (workspace === null || actor.workspaceId === workspace) && (kind === null || actor.kind === kind) && (id === null || actor.id === id);
}

const identityView = ({ kind, id, workspaceId }: ActorIdentity) => ({ kind, id, workspace_id: workspaceId });

function view(inspected: Inspected, at: number): object {
  const { type, actor } = inspected;
  if (type !== 'event') return { type, at, actor: identityView(actor), state: inspected.state };
  const { event, from, to, context, outcomes } = inspected;
  return { type, at, actor: identityView(actor), event, from, to, context, outcomes };
}
