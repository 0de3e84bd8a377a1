/**
 * Several processes that serve as one: each worker is a complete `parley serve` and listens on the same port; this
 * first process starts them, replaces those that die, and ends them in order. It handles no requests except those on a
 * management port.
 */
import cluster from 'node:cluster';
import { isatty } from 'node:tty';
import { WheelClock, type Timer } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Edge } from '../base/edge.ts';
import { randomIds } from '../base/ids.ts';
import { openLog, warnOfIgnored, type Log } from '../base/log.ts';
import { metricsType, openRequests } from '../metrics/metrics.ts';
import type { ServiceDesk } from '../conversation/services.ts';
import { onEndingSignal } from '../base/signals.ts';
import { Readiness } from './supervisor/readiness.ts';
import { SupervisedWorker } from './supervisor/member.ts';
import type { FromWorker } from './supervisor/messages.ts';
import { probePort } from './supervisor/port.ts';
import { Scrapes } from './supervisor/scrapes.ts';
import { watchUnhandled } from '../base/unhandled.ts';

/** Milliseconds before a worker that died is replaced; doubled each time it dies again. */
const workerRestartMs = 100;
/** The longest of these waits, in milliseconds. */
const workerRestartMsMax = 10_000;
/** Milliseconds after which the death of a worker no longer counts as one of its start. */
const workerWellMs = 30_000;

/**
 * Serves with `config.processes` workers until SIGTERM or SIGINT. Resolves when the first one listens; rejects with the
 * system's error if the port cannot be used. If the first worker fails, it has logged why, and its exit code becomes
 * this process's.
 */
export function supervise(config: Config, openService: OpenService): Promise<void> {
  // If the workers share one socket (`node:http`), each accepts connections by itself.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const clock = new WheelClock();
  return new Supervisor(config, clock, openLog(config.log, clock, { shared: true })).start(openService);
}

/** Listens on the management port; rejects if it cannot. */
export type OpenService = (config: Config, desk: ServiceDesk) => Promise<Edge>;

class Supervisor {
  readonly #config: Config;
  readonly #clock: WheelClock;
  readonly #log: Log;
  readonly #members = new Set<SupervisedWorker>();
  readonly #scrapes: Scrapes;
  readonly #readiness: Readiness;
  readonly #counted = openRequests();
  #service: Edge | null = null;
  readonly #restarts = new Set<Timer>();
  #port: number | null = null;
  #portRefused: ((error: unknown) => void) | null = null;
  #rolling = false;
  #rollAgain = false;
  /** Null until the supervisor ends; then the exit code as far as it is known. */
  #exitCode: 0 | 1 | null = null;

