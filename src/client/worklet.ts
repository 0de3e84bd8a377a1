/**
 * The code of the microphone's audio worklet. It uses nothing from outside itself, since its source text alone may be
 * run there.
 */
export function microphoneWorklet(): void {
  interface Processor {
    readonly port: { postMessage(data: Int16Array, transfer: readonly ArrayBufferLike[]): void };
  }
  const { registerProcessor, AudioWorkletProcessor, sampleRate } = globalThis as unknown as {
    readonly registerProcessor: (name: string, processor: new () => Processor) => void;
    readonly AudioWorkletProcessor: new () => Processor;
    readonly sampleRate: number;
  };
  registerProcessor(
    'parley-microphone',
    // The first channel as frames of 20 ms of 16-bit samples.
    class extends AudioWorkletProcessor {
      frame = new Int16Array(sampleRate / 50);
      filled = 0;
      process([[samples]]: [[Float32Array | undefined]]): boolean {
        for (const sample of samples ?? []) {
          this.frame[this.filled++] = Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)));
          if (this.filled < this.frame.length) continue;
          this.port.postMessage(this.frame, [this.frame.buffer]);
          this.frame = new Int16Array(sampleRate / 50);
          this.filled = 0;
        }
        return true;
      }
    },
  );
}
