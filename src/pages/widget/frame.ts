/**
 * The frame with the link's page, and the port to it. The site's scripts can listen wherever this one does, so nothing
 * of the conversation comes out of the frame; messages are accepted only from the frame's own window at our own origin
 * (see `messages.ts`).
 */
import { hello, type FromFrame, type ToFrame } from '../messages.ts';
import type { On } from './parts.ts';

export interface Frame {
  /** Null until it is loaded. */
  element: HTMLIFrameElement | null;
  /** The page in it listens. */
  hasMet: boolean;
  load(address: URL): HTMLIFrameElement;
  /** Sends a message now and to each page that is loaded later; a new conversation is begun once. */
  send(message: ToFrame): void;
}

/** `met` is called whenever a page in the frame has begun to listen. */
export function makeFrame(on: On, origin: string, met: () => void, heard: (message: FromFrame) => void): Frame {
  let port: MessagePort | undefined;
  /** The last message of each kind. */
  let kept: ToFrame[] = [];
  const frame: Frame = {
    element: null,
    hasMet: false,
    load(address) {
      const element = document.createElement('iframe');
      element.allow = 'microphone; screen-wake-lock; clipboard-write';
      element.referrerPolicy = 'no-referrer';
      element.src = address.href;
      return (frame.element = element);
    },
    send(message) {
      kept = kept.filter(({ type }) => type !== message.type);
      if (message.type !== 'new' || !port) kept.push(message);
      port?.postMessage(message);
    },
  };
  on(window, 'message', (event) => {
    const { source, origin: from, data, ports } = event as MessageEvent;
    if (data !== hello || from !== origin || source !== frame.element?.contentWindow) return;
    port?.close();
    port = ports[0]!;
    port.onmessage = (event) => heard(event.data as FromFrame);
    frame.hasMet = true;
    for (const message of kept) frame.send(message);
    met();
  });
  return frame;
}
