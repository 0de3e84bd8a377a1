/** Shows the progress of a long command on stderr: a line that is overwritten in a terminal, elsewhere a new line every few seconds. */
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';

const barCells = 24;
/** The width of a terminal that does not report it. */
const usualColumns = 80;

/** `[#####-------]  42 %` of a part between 0 and 1. */
export function bar(part: number): string {
  const full = Math.floor(Math.min(1, Math.max(0, part)) * barCells);
  return `[${'#'.repeat(full)}${'-'.repeat(barCells - full)}] ${String(Math.floor(part * 100)).padStart(3)} %`;
}

export class Progress {
  readonly #clock: Clock;
  readonly #line: () => string;
  readonly #moving = process.stderr.isTTY === true;
  #timer: Timer;

  /** `line` is called whenever the progress is shown. */
  constructor(clock: Clock, line: () => string) {
    this.#clock = clock;
    this.#line = line;
    this.#timer = this.#later();
  }

  /** Clears the line and shows no more. */
  end(): void {
    this.#timer.cancel();
    if (this.#moving) process.stderr.write('\r\u001b[K');
  }

  #later(): Timer {
    return this.#clock.after(this.#moving ? limits.movingShownMs : limits.movingToldMs, () => {
      const line = this.#line();
      process.stderr.write(this.#moving ? `\r\u001b[K${line.slice(0, (process.stderr.columns || usualColumns) - 1)}` : `${line}\n`);
      this.#timer = this.#later();
    });
  }
}
