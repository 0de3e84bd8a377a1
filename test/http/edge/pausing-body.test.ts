/**
 * A body that pauses is waited for as long as our bound says, and then refused in words, on every engine (contract 2).
 */
import t from 'tap';
import { openNodeEdge } from '../../../src/http/edge/node.ts';
import { openUwsEdge } from '../../../src/http/edge/uws.ts';
import { RawClient, serve } from './harness.ts';

// Longer than the 10 to 12 s after which uWebSockets.js cuts a silent connection.
const bodyMsMax = 14_000;

t.test('a body that pauses', async (t) => {
  const engines = { node: openNodeEdge, uws: openUwsEdge };
  await Promise.all(
    Object.entries(engines).map(async ([name, open]) => {
      const { port } = await serve(
        t,
        open,
        {
          exchange: async (exchange) => {
            const body = await exchange.body();
            exchange.respond(400, {}, body.kind);
          },
        },
        { bodyMsMax },
      );
      const framings = { 'Content-Length: 2': 'a', 'Transfer-Encoding: chunked': '1\r\na\r\n' };
      await Promise.all(
        Object.entries(framings).map(async ([line, first]) => {
          const client = new RawClient(port);
          await client.send(`POST / HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n${first}`);
          await client.closed;
          t.match(client.text, /^HTTP\/1\.1 400 [^]*\r\n\r\ntimeout$/, `${name}, ${line}`);
        }),
      );
    }),
  );
});
