/** The one place that constructs things: reads the settings, picks the implementations, listens, and ends in order. */
import { ModelHealth } from './assistant/model-health.ts';
import { gzipSync } from 'node:zlib';
import { WheelClock, type Clock } from './base/clock.ts';
import { CoalescedQuery } from './base/coalesced-query.ts';
import { SettingError, type Config } from './base/config.ts';
import { makeDataFolder } from './operations/data-folder.ts';
import { startListening, openEdge, openManagementPort } from './operations/edges.ts';
import { endAtOnce, endInOrder } from './operations/ending.ts';
import { firstStart } from './operations/first-start.ts';
import { Host } from './host.ts';
import { randomIds, type Ids } from './base/ids.ts';
import { limits } from './base/limits.ts';
import { openLog, warnOfIgnored, type Log } from './base/log.ts';
import { openMetrics, type Metrics } from './metrics/metrics.ts';
import { LoopLag, LoopShare } from './metrics/lag.ts';
import { LoadMeter, type LoadBoard } from './metrics/load.ts';
import { anthropicModel } from './providers/model/anthropic.ts';
import { OpenidProvider } from './providers/identity/openid.ts';
import { baseUrlProblem } from './providers/client/address.ts';
import { providerBounds, providerHttp, type ProviderHttp } from './providers/client.ts';
import { openaiModel } from './providers/model/openai.ts';
import { scriptedModel } from './providers/model/scripted.ts';
import { syntheticModel } from './providers/model/synthetic.ts';
import type { Models } from './providers/model.ts';
import { asyncapiDocument } from './http/reference/asyncapi.ts';
import { openapiDocument } from './http/reference/openapi.ts';
import { openPipeline, openUpgrader } from './http/pipeline.ts';
import { openRefuser } from './http/pipeline/head.ts';
import { Readiness } from './store/readiness.ts';
import { endWhileStarting } from './base/signals.ts';
import { jsonType } from './http/request.ts';
import { isToReseal, resealSecrets } from './operations/resealing.ts';
import { publicRoutes } from './http/routes.ts';
import { readSecrets } from './operations/secrets.ts';
import { openTracer } from './operations/tracing.ts';
import { Webhooks } from './operations/webhooks.ts';
import type { Services } from './conversation/services.ts';
import { TestRuns } from './conversation/testing/runs.ts';
import { BegunSignIns } from './access/begun-sign-ins.ts';
import { sealedTexts, type SealedTexts } from './access/sealed-text.ts';
import { SignIns } from './access/sign-ins.ts';
import { staticFile, type StaticFile } from './base/static-files.ts';
import { StoreClock } from './store/clock.ts';
import { measureStore } from './store/measured.ts';
import { memoryStore } from './store/memory.ts';
import type { RedisStore } from './store/redis.ts';
import { StoreInUse, StoreRefused, StoreUnavailable, type Store } from './store/store.ts';
import { AddressThrottle, SignInThrottle } from './access/throttle.ts';
import { watchUnhandled } from './base/unhandled.ts';
import { socketTokens } from './access/socket-tokens.ts';
import { ToolClient } from './assistant/tool-client.ts';
import { toolInvoker } from './providers/tool/invoker.ts';
import { visitorTokens } from './access/visitor-tokens.ts';
import { openVault } from './access/vault.ts';
import { Voices } from './providers/voice/voices.ts';
import { embeddedVoice } from './providers/voice/embedded.ts';
import { localVoice } from './providers/voice/local.ts';
import { openaiVoice } from './providers/voice/openai.ts';
import { canListen, VoiceProcesses } from './providers/voice/processes.ts';
import { syntheticVoice } from './providers/voice/synthetic.ts';

/**
 * Serves until SIGTERM or SIGINT, or as one of several workers until its supervisor ends it; resolves when it listens.
 */
