/** Redis servers of the tests' own, on free ports, and what keeps them from leaving anything behind. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../bench/harness/process.ts';
import { connectOnce } from '../../src/store/redis/connection/client.ts';
import { textOfReply, type RedisReply } from '../../src/store/redis/reply.ts';
import { environment, whyMissing } from '../installed.ts';
import { redisCommand } from './redis-command.ts';

/** Reason for which no Redis can be tested on, or null. */
export const whyNoRedis = (): string | null => whyMissing('redis-server');

const startsMax = 5;

/** Milliseconds between two looks at a server. */
const pollMs = 20;

/** A cluster's bus listens this far above the port of the server. */
const clusterBus = 10_000;

/** Calls `start` with a free port, again with another if it fails: a process may have taken the port in between. */
export async function onFreePort<Started>(start: (port: number) => Promise<Started>): Promise<Started> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort(clusterBus));
    } catch (error) {
      if (attempt === startsMax) throw error;
    }
  }
}

/** A test that ends before its teardown leaves no server behind. */
const started = new Set<RedisServer>();
process.once('exit', () => started.forEach((server) => server.signal('SIGKILL')));

async function openLine(url: string): Promise<ReturnType<typeof connectOnce>> {
  const line = connectOnce(url);
  await line.open();
  return line;
}

export class RedisServer {
  readonly port: number;
  readonly url: string;
  readonly #folder: string;
  readonly #settings: readonly string[];
  readonly #within: readonly string[];
  #process!: ChildProcess;
  #killed = false;
  #line: ReturnType<typeof openLine> | null = null;