  constructor(config: Config, clock: WheelClock, log: Log) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
    this.#scrapes = new Scrapes(clock, this.#members, () => this.#counted.samples());
    this.#readiness = new Readiness(clock, this.#members);
  }

  /** The first worker starts alone, so that an error in the settings, the store or the port is logged once. */
  async start(openService: OpenService): Promise<void> {
    watchUnhandled(this.#log, this.#counted.unhandledRejections);
    warnOfIgnored(this.#config, this.#log);
    if (this.#config.managementPort !== null) this.#service = await openService(this.#config, this.#desk());
    const refused = new Promise<never>((_, reject) => (this.#portRefused = reject));
    const first = this.#add(workerRestartMs);
    if (!(await Promise.race([first.listening, refused]))) {
      const { code, signal } = await first.ended;
      if (signal !== null) throw new Error(`The first process was ended by ${signal} before it listened.`);
      process.exit(code ?? 1);
    }
    this.#portRefused = null;
    onEndingSignal(
      this.#clock,
      (signal) => this.#end(signal),
      () => this.#insist(),
    );
    // A terminal that closes sends SIGHUP too, and then the process should end.
    if (!isatty(0)) process.on('SIGHUP', () => void this.#roll());
    for (let count = 1; count < this.#config.processes; count++) this.#add(workerRestartMs);
  }

  /** The services behind the management port; they cover all workers. */
  #desk(): ServiceDesk {
    const isEnding = (): boolean => this.#exitCode !== null;
    return {
      config: this.#config,
      clock: this.#clock,
      ids: randomIds(this.#clock),
      log: this.#log,
      get draining() {
        return isEnding();
      },
      readiness: this.#readiness,
      metrics: {
        requests: this.#counted.requests,
        limited: { inc() {} },
        text: () => this.#scrapes.text(),
        contentType: metricsType,
      },
    };
  }

  /** Starts a worker; `restartMs`: how long its successor waits before it starts if the worker dies. */
  #add(restartMs: number): SupervisedWorker {
    const member = new SupervisedWorker(cluster.fork(), this.#clock, restartMs);
    this.#members.add(member);
    this.#log.info({ worker: member.worker.id, pid: member.worker.process.pid }, 'worker starts');
    member.worker.on('message', (message: FromWorker) => {
      this.#receive(member, message).catch((error: unknown) =>
        this.#log.error({ err: error, worker: member.worker.id }, 'A message of a worker could not be handled.'),
      );
    });
    void member.ended.then(({ code, signal }) => this.#remove(member, code, signal));
    return member;
  }

  async #receive(member: SupervisedWorker, message: FromWorker): Promise<void> {
    if (message.type === 'port.wanted') await this.#sendPort(member, message.again);
    else if (message.type === 'listening') member.listens();
    else if (message.type === 'measured') this.#scrapes.receive(member, message.request, message.samples);
    else if (message.type === 'readiness') this.#readiness.receive(member, message.request, message.ready);
    else if (message.type === 'metrics.wanted') {
      member.send({ type: 'metrics', request: message.request, text: await this.#scrapes.text() });
    }
  }

  /** The port is probed only when a worker is about to listen, so that no other program can take it in between. */
  async #sendPort(member: SupervisedWorker, again: boolean): Promise<void> {
    try {
      if (this.#port === null || (again && this.#portRefused !== null))
        this.#port = await probePort(this.#config.host, this.#config.port);
      member.send({ type: 'port', port: this.#port });
    } catch (error) {
      member.kill('SIGKILL');
      this.#portRefused?.(error);
    }
  }

  #remove(member: SupervisedWorker, code: number | null, signal: NodeJS.Signals | null): void {
    this.#members.delete(member);
    this.#readiness.remove(member);
    this.#scrapes
      .remove(member)
      .catch((error: unknown) => this.#log.error({ err: error }, 'The counts of an ended worker could not be kept.'));
    if (this.#exitCode !== null) {
      if (member.listened && code !== 0) this.#exitCode = 1;
      if (this.#members.size === 0) this.#finish();
      return;
    }
    // Before the first worker listens, its failure is the supervisor's own.
    if (this.#portRefused !== null || member.leaving) return;
    const waitMs = member.ranMs() >= workerWellMs ? workerRestartMs : member.restartMs;
    this.#log.error({ worker: member.worker.id, code, signal, restart_ms: waitMs }, 'worker died');
    const timer = this.#clock.after(waitMs, () => {
      this.#restarts.delete(timer);
      // A rolling restart may have started another worker meanwhile.
      if (this.#staying < this.#config.processes) this.#add(Math.min(2 * waitMs, workerRestartMsMax));
    });
    this.#restarts.add(timer);
  }

  /**
   * Replaces the workers one after another. A request that comes meanwhile causes another replacement, because the
   * settings may have changed again.
   */
  async #roll(): Promise<void> {
    this.#rollAgain = true;
    if (this.#rolling) return;
    this.#rolling = true;
    while (this.#rollAgain && this.#exitCode === null) {
      this.#rollAgain = false;
      this.#log.info('rolling restart');
      const replaced = await this.#replaceAll();
      if (this.#exitCode === null)
        this.#log[replaced ? 'info' : 'error'](
          replaced ? 'rolling restart done' : 'rolling restart given up: the new worker does not start',
        );
    }
    this.#rolling = false;
    this.#fill();
  }

  /** Number of workers that are not leaving. */
  get #staying(): number {
    return [...this.#members].filter(({ leaving }) => !leaving).length;
  }

  /**
   * Starts workers that are missing: one that died while a leaving worker still counted in its place has no successor
   * yet.
   */
  #fill(): void {
    if (this.#exitCode !== null) return;
    for (let count = this.#staying + this.#restarts.size; count < this.#config.processes; count++)
      this.#add(workerRestartMs);
  }

  async #replaceAll(): Promise<boolean> {
    for (const old of [...this.#members]) {
      if (!this.#members.has(old)) continue;
      const successor = this.#add(workerRestartMs);
      if (!(await successor.listening)) return false;
      if (this.#exitCode !== null) return false;
      old.leave({ type: 'retire' });
      await old.ended;
    }
    return true;
  }

  #end(signal: NodeJS.Signals): void {
    this.#exitCode = 0;
    this.#log.info({ signal, workers: this.#members.size }, 'ending');
    for (const timer of this.#restarts) timer.cancel();
    if (this.#members.size === 0) this.#finish();
    for (const member of this.#members) {
      if (member.listened) member.leave({ type: 'drain' });
      else member.kill('SIGTERM');
    }
  }

  /** Kills all workers at once: a second signal means to end without waiting, as with a single process. */
  #insist(): void {
    this.#exitCode = 1;
    for (const member of this.#members) member.kill('SIGKILL');
  }

  #finish(): void {
    const closed = this.#service?.close(serviceGraceMs) ?? Promise.resolve();
    void closed.then(() => {
      this.#clock.stop();
      this.#log.info('all ended');
      this.#log.flush(() => process.exit(this.#exitCode ?? 1));
    });
  }
}

/** Milliseconds that responses on the management port may take after every worker has ended. */
const serviceGraceMs = 1000;
