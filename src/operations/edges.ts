/** The engine that serves, and where it listens. */
import type { Clock } from '../base/clock.ts';
import { SettingError, type Config } from '../base/config.ts';
import { openNodeEdge } from '../http/edge/node.ts';
import { openUwsEdge } from '../http/edge/uws.ts';
import type { Edge, EdgeListener } from '../base/edge.ts';
import { bodyBytesOf } from '../http/paths.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import { openManagementListener } from '../http/management-port.ts';
import type { ServiceDesk } from '../conversation/services.ts';
import type { SupervisorLine } from './supervisor/worker.ts';
import { codeOfThrown } from '../base/thrown.ts';

/** Ports that are tried where any free one will do. */
const portAttemptsMax = 3;

/**
 * The configured engine. Without one, uWebSockets.js, or `node:http` with a log line if uWebSockets.js does not load.
 */
export async function openEdge(config: Config, listener: EdgeListener, clock: Clock, log: Log): Promise<Edge> {
  const bounds = { ...limits, bodyBytesOf };
  if (config.edge === 'node') return openNodeEdge(listener, bounds, clock);
  try {
    return await openUwsEdge(listener, bounds, clock);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (config.edge === 'uws') throw new SettingError(`PARLEY_EDGE is uws, but ${reason}`);
    log.warn({ reason }, 'uWebSockets.js does not load here: node:http serves instead');
    return openNodeEdge(listener, bounds, clock);
  }
}

/** Workers share the port that their supervisor has found free. */
export async function startListening(
  edge: Edge,
  { host, port }: Config,
  supervisor: SupervisorLine | null,
): Promise<number> {
  if (supervisor === null) return edge.listen(host, port);
  for (let attempt = 1; ; attempt++) {
    const candidate = await supervisor.port(attempt > 1);
    try {
      return await edge.listen(host, candidate, true);
    } catch (error) {
      if (port !== 0 || attempt === portAttemptsMax || codeOfThrown(error) !== 'EADDRINUSE') throw error;
    }
  }
}

/** Listens on the management port. A failure is reported as a wrong setting. */
export async function openManagementPort(config: Config, desk: ServiceDesk): Promise<Edge> {
  const edge = await openEdge(config, openManagementListener(desk), desk.clock, desk.log);
  try {
    const port = await edge.listen(config.host, config.managementPort!);
    desk.log.info({ host: config.host, port }, 'management port listens');
    return edge;
  } catch (error) {
    const code = codeOfThrown(error);
    if (code === 'EADDRINUSE')
      throw new SettingError(`PARLEY_MANAGEMENT_PORT is ${config.managementPort}, which is in use on ${config.host}.`);
    if (code === 'EACCES')
      throw new SettingError(
        `PARLEY_MANAGEMENT_PORT is ${config.managementPort}, but this user may not listen on it. Choose a port from 1024 on.`,
      );
    throw error;
  }
}
