/** Shows a conversation: as text for a person or a script, or as its events in JSON lines. */
import { failureJson, failureLine } from './exit.ts';
import type { Io } from './io.ts';
import type { Terminal } from './terminal.ts';

/** An event of the stream as the API sends it. */
export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

export interface ChatView {
  /** Shows the assistant's greeting. */
  showGreeting(text: string): void;
  /** Called before a reply. */
  begin(): void;
  event(event: StreamEvent, requestId: string | null): void;
  /** A reply was given up before its end. */
  showAbort(): void;
  /** A failure outside a stream. */
  showFailure(error: unknown): void;
  /** A second of a wait, with the whole seconds left; 0 at its end. */
  showWait(error: Error, secondsLeft: number): void;
  /** Shows a note about the whole conversation. */
  note(text: string): void;
}

export class JsonView implements ChatView {
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  showGreeting(): void {}
  begin(): void {}
  showAbort(): void {}
  showWait(): void {}
  note(): void {}

  event(event: StreamEvent): void {
    this.#io.stdout.write(`${JSON.stringify(event)}\n`);
  }

  showFailure(error: unknown): void {
    this.#io.stderr.write(`${failureJson(error)}\n`);
  }
}

export class TextView implements ChatView {
  readonly #terminal: Terminal;
  /** Prints the assistant's name before its text; empty if stdout must contain only replies. */
  readonly #label: string;
  #printed = false;
  #announced = false;

  constructor(terminal: Terminal, label: string) {
    this.#terminal = terminal;
    this.#label = label;
  }

  showGreeting(text: string): void {
    if (this.#label !== '') this.#terminal.write(`${this.#label}${text}\n`);
  }

  begin(): void {
    this.#printed = false;
  }

  event({ event, data }: StreamEvent, requestId: string | null): void {
    if (event === 'message.delta') this.#delta((data as { text: string }).text);
    if (event === 'turn.completed') this.#endLine();
    if (event === 'turn.aborted') this.showAbort();
    if (event === 'error') {
      this.#endLine();
      const { code, message } = data as { code: string; message: string };
      this.#terminal.note(`parley: ${message} (${requestId === null ? code : `${code}, request ${requestId}`})`);
    }
  }

  showAbort(): void {
    this.#endLine();
    this.#terminal.note('(aborted)');
  }

  showFailure(error: unknown): void {
    this.#endLine();
    this.#terminal.note(`parley: ${failureLine(error)}`);
  }

  /** Counts down in a terminal; prints one line elsewhere. */
  showWait(error: Error, secondsLeft: number): void {
    if (secondsLeft === 0) {
      this.#announced = false;
      return this.#terminal.showPassing('');
    }
    const text = `Trying again in ${secondsLeft} s: ${failureLine(error)}`;
    if (this.#terminal.overwrites) this.#terminal.showPassing(text);
    else if (!this.#announced) this.#terminal.note(text);
    this.#announced = true;
  }

  note(text: string): void {
    this.#terminal.note(text);
  }

  #delta(text: string): void {
    this.#terminal.write(this.#printed ? text : this.#label + text);
    this.#printed = true;
  }

  #endLine(): void {
    if (this.#printed) this.#terminal.write('\n');
    this.#printed = false;
  }
}
