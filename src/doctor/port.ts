/** Whether the address that parley would listen on is free, or has a parley on it already. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { limits } from '../limits.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';

/** Listens there for a moment, which is the only way to know. */
export async function port({ host, port }: Config, clock: Clock): Promise<Finding> {
  if (port === 0) return ok('PORT=0: a free one is picked');
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return ok(`${port} on ${host} is free`);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') return whoHas(host, port, clock);
    if (code === 'EACCES') return fail(`${port} on ${host} may not be listened on`, 'Choose a port from 1024 on with PORT.');
    return fail(`${host} is no address of this machine (${code})`, 'Correct HOST: 127.0.0.1, 0.0.0.0 for all, or an address that ip addr shows.');
  }
}

async function whoHas(host: string, port: number, clock: Clock): Promise<Finding> {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const aborted = new AbortController();
  const deadline = clock.after(limits.doctorPortMs, () => aborted.abort());
  const ask = async (path: string): Promise<Response> => fetch(`http://${near}:${port}${path}`, { signal: aborted.signal });
  try {
    const alive = await ask('/healthz');
    if (!alive.headers.get('x-request-id')?.startsWith('req_') || (await alive.text()) !== '{"status":"ok"}') throw new Error('Somebody else.');
    const ready = await ask('/readyz');
    await ready.arrayBuffer();
    if (ready.ok) return ok(`${port} on ${host} is served by a parley, which is ready`);
    return warn(`${port} on ${host} is served by a parley that is not ready (${ready.status})`, 'It is ending, or its store does not answer: look at its log.');
  } catch {
    return fail(`${port} on ${host} is in use by another program`, `Choose another with PORT, or end that program: ss -ltnp 'sport = :${port}' names it.`);
  } finally {
    deadline.cancel();
  }
}
