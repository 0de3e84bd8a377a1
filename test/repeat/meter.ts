/**
 * Longest pause of a server's event loop, and private memory of its process, measured inside the server by a module
 * that is loaded before its code. A loop that only waited for the processor did not stand still: what counts is the
 * processor's time between two beats.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { Owner } from '../folders.ts';
import type { Server } from '../process.ts';

export interface Reading {
  /** The longest standstill since the last reading. */
  readonly stoodMs: number;
  /** The process's own memory, after garbage was collected if it is: files in memory are not counted. */
  readonly megabytes: number;
  readonly peakMegabytes: number;
}

const inServer = `
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import v8 from 'node:v8';
import vm from 'node:vm';
const file = process.env.METER_FILE;
if (process.argv.includes('serve')) {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');
  const spent = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const own = () => Number(/RssAnon:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1]) / 1024;
  let at = performance.now(), cpu = spent(), stood = 0, peak = 0, beats = 0;
  const beat = () => {
    const [now, used] = [performance.now(), spent()];
    stood = Math.max(stood, Math.min(now - at, used - cpu) - 10);
    at = now; cpu = used;
    if (beats++ % 10 === 0) peak = Math.max(peak, own());
  };
  setInterval(beat, 10).unref();
  process.on('SIGUSR2', () => setTimeout(() => {
    beat();
    const stoodMs = stood, peakMegabytes = Math.max(peak, own());
    if (process.env.METER_COLLECTS) collect();
    const megabytes = own();
    writeFileSync(file + '.part', JSON.stringify({ stoodMs, megabytes, peakMegabytes }));
    renameSync(file + '.part', file);
    at = performance.now(); cpu = spent(); stood = 0; peak = 0;
  }, 20));
}`;

export class Meter {
  readonly #file = join(tmpdir(), `meter-${randomUUID()}.json`);
  /** Reads the meter of the server. */
  readonly env: Readonly<Record<string, string>>;

  constructor(t: Owner, collects: boolean) {
    this.env = {
      METER_FILE: this.#file,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(inServer)}`,
      ...(collects && { METER_COLLECTS: '1' }),
    };
    t.teardown(async () => rmSync(this.#file, { force: true }));
  }

  async read({ child, ended }: Server): Promise<Reading> {
    let over = false;
    void ended.then(() => (over = true));
    rmSync(this.#file, { force: true });
    child.kill('SIGUSR2');
    while (!existsSync(this.#file)) {
      if (over) throw new Error('the server has ended');
      await after(5);
    }
    return JSON.parse(readFileSync(this.#file, 'utf8')) as Reading;
  }
}