export async function serve(config: Config): Promise<void> {
  const clock = new WheelClock();
  // Processes that share a store use its clock for deadlines and dates; an embedded store uses the process's own.
  const shared = config.store.kind === 'redis' ? new StoreClock(clock) : null;
  const time = shared ?? clock;
  const supervisor =
    config.processes > 1 ? new (await import('./operations/supervisor/worker.ts')).SupervisorLine(clock) : null;
  const log = openProcessLog(config, clock, supervisor?.number ?? null);
  const ids = randomIds(time);
  if (config.store.kind === 'lmdb') makeDataFolder(config.store.folder);
  const { secret, operatorToken } = readSecrets(config, ids);

  const lag = new LoopLag();
  const metrics = openMetrics(
    () => host.census(),
    () => host.turns.inFlight,
    () => lag.meanMs(true) / 1000,
    () => host.outage,
  );
  watchUnhandled(log, metrics.unhandledRejections);
  const tracer = await openTracer(config, { clock, log, metrics });
  const opened = await openStore(config, { clock, ids, log, shared });
  const store = measureStore(opened, metrics, clock, () => readiness.doubt());
  const readiness = new Readiness(store, clock, log);
  await startStore(store, time.now());

  const host: Host = new Host(store, time, ids, log, config.turnMsMax, new LoopShare(), tracer);
  const vault = openVault(secret, ids, config.secretPrevious);
  host.onTaken = (waitedMs) => metrics.deskWaitSeconds.observe(waitedMs / 1000);
  host.onDeskCounted = ({ waiting, person }) => {
    metrics.deskSessions.set({ state: 'waiting' }, waiting);
    metrics.deskSessions.set({ state: 'person' }, person);
  };
  host.onCredentials = (workspaceId, id) => vault.forget(workspaceId, id);
  const http = providerHttp({
    clock,
    allowPrivate: config.allowPrivateProviders,
    bounds: { ...providerBounds, silenceMs: config.providerSilenceMs },
    proxy: config.providerProxy,
  });
  const load = openLoad(time, ids, metrics, host, 'loadBoard' in opened ? opened.loadBoard : null);
  const voice = openVoice(config, clock, http, (why) => noteVoiceEnding(why, metrics, log));
  metrics.watchVoice(
    voice,
    () => host.sockets.population.size,
    () => host.calls.states(),
  );
  const signIns = new SignIns({ store, clock: time, ids, log, operatorToken });
  host.presentUntilMs = (person) => signIns.open.presentUntilMs(person.id);
  const scrape = new CoalescedQuery(
    clock,
    scrapeBounds,
    async () => (await supervisor?.askMetrics()) ?? metrics.text(),
  );
  const webhooks = new Webhooks({ store, vault, http, clock: time, ids, log, metrics, tracer });
  const services: Services = {
    config,
    clock: time,
    ids,
    log,
    metrics: { ...heardBy(load, metrics), text: () => scrape.get() },
    tracer,
    load,
    readiness,
    store,
    host,
    models: openModels(config, clock, http),
    modelHealth: new ModelHealth(clock),
    voice,
    tools: new ToolClient({ host, store, vault, invoker: toolInvoker(http, clock), clock: time, metrics }),
    ...{ webhooks, testRuns: new TestRuns(() => services, ids.secret()) },
    vault,
    ...{
      transcriptionTokens: socketTokens('transcription', secret, ids, config.secretPrevious),
      callTokens: socketTokens('call', secret, ids, config.secretPrevious),
    },
    visitorTokens: visitorTokens(secret, config.secretPrevious),
    operatorToken,
    signIns,
    oidc: openOidc(config, clock, sealedTexts('parley oidc', secret, ids, config.secretPrevious), ids, signIns),
    failedAuthentications: new AddressThrottle(clock, limits.failedAuthenticationsPerMinute),
    failedSignIns: new SignInThrottle(clock),
    linkReads: new AddressThrottle(clock, limits.linkReadsPerMinute, { debt: false }),
    baseUrlProblem: (url) => baseUrlProblem(url, config.allowPrivateProviders),
    ...documents(config),
    draining: false,
  };
  const edge = await openEdge(
    config,
    { exchange: openPipeline(services), upgrade: openUpgrader(services), refuse: openRefuser(services) },
    clock,
    log,
  );
  const port = await startListening(edge, config, supervisor);
  // With several processes, the supervisor answers on the management port for all.
  const service =
    config.managementPort === null || supervisor !== null ? null : await openManagementPort(config, services);
  void host.start();
  webhooks.start();
  services.testRuns.wake();
  void load.start();
  const url = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
  endInOrder({ services, edge, service, http, log, clock, supervisor });
  // A closed stdout is no reason to end, as it is for other commands.
  process.stdout.removeAllListeners('error').on('error', () => {});
  const isFirst = supervisor === null || supervisor.number === 1;
  if (isFirst) process.stdout.write(await firstStart(services, url, edge.engine, supervisor?.number));
  log.info({ url, engine: edge.engine, store: store.name }, 'listening');
  if (isFirst && isToReseal(services)) void resealSecrets(services);
}

/**
 * The log of this process, whose number is null without a supervisor; a supervisor has warned of ignored variables for
 * all.
 */
function openProcessLog(config: Config, clock: WheelClock, worker: number | null): Log {
  const log = openLog(config.log, clock, { worker });
  if (worker === null) warnOfIgnored(config, log);
  return log;
}

function noteVoiceEnding(why: string, metrics: Metrics, log: Log): void {
  metrics.voice.processEndings.inc();
  log.warn({ why }, 'a voice process ended');
}

/** Opens the store, which may wait for another process to end. */
async function startStore(store: Store, nowMs: number): Promise<void> {
  const isStarted = endWhileStarting();
  await store.open(nowMs).catch(failOpening);
  isStarted();
}

const elsewhere = 'start on another folder and port: `PARLEY_STORE=lmdb:./other PORT=8081 npm start`';

/**
 * Names the setting in the error. It is wrong if the store refuses it; a store that does not answer may come up yet.
 */
function failOpening(error: unknown): never {
  if (error instanceof StoreRefused) throw new SettingError(`PARLEY_STORE: ${error.message}`);
  if (!(error instanceof StoreUnavailable)) throw error;
  const advice = error instanceof StoreInUse ? ` Stop it with \`kill ${error.pid}\`, or ${elsewhere}.` : '';
  throw new StoreUnavailable(`PARLEY_STORE: ${error.message}${advice}`, { cause: error });
}

