/**
 * The code of the loudspeaker's audio worklet: a ring of samples, and a processor that renders it and counts. Neither
 * function uses anything from outside itself, since their source texts alone may run there.
 *
 * The processor takes `{message, samples}` (a new message drops the rest of the previous one), `pause`, `resume` and
 * `clear`; to a pause and a clear it answers `{message, position}` at once. It reports `{message, count, time, level}`
 * when samples begin or cease to be rendered, and every 50 ms between and shortly after: the number of samples of the
 * message that were rendered up to this time of the context.
 */

/** The samples that wait, six seconds of them at most, and those that were rendered of their message. */
export interface Ring {
  readonly message: number;
  readonly count: number;
  begin(message: number): void;
  push(samples: Int16Array): void;
  /** Begins to fade out; `drop` leaves only the samples that fade. Gives the count at which it will be silent. */
  hold(drop: boolean): number;
  resume(): void;
  /** Returns the next sample; silence while paused or empty. */
  next(): number;
}

export function makeRing(sampleRate: number): Ring {
  /** Samples: the longest that may wait, and a fade of 10 ms. */
  const [most, fade] = [6 * sampleRate, Math.round(sampleRate / 100)];
  const samples = new Float32Array(most);
  let [message, count, first, waiting] = [-1, 0, 0, 0];
  /** From 0 to `fade`, a step a sample, and where it is going. */
  let [gain, target] = [0, 0];
  return {
    get message() {
      return message;
    },
    get count() {
      return count;
    },
    begin: (id) => void ([message, count, first, waiting, gain, target] = [id, 0, 0, 0, 0, fade]),
    push(more) {
      for (const sample of more) if (waiting < most) samples[(first + waiting++) % most] = sample / 32_768;
    },
    hold(drop) {
      const fading = Math.min(waiting, gain);
      target = 0;
      if (drop) waiting = fading;
      return count + fading;
    },
    resume: () => void (target = fade),
    next() {
      if (waiting === 0 || (gain === 0 && target === 0)) {
        // After a gap it begins softly.
        gain = 0;
        return 0;
      }
      gain += Math.sign(target - gain);
      const sample = (samples[first]! * gain) / fade;
      first = (first + 1) % most;
      waiting--;
      count++;
      return sample;
    },
  };
}

export function loudspeakerWorklet(ringOf: (sampleRate: number) => Ring): void {
  interface Order {
    readonly type: 'play' | 'pause' | 'resume' | 'clear';
    readonly message: number;
    readonly samples?: Int16Array;
  }
  interface Processor {
    readonly port: { postMessage(data: object): void; onmessage: ((event: { readonly data: Order }) => void) | null };
  }
  const scope = globalThis as unknown as {
    readonly registerProcessor: (name: string, processor: new () => Processor) => void;
    readonly AudioWorkletProcessor: new () => Processor;
    readonly sampleRate: number;
    readonly currentTime: number;
  };
  const { sampleRate, registerProcessor, AudioWorkletProcessor } = scope;
  /** Samples between two reports, and samples after the last rendered one during which reports continue. */
  const [beat, afterwards] = [sampleRate / 20, 1.5 * sampleRate];
  class Loudspeaker extends AudioWorkletProcessor {
    ring = ringOf(sampleRate);
    moves = false;
    /** Samples since the last report, and since the last sound. */
    untold = 0;
    still = afterwards;
    level = 0;

    constructor() {
      super();
      this.port.onmessage = ({ data }) => this.take(data);
    }

    take({ type, message, samples }: Order): void {
      const { ring } = this;
      if (type === 'play' && message > ring.message) ring.begin(message);
      const ours = message === ring.message;
      if (type === 'play' && ours) ring.push(samples!);
      else if (type === 'resume' && ours) ring.resume();
      else if (type === 'pause' || type === 'clear')
        this.port.postMessage({ message, position: ours ? ring.hold(type === 'clear') : 0 });
    }

    process(_: unknown, [[out]]: [[Float32Array]]): boolean {
      const before = this.ring.count;
      for (let at = 0; at < out.length; at++) {
        out[at] = this.ring.next();
        this.level = Math.max(this.level, Math.abs(out[at]!));
      }
      const moves = this.ring.count > before;
      if (moves && !this.moves) this.tell(before, scope.currentTime);
      this.still = moves ? 0 : this.still + out.length;
      this.untold += out.length;
      if (moves !== this.moves || (this.untold >= beat && this.still < afterwards))
        this.tell(this.ring.count, scope.currentTime + out.length / sampleRate);
      this.moves = moves;
      return true;
    }

    tell(count: number, time: number): void {
      this.port.postMessage({ message: this.ring.message, count, time, level: this.level });
      this.untold = 0;
      this.level = 0;
    }
  }
  registerProcessor('parley-loudspeaker', Loudspeaker);
}
