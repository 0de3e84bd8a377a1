/**
 * The code of the loudspeaker's audio worklet: a ring of samples that counts what it has rendered of each message. It uses nothing from
 * outside itself, since its source text alone may be run there.
 *
 * It takes `{message, samples}` (a new message drops what is left of the one before), `pause`, `resume` and `clear`; to a pause and a
 * clear it answers `{message, position}` at once. It tells `{message, count, time, level}` when samples begin or cease to be rendered and
 * every 50 ms between and shortly after: so many samples of the message were rendered up to this time of the context.
 */
export function loudspeakerWorklet(): void {
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
  const { sampleRate } = scope;
  /** Samples: the longest that may wait, a fade of 10 ms, the beat of what is told, and how long after the last sample it is told. */
  const [most, fade, beat, afterwards] = [6 * sampleRate, Math.round(sampleRate / 100), sampleRate / 20, 1.5 * sampleRate];
  scope.registerProcessor(
    'parley-loudspeaker',
    class extends scope.AudioWorkletProcessor {
      ring = new Float32Array(most);
      first = 0;
      waiting = 0;
      message = -1;
      count = 0;
      /** From 0 to `fade`, a step a sample, and where it is going. */
      gain = 0;
      target = 0;
      moves = false;
      /** Samples since the last that was told, and since the last that moved. */
      untold = 0;
      still = afterwards;
      level = 0;

      constructor() {
        super();
        this.port.onmessage = ({ data }) => this.take(data);
      }

      take({ type, message, samples }: Order): void {
        if (type === 'play' && message > this.message) {
          [this.message, this.count, this.waiting, this.first, this.gain, this.target] = [message, 0, 0, 0, 0, fade];
        }
        if (message !== this.message) return type === 'play' ? undefined : this.answer(message, 0);
        if (type === 'play') this.push(samples!);
        if (type === 'resume') this.target = fade;
        if (type === 'pause' || type === 'clear') {
          // What still sounds while it fades is counted already.
          const fading = Math.min(this.waiting, this.gain);
          this.target = 0;
          if (type === 'clear') this.waiting = fading;
          this.answer(message, this.count + fading);
        }
      }

      answer(message: number, position: number): void {
        this.port.postMessage({ message, position });
      }

      push(samples: Int16Array): void {
        for (const sample of samples) {
          if (this.waiting === most) return;
          this.ring[(this.first + this.waiting++) % most] = sample / 32_768;
        }
      }

      process(_: unknown, [[out]]: [[Float32Array]]): boolean {
        const before = this.count;
        for (let at = 0; at < out.length; at++) out[at] = this.next();
        const moves = this.count > before;
        if (moves && !this.moves) this.tell(before, scope.currentTime);
        this.still = moves ? 0 : this.still + out.length;
        this.untold += out.length;
        if (moves !== this.moves || (this.untold >= beat && this.still < afterwards)) this.tell(this.count, scope.currentTime + out.length / sampleRate);
        this.moves = moves;
        return true;
      }

      next(): number {
        if (this.waiting === 0 || (this.gain === 0 && this.target === 0)) {
          // After a gap it begins softly.
          this.gain = 0;
          return 0;
        }
        if (this.gain !== this.target) this.gain += Math.sign(this.target - this.gain);
        const sample = (this.ring[this.first]! * this.gain) / fade;
        this.first = (this.first + 1) % most;
        this.waiting--;
        this.count++;
        this.level = Math.max(this.level, Math.abs(sample));
        return sample;
      }

      tell(count: number, time: number): void {
        this.port.postMessage({ message: this.message, count, time, level: this.level });
        this.untold = 0;
        this.level = 0;
      }
    },
  );
}
