/** nginx and haproxy as the documentation sets them up: its own files, with nothing but addresses, ports and the log's place replaced. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { probePort } from '../../src/operations/supervisor/port.ts';
import { signalChild } from '../../src/base/signals.ts';
import { temporaryFolder } from '../folders.ts';
import { environment } from '../installed.ts';
import { until } from './talk.ts';

export const proxies = ['nginx', 'haproxy'] as const;
export type Proxy = (typeof proxies)[number];

const documented = (name: string): Promise<string> => readFile(new URL(`../../docs/many-processes/${name}`, import.meta.url), 'utf8');

/** Starts it in front of three servers; resolves with its address when it passes requests on. It ends with the test. */
export async function openProxy(t: Test, proxy: Proxy, servers: readonly { readonly url: string }[]): Promise<string> {
  const folder = await temporaryFolder(t);
  const port = await probePort('127.0.0.1', 0);
  const place = (text: string): string => {
    const own = { 'listen 80;': `listen 127.0.0.1:${port};`, 'bind 0.0.0.0:80': `bind 127.0.0.1:${port}`, '/var/log/nginx': folder };
    const theirs = Object.fromEntries(servers.map(({ url }, index) => [`10.0.0.1${index + 1}:8080`, new URL(url).host]));
    return Object.entries({ ...own, ...theirs }).reduce((placed, [from, to]) => placed.replace(from, to), text);
  };
  const args = await (proxy === 'nginx' ? nginx : haproxy)(folder, place);
  const child = spawn(proxy, args, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'close');
  const kill = (): void => signalChild(child, 'SIGTERM');
  process.once('exit', kill);
  t.teardown(async () => {
    process.off('exit', kill);
    kill();
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${proxy} ended: ${said}`);
    return fetch(`${url}/readyz`).then(({ status }) => status === 200, () => false);
  });
  return url;
}

/** The documented file is one for `conf.d`; around it is the distribution's nginx.conf. */
async function nginx(folder: string, place: (text: string) => string): Promise<string[]> {
  await writeFile(join(folder, 'parley.conf'), place(await documented('nginx.conf')));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const main = `${user} pid ${folder}/pid; error_log stderr warn; events {} http { ${temporary.join(' ')} include ${folder}/parley.conf; }`;
  await mkdir(join(folder, 'logs'));
  await writeFile(join(folder, 'main.conf'), main);
  return ['-p', folder, '-c', join(folder, 'main.conf'), '-g', 'daemon off;'];
}

async function haproxy(folder: string, place: (text: string) => string): Promise<string[]> {
  await writeFile(join(folder, 'haproxy.cfg'), place(await documented('haproxy.cfg')));
  return ['-db', '-f', join(folder, 'haproxy.cfg')];
}
