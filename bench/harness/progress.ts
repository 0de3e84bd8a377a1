/** The bar that shows how far a run has come, on a terminal; elsewhere a line for each question. */

const width = 24;

export class Progress {
  readonly #questions: number;
  #over = 0;
  #told = '';

  constructor(questions: number) {
    this.#questions = questions;
  }

  readonly tell = (done: number, all: number, doing: string): void => {
    const share = Math.min(1, (this.#over + done / all) / this.#questions);
    const filled = Math.round(share * width);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${String(Math.floor(share * 100)).padStart(3)} %  ${doing}`;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${bar}`);
    else this.#line(doing.split(':')[0]!);
  };

  next(): void {
    this.#over++;
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  #line(question: string): void {
    if (question === this.#told) return;
    this.#told = question;
    process.stderr.write(`${question} …\n`);
  }
}
