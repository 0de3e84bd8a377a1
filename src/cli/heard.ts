/** Shows what `parley listen` hears: as lines of text, with the words under way in a terminal, or as the socket's messages. */
import type { TranscriptionMessage } from '../client/types.ts';
import { oneLine } from './output.ts';

export interface Heard {
  /** Whether a word was heard; for a program, which sees that by itself, always true. */
  readonly anything: boolean;
  message(message: TranscriptionMessage): void;
  /** After the last message, whatever ended it. */
  end(): void;
}

export class HeardJson implements Heard {
  readonly anything = true;

  message(message: TranscriptionMessage): void {
    process.stdout.write(`${JSON.stringify(message)}\n`);
  }

  end(): void {}
}

/** The width of a terminal that does not report it. */
const usualColumns = 80;

export class HeardText implements Heard {
  readonly #live = process.stdout.isTTY === true;
  #shown = false;
  anything = false;

  message(message: TranscriptionMessage): void {
    if (message.type === 'transcript.partial' && this.#live) {
      process.stdout.write(`\r\u001b[K${partialLine(message.text, message.stable, (process.stdout.columns || usualColumns) - 1)}`);
      this.#shown = true;
    }
    if (message.type !== 'transcript.final') return;
    this.end();
    if (message.text === '') return;
    this.anything = true;
    process.stdout.write(`${oneLine(message.text)}\n`);
  }

  end(): void {
    if (this.#shown) process.stdout.write('\r\u001b[K');
    this.#shown = false;
  }
}

/** The end of the text that fits; what may still change is dim. */
export function partialLine(text: string, stable: number, columns: number): string {
  const characters = [...text];
  const cut = Math.max(0, characters.length - columns);
  const part = (from: number, to?: number): string => characters.slice(from, to).join('').replace(/[\p{Cc}\s]/gu, ' ');
  const [firm, loose] = [part(cut, Math.max(cut, stable)), part(Math.max(cut, stable))];
  return loose === '' ? firm : `${firm}\u001b[2m${loose}\u001b[22m`;
}
