/** The person's side of a conversation: reads lines, prints text, and distinguishes Ctrl-C from the end of input. */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Io, Output } from './io.ts';
import { printable, usualColumns } from './output.ts';

/** Readline's output, which can be silenced: typed text is not echoed while a reply runs or a secret is typed. */
class Echo extends Writable {
  silent = true;
  readonly #target: Output;

  constructor(target: Output) {
    super();
    this.#target = target;
  }

  get columns(): number | undefined {
    return this.#target.columns;
  }

  override _write(chunk: Buffer | string, _encoding: string, done: () => void): void {
    if (!this.silent) this.#target.write(chunk);
    done();
  }
}

export interface TerminalOptions {
  /** Whether this command reads stdin. If not, stdin is left to other programs, such as a shell script's loop. */
  readonly reads: boolean;
  /** Whether stdout must contain only replies. */
  readonly bare: boolean;
}

export class Terminal {
  readonly #io: Io;
  /** Whether a person types; otherwise stdin comes from a script. */
  readonly interactive: boolean;
  /** Whether a line on stderr can be overwritten. */
  readonly overwrites: boolean;
  readonly #prompts: Output;
  readonly #echo: Echo;
  readonly #reader: Interface | null;
  readonly #lines: AsyncIterator<string> | null;
  readonly #ended: Promise<null>;
  #closed = false;
  #insisted = 0;
  #end: () => void = () => {};
  #interrupted: () => void;

  constructor(io: Io, { reads, bare }: TerminalOptions) {
    this.#io = io;
    this.interactive = reads && io.stdin.isTTY === true;
    this.overwrites = io.stderr.isTTY === true;
    this.#prompts = bare || !io.stdout.isTTY ? io.stderr : io.stdout;
    this.#echo = new Echo(this.#prompts);
    this.#reader = reads
      ? createInterface({ input: io.stdin, output: this.#echo, terminal: this.interactive, historySize: 100 })
      : null;
    this.#lines = this.#reader?.[Symbol.asyncIterator]() ?? null;
    this.#ended = new Promise((resolve) => {
      this.#end = () => resolve(null);
    });
    this.#interrupted = this.#leave;
    // Readline reports Ctrl-C as a key in raw mode; otherwise it is a signal.
    this.#reader?.on('SIGINT', this.#signal);
    this.#reader?.on('close', () => {
      this.#closed = true;
    });
    io.on('SIGINT', this.#signal);
    io.on('SIGTERM', this.#terminated);
  }

  /** Sets the handler of Ctrl-C; null for the default, which ends the input. */
  onInterrupt(callback: (() => void) | null): void {
    this.#interrupted = callback ?? this.#leave;
  }

  /** The next line, or null at the end of the input, on Ctrl-D and after `end`. The prompt shows in a terminal only. */
  async line(prompt: string): Promise<string | null> {
    if (this.#lines === null) return null;
    if (this.interactive && !this.#closed) {
      this.#echo.silent = false;
      this.#reader!.setPrompt(printable(prompt));
      this.#reader!.prompt(true);
    }
    const result = await Promise.race([this.#ended, this.#lines.next()]);
    const line = result === null || result.done ? null : result.value;
    if (this.interactive && line === null) this.#prompts.write('\n');
    this.#echo.silent = true;
    return line;
  }

  /** Makes every later `line` resolve with null. */
  end(): void {
    this.#end();
  }

  /** Prints a part of a reply: unchanged into a pipe, without control characters into a terminal. */
  write(text: string): void {
    const { stdout } = this.#io;
    stdout.write(stdout.isTTY ? printable(text) : text);
  }

  /** Prints a note that is not part of a reply. */
  note(text: string): void {
    this.#io.stderr.write(`${printable(text)}\n`);
  }

  /** Has `print` print whole lines above the line that is being typed, which then stands below them as it was. */
  above(print: () => void): void {
    const reader = this.#reader;
    if (reader === null || !this.interactive || this.#closed || this.#echo.silent) return print();
    const { rows } = reader.getCursorPos();
    this.#prompts.write(`\r${rows > 0 ? `\u001b[${rows}A` : ''}\u001b[J`);
    print();
    // Readline moves up by as many rows before it draws the line again.
    this.#prompts.write('\n'.repeat(rows));
    reader.prompt(true);
  }

  /**
   * Prints a line that the next one overwrites, in a terminal only; an empty text clears it. It is cut to the
   * terminal's width, because a second line would stay.
   */
  showPassing(text: string): void {
    const { stderr } = this.#io;
    if (this.overwrites) stderr.write(`\r\u001b[K${printable(text).slice(0, (stderr.columns || usualColumns) - 1)}`);
  }

  close(): void {
    this.#io.off('SIGINT', this.#signal);
    this.#io.off('SIGTERM', this.#terminated);
    this.#reader?.close();
    if (this.#reader) this.#io.stdin.pause();
  }

  readonly #signal = (): void => this.#interrupted();

  /** Ends the input. At the third Ctrl-C the process exits at once, without waiting for the cleanup. */
  readonly #leave = (): void => {
    if (++this.#insisted > 2) this.#io.exit(1);
    this.end();
  };

  /** Called twice, so that a reply is not only aborted but left. */
  readonly #terminated = (): void => {
    this.end();
    this.#interrupted();
    this.#interrupted();
  };
}

/** A secret from the terminal without an echo, or the first line of stdin. Empty without input. */
export function readSecret({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>, prompt: string): Promise<string> {
  const terminal = stdin.isTTY === true;
  const echo = new Echo(stderr);
  if (terminal) stderr.write(prompt);
  const reader = createInterface({ input: stdin, output: echo, terminal, historySize: 0 });
  return new Promise((resolve) => {
    let secret = '';
    reader.on('line', (line) => {
      secret = line;
      reader.close();
    });
    reader.on('SIGINT', () => reader.close());
    reader.on('close', () => {
      if (terminal) stderr.write('\n');
      stdin.pause();
      resolve(secret);
    });
  });
}
