/** Speech as it streams: the audio of one text. Imported by the first call for speech, so it stands alone. */
import type { Clock } from './clock.ts';
import type { ConnectionError } from './failure.ts';
import type { Answer, mustBe } from './http.ts';
import type { given } from './pages.ts';
import type { CallOptions, Requester } from './requester.ts';
import type { NewSpeech, NewVisitorSpeech } from './types.ts';

/**
 * Iterate over it for the audio piece by piece, or await `bytes()`; once. Leaving the iteration stops the server's
 * work.
 */
export class Speech implements AsyncIterable<Uint8Array> {
  /** The type as the server sends it, such as `audio/wav` or `audio/pcm;rate=16000;channels=1`. */
  readonly contentType: string;
  /** Hertz. */
  readonly sampleRate: number;
  readonly requestId: string | null;
  readonly #answer: Answer;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #cut: (cause: unknown) => Error;
  #read = false;

  /** `cut` makes the error of a connection that was cut. */
  constructor(
    answer: Answer,
    { clock, silenceMs }: { readonly clock: Clock; readonly silenceMs: number },
    cut: (cause: unknown) => Error,
  ) {
    const { headers } = answer.response;
    this.contentType = headers.get('content-type')!;
    this.sampleRate = Number(headers.get('x-audio-sample-rate'));
    this.requestId = headers.get('x-request-id');
    this.#answer = answer;
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.#cut = cut;
    answer.keep();
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
    // A connection that was silent for so long is cut: a dead one may never report it.
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
      throw this.#cut(cause);
    } finally {
      answer.close();
    }
  }
}

/** Functions of the client's own module, passed in so that this module does not load them again. */
interface Parts {
  readonly given: typeof given;
  readonly mustBe: typeof mustBe;
  readonly ConnectionError: typeof ConnectionError;
}

/**
 * Resolves once the first sentence is spoken; throws a failure before that. A cut after that is not retried, since
 * every sentence spoken is charged.
 */
export function speech(
  requester: Requester,
  { signal, timeoutMs, ...body }: (NewSpeech | NewVisitorSpeech) & CallOptions,
  { given, mustBe, ConnectionError }: Parts,
): Promise<Speech> {
  const call = {
    method: 'POST',
    path: '/speech',
    body,
    budgets: ['speech', 'requests'],
    ...given({ signal, timeoutMs }),
  } as const;
  return requester.run(call, requester.patience('always'), async (answer) => {
    await mustBe(answer, 'audio/');
    return new Speech(
      answer,
      requester.options,
      (cause) => new ConnectionError('The speech was cut.', { answered: true, cause }),
    );
  });
}
