/** Shows a conversation: as text for a person or a script, or as its events in JSON lines. */
import { failureJson, failureLine } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** An event of the stream as the API sends it. */
export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

export interface View {
  /** Shows the assistant's greeting. */
  greeting(text: string): void;
  /** Called before a reply. */
  begin(): void;
  event(event: StreamEvent, requestId: string | null): void;
  /** A reply was given up before its end. */
  aborted(): void;
  /** A failure outside a stream. */
  failed(error: unknown): void;
  /** A second of a wait; 0 left when it is over. */
  waiting(error: Error, secondsLeft: number): void;
  /** Shows a note about the whole conversation. */
  note(text: string): void;
}

export class JsonView implements View {
  greeting(): void {}
  begin(): void {}
  aborted(): void {}
  waiting(): void {}
  note(): void {}

  event(event: StreamEvent): void {
    process.stdout.write(`${JSON.stringify(event)}\n`);
  }

  failed(error: unknown): void {
    process.stderr.write(`${failureJson(error)}\n`);
  }
}

export class TextView implements View {
  readonly #terminal: Terminal;
  /** Prints the assistant's name before its text; empty if stdout must contain only replies. */
  readonly #label: string;
  #printed = false;
  #announced = false;

  constructor(terminal: Terminal, label: string) {
    this.#terminal = terminal;
    this.#label = label;
  }

  greeting(text: string): void {
    if (this.#label !== '') this.#terminal.write(`${this.#label}${text}\n`);
  }

  begin(): void {
    this.#printed = false;
  }

  event({ event, data }: StreamEvent, requestId: string | null): void {
    if (event === 'message.delta') this.#delta((data as { text: string }).text);
    if (event === 'turn.completed') this.#endLine();
    if (event === 'turn.aborted') this.aborted();
    if (event === 'error') {
      this.#endLine();
      const { code, message } = data as { code: string; message: string };
      this.#terminal.note(`parley: ${message} (${requestId === null ? code : `${code}, request ${requestId}`})`);
    }
  }

  aborted(): void {
    this.#endLine();
    this.#terminal.note('(aborted)');
  }

  failed(error: unknown): void {
    this.#endLine();
    this.#terminal.note(`parley: ${failureLine(error)}`);
  }

  /** Counts down in a terminal; prints one line elsewhere. */
  waiting(error: Error, secondsLeft: number): void {
    if (secondsLeft === 0) {
      this.#announced = false;
      return this.#terminal.passing('');
    }
    const text = `Trying again in ${secondsLeft} s: ${failureLine(error)}`;
    if (process.stderr.isTTY) this.#terminal.passing(text);
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
