/** A page of a test beside the API, as a program of somebody else's would serve it. */
import { once } from 'node:events';
import { createServer, request as ask } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { House } from '../api/house.ts';

/** The page, the package and the API on one origin, since the API's paths have no CORS. */
export async function served(
  t: Test,
  house: House,
  html: string,
  module: (path: string) => Promise<Buffer>,
): Promise<string> {
  const { hostname, port } = new URL(house.url);
  const server = createServer((request, response) => {
    const path = request.url!;
    if (path === '/' || path.endsWith('.js')) {
      response.setHeader('content-type', path === '/' ? 'text/html' : 'text/javascript');
      void (path === '/' ? Promise.resolve(html) : module(path.slice(1))).then((body) => response.end(body));
      return;
    }
    const onward = ask(house.url + path, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  server.on('upgrade', (request, socket) => {
    const onward = connect(Number(port), hostname);
    const lines = request.rawHeaders.flatMap((name, at, all) => (at % 2 === 0 ? [`${name}: ${all[at + 1]}`] : []));
    onward.write(`GET ${request.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => (socket.destroy(), onward.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
