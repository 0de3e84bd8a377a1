/**
 * Gives watchers pictures of the live actors, one after another: at most one in an iteration of the event loop. After a
 * slow picture a pause of several times its duration follows, so that the loop is free most of the time, at any number
 * of requests.
 */
import { atTurnEnd, type Clock } from '../base/clock.ts';

/** Milliseconds of the event loop for one picture of the live actors; after a longer one a rest follows. */
export const pictureMsFree = 50;
/** The rest, as a multiple of the time that the picture took. */
export const pictureRestTimes = 4;

export interface PictureReceiver<Picture> {
  /** Called when the request for its picture is sent: the picture has everything that happened before. */
  asked(): void;
  give(picture: Picture): void;
}

export class Pictures<Picture> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<() => Picture>;
  /** The workspaces in order; each gets one picture, for any number of requests. */
  readonly #due = new Set<PictureReceiver<Picture>>();
  #running = false;

  /**
   * `ask` resolves once the answers of other processes are here, with a function that makes the picture of that moment.
   */
  constructor(clock: Clock, ask: () => Promise<() => Picture>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  request(receiver: PictureReceiver<Picture>): void {
    this.#due.add(receiver);
    if (this.#running) return;
    this.#running = true;
    atTurnEnd(() => void this.#next());
  }

  withdraw(receiver: PictureReceiver<Picture>): void {
    this.#due.delete(receiver);
  }

  async #next(): Promise<void> {
    const [receiver] = this.#due;
    if (receiver === undefined) return void (this.#running = false);
    let tookMs = 0;
    try {
      receiver.asked();
      const picture = await this.#ask();
      // A receiver that has left meanwhile costs no picture.
      if (!this.#due.delete(receiver)) return;
      const begunAt = this.#clock.monotonic();
      receiver.give(picture());
      tookMs = this.#clock.monotonic() - begunAt;
    } catch (error) {
      this.#due.delete(receiver);
      throw error;
    } finally {
      if (tookMs > pictureMsFree) this.#clock.after(pictureRestTimes * tookMs, () => void this.#next());
      else atTurnEnd(() => void this.#next());
    }
  }
}
