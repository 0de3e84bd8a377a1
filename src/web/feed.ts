/** The feed of live actors: one WebSocket, opened again by itself when it is lost. */
import { signal } from '@preact/signals';
import { query } from './api.ts';
import { after } from './clock.ts';
import { ask } from './api.ts';
import type { FeedMessage, Person } from './types.ts';

export type Connection = 'connecting' | 'live' | 'lost';

/** Whether what is shown comes as it happens. */
export const connection = signal<Connection | null>(null);

export interface Filter {
  readonly workspace?: string;
  readonly kind?: string;
  readonly id?: string;
}

/**
 * Calls back with what arrives, gathered to one call a frame. After a loss the server begins with all live actors again, so nothing is
 * missing and nothing is counted twice. Returns the function that ends it.
 */
export function watch(filter: Filter, receive: (messages: readonly FeedMessage[]) => void): () => void {
  let socket: WebSocket | null = null;
  let ended = false;
  let wait = 500;
  let waiting: FeedMessage[] = [];
  let frame = 0;
  let cancel = () => {};

  const deliver = () => {
    frame = 0;
    const messages = waiting;
    waiting = [];
    receive(messages);
  };
  const open = () => {
    cancel();
    const url = new URL(`/console/api/inspect${query({ ...filter })}`, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const mine = (socket = new WebSocket(url));
    mine.onopen = () => {
      wait = 500;
      connection.value = 'live';
    };
    mine.onmessage = ({ data }: MessageEvent<string>) => {
      const message: FeedMessage = JSON.parse(data);
      // What was left out cannot be told one by one any more; the picture as it stands can.
      if (message.type === 'dropped') mine.send('{"type":"sync"}');
      waiting.push(message);
      // A page in the background draws no frames, and its messages must not pile up.
      if (document.visibilityState === 'hidden' && waiting.length >= 500) deliver();
      else if (frame === 0) frame = requestAnimationFrame(deliver);
    };
    mine.onclose = () => {
      if (ended || mine !== socket) return;
      connection.value = 'lost';
      // The answer tells whether the sign-in has ended or the server is away.
      void ask<Person>('/me').catch(() => {});
      cancel = after(wait, open);
      wait = Math.min(wait * 2, 8000);
    };
  };
  const sooner = () => {
    if (socket?.readyState === WebSocket.CLOSED) open();
  };
  connection.value = 'connecting';
  addEventListener('online', sooner);
  open();
  return () => {
    ended = true;
    cancel();
    cancelAnimationFrame(frame);
    removeEventListener('online', sooner);
    socket?.close();
    connection.value = null;
  };
}
