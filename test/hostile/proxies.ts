/**
 * haproxy and nginx before a server, set up so that `/readyz` is refused there: if it runs, a request went past them
 * unseen.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../bench/harness/process.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import { environment, whyMissing } from '../installed.ts';

export const proxies = ['haproxy', 'nginx'] as const;
export type Proxy = (typeof proxies)[number];

/** The reason for skipping tests behind one of these, or null. */
export const whyNoProxy = (proxy: Proxy): string | null => whyMissing(proxy);

/**
 * Resolves with its port once it passes requests on to the server at `port`. `oldVersion`: nginx speaks HTTP/1.0 to it,
 * as without a setting.
 */
export async function openProxy(t: Owner, proxy: Proxy, port: number, { oldVersion = false } = {}): Promise<number> {
  const folder = await temporaryFolder(t);
  const own = await freePort();
  const file = join(folder, 'proxy.conf');
  await writeFile(file, proxy === 'nginx' ? nginx(folder, own, port, oldVersion ? '1.0' : '1.1') : haproxy(own, port));
  const child = spawn(
    proxy,
    proxy === 'nginx' ? ['-e', 'stderr', '-p', folder, '-c', file] : ['-db', '-q', '-f', file],
    { env: environment, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const passesOn = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${own}/healthz`).then(
      ({ status }) => status === 200 || (oldVersion && status === 505),
      () => false,
    );
  while (!(await passesOn())) if (child.exitCode !== null) throw new Error(`${proxy} ended: ${said}`);
  return own;
}

/** Connections to the server are shared by all clients, so that bytes left by one would hit another. */
const haproxy = (own: number, port: number): string => `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  http-reuse always
frontend all
  bind 127.0.0.1:${own}
  http-request deny if { path /readyz }
  default_backend server
backend server
  server one 127.0.0.1:${port}
`;

const nginx = (folder: string, own: number, port: number, version: string): string => `
daemon off;
master_process off;
pid ${folder}/pid;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  upstream server {
    server 127.0.0.1:${port};
    keepalive 4;
  }
  server {
    listen 127.0.0.1:${own};
    location = /readyz { return 403; }
    location / {
      proxy_pass http://server;
      proxy_http_version ${version};
      proxy_set_header Connection "";
      proxy_request_buffering off;
    }
  }
}
`;
