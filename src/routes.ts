/** Every path of the API and of the console's API: method, who may call, what it costs, what handles it (contract 6 and 9). */
import { Failure } from './errors.ts';
import type { Route } from './request.ts';
import { Router } from './router.ts';
import { apiRoutes, serviceRoutes } from './routes/api.ts';
import { consoleRoutes } from './routes/console.ts';
import { socketRoutes } from './routes/sockets.ts';

export const routes: readonly Route[] = [...apiRoutes, ...serviceRoutes, ...consoleRoutes];

/** Those that become a WebSocket too. */
export const documented: readonly Route[] = [...routes, ...socketRoutes.map(({ route }) => route)];

const router = new Router(documented);

/** The route of a request, with its parameters; HEAD goes where GET does. Throws 404 `route_not_found`. */
export function find(method: string, path: string): { route: Route; params: Record<string, string> } {
  const found = router.find(method === 'HEAD' ? 'GET' : method, path);
  if (found === null) throw new Failure('route_not_found');
  return found;
}
