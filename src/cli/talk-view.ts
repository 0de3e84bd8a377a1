/**
 * Shows a call: a line for each turn of each side, the words under way in a terminal, and the time from voice to voice;
 * or its events as JSON lines.
 */
import type { CallEvent } from '../client/call.ts';
import { partialLine } from './heard.ts';
import type { Io, Output } from './io.ts';
import { oneLine, printable, usualColumns } from './output.ts';

export interface TalkView {
  event(event: CallEvent): void;
  /** The text of the greeting, which has no deltas. */
  greeting(text: string): void;
  end(): void;
}

export class TalkJson implements TalkView {
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  event(event: CallEvent): void {
    const shown = event.type === 'closed' ? { ...event, error: event.error?.message ?? null } : event;
    this.#output.write(`${JSON.stringify(shown)}\n`);
  }

  greeting(): void {}
  end(): void {}
}

export class TalkText implements TalkView {
  readonly #io: Io;
  readonly #name: string;
  readonly #live: boolean;
  /** The message whose line is open. */
  #open: string | null = null;
  #passing = false;
  #gap = '';
  #answered: number | null = null;

  constructor(io: Io, name: string) {
    this.#io = io;
    this.#name = name;
    this.#live = io.stdout.isTTY === true;
  }

  event(event: CallEvent): void {
    if (event.type === 'transcript.partial' && this.#live && this.#open === null)
      this.#pass(partialLine(`you> ${event.text}`, event.stable + 5, this.#columns));
    if (event.type === 'turn.started') this.#line(`${event.spoken ? 'you' : 'elsewhere'}> ${oneLine(event.text)}`);
    if (event.type === 'message.accepted') {
      this.#line(`you> ${oneLine(event.text)}`);
      this.#note('A person answers this; the assistant is silent meanwhile.');
    }
    if (event.type === 'answered') this.#answered = event.voice_to_voice_ms;
    if (event.type === 'message.delta') this.#say(event.message_id, event.text);
    if (event.type === 'turn.completed') this.#close('');
    if (event.type === 'turn.aborted') this.#close(' |');
    if (event.type === 'turn.withdrawn')
      this.#note('Nothing of the reply was heard; what you say next joins your words.');
    if (event.type === 'turn.failed') this.#note(`${event.message} (${event.code})`);
    if (event.type === 'state' && event.state === 'lost') this.#note('The connection is lost; trying again.');
  }

  greeting(text: string): void {
    this.#line(`${this.#name}> ${oneLine(text)}`);
  }

  end(): void {
    this.#close('');
    this.#clear();
  }

  get #columns(): number {
    return (this.#io.stdout.columns || usualColumns) - 1;
  }

  #pass(text: string): void {
    this.#io.stdout.write(`\r\u001b[K${text}`);
    this.#passing = true;
  }

  #clear(): void {
    if (this.#passing) this.#io.stdout.write('\r\u001b[K');
    this.#passing = false;
  }

  #line(text: string): void {
    this.#close('');
    this.#clear();
    this.#io.stdout.write(`${text}\n`);
  }

  #say(messageId: string, text: string): void {
    if (this.#open !== messageId) {
      this.#close('');
      this.#clear();
      this.#io.stdout.write(`${this.#name}> `);
      this.#open = messageId;
    }
    const whole = this.#gap + printable(text).replace(/\s+/g, ' ');
    // A gap is said with the word behind it.
    this.#gap = whole.endsWith(' ') ? ' ' : '';
    this.#io.stdout.write(whole.trimEnd());
  }

  #close(mark: string): void {
    if (this.#open === null) return;
    const time = this.#answered === null ? '' : `  ${this.#answered} ms`;
    this.#io.stdout.write(`${mark}${time}\n`);
    this.#open = null;
    this.#answered = null;
    this.#gap = '';
  }

  #note(text: string): void {
    this.#close('');
    this.#clear();
    this.#io.stderr.write(`${printable(text)}\n`);
  }
}
