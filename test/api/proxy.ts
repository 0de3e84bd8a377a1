/**
 * nginx and haproxy as the documentation sets them up: its own files, with only addresses, ports, certificates and the
 * log's place replaced, and a readiness check of haproxy that a slow machine can answer.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { probePort } from '../../src/operations/supervisor/port.ts';
import { signalChild } from '../../src/base/signals.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import { environment, whyMissing } from '../installed.ts';
import { patient } from '../run/speed.mjs';
import { certificateIn, whyNoTls, type Certificate } from '../tls.ts';
import { send, trust } from './request.ts';
import { until } from './talk.ts';

export const proxies = ['nginx', 'haproxy'] as const;
export type Proxy = (typeof proxies)[number];

/** Returns the reason why there is no proxy to test with, or null. Installs it where packages may be installed. */
export const whyNoProxy = (proxy: Proxy): string | null => whyMissing(proxy) ?? whyNoTls();

export interface OpenProxy {
  /** `https://127.0.0.1:PORT`; the requests of this process trust its certificate. */
  readonly url: string;
  /** The same by plain HTTP. */
  readonly plainUrl: string;
  /** The file of the authority of its certificate. */
  readonly authority: string;
  /** Resolves when it passes requests on. */
  ready(): Promise<void>;
}

export interface ProxyOptions {
  /** Changes the text of the documented file; by default it is as documented. */
  readonly edit?: (text: string) => string;
}

/** Starts it with TLS in front of servers, which need not listen yet. It ends with the test. */
export async function openProxy(
  t: Owner,
  proxy: Proxy,
  servers: readonly { readonly url: string }[],
  { edit = (text) => text }: ProxyOptions = {},
): Promise<OpenProxy> {
  const folder = await temporaryFolder(t);
  const certificate = certificateIn(folder, 'proxy');
  const [port, plainPort] = [await probePort('127.0.0.1', 0), await probePort('127.0.0.1', 0)];
  const place: Place = (text, own) => {
    const theirs = Object.fromEntries(
      [1, 2, 3].map((number) => [`10.0.0.1${number}:8080`, new URL(servers[(number - 1) % servers.length]!.url).host]),
    );
    return edit(Object.entries({ ...own, ...theirs }).reduce(replaced, text));
  };
  const args = await (proxy === 'nginx' ? nginx : haproxy)({ folder, port, plainPort, certificate, place });
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
  const url = `https://127.0.0.1:${port}`;
  trust(await readFile(certificate.certificate, 'utf8'));
  const ready = async (): Promise<void> => {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${proxy} ended: ${said}`);
      return send(`${url}/readyz`, { method: 'GET', headers: {} }).then(
        (response) => response.resume().statusCode === 200,
        () => false,
      );
    });
  };
  return { url, plainUrl: `http://127.0.0.1:${plainPort}`, authority: certificate.certificate, ready };
}

/** Puts a test's own values into a documented file. */
type Place = (text: string, own: Readonly<Record<string, string>>) => string;

interface Placing {
  readonly folder: string;
  readonly port: number;
  readonly plainPort: number;
  readonly certificate: Certificate;
  readonly place: Place;
}

function replaced(text: string, [from, to]: readonly [string, string]): string {
  if (!text.includes(from)) throw new Error(`The documented file has no "${from}".`);
  return text.replace(from, to);
}

const documented = (name: string): Promise<string> =>
  readFile(new URL(`../../docs/many-processes/${name}`, import.meta.url), 'utf8');

/** The documented file is one for `conf.d`; around it is the distribution's nginx.conf. */
async function nginx({ folder, port, plainPort, certificate, place }: Placing): Promise<string[]> {
  const own = {
    'listen 80;': `listen 127.0.0.1:${plainPort};`,
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    '/etc/ssl/parley/fullchain.pem': certificate.certificate,
    '/etc/ssl/parley/privkey.pem': certificate.key,
    '/var/log/nginx': folder,
  };
  await writeFile(join(folder, 'parley.conf'), place(await documented('nginx.conf'), own));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const main = `${user} pid ${folder}/pid; error_log stderr warn; events {} http { ${temporary.join(' ')} include ${folder}/parley.conf; }`;
  await mkdir(join(folder, 'logs'));
  await writeFile(join(folder, 'main.conf'), main);
  return ['-p', folder, '-c', join(folder, 'main.conf'), '-g', 'daemon off;'];
}

async function haproxy({ folder, port, plainPort, certificate, place }: Placing): Promise<string[]> {
  const both = join(folder, 'both.pem');
  await writeFile(both, (await readFile(certificate.certificate, 'utf8')) + (await readFile(certificate.key, 'utf8')));
  const own = {
    'bind 0.0.0.0:80': `bind 127.0.0.1:${plainPort}`,
    'bind 0.0.0.0:443': `bind 127.0.0.1:${port}`,
    '/etc/haproxy/parley.pem': both,
    'timeout connect 2s': `timeout connect 2s\n    timeout check ${patient(1000)}ms`,
  };
  await writeFile(join(folder, 'haproxy.cfg'), place(await documented('haproxy.cfg'), own));
  return ['-db', '-f', join(folder, 'haproxy.cfg')];
}
