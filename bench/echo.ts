/** A bare WebSocket on uWebSockets.js: each message is sent back as it came. No token, no limits, no log. */
import { listenExclusivePort, loadEngine } from '../src/http/edge/uws/engine.ts';

const uws = await loadEngine();
const app = uws.App();
const nothing = (): void => {};
app.ws('/*', {
  maxPayloadLength: 1024 * 1024,
  idleTimeout: 120,
  sendPingsAutomatically: true,
  maxBackpressure: 1024 * 1024,
  open: nothing,
  message: (socket, message, isBinary) => void socket.send(new Uint8Array(message), isBinary),
  drain: nothing,
  ping: nothing,
  pong: nothing,
  close: nothing,
});
app.listen(
  '127.0.0.1',
  0,
  listenExclusivePort,
  (token) => void process.send?.({ port: token === false ? 0 : uws.us_socket_local_port(token) }),
);
