/**
 * Shows the transcript of `parley listen`: as lines of text, with the words under way in a terminal, or as the socket's
 * messages.
 */
import type { TranscriptionMessage } from '../client/types.ts';
import type { Output } from './io.ts';
import { oneLine, usualColumns } from './output.ts';

export interface Heard {
  /** Whether a word was heard; for a program, which sees that by itself, always true. */
  readonly anything: boolean;
  message(message: TranscriptionMessage): void;
  /** Called after the last message, also if the call failed. */
  end(): void;
}

export class HeardJson implements Heard {
  readonly #output: Output;
  readonly anything = true;

  constructor(output: Output) {
    this.#output = output;
  }

  message(message: TranscriptionMessage): void {
    this.#output.write(`${JSON.stringify(message)}\n`);
  }

  end(): void {}
}

export class HeardText implements Heard {
  readonly #output: Output;
  readonly #live: boolean;
  #shown = false;
  anything = false;

  constructor(output: Output) {
    this.#output = output;
    this.#live = output.isTTY === true;
  }

  message(message: TranscriptionMessage): void {
    if (message.type === 'transcript.partial' && this.#live) {
      this.#output.write(
        `\r\u001b[K${partialLine(message.text, message.stable, (this.#output.columns || usualColumns) - 1)}`,
      );
      this.#shown = true;
    }
    if (message.type !== 'transcript.final') return;
    this.end();
    if (message.text === '') return;
    this.anything = true;
    this.#output.write(`${oneLine(message.text)}\n`);
  }

  end(): void {
    if (this.#shown) this.#output.write('\r\u001b[K');
    this.#shown = false;
  }
}

/** The end of the text that fits; words that may still change are dim. */
export function partialLine(text: string, stable: number, columns: number): string {
  const characters = [...text];
  const cut = Math.max(0, characters.length - columns);
  const part = (from: number, to?: number): string =>
    characters
      .slice(from, to)
      .join('')
      .replace(/[\p{Cc}\s]/gu, ' ');
  const [firm, loose] = [part(cut, Math.max(cut, stable)), part(Math.max(cut, stable))];
  return loose === '' ? firm : `${firm}\u001b[2m${loose}\u001b[22m`;
}
