/** The class of sockets to use. */
import { drawBytes } from './clock.ts';
import type { SocketClass } from './socket.ts';

/**
 * The user's, the runtime's, or one over the HTTP of Node where the runtime has none, as Node 20; nothing of Node is
 * imported elsewhere.
 */
export async function socketClass(given: SocketClass | undefined): Promise<SocketClass> {
  const own = given ?? (globalThis as { WebSocket?: SocketClass }).WebSocket;
  return own ?? (await import('./node-socket.ts')).nodeSocketClass(drawBytes);
}
