/** One attempt at a delivery, on the wire (contract 17). */
import { createHmac } from 'node:crypto';
import t, { type Test } from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { sendWebhook } from '../../../src/operations/webhooks/request.ts';
import { providerHttp } from '../../../src/providers/client.ts';
import { signatureHeaders } from '../../../src/providers/tool/signature.ts';
import { raw, type Raw } from '../../providers/client/raw.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const id = 'dlv_1m2zgb4c00wq5s8e1k7n3dxyvt';
const body = '{"type":"turn.completed","data":{"status":"é"}}';

function sender(t: Test, allowPrivate = true) {
  const clock = new WheelClock();
  const http = providerHttp({ clock, allowPrivate });
  t.teardown(async () => (await http.close(), clock.stop()));
  return (url: string, signal = new AbortController().signal) =>
    sendWebhook(http, clock, { id, url, body, secret, traceparent: null }, signal);
}

const answers =
  (head: string, text = ''): Raw['answer'] =>
  ({ socket }) =>
    void socket.write(`HTTP/1.1 ${head}\r\ncontent-length: ${text.length}\r\n\r\n${text}`);

t.test('the signature is that of the test vector that the libraries of Standard Webhooks share', async (t) => {
  t.same(signatureHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}', [secret]), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

t.test('an attempt is one POST, signed over its id, time and bytes', async (t) => {
  const server = await raw(t, answers('204 No Content'));
  t.same(await sender(t)(`${server.baseUrl}/hook/`), { status: 204, retryAfter: '' });
  const { text } = server.arrivals[0]!;
  const [head, sent] = text.split('\r\n\r\n') as [string, string];
  t.match(head, /^POST \/v1\/hook\/ HTTP\/1\.1\r\n/);
  const header = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1]?.trim() ?? '';
  t.equal(header('content-type'), 'application/json');
  t.equal(header('webhook-id'), id);
  t.equal(Buffer.from(sent, 'latin1').toString(), body);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = createHmac('sha256', key)
    .update(`${id}.${header('webhook-timestamp')}.${body}`)
    .digest('base64');
  t.equal(header('webhook-signature'), `v1,${signed}`);
});

t.test('each status is reported with its Retry-After, and no redirect is followed', async (t) => {
  const server = await raw(t, () => {});
  const send = sender(t);
  for (const [head, expected] of [
    ['200 OK', { status: 200, retryAfter: '' }],
    [`302 Found\r\nlocation: ${server.baseUrl}/other`, { status: 302, retryAfter: '' }],
    ['410 Gone', { status: 410, retryAfter: '' }],
    ['429 Too Many Requests\r\nRetry-After:  120 ', { status: 429, retryAfter: '120' }],
    [
      '503 Away\r\nretry-after: Sun, 29 Nov 2026 08:10:00 GMT',
      { status: 503, retryAfter: 'Sun, 29 Nov 2026 08:10:00 GMT' },
    ],
  ] as const) {
    server.answer = answers(head, 'why');
    t.same(await send(server.baseUrl), expected, head);
  }
  t.equal(server.arrivals.length, 5);
});

t.test('a connection that ends, a guarded address and an answer that is no HTTP are no answer', async (t) => {
  const server = await raw(t, ({ socket }) => void socket.destroy());
  t.equal(await sender(t)(server.baseUrl), null);
  server.answer = ({ socket }) => void socket.end('SSH-2.0\r\n\r\n');
  t.equal(await sender(t)(server.baseUrl), null);
  const before = server.arrivals.length;
  t.equal(await sender(t, false)(server.baseUrl), null);
  t.equal(server.arrivals.length, before);
});

t.test('an attempt that is cut settles at once and closes its connection', async (t) => {
  const server = await raw(t, () => {});
  const cut = new AbortController();
  const sent = sender(t)(server.baseUrl, cut.signal);
  await server.reached(1);
  const closed = new Promise((resolve) => server.sockets[0]!.on('close', resolve));
  cut.abort();
  t.equal(await sent, null);
  await closed;
});

t.test('an answer without an end delivers with its status, and its connection is closed', async (t) => {
  const server = await raw(t, ({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const pour = (): void => void (socket.destroyed || socket.write('x'.repeat(65_536), () => setImmediate(pour)));
    pour();
  });
  t.same(await sender(t)(server.baseUrl), { status: 200, retryAfter: '' });
  const [socket] = server.sockets;
  if (!socket!.destroyed) await new Promise((resolve) => socket!.on('close', resolve));
});
