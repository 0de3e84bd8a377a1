/** The widget's side of the page: what it and the loader on the site say to each other (messages.ts). */
import { hello, type FromFrame, type ToFrame } from '../messages.ts';

export interface Frame {
  post(message: FromFrame): void;
}

/** Offers the loader a port, to the site in the address and to no other. What is no message of ours is not heard. */
export function openFrame(host: string, hear: (message: ToFrame) => void): Frame {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'object' && data !== null && 'type' in data) hear(data as ToFrame);
  };
  window.parent.postMessage(hello, host, [port2]);
  return { post: (message) => port1.postMessage(message) };
}
