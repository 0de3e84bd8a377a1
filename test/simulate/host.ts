/** A process of the server: all that `main.ts` would construct, between a simulated store and a simulated edge. */
import { ToolClient } from '../../src/assistant/tool-client.ts';
import { pino } from 'pino';
import { readConfig } from '../../src/base/config.ts';
import { TestRuns } from '../../src/conversation/testing/runs.ts';
import { Host } from '../../src/host.ts';
import { limits } from '../../src/base/limits.ts';
import { openMetrics } from '../../src/metrics/metrics.ts';
import { Webhooks } from '../../src/operations/webhooks.ts';
import { openPipeline, type Pipeline } from '../../src/http/pipeline.ts';
import { Readiness } from '../../src/store/readiness.ts';
import type { Services } from '../../src/conversation/services.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { staticFile } from '../../src/base/static-files.ts';
import type { Store } from '../../src/store/store.ts';
import { SignIns } from '../../src/access/sign-ins.ts';
import { AddressThrottle, SignInThrottle } from '../../src/access/throttle.ts';
import { socketTokens } from '../../src/access/socket-tokens.ts';
import { visitorTokens } from '../../src/access/visitor-tokens.ts';
import { Voices } from '../../src/providers/voice/voices.ts';
import { VoiceProcesses } from '../../src/providers/voice/processes.ts';
import { ModelHealth } from '../../src/assistant/model-health.ts';
import { Gate, SimulatedClock } from './clock.ts';
import { Disk } from './disk.ts';
import { simulatedModel } from './model.ts';
import type { Connection } from './network.ts';
import { seededIds } from './random.ts';
import { simulatedSending, vaultOf } from './receiver.ts';
import { linkTo } from './server.ts';
import { Speaker } from './speaker.ts';
import { performOn, recorded, simulatedStore } from './store.ts';
import { simulatedInvoker } from './tool.ts';
import { operatorToken, type World } from './world.ts';

/** Milliseconds that a turn may run: short, so that the limit is reached. */
export const turnMsMax = 20_000;

const metrics = openMetrics(
  () => ({}),
  () => 0,
  () => 0,
  () => ({ count: 0, seconds: 0 }),
);

/** From one start to the death that ends it. */
interface Life {
  readonly gate: Gate;
  readonly clock: SimulatedClock;
  readonly services: Services;
  readonly pipeline: Pipeline;
}

