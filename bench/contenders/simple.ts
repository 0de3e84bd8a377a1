/**
 * Contenders that store nothing: the floor, a proxy that passes the provider's stream through, and the plainest relay
 * in Node.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { built } from '../harness/built.ts';
import { message, post, type Contender, type Instance, type Surroundings } from '../harness/contender.ts';
import { freePort, Process, untilReady } from '../harness/process.ts';
import { openaiFormat, parleyFormat, type Format } from '../load/stream.ts';
import { modelName, type Shape } from '../text.ts';

const sameRequest =
  (make: (model: string) => string) =>
  async (shape: Shape, count: number): Promise<string[]> =>
    Array<string>(count).fill(make(modelName(shape)));

/** Starts a Node program that reports its port, takes `POST /chat {model, message}` and answers in the format. */
export async function startProgram(path: string, { upstream }: Surroundings, format: Format): Promise<Instance> {
  const server = new Process({
    place: 'server',
    program: process.execPath,
    args: [path, String(upstream)],
    node: true,
  });
  const { port } = await server.told<{ port: number }>();
  return {
    processes: [server],
    ports: [port],
    format,
    conversations: sameRequest((model) => post('/chat', { model, message })),
    stop: () => server.stop(),
  };
}

export const floor: Contender = {
  name: 'F',
  note: 'A hand-written relay on uWebSockets.js and node:net, which writes once for each read: no authentication, limits, sessions, store, log, metrics or time-outs.',
  standing: 'always',
  start: async (surroundings) =>
    startProgram(await built(new URL('../floor.ts', import.meta.url)), surroundings, parleyFormat),
};

export const plain: Contender = {
  name: 'node:http + fetch',
  note: 'What one writes first in Node alone; keeps nothing and checks nobody.',
  standing: 'full',
  start: async (surroundings) =>
    startProgram(await built(new URL('../plain.ts', import.meta.url)), surroundings, parleyFormat),
};

export const nginx: Contender = {
  name: 'nginx',
  note: "Passes the provider's bytes through unread: it makes no events, checks nobody and keeps nothing.",
  standing: 'full',
  absent: () => (spawnSync('nginx', ['-v']).status === 0 ? null : 'nginx is not installed'),
  async start({ upstream }) {
    const [port, folder] = [await freePort(), await mkdtemp(join(tmpdir(), 'parley-bench-nginx-'))];
    await writeFile(join(folder, 'nginx.conf'), nginxConfig(port, upstream, folder));
    const server = new Process({
      place: 'server',
      program: 'nginx',
      args: ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', join(folder, 'error.log')],
    });
    await untilReady(port, '/ready', server);
    const conversations = sameRequest((model) =>
      post('/v1/chat/completions', { model, messages: [{ role: 'user', content: message }], stream: true }),
    );
    const stop = async (): Promise<void> => {
      await server.stop('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    };
    return { processes: [server], ports: [port], format: openaiFormat, conversations, stop };
  },
};

const nginxConfig = (port: number, upstream: number, folder: string): string => `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 1000000;
  upstream provider { server 127.0.0.1:${upstream}; keepalive 1024; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location = /ready { return 204; }
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
