/**
 * Several processes that serve as one: each is the whole of `parley serve` and listens on the one port itself, and this first
 * process starts them, replaces those that die, and ends them in order. It sees no request.
 */
import cluster from 'node:cluster';
import { isatty } from 'node:tty';
import { WheelClock, type Timer } from './clock.ts';
import type { Config } from './config.ts';
import { limits } from './limits.ts';
import { openLog, type Log } from './log.ts';
import { onEndingSignal } from './signals.ts';
import { Member } from './supervisor/member.ts';
import type { FromWorker } from './supervisor/messages.ts';
import { probePort } from './supervisor/port.ts';
import { Scrapes } from './supervisor/scrapes.ts';

/**
 * Serves by `config.processes` workers until SIGTERM or SIGINT. Resolves when the first listens; rejects with the system's error if
 * the port cannot be had. A first worker that fails has said why, and its exit code becomes this process's.
 */
export function supervise(config: Config): Promise<void> {
  // Where the workers share one socket (`node:http`) each accepts from it by itself.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const clock = new WheelClock();
  return new Supervisor(config, clock, openLog(config.log, clock)).start();
}

class Supervisor {
  readonly #config: Config;
  readonly #clock: WheelClock;
  readonly #log: Log;
  readonly #members = new Set<Member>();
  readonly #scrapes: Scrapes;
  readonly #restarts = new Set<Timer>();
  #port: number | null = null;
  #portRefused: ((error: unknown) => void) | null = null;
  #rolling = false;
  #rollAgain = false;
  /** Null until asked to end; then the exit code as far as it is known. */
  #exitCode: 0 | 1 | null = null;

  constructor(config: Config, clock: WheelClock, log: Log) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
    this.#scrapes = new Scrapes(clock, this.#members);
  }

  /** The first worker starts alone, so that what is wrong with the settings, the store or the port is said once. */
  async start(): Promise<void> {
    const refused = new Promise<never>((_, reject) => (this.#portRefused = reject));
    const first = this.#add(limits.workerRestartMs);
    if (!(await Promise.race([first.listening, refused]))) {
      const { code, signal } = await first.ended;
      if (signal !== null) throw new Error(`The first process was ended by ${signal} before it listened.`);
      process.exit(code ?? 1);
    }
    this.#portRefused = null;
    onEndingSignal(this.#clock, (signal) => this.#end(signal), () => this.#insist());
    // A terminal that closes says the same, and there it means the end.
    if (!isatty(0)) process.on('SIGHUP', () => void this.#roll());
    for (let count = 1; count < this.#config.processes; count++) this.#add(limits.workerRestartMs);
  }

  /** Starts a worker; `restartMs` is how long its successor will wait, should it die. */
  #add(restartMs: number): Member {
    const member = new Member(cluster.fork(), this.#clock, restartMs);
    this.#members.add(member);
    this.#log.info({ worker: member.worker.id, pid: member.worker.process.pid }, 'worker starts');
    member.worker.on('message', (message: FromWorker) => {
      this.#hear(member, message).catch((error: unknown) => this.#log.error({ err: error, worker: member.worker.id }, 'worker not understood'));
    });
    void member.ended.then(({ code, signal }) => this.#lose(member, code, signal));
    return member;
  }

  async #hear(member: Member, message: FromWorker): Promise<void> {
    if (message.type === 'port.wanted') await this.#tellPort(member, message.again);
    else if (message.type === 'listening') member.listens();
    else if (message.type === 'measured') this.#scrapes.hear(member, message.request, message.samples);
    else if (message.type === 'metrics.wanted') {
      member.tell({ type: 'metrics', request: message.request, text: await this.#scrapes.text() });
    }
  }

  /** The port is looked at only when a worker is about to listen: so nobody else can take it in between. */
  async #tellPort(member: Member, again: boolean): Promise<void> {
    try {
      if (this.#port === null || (again && this.#portRefused !== null)) this.#port = await probePort(this.#config.host, this.#config.port);
      member.tell({ type: 'port', port: this.#port });
    } catch (error) {
      member.kill('SIGKILL');
      this.#portRefused?.(error);
    }
  }

  #lose(member: Member, code: number | null, signal: NodeJS.Signals | null): void {
    this.#members.delete(member);
    this.#scrapes.lose(member).catch((error: unknown) => this.#log.error({ err: error }, 'metrics of a worker lost'));
    if (this.#exitCode !== null) {
      if (member.listened && code !== 0) this.#exitCode = 1;
      if (this.#members.size === 0) this.#finish();
      return;
    }
    // Before the first one listened its failure is the supervisor's own.
    if (this.#portRefused !== null || member.leaving) return;
    const waitMs = member.ranMs() >= limits.workerWellMs ? limits.workerRestartMs : member.restartMs;
    this.#log.error({ worker: member.worker.id, code, signal, restart_ms: waitMs }, 'worker died');
    const timer = this.#clock.after(waitMs, () => {
      this.#restarts.delete(timer);
      // A rolling restart may have filled the place meanwhile.
      if (this.#staying < this.#config.processes) this.#add(Math.min(2 * waitMs, limits.workerRestartMsMax));
    });
    this.#restarts.add(timer);
  }

  /** Replaces the workers one after another. Asked for meanwhile, it is done once more: what is to be read anew may have changed. */
  async #roll(): Promise<void> {
    this.#rollAgain = true;
    if (this.#rolling) return;
    this.#rolling = true;
    while (this.#rollAgain && this.#exitCode === null) {
      this.#rollAgain = false;
      this.#log.info('rolling restart');
      const replaced = await this.#replaceAll();
      if (this.#exitCode === null) this.#log[replaced ? 'info' : 'error'](replaced ? 'rolling restart done' : 'rolling restart given up: the new worker does not start');
    }
    this.#rolling = false;
    this.#fill();
  }

  /** How many workers were not told to end. */
  get #staying(): number {
    return [...this.#members].filter(({ leaving }) => !leaving).length;
  }

  /** One that died while its place was held by a worker about to leave has no successor yet. */
  #fill(): void {
    if (this.#exitCode !== null) return;
    for (let count = this.#staying + this.#restarts.size; count < this.#config.processes; count++) this.#add(limits.workerRestartMs);
  }

  async #replaceAll(): Promise<boolean> {
    for (const old of [...this.#members]) {
      if (!this.#members.has(old)) continue;
      const successor = this.#add(limits.workerRestartMs);
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

  /** As a process alone would, it leaves everything where it is. */
  #insist(): void {
    this.#exitCode = 1;
    for (const member of this.#members) member.kill('SIGKILL');
  }

  #finish(): void {
    this.#clock.stop();
    this.#log.info('all ended');
    this.#log.flush(() => process.exit(this.#exitCode ?? 1));
  }
}
