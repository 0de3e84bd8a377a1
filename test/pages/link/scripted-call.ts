/**
 * The service's side of a call as a test wants it: the states of a page's call bar, without a voice that would have to
 * bring them about.
 */
import type { Page, WebSocketRoute } from 'playwright-core';
import { patience } from '../../browser.ts';
import { phrase } from '../../phrase.ts';

interface Message {
  readonly type: string;
  readonly [field: string]: any;
}

/** One socket of the page. */
export class Line {
  readonly #route: WebSocketRoute;
  readonly #heard: Message[] = [];
  #wake: () => void = () => {};
  #turns = 0;
  /** The person's audio that has come. */
  audioBytes = 0;
  /** The message that is spoken. */
  #message = '';

  constructor(route: WebSocketRoute) {
    this.#route = route;
    route.onMessage((data) => {
      if (typeof data !== 'string') return void (this.audioBytes += data.length);
      this.#heard.push(JSON.parse(data));
      this.#wake();
    });
  }

  send(...messages: readonly Message[]): void {
    for (const message of messages) this.#route.send(JSON.stringify(message));
  }

  /** The call is open, and nobody speaks. */
  ready(expiresAt: number | null = null): void {
    const formats = {
      sample_rate: 16_000,
      encoding: 'pcm_s16le',
      output_sample_rate: 24_000,
      output_encoding: 'pcm_s16le',
    };
    this.send({
      type: 'ready',
      call_id: 'call_1',
      session_id: 'ses_1',
      ...formats,
      turn_silence_ms: 500,
      ahead_ms: 1000,
      barge_in: 'words',
      expires_at: expiresAt,
    });
    this.state('listening');
  }

  state(state: string): void {
    this.send({ type: 'state', state });
  }

  /** The person says this, as far as it is understood. */
  partial(text: string): void {
    this.state('hearing');
    this.send({ type: 'transcript.partial', utterance: 1, text, stable: 0, start_ms: 0 });
  }

  final(text: string, ignored: 'backchannel' | 'echo' | 'failed' | null = null): void {
    this.send({ type: 'transcript.final', utterance: 1, text, start_ms: 0, end_ms: 900, reason: 'silence', ignored });
  }

  /** Ends the person's turn with these words. */
  asks(text: string): void {
    this.final(text);
    this.state('thinking');
    this.#turns++;
    this.#message = `msg_${this.#turns}`;
    this.send({ type: 'turn.started', turn_id: this.#turn, message_id: this.#message, text, spoken: true });
  }

  /** The reply is spoken, and this much of it was heard. */
  speaks(text: string): void {
    this.state('speaking');
    this.send({ type: 'audio.start', message_id: this.#message, turn_id: this.#turn });
    const audio = phrase(3_000);
    for (let at = 0; at < audio.length; at += 3_200) this.#route.send(audio.subarray(at, at + 3_200));
    this.send({ type: 'message.delta', message_id: this.#message, text });
  }

  /** Somebody speaks over the reply. */
  pauses(): void {
    this.state('paused');
    this.send({ type: 'audio.pause', message_id: this.#message });
  }

  cut(): void {
    this.send(
      { type: 'audio.clear', message_id: this.#message },
      { type: 'state', state: 'listening' },
      {
        type: 'turn.aborted',
        turn_id: this.#turn,
        message_id: this.#message,
        stop_reason: 'aborted',
        cut_by: 'client',
      },
    );
  }

  fails(code: string, begun = true): void {
    this.state('listening');
    this.send({ type: 'turn.failed', turn_id: begun ? this.#turn : null, code, message: 'No.' });
  }

  /** The service ends the call. */
  ends(code: string): void {
    this.send({ type: 'error', code, message: 'No.' });
    void this.#route.close({ code: 1008 });
  }

  /** The connection is lost. */
  lose(): void {
    void this.#route.close({ code: 1012 });
  }

  /** Resolves with the first message of this type that the page has sent. */
  async heard(type: string): Promise<Message> {
    for (;;) {
      const found = this.#heard.find((message) => message.type === type);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  get #turn(): string {
    return `turn_${this.#turns}`;
  }
}

export interface Lines {
  /** Resolves with the next socket that the page opens. */
  next(): Promise<Line>;
}

/** Answers the calls of a page, which has not been opened yet. */
export async function scriptCalls(page: Page): Promise<Lines> {
  const waiting: Line[] = [];
  let wake: () => void = () => {};
  await page.routeWebSocket(/\/call\?token=/, (route) => {
    waiting.push(new Line(route));
    wake();
  });
  return {
    async next() {
      const late = AbortSignal.timeout(patience);
      while (waiting.length === 0) {
        await new Promise<void>((resolve, reject) => {
          wake = resolve;
          late.addEventListener('abort', () => reject(new Error('The page opened no socket.')));
        });
      }
      return waiting.shift()!;
    },
  };
}
