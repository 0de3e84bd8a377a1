/** The feed of live actors: one WebSocket, opened again by itself when it is lost. */
import { signal } from '@preact/signals';
import { query } from './api.ts';
import { after } from './clock.ts';
import { ask } from './api.ts';
import type { FeedMessage, Person } from './types.ts';

export type FeedState = 'connecting' | 'live' | 'lost';

/** Whether the feed is connected. */
export const connection = signal<FeedState | null>(null);

/** Milliseconds of silence before a feed is probed, and milliseconds that the answer may take. */
const [silenceMs, answerMs] = [20_000, 10_000];

export interface Filter {
  /** Null or absent for all workspaces. */
  readonly workspace?: string | null;
  readonly kind?: string;
  readonly id?: string;
}

/** Gathers messages to one call a frame. */
class Frames {
  readonly #receive: (messages: readonly FeedMessage[]) => void;
  #waiting: FeedMessage[] = [];
  #frame = 0;

  constructor(receive: (messages: readonly FeedMessage[]) => void) {
    this.#receive = receive;
  }

  add(message: FeedMessage): void {
    this.#waiting.push(message);
    // A page in the background draws no frames, and its messages must not pile up.
    if (document.visibilityState === 'hidden' && this.#waiting.length >= 500) this.#deliver();
    else if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#deliver());
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
  }

  #deliver(): void {
    this.#frame = 0;
    const messages = this.#waiting;
    this.#waiting = [];
    this.#receive(messages);
  }
}

/**
 * Closes a socket: one that still connects as soon as it is open, since browsers report an error in their console for
 * one that is closed before.
 */
function closeQuietly(socket: WebSocket): void {
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
}

/**
 * Calls back with the messages that arrive, gathered to one call a frame. After a loss the server begins with all live
 * actors again, so nothing is missing and nothing is counted twice. Returns the function that ends it.
 */
export function watch(filter: Filter, receive: (messages: readonly FeedMessage[]) => void): () => void {
  let socket: WebSocket | null = null;
  let ended = false;
  let wait = 500;
  let cancel = () => {};
  let silence = () => {};
  const frames = new Frames(receive);

  /**
   * A dead connection that a proxy holds open looks like one on which nothing happens. So after a silence the list of
   * live actors is requested, which a live feed answers.
   */
  const listen = (mine: WebSocket) => {
    silence();
    silence = after(silenceMs, () => {
      if (mine.readyState === WebSocket.OPEN) mine.send('{"type":"sync"}');
      silence = after(answerMs, () => lose(mine));
    });
  };
  const lose = (mine: WebSocket) => {
    if (ended || mine !== socket) return;
    socket = null;
    silence();
    mine.close();
    connection.value = 'lost';
    // The answer shows whether the sign-in has ended or the server is away.
    void ask<Person>('/me').catch(() => {});
    cancel = after(wait, open);
    wait = Math.min(wait * 2, 8000);
  };
  const open = () => {
    cancel();
    const url = new URL(`/console/api/inspect${query({ ...filter })}`, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const mine = (socket = new WebSocket(url));
    listen(mine);
    mine.onmessage = ({ data }: MessageEvent<string>) => {
      if (mine !== socket) return;
      // A feed is live once it has sent something: it begins with the live actors.
      wait = 500;
      connection.value = 'live';
      listen(mine);
      const message: FeedMessage = JSON.parse(data);
      // Dropped messages cannot be sent again; `sync` asks for the current state.
      if (message.type === 'dropped') mine.send('{"type":"sync"}');
      frames.add(message);
    };
    mine.onclose = () => lose(mine);
  };
  const sooner = () => {
    if (socket === null) open();
  };
  connection.value = 'connecting';
  addEventListener('online', sooner);
  open();
  return () => {
    ended = true;
    cancel();
    silence();
    frames.end();
    removeEventListener('online', sooner);
    if (socket !== null) closeQuietly(socket);
    socket = null;
    connection.value = null;
  };
}
