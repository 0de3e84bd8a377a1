/** Speech as it comes: the audio of one text. */
import type { Clock } from './clock.ts';
import { ConnectionError } from './failure.ts';
import { mustBe, type Answer } from './http.ts';
import { given } from './pages.ts';
import type { CallOptions, Requester } from './requester.ts';
import type { NewSpeech } from './types.ts';

/** Iterate over it for the audio piece by piece, or await `bytes()`; once. Leaving the iteration stops the server's work. */
export class Speech implements AsyncIterable<Uint8Array> {
  /** As the server answers it, such as `audio/wav` or `audio/pcm;rate=16000;channels=1`. */
  readonly contentType: string;
  /** Hertz. */
  readonly sampleRate: number;
  readonly requestId: string | null;
  readonly #answer: Answer;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  #read = false;

  constructor(answer: Answer, { clock, silenceMs }: { readonly clock: Clock; readonly silenceMs: number }) {
    const { headers } = answer.response;
    this.contentType = headers.get('content-type')!;
    this.sampleRate = Number(headers.get('x-audio-sample-rate'));
    this.requestId = headers.get('x-request-id');
    this.#answer = answer;
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    answer.unhurried();
  }

  /** The whole audio. Rejects with `ConnectionError` if it is cut. */
  async bytes(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this) pieces.push(piece);
    const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#read) throw new TypeError('The speech has been read already.');
    this.#read = true;
    const answer = this.#answer;
    const reader = answer.response.body!.getReader();
    // What was silent for so long is cut: a connection that is dead may never say so.
    let silent = false;
    const late = (): void => {
      silent = true;
      answer.close();
    };
    try {
      for (;;) {
        const quiet = this.#clock.after(this.#silenceMs, late);
        const { value } = await reader.read().finally(quiet);
        if (value === undefined) return;
        yield value;
      }
    } catch (cause) {
      if (answer.signal.aborted && !silent) throw answer.signal.reason;
      throw new ConnectionError('The speech was cut.', { answered: true, cause });
    } finally {
      answer.close();
    }
  }
}

/** Resolves once the first sentence is spoken; throws what came before. A cut after that is not repeated, since every sentence spoken is charged. */
export function speech(requester: Requester, { signal, timeoutMs, ...body }: NewSpeech & CallOptions): Promise<Speech> {
  const call = { method: 'POST', path: '/speech', body, budgets: ['speech', 'requests'], ...given({ signal, timeoutMs }) } as const;
  return requester.run(call, requester.patience('always'), async (answer) => {
    await mustBe(answer, 'audio/');
    return new Speech(answer, requester.options);
  });
}
