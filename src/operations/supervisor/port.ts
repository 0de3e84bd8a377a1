/** Finds the port that the workers share. */
import { createServer, type AddressInfo } from 'node:net';

/**
 * Listens on the port exclusively and closes it again: a worker would share it with a program that listens there
 * already. Resolves with the port, a free one for 0; rejects with the system's error.
 */
export function probePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      const free = (server.address() as AddressInfo).port;
      server.close(() => resolve(free));
    });
  });
}