/** The documents of the API, made when they are first requested. */
function documents(config: Config): Pick<Services, 'openapi' | 'asyncapi'> {
  let document: StaticFile | null = null;
  let socketDocument: StaticFile | null = null;
  return {
    openapi: () => (document ??= documentFile(openapiDocument(publicRoutes(config)))),
    asyncapi: () => (socketDocument ??= documentFile(asyncapiDocument())),
  };
}

/** Compressed once, and fast, because the first client waits for it. */
function documentFile(document: object): StaticFile {
  const bytes = Buffer.from(JSON.stringify(document));
  return staticFile(jsonType, bytes, { gzip: gzipSync(bytes) });
}

interface StoreNeeds {
  readonly clock: WheelClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly shared: StoreClock | null;
}

/** The Redis client is loaded only if it is used, because it would slow every other start. */
async function openStore(
  { store, durability, allowVolatile, acceptLoss }: Config,
  { clock, ids, log, shared }: StoreNeeds,
): Promise<Store | RedisStore> {
  if (store.kind === 'memory') return memoryStore(clock);
  if (store.kind === 'lmdb') {
    const { lmdbStore } = await import('./store/lmdb.ts');
    const ownership = {
      clock,
      newId: () => ids.secret(),
      notify: (sentence: string) => log.warn(sentence),
      onLost: (error: Error) => endAtOnce(error, log),
    };
    return lmdbStore(store.folder, {
      durability: durability === 'flushed' ? 'flushed' : 'committed',
      ids,
      acceptLoss,
      ownership,
    });
  }
  const { RedisStore } = await import('./store/redis.ts');
  const onLoading = (): void => log.warn('Redis is still reading its data: the server starts when that is done');
  return new RedisStore(store.url, {
    clock,
    ids,
    allowVolatile,
    onLoading,
    ...(shared && { time: shared }),
    durability: durability === 'flushed' ? 'committed' : durability,
  });
}

function openModels({ synthetic }: Config, clock: WheelClock, http: ProviderHttp): Models {
  const models = [
    scriptedModel(clock),
    openaiModel(http),
    anthropicModel(http),
    ...(synthetic ? [syntheticModel(clock)] : []),
  ];
  return new Map(models.map((model) => [model.provider, model]));
}

/**
 * The issuer has another client than the providers: the operator names it, so it may be at a private address, as a
 * provider that a customer names may not.
 */
function openOidc(
  { oidc: settings, allowPrivateProviders: allowPrivate, providerProxy: proxy }: Config,
  clock: WheelClock,
  texts: SealedTexts,
  ids: Ids,
  { cookieName }: SignIns,
): Services['oidc'] {
  if (settings === null) return null;
  const http = providerHttp({ clock, allowPrivate: true, proxy });
  return {
    provider: new OpenidProvider({ settings, http, clock, allowPrivate }),
    begun: new BegunSignIns(texts, ids, cookieName),
  };
}

/** The setting is for all processes of a supervisor together. */
const voiceProcessesEach = ({ voiceProcesses, processes }: Config): number =>
  voiceProcesses === 0 ? 0 : Math.max(1, Math.floor(voiceProcesses / processes));

function openVoice(config: Config, clock: WheelClock, http: ProviderHttp, onEnded: (why: string) => void): Voices {
  const options = { count: voiceProcessesEach(config), clock, onEnded };
  const pools = {
    speakers: new VoiceProcesses(options),
    listeners: new VoiceProcesses(canListen() ? options : { ...options, count: 0 }),
  };
  const local = config.voiceFolder === null ? [] : [localVoice(pools, config.voiceFolder)];
  const providers = [
    embeddedVoice(pools),
    openaiVoice(http, clock),
    ...local,
    ...(config.synthetic ? [syntheticVoice(clock)] : []),
  ];
  return new Voices(providers, pools, clock);
}

/** The lag is measured separately from the metrics' lag, because each read of `/metrics` begins a new measurement. */
function openLoad(time: Clock, ids: Ids, metrics: Metrics, { turns, calls }: Host, board: LoadBoard | null): LoadMeter {
  const lag = new LoopLag();
  const reading = async () => ({
    ...(await metrics.counted()),
    turnsInFlight: turns.inFlight,
    openCalls: calls.population.size,
    memoryBytes: process.memoryUsage.rss(),
  });
  return new LoadMeter(time, ids.secret(), { reading, lagMs: (restart) => lag.meanMs(restart) }, board);
}

/** Metrics whose timings also feed the load meter. */
const heardBy = (load: LoadMeter, metrics: Metrics): Metrics => ({
  ...metrics,
  firstOutput: { observe: (seconds) => (metrics.firstOutput.observe(seconds), load.firstOutput(seconds * 1000)) },
  calls: {
    ...metrics.calls,
    voiceToVoice: {
      observe: (seconds) => (metrics.calls.voiceToVoice.observe(seconds), load.voiceToVoice(seconds * 1000)),
    },
  },
});

const scrapeBounds = { keptMs: limits.scrapeKeptMs, freshMax: limits.scrapesFreshMax };
