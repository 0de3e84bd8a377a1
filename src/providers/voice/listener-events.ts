/** The events of a listener, in the order in which they are sent. */
import type { FinalReason } from './segmenter.ts';

export type ListenerEvent =
  | { readonly type: 'speech.started'; readonly utterance: number; readonly at_ms: number }
  | { readonly type: 'speech.stopped'; readonly utterance: number; readonly at_ms: number }
  | {
      readonly type: 'transcript.partial';
      readonly utterance: number;
      readonly text: string;
      readonly stable: number;
      readonly start_ms: number;
    }
  | {
      readonly type: 'transcript.final';
      readonly utterance: number;
      readonly text: string;
      readonly start_ms: number;
      readonly end_ms: number;
      readonly reason: FinalReason;
    };

/** Sends events at once; events of the utterances after a cut one wait for its final. */
export class OrderedEvents {
  readonly #emit: (event: ListenerEvent) => void;
  /** Utterances that were cut and whose finals are pending, the oldest first. */
  readonly #cuts = new Set<number>();
  #waiting: ListenerEvent[] = [];
  #closed = false;

  constructor(emit: (event: ListenerEvent) => void) {
    this.#emit = emit;
  }

  send(event: ListenerEvent): void {
    if (this.#closed) return;
    const [cut = Infinity] = this.#cuts;
    if (event.utterance > cut) this.#hold(event);
    else this.#emit(event);
  }

  /** Keeps only the last waiting partial of an utterance. */
  #hold(event: ListenerEvent): void {
    const last = this.#waiting.at(-1);
    if (event.type === 'transcript.partial' && last?.type === event.type && last.utterance === event.utterance)
      this.#waiting.pop();
    this.#waiting.push(event);
  }

  /** Makes events of later utterances wait for the final of this one. */
  cut(utterance: number): void {
    this.#cuts.add(utterance);
  }

  /** Sends the events that waited for the final of a cut utterance, up to the next cut. */
  release(utterance: number): void {
    if (!this.#cuts.delete(utterance)) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const event of waiting) this.send(event);
  }

  /** Drops the events that wait, and later ones. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }
}
