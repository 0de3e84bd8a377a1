/**
 * Shows the progress of a long command on stderr: a line that is overwritten in a terminal, elsewhere a new line every
 * few seconds.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Output } from './io.ts';
import { usualColumns } from './output.ts';

/** Milliseconds between two updates of the progress in a terminal. */
const movingShownMs = 200;
/** Milliseconds between two lines of the progress elsewhere. */
export const movingToldMs = 5_000;

const barCells = 24;

/** `[#####-------]  42 %` of a part between 0 and 1. */
export function bar(part: number): string {
  const full = Math.floor(Math.min(1, Math.max(0, part)) * barCells);
  return `[${'#'.repeat(full)}${'-'.repeat(barCells - full)}] ${String(Math.floor(part * 100)).padStart(3)} %`;
}

export class Progress {
  readonly #clock: Clock;
  readonly #line: () => string;
  readonly #output: Output;
  readonly #moving: boolean;
  #timer: Timer;

  /** `line` is called whenever the progress is shown. */
  constructor(output: Output, clock: Clock, line: () => string) {
    this.#output = output;
    this.#moving = output.isTTY === true;
    this.#clock = clock;
    this.#line = line;
    this.#timer = this.#later();
  }

  /** Clears the line, before something else is printed. */
  clear(): void {
    if (this.#moving) this.#output.write('\r\u001b[K');
  }

  /** Clears the line and shows no more. */
  end(): void {
    this.#timer.cancel();
    this.clear();
  }

  #later(): Timer {
    return this.#clock.after(this.#moving ? movingShownMs : movingToldMs, () => {
      const line = this.#line();
      this.#output.write(
        this.#moving ? `\r\u001b[K${line.slice(0, (this.#output.columns || usualColumns) - 1)}` : `${line}\n`,
      );
      this.#timer = this.#later();
    });
  }
}
