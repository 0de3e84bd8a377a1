/** Whether the address for parley to listen on is free, or a parley listens on it already. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../base/config.ts';
import { fail, ok, warn } from '../../store/doctor/check.ts';
import type { Finding } from '../../store/doctor/check.ts';
import { codeOfThrown } from '../../base/thrown.ts';

/** Milliseconds for the process on the port to answer. */
const doctorPortMs = 10_000;

type Ports = Pick<Config, 'host' | 'port' | 'managementPort'>;

/** Listens on the address for a moment, which is the only way to know. */
export const port = (config: Ports, clock: Clock): Promise<Finding> => portOf('PORT', config.port, config, clock);

/** The same for the management port, if there is one. */
export const managementPort = (config: Ports, clock: Clock): Promise<Finding> =>
  portOf('PARLEY_MANAGEMENT_PORT', config.managementPort!, config, clock);

async function portOf(variable: string, port: number, config: Ports, clock: Clock): Promise<Finding> {
  const { host } = config;
  if (port === 0) return ok(`${variable}=0: a free one is picked`);
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return ok(`${port} on ${host} is free`);
  } catch (error) {
    const code = codeOfThrown(error) ?? '';
    if (code === 'EADDRINUSE') return whoHas(variable, port, config, clock);
    if (code === 'EACCES')
      return fail(`this user may not open ${port} on ${host}`, `Choose a port from 1024 on with ${variable}.`);
    return fail(
      `${host} is not an address of this machine (${code})`,
      'Correct HOST: 127.0.0.1, 0.0.0.0 for all, or an address that ip addr shows.',
    );
  }
}

async function whoHas(variable: string, port: number, { host, managementPort }: Ports, clock: Clock): Promise<Finding> {
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const aborted = new AbortController();
  const deadline = clock.after(doctorPortMs, () => aborted.abort());
  const ask = async (at: number, path: string): Promise<Response> =>
    fetch(`http://${near}:${at}${path}`, { signal: aborted.signal });
  try {
    const alive = await ask(port, '/healthz');
    if (!alive.headers.get('x-request-id')?.startsWith('req_') || (await alive.text()) !== '{"status":"ok"}')
      throw new Error('Another program answers on this port.');
    const ready = await ask(managementPort || port, '/readyz').catch(() => null);
    if (ready === null)
      return warn(
        `${port} on ${host} is served by a parley that does not answer on ${managementPort || port}`,
        'Start it again with these settings, or look at its log.',
      );
    await ready.arrayBuffer();
    if (ready.ok) return ok(`${port} on ${host} is served by a parley, which is ready`);
    return warn(
      `${port} on ${host} is served by a parley that is not ready (${ready.status})`,
      'It is ending, or its store does not answer: look at its log.',
    );
  } catch {
    return fail(
      `${port} on ${host} is in use by another program`,
      `Choose another with ${variable}, or end that program: ss -ltnp 'sport = :${port}' names it.`,
    );
  } finally {
    deadline.cancel();
  }
}
