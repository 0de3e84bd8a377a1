/** Every path of the API and of the console's API: method, permitted callers, cost and handler (contract 6 and 9). */
import { routedPath } from './paths.ts';
import { Failure } from '../base/errors.ts';
import type { PathParameters, Route } from './request.ts';
import { noParameters, Router } from './router.ts';
import { apiRoutes, asyncapiRoute, docsRoute, documentRoute, serviceRoutes } from './routes/api.ts';
import { consoleRoutes } from './routes/console.ts';
import { linkPages, linkRoutes, preflightRoutes } from './routes/link.ts';
import { mcpOther, mcpRoute } from './routes/mcp.ts';
import { openaiRoutes } from './routes/openai.ts';
import { pageRoutes } from './routes/pages.ts';
import { socketRoutes } from './routes/sockets.ts';

export const routes: readonly Route[] = [
  ...apiRoutes,
  ...openaiRoutes,
  mcpRoute,
  documentRoute,
  asyncapiRoute,
  docsRoute,
  ...serviceRoutes,
  ...linkRoutes,
  ...consoleRoutes,
];

/** The paths that also become a WebSocket. */
export const documented: readonly Route[] = [...routes, ...socketRoutes];

/** The paths that move to a management port if there is one; `/healthz` costs nothing, reveals nothing and stays. */
const moved: readonly string[] = ['/readyz', '/metrics'];

/** The documented routes of the public port. */
export const publicRoutes = ({ managementPort }: { readonly managementPort: number | null }): readonly Route[] =>
  managementPort === null ? documented : documented.filter(({ path }) => !moved.includes(path));

/**
 * All that the public port answers: the documented routes; pages, and `OPTIONS` where it is answered, stand in no
 * document.
 */
export const answeredRoutes = (config: { readonly managementPort: number | null }): readonly Route[] => [
  ...publicRoutes(config),
  ...pageRoutes,
  ...linkPages,
  ...preflightRoutes,
];

/** The route of a request, with its parameters; HEAD uses GET's route. Throws 404 `route_not_found`. */
export type Find = (method: string, path: string) => { route: Route; params: PathParameters };

export function finderOf(rows: readonly Route[]): Find {
  const router = new Router(rows);
  return (method, asked) => {
    const path = routedPath(asked);
    const found = router.find(method === 'HEAD' ? 'GET' : method, path);
    if (found === null && path === mcpOther.path && method !== mcpRoute.method)
      return { route: mcpOther, params: noParameters };
    if (found === null) throw new Failure('route_not_found');
    return found;
  };
}
