/**
 * The bar that shows how far a run has come and how long it will take, on a terminal; elsewhere a line for each
 * question, and an estimate now and then.
 */

const width = 24;

/** Seconds of a run until its first estimate where there is no bar; each later one comes after twice as long. */
const firstEstimateSeconds = 10;

export interface Surroundings {
  readonly stream: { readonly isTTY?: boolean; write(text: string): unknown };
  /** Milliseconds that never go back. */
  readonly now: () => number;
}

export class Progress {
  readonly #questions: number;
  readonly #stream: Surroundings['stream'];
  readonly #now: () => number;
  readonly #startedMs: number;
  #estimateMs = firstEstimateSeconds * 1000;
  #over = 0;
  #told = '';

  constructor(
    questions: number,
    { stream, now }: Surroundings = { stream: process.stderr, now: () => performance.now() },
  ) {
    this.#questions = questions;
    this.#stream = stream;
    this.#now = now;
    this.#startedMs = now();
  }

  readonly tell = (done: number, all: number, doing: string): void => {
    const share = Math.min(1, (this.#over + done / all) / this.#questions);
    const ranMs = this.#now() - this.#startedMs;
    const left =
      ranMs >= firstEstimateSeconds * 1000 && share > 0 && share < 1
        ? `about ${spanOf((ranMs * (1 - share)) / share)} left`
        : null;
    if (this.#stream.isTTY) {
      const filled = Math.round(share * width);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${String(Math.floor(share * 100)).padStart(3)} %`;
      this.#stream.write(`\r\x1b[K${[bar, ...(left === null ? [] : [left]), doing].join('  ')}`);
    } else this.#lines(doing.split(':')[0]!, left, ranMs);
  };

  next(): void {
    this.#over++;
  }

  end(): void {
    if (this.#stream.isTTY) this.#stream.write('\r\x1b[K');
  }

  #lines(question: string, left: string | null, ranMs: number): void {
    if (question !== this.#told) this.#stream.write(`${question} …\n`);
    this.#told = question;
    if (left === null || ranMs < this.#estimateMs) return;
    this.#estimateMs = 2 * ranMs;
    this.#stream.write(`${left}\n`);
  }
}

/** A span of time as people say it. */
export function spanOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}
