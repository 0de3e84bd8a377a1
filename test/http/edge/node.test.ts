import t from 'tap';
import { once } from 'node:events';
import { openNodeEdge } from '../../../src/http/edge/node.ts';
import type { Outlet } from '../../../src/base/edge.ts';
import { gate, RawClient, serve } from './harness.ts';

// The other engine takes no HTTP/1.0.
t.test(
  'an answer of the node engine to HTTP/1.0 ends with its connection, and one that is cut with a reset',
  async (t) => {
    const outlets = { '/whole': gate<Outlet>(), '/cut': gate<Outlet>() };
    const { port } = await serve(t, openNodeEdge, {
      exchange: (exchange) => outlets[exchange.path as '/whole' | '/cut'].open(exchange.stream(200, {})),
    });
    const [whole, cut] = [new RawClient(port), new RawClient(port)];
    const reset = once(cut.socket, 'error');
    await whole.send('GET /whole HTTP/1.0\r\n\r\n');
    await cut.send('GET /cut HTTP/1.0\r\n\r\n');
    const [ended, broken] = await Promise.all([outlets['/whole'].promise, outlets['/cut'].promise]);
    ended.end('whole');
    await whole.closed;
    t.match(whole.text, /\r\n\r\nwhole$/);
    broken.write('half');
    await cut.until(/half/);
    broken.cut();
    t.match(await reset, [{ code: 'ECONNRESET' }]);
  },
);