export class SimulatedHost {
  readonly name: string;
  readonly #world: World;
  readonly #connections = new Set<Connection>();
  #life: Life | null = null;
  #starts = 0;
  #starting = false;
  #aheadMs = 0;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
  }

  /** Gate of the process that takes requests now; null between processes. */
  get gate(): Gate | null {
    return this.#life?.gate ?? null;
  }

  /** Starts the process unless it runs; retries if its disk keeps it from starting. */
  async start(): Promise<void> {
    if (this.#life !== null || this.#starting) return;
    this.#starting = true;
    for (;;) {
      const failed = await this.#begin().then(
        () => false,
        () => true,
      );
      if (!failed) break;
      await this.#world.scheduler.sleep(1000);
    }
    this.#starting = false;
  }

  async #begin(): Promise<void> {
    const { scheduler, history, mode } = this.#world;
    const gate = new Gate(scheduler);
    const clock = new SimulatedClock(scheduler, gate, this.#aheadMs);
    const ids = seededIds(scheduler.random, clock);
    const name = `${this.name}.${++this.#starts}`;
    const store =
      mode === 'embedded' ? await this.#embedded(name, gate, clock) : linkTo(this.#world, this.name, name, gate, clock);
    const log = pino(
      { level: 'error', base: null, timestamp: false },
      { write: (line: string) => this.#logged(name, line) },
    );
    const host = new Host(store, clock, ids, log, turnMsMax);
    const models = new Map([['simulated', simulatedModel(this.#world, gate, name)]]);
    const vault = vaultOf(ids);
    const failedAuthentications = new AddressThrottle(clock, limits.failedAuthenticationsPerMinute);
    const readiness = new Readiness(store, clock, log);
    const linkReads = new AddressThrottle(clock, limits.linkReadsPerMinute, { debt: false });
    const signing = {
      signIns: new SignIns({ store, clock, ids, log, operatorToken }),
      failedSignIns: new SignInThrottle(clock),
    };
    const rest = {
      operatorToken,
      ...signing,
      failedAuthentications,
      linkReads,
      baseUrlProblem: () => null,
      openapi: () => staticFile('', new Uint8Array()),
      asyncapi: () => staticFile('', new Uint8Array()),
      readiness,
      load: { steps: async () => [] },
      draining: false,
    };
    const [speakers, listeners] = [new VoiceProcesses({ count: 0, clock }), new VoiceProcesses({ count: 0, clock })];
    const voiced = {
      voice: new Voices([], { speakers, listeners }, clock),
      transcriptionTokens: socketTokens('transcription', 'a secret of thirty-two characters', ids, null),
      callTokens: socketTokens('call', 'a secret of thirty-two characters', ids, null),
      visitorTokens: visitorTokens('a secret of thirty-two characters', null),
    };
    const tools = new ToolClient({
      host,
      store,
      vault,
      invoker: simulatedInvoker(this.#world, gate, clock, name),
      clock,
      metrics,
    });
    // The time of a shared store holds for all its processes.
    const time = mode === 'embedded' ? clock : this.#world.server.timeFor(clock);
    const http = simulatedSending(this.#world, gate, name);
    const webhooks = new Webhooks({ store, vault, http, clock: time, ids, log, metrics, tracer: null });
    const services: Services = {
      config: readConfig({ PARLEY_PUBLIC_URL: 'https://parley.example' }),
      oidc: null,
      clock,
      ids,
      log,
      metrics,
      tracer: null,
      store,
      host,
      models,
      vault,
      modelHealth: new ModelHealth(clock),
      tools,
      webhooks,
      testRuns: new TestRuns(() => services, ids.secret()),
      ...rest,
      ...voiced,
    };
    this.#life = { gate, clock, services, pipeline: openPipeline(services) };
    history.note(`${name} started`);
    void host.start();
    if (this.#world.seeds.webhook !== null) webhooks.start();
    if (scheduler.random.chance(0.3)) void new Speaker(this.#world, name, { store, clock, ids }).run();
  }

  #logged(name: string, line: string): void {
    const { history } = this.#world;
    history.logged.push(line);
    history.note(`${name} logged ${line.trim().replaceAll(/\\n.*?"/g, '"')}`);
  }

  /**
   * The store within the process. It works beside the gate: replies of its disk are not gated, its answers wait for the
   * process.
   */
  async #embedded(name: string, gate: Gate, clock: SimulatedClock): Promise<Store> {
    const { rows, history, bug } = this.#world;
    const disk = new Disk(this.#world, rows);
    this.#world.disk = disk;
    history.entries.push({ type: 'opened' });
    const inner = new EmbeddedStore(disk);
    await inner.open(clock.now());
    const plain = performOn(inner);
    const perform = recorded(
      history,
      name,
      (verb, args) => (bug?.steps?.(plain, { host: name, given: args }) ?? plain)(verb, args),
      () => clock.now(),
    );
    const parts = { leaseMs: null, open: async () => {}, close: () => inner.close(), watch: inner.watch.bind(inner) };
    return simulatedStore(parts, (verb, args) => {
      const answer = perform(verb, args);
      return answer instanceof Promise ? gate.pass(answer) : answer;
    });
  }

  /** A request has arrived. */
  take(connection: Connection): void {
    const life = this.#life;
    if (life === null) return connection.cut();
    this.#connections.add(connection);
    connection.gate = life.gate;
    connection.asked.arrived = true;
    life.gate.enter(() => void life.pipeline(connection));
  }

  left(connection: Connection): void {
    this.#connections.delete(connection);
  }

  pause(): void {
    this.#life?.gate.pause();
  }

  resume(): void {
    this.#life?.gate.resume();
  }

  /** Ends the process as by `kill -9`: it does no more, and bytes sent before may still arrive. */
  crash(): void {
    const life = this.#life;
    if (life === null) return;
    this.#life = null;
    this.#world.history.died(this.name);
    life.gate.kill();
    if (this.#world.mode === 'embedded') {
      this.#world.disk?.die();
      this.#world.disk = null;
    }
    for (const connection of [...this.#connections])
      this.#world.scheduler.after(this.#world.scheduler.random.between(0, 50), () => connection.cut());
    this.#connections.clear();
  }

  /** Ends the process as by SIGTERM, with less patience; resolves when the process has gone. */
  async drain(): Promise<void> {
    const life = this.#life;
    if (life === null) return;
    life.services.draining = true;
    await life.services.host.turns.drain(3000, 2000);
    if (this.#world.seeds.webhook !== null) await life.services.webhooks.stop(1000);
    if (this.#life !== life) return;
    life.services.host.close();
    await life.services.store.close();
    if (this.#life === life) this.crash();
  }

  /** Sets the wall clock anew. */
  jump(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    if (this.#life !== null) this.#life.clock.aheadMs = aheadMs;
  }

  /** Connection of the process to the store; null between processes. */
  get store(): Store | null {
    return this.#life?.services.store ?? null;
  }
}
