/** The page's end of the messages with the loader on the site (messages.ts). */
import { hello, type FromFrame, type ToFrame } from '../messages.ts';

export interface ParentFrame {
  post(message: FromFrame): void;
}

/** Offers the loader a port, to the site in the address and to no other. Other messages are ignored. */
export function openFrame(host: string, hear: (message: ToFrame) => void): ParentFrame {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'object' && data !== null && 'type' in data) hear(data as ToFrame);
  };
  window.parent.postMessage(hello, host, [port2]);
  return { post: (message) => port1.postMessage(message) };
}
