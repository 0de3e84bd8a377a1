/**
 * Heads that are not to run are refused in the one error shape, and their connection ends (contract 1, 2 and 11,
 * "Framing").
 */
import { once } from 'node:events';
import t from 'tap';
import { RawClient } from '../http/edge/harness.ts';
import { edges, openHouse } from './house.ts';

for (const edge of edges) {
  t.test(edge, async (t) => {
    const house = await openHouse(t, { env: { PARLEY_EDGE: edge, PARLEY_LOG: 'info' } });
    const refused = async (lines: string, message: string, path = '/assistants'): Promise<void> => {
      const client = new RawClient(Number(new URL(house.url).port));
      await client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${house.key}\r\n${lines}\r\n`);
      await client.closed;
      const [head, body] = client.text.split('\r\n\r\n') as [string, string];
      t.match(head, /^HTTP\/1\.1 400 Bad Request\r\n/);
      t.match(head.toLowerCase(), /\r\nconnection: close(\r\n|$)/);
      t.notMatch(head.toLowerCase(), /x-ratelimit/);
      const requestId = /\r\nx-request-id: (req_\w+)/i.exec(head)![1]!;
      t.match(head.toLowerCase(), /\r\ncontent-type: application\/json/);
      t.same(JSON.parse(body), {
        error: { type: 'invalid_request', code: 'invalid_request', message },
        request_id: requestId,
      });
      while (!house.stdout().includes(requestId)) await once(house.child.stdout!, 'data');
      t.match(house.stdout(), new RegExp(`"request_id":"${requestId}","method":"GET","route":null,"status":400`));
    };
    const unreadable = (name: string): string => `The header \`${name}\` could not be read.`;
    // Two hosts are refused by the parser of one engine.
    const [line, name] =
      edge === 'uws' ? ['Transfer-Encoding: chunked, identity\r\n', 'Transfer-Encoding'] : ['Host: y\r\n', 'Host'];
    await refused('Transfer-Encoding: identity\r\n', unreadable('Transfer-Encoding'));
    await refused(line, unreadable(name));
    await refused(line, unreadable(name), '/nowhere');
    await refused(
      `${line}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`,
      unreadable(name),
      '/transcription',
    );
    // A refusal that one engine's parser answers itself is tested on the other.
    if (edge === 'uws')
      await refused('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', unreadable('Transfer-Encoding'));
    else await refused('X: y\r\n'.repeat(99), 'The headers are more than 100 lines, or too long.');
    const metrics = await (await fetch(`${house.url}/metrics`)).text();
    t.match(metrics, /parley_http_requests_total\{route="unknown",status="400"\} 5/);
  });
}