  private constructor(port: number, folder: string, settings: readonly string[], within: readonly string[]) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#folder = folder;
    this.#settings = settings;
    this.#within = within;
  }

  static start(...settings: string[]): Promise<RedisServer> {
    return RedisServer.startWithin([], ...settings);
  }

  /** The command prefix `within` runs its commands in a separate network. */
  static async startWithin(within: readonly string[], ...settings: string[]): Promise<RedisServer> {
    return onFreePort(async (port) => {
      const server = new RedisServer(port, await mkdtemp(join(tmpdir(), 'parley-redis-')), settings, within);
      try {
        await server.run();
        return server;
      } catch (error) {
        await server.stop();
        throw error;
      }
    });
  }

  /**
   * Starts it, again on the same data and port if it ran before; resolves when it answers. `extra` is added to its
   * environment.
   */
  async run(extra: Readonly<Record<string, string>> = {}): Promise<void> {
    this.launch(extra);
    while (!(await this.#answers())) {
      if (this.#process.exitCode !== null) throw new Error('redis-server ended.');
      await pause(pollMs);
    }
  }

  /** Works like `run`, without waiting for an answer. */
  launch(extra: Readonly<Record<string, string>> = {}): void {
    const own = [
      '--port',
      String(this.port),
      '--bind',
      '127.0.0.1',
      '--dir',
      this.#folder,
      '--save',
      '',
      '--daemonize',
      'no',
      '--loglevel',
      'warning',
    ];
    started.add(this);
    this.#killed = false;
    const [program, ...args] = [
      ...this.#within,
      'redis-server',
      ...own,
      '--enable-debug-command',
      'local',
      ...this.#settings,
    ];
    this.#process = spawn(program!, args, {
      env: { ...environment, ...extra },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  /** Whether it answers, and not another server on its port. */
  async #answers(): Promise<boolean> {
    if ((await this.command('PING').catch(() => '')) !== 'PONG') return false;
    return (await this.command('INFO', 'server')).includes(`\nprocess_id:${this.#process.pid}\r`);
  }

  /** Runs a command, and resolves with its reply as redis-cli prints it; redis-cli runs it if an option comes first. */
  async command(...words: string[]): Promise<string> {
    if (this.#within.length === 0 && !words[0]!.startsWith('-')) return redisCommand(this.port, words);
    const [program, ...args] = [...this.#within, 'redis-cli', '-p', String(this.port), ...words];
    const { stdout } = await promisify(execFile)(program!, args, { env: environment });
    return stdout.trim();
  }

  /** Repeats a command until its reply has this text. */
  async replies(text: string, ...words: string[]): Promise<void> {
    while (!(await this.command(...words)).includes(text)) await pause(pollMs);
  }

  /** Runs a command over a connection that stays open until the server ends. */
  async ask(...words: string[]): Promise<RedisReply> {
    this.#line ??= openLine(this.url);
    return (await this.#line).send(words);
  }

  /** Number of runs of each command, within scripts too. */
  async calls(): Promise<Map<string, number>> {
    const text = await this.command('INFO', 'commandstats');
    return new Map(
      [...text.matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm)].map(([, name, count]) => [name!, Number(count)]),
    );
  }

  /** Number of runs of a script by its digest. */
  async scriptCalls(): Promise<number> {
    return (await this.calls()).get('evalsha') ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  get #ended(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Whether it has ended although no test killed it. */
  get isLost(): boolean {
    return !this.#killed && this.#ended;
  }

  async kill(): Promise<void> {
    this.#killed = true;
    void this.#line?.then(
      (line) => line.close(),
      () => {},
    );
    this.#line = null;
    if (this.#ended) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill();
    started.delete(this);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** With an append-only file, as parley wants it. */
export const appendOnly = ['--appendonly', 'yes', '--appendfsync', 'everysec'];

const clusterSettings = (nodeTimeoutMs: number): string[] => [
  ...appendOnly,
  '--cluster-enabled',
  'yes',
  '--cluster-node-timeout',
  String(nodeTimeoutMs),
  '--cluster-replica-validity-factor',
  '0',
  '--repl-diskless-sync-delay',
  '0',
];

/** Three primaries with a replica each. */
export class RedisCluster {
  readonly servers: RedisServer[];
  readonly url: string;
  readonly #settings: readonly string[];
  #primariesCount = 3;

  private constructor(servers: RedisServer[], settings: readonly string[]) {
    this.servers = servers;
    this.#settings = settings;
    this.url = `redis-cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  }

  /**
   * A server that is silent for `nodeTimeoutMs` counts as dead: on a busy machine a short time fails over by itself.
   */
  static async start(nodeTimeoutMs = 1_000, extra: readonly string[] = []): Promise<RedisCluster> {
    const settings = [...clusterSettings(nodeTimeoutMs), ...extra];
    const servers = await Promise.all(Array.from({ length: 6 }, () => RedisServer.start(...settings)));
    const nodes = servers.map(({ port }) => `127.0.0.1:${port}`);
    execFileSync('redis-cli', ['--cluster', 'create', ...nodes, '--cluster-replicas', '1', '--cluster-yes'], {
      stdio: 'ignore',
    });
    const cluster = new RedisCluster(servers, settings);
    await cluster.until(() => cluster.settled());
    return cluster;
  }

  /** Adds a primary without slots and without a replica, which stays a primary when it has lost its last slot. */
  async addPrimary(): Promise<RedisServer> {
    const server = await RedisServer.start(...this.#settings, '--cluster-allow-replica-migration', 'no');
    await promisify(execFile)(
      'redis-cli',
      ['--cluster', 'add-node', `127.0.0.1:${server.port}`, `127.0.0.1:${this.servers[0]!.port}`],
      { env: environment },
    );
    this.servers.push(server);
    this.#primariesCount++;
    await this.until(() => this.settled());
    return server;
  }

  /** Asks until it is so. Rejects once a server has ended that no test killed, or once work beside it has failed. */
  async until(isSo: () => boolean | Promise<boolean>, beside?: Promise<unknown>): Promise<void> {
    while (!(await isSo())) {
      const lost = this.servers.find((server) => server.isLost);
      if (lost !== undefined) throw new Error(`The Redis on port ${lost.port} has ended, and no test killed it.`);
      await Promise.race([pause(pollMs), ...(beside === undefined ? [] : [beside])]);
    }
  }

  /** Waits until it is settled, while servers come and go. */
  async settles(): Promise<void> {
    await this.until(() => this.settled().catch(() => false));
  }

  /** Whether every server has heard that all is well, and every replica follows. */
  async settled(): Promise<boolean> {
    const states = await Promise.all(this.servers.map((server) => server.command('CLUSTER', 'INFO')));
    const roles = await Promise.all(this.servers.map((server) => server.command('INFO', 'replication')));
    return (
      states.every(
        (state) => state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${this.servers.length}\r`),
      ) &&
      roles.filter((role) => role.includes('role:master')).length === this.#primariesCount &&
      roles.every((role) => role.includes('role:master') || role.includes('master_link_status:up'))
    );
  }

  /** Servers that are primaries now. */
  async primaries(): Promise<RedisServer[]> {
    const roles = await Promise.all(this.servers.map((server) => server.command('ROLE').catch(() => '')));
    return this.servers.filter((_, index) => roles[index]!.startsWith('master'));
  }

  /** The primary on which a hash tag lies. */
  async primaryOf(tag: string): Promise<RedisServer> {
    const primaries = await this.primaries();
    const slot = await primaries[0]!.command('CLUSTER', 'KEYSLOT', `{${tag}}`);
    const counts = await Promise.all(primaries.map((server) => server.command('CLUSTER', 'COUNTKEYSINSLOT', slot)));
    return primaries[counts.findIndex((count) => count !== '0')]!;
  }

  /** Servers that follow this one now. */
  async replicasOf({ port }: RedisServer): Promise<RedisServer[]> {
    const roles = await Promise.all(this.servers.map((server) => server.command('ROLE').catch(() => '')));
    return this.servers.filter(
      (_, index) => roles[index]!.startsWith('slave') && roles[index]!.split('\n')[2] === String(port),
    );
  }

  /** The slots that have keys, each with the primary that has them; only while no slot is on the move. */
  async slots(): Promise<Map<string, RedisServer>> {
    const found = new Map<string, RedisServer>();
    for (const server of await this.primaries()) {
      const keys = ((await server.ask('KEYS', '*')) as RedisReply[]).map(textOfReply);
      const tags = new Set(keys.map((key) => key.slice(key.indexOf('{'), key.indexOf('}') + 1)));
      for (const tag of tags) found.set(textOfReply(await server.ask('CLUSTER', 'KEYSLOT', tag)), server);
    }
    return found;
  }

  /** Runs a command of the cluster manager, as `reshard`, against a primary; resolves when it has ended well. */
  async manage(command: string, options: readonly string[], signal?: AbortSignal): Promise<void> {
    const [{ port }] = (await this.primaries()) as [RedisServer];
    await promisify(execFile)('redis-cli', ['--cluster', command, `127.0.0.1:${port}`, ...options, '--cluster-yes'], {
      env: environment,
      signal,
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}
