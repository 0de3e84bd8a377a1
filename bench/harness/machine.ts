/** The machine that the figures were measured on. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type as systemName } from 'node:os';
import { placement } from './process.ts';

export interface MachineFacts {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly kernel: string;
  readonly node: string;
  readonly placement: string;
  /** The load average of the last minute, when the run ended: above two, other programs ran too. */
  readonly load: number;
  readonly versions: Readonly<Record<string, string>>;
}

/** The number of cores that this process had before it was pinned to one. */
const cores = availableParallelism();

const packages = ['lmdb', 'xstate', 'redis'];
const engine = `@uwsjs/linux-x64-${process.versions.node.split('.')[0]}`;

export function machineFacts(): MachineFacts {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
    dependencies: Record<string, string>;
    optionalDependencies: Record<string, string>;
  };
  const versions: Record<string, string> = {
    parley: manifest.version,
    'uWebSockets.js': manifest.optionalDependencies[engine]!,
  };
  for (const name of packages) versions[name] = manifest.dependencies[name]!.replace(/^npm:/, '');
  const nginx = /nginx\/([\d.]+)/.exec(spawnSync('nginx', ['-v'], { encoding: 'utf8' }).stderr ?? '')?.[1];
  const redis = /v=([\d.]+)/.exec(spawnSync('redis-server', ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1];
  if (nginx !== undefined) versions['nginx'] = nginx;
  if (redis !== undefined) versions['redis-server'] = redis;
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores,
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    kernel: `${systemName()} ${release()}`,
    node: process.version,
    placement: placement(),
    load: loadavg()[0]!,
    versions,
  };
}
