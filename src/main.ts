/** The one place that constructs things: reads the settings, picks the implementations, listens, and ends in order. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { WheelClock } from './clock.ts';
import { SettingError, type Config } from './config.ts';
import { makeDataFolder } from './data-folder.ts';
import { openNodeEdge } from './edge/node.ts';
import { openUwsEdge } from './edge/uws.ts';
import type { Edge, EdgeListener } from './edge.ts';
import { endInOrder } from './ending.ts';
import { firstStart } from './first-start.ts';
import { Host } from './host.ts';
import { randomIds, type Ids } from './ids.ts';
import { limits } from './limits.ts';
import { openLog, type Log } from './log.ts';
import { openMetrics } from './metrics.ts';
import { anthropicModel } from './model/anthropic.ts';
import { baseUrlProblem } from './model/address.ts';
import { providerHttp, type ProviderHttp } from './model/http.ts';
import { openaiModel } from './model/openai.ts';
import { scriptedModel } from './model/scripted.ts';
import { syntheticModel } from './model/synthetic.ts';
import type { Models } from './model.ts';
import { openapiDocument } from './openapi.ts';
import { openPipeline } from './pipeline.ts';
import { openRefuser } from './pipeline/head.ts';
import { resealCredentials } from './resealing.ts';
import { documented } from './routes.ts';
import { readSecrets } from './secrets.ts';
import type { Services } from './services.ts';
import { lmdbStore } from './store/lmdb.ts';
import { measured } from './store/measured.ts';
import { memoryStore } from './store/memory.ts';
import { StoreRefused, type Store } from './store.ts';
import { SupervisorLine } from './supervisor/worker.ts';
import { openUpgrader } from './upgrade.ts';
import { openVault } from './vault.ts';

/** Serves until SIGTERM or SIGINT, or as one of several workers until its supervisor says so; resolves when it listens. */
export async function serve(config: Config): Promise<void> {
  // V8 reads it whenever it has collected; one that does not know it any more takes more memory and is none the worse.
  setFlagsFromString(`--heap-growing-percent=${limits.heapGrowthPercent}`);
  const clock = new WheelClock();
  const supervisor = config.processes > 1 ? new SupervisorLine(clock) : null;
  const log = openLog(config.log, clock, supervisor?.number);
  const ids = randomIds(clock);
  if (config.store.kind === 'lmdb') makeDataFolder(config.store.folder);
  const { secret, operatorToken } = readSecrets(config, ids);

  const lag = monitorEventLoopDelay({ resolution: 20 });
  lag.enable();
  const metrics = openMetrics(() => host.census(), () => host.turns.inFlight, () => lagSeconds(lag), () => host.outage);
  const store = measured(await openStore(config, clock, ids), metrics, clock);
  await store.open(clock.now()).catch((error) => {
    throw error instanceof StoreRefused ? new SettingError(`PARLEY_STORE: ${error.message}`) : error;
  });

  const host = new Host(store, clock, ids, log, config.turnMsMax);
  const vault = openVault(secret, ids, config.secretPrevious);
  host.onCredentials = (workspaceId, id) => vault.forget(workspaceId, id);
  const http = providerHttp({ clock, allowPrivate: config.allowPrivateProviders });
  let document: string | null = null;
  const services: Services = {
    config,
    clock,
    ids,
    log,
    metrics: supervisor === null ? metrics : { ...metrics, text: async () => (await supervisor.metrics()) ?? metrics.text() },
    store,
    host,
    models: openModels(config, clock, http),
    vault,
    operatorToken,
    baseUrlProblem: (url) => baseUrlProblem(url, config.allowPrivateProviders),
    openapi: () => (document ??= JSON.stringify(openapiDocument(documented))),
    draining: false,
  };

  const edge = await openEdge(config, { exchange: openPipeline(services), upgrade: openUpgrader(services), refuse: openRefuser(services) }, clock, log);
  const port = await listen(edge, config, supervisor);
  void host.start();
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
  endInOrder({ services, edge, http, log, clock, supervisor });
  // A reader that has gone is no reason to end.
  process.stdout.on('error', () => {});
  if (supervisor === null || supervisor.number === 1) process.stdout.write(await firstStart(services, url, edge.engine));
  log.info({ url, engine: edge.engine, store: store.name }, 'listening');
  if (config.secretPrevious !== null && (supervisor === null || supervisor.number === 1)) void resealCredentials(services);
}

/** The client of Redis is loaded only where it is used: it would slow every other start. */
async function openStore({ store, durability, allowVolatile }: Config, clock: WheelClock, ids: Ids): Promise<Store> {
  if (store.kind === 'memory') return memoryStore();
  if (store.kind === 'lmdb') return lmdbStore(store.folder, { durability: durability === 'flushed' ? 'flushed' : 'committed', ids });
  const { redisStore } = await import('./store/redis.ts');
  return redisStore(store.url, { clock, ids, allowVolatile, durability: durability === 'replicated' ? 'replicated' : 'local' });
}

function openModels({ synthetic }: Config, clock: WheelClock, http: ProviderHttp): Models {
  const models = [scriptedModel(clock), openaiModel(http), anthropicModel(http), ...(synthetic ? [syntheticModel(clock)] : [])];
  return new Map(models.map((model) => [model.provider, model]));
}

/** The engine asked for; unless one was, `node:http` stands in where uWebSockets.js does not load, and says so. */
async function openEdge(config: Config, listener: EdgeListener, clock: WheelClock, log: Log): Promise<Edge> {
  if (config.edge === 'node') return openNodeEdge(listener, limits, clock);
  try {
    return await openUwsEdge(listener, limits, clock);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (config.edge === 'uws') throw new SettingError(`PARLEY_EDGE is uws, but ${reason}`);
    log.warn({ reason }, 'uWebSockets.js does not load here: node:http serves instead');
    return openNodeEdge(listener, limits, clock);
  }
}

/** Workers share the port that their supervisor has found free. */
async function listen(edge: Edge, { host, port }: Config, supervisor: SupervisorLine | null): Promise<number> {
  if (supervisor === null) return edge.listen(host, port);
  for (let attempt = 1; ; attempt++) {
    const found = await supervisor.port(attempt > 1);
    try {
      return await edge.listen(host, found, true);
    } catch (error) {
      if (port !== 0 || attempt === limits.portAttemptsMax || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** Nanoseconds to seconds; reading starts the next measurement. */
function lagSeconds(lag: ReturnType<typeof monitorEventLoopDelay>): number {
  const mean = Number.isFinite(lag.mean) ? lag.mean / 1e9 : 0;
  lag.reset();
  return mean;
}
