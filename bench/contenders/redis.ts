/** A Redis of the benchmark's own, with an append-only file as parley wants it, on the core of the load. */
import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, Process } from '../harness/process.ts';

export const whyNoRedis = (): string | null =>
  spawnSync('redis-server', ['--version']).status === 0 ? null : 'redis-server is not installed';

export interface Redis {
  readonly url: string;
  readonly process: Process;
  stop(): Promise<void>;
}

export async function startRedis(): Promise<Redis> {
  const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'parley-bench-redis-'))];
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    daemonize: 'no',
    loglevel: 'warning',
    appendonly: 'yes',
    appendfsync: 'everysec',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = new Process({ place: 'load', program: 'redis-server', args });
  while (!(await accepts(port)))
    await Promise.race([
      new Promise((resolve) => setTimeout(resolve, 10)),
      server.ended.then((why) => Promise.reject(new Error(why))),
    ]);
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `redis://127.0.0.1:${port}`, process: server, stop };
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
