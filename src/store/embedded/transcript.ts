/** Reads the transcript. */
import type { Message, OutputAfter, Page, PageRequest, ToolCall, TurnPlace } from '../store.ts';
import type { WriteBatcher } from '../write-batcher.ts';
import { codePoints, indexAfter, textBehind } from '../../base/text.ts';
import { overlaid } from '../sorted.ts';
import { firstIndexOf, streamingMessage } from '../records.ts';
import { committedTurn, type EarlierFlightRow, type FlightRow } from './flights.ts';
import * as keys from './keys.ts';
import { pageOf } from './pages.ts';
import { messagesOf, type StoredMessage, type StoredTurn } from './rows.ts';

const index = /^\d{1,9}$/;
const indexOf = (key: string): number => Number(keys.lastPart(key));

/** The entries after a cursor. */
function* behind<T extends readonly [key: string, ...unknown[]]>(
  at: number | null,
  entries: Iterable<T>,
  reverse: boolean,
): Generator<T> {
  for (const entry of entries)
    if (at === null || (reverse ? indexOf(entry[0]) < at : indexOf(entry[0]) > at)) yield entry;
}

export class EmbeddedTranscript {
  readonly #batcher: WriteBatcher;

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
  }

  async page(workspaceId: string, sessionId: string, page: PageRequest): Promise<Page<Message>> {
    if (page.after !== null && !index.test(page.after)) return { items: [], next: null };
    const reverse = page.order === 'desc';
    const at = page.after === null ? null : Number(page.after);
    const stored = this.#stored(workspaceId, sessionId, at, reverse, this.#hiddenFrom(workspaceId, sessionId));
    const rows = overlaid(stored, this.#readable(workspaceId, sessionId, reverse), reverse);
    const list = pageOf(behind(at, rows, reverse), page.limit, ([key]) => String(indexOf(key)));
    const items = list.items.map(([, stored, flying]) => flying?.() ?? this.#rated(workspaceId, sessionId, stored!));
    return { items, next: list.next };
  }

  /** The assistant's message with the feedback on its turn. */
  #rated(workspaceId: string, sessionId: string, message: Message): Message {
    const { role, turnId } = message;
    if (role !== 'assistant' || turnId === null) return message;
    const feedback = this.#batcher.committed<StoredTurn>(keys.turn({ workspaceId, sessionId, turnId }))?.feedback;
    return feedback === undefined ? message : { ...message, feedback };
  }

  /**
   * The messages in separate rows and of ended turns, by index; from the one at the cursor on, or before
   * it; before `until`.
   */
  *#stored(
    workspaceId: string,
    sessionId: string,
    at: number | null,
    reverse: boolean,
    until = Infinity,
  ): Generator<[key: string, message: Message]> {
    const prefix = keys.messages(workspaceId, sessionId);
    // The row of the message at the cursor may have the next message too.
    const from = at === null || reverse ? prefix : keys.message(workspaceId, sessionId, at);
    const to = at === null || !reverse ? keys.endOf(prefix) : keys.message(workspaceId, sessionId, at);
    for (const [key, row] of this.#batcher.scan<StoredMessage>(from, to, reverse)) {
      const messages = messagesOf(indexOf(key), row);
      for (const [index, message] of reverse ? messages.reverse() : messages)
        if (index < until) yield [keys.message(workspaceId, sessionId, index), message];
    }
  }

  /**
   * The index of the message that a hidden turn answers, which is a separate row after an import; the turn's first
   * message if it answers no other.
   */
  #hiddenFrom(workspaceId: string, sessionId: string): number {
    const prefix = keys.sessionFlights(workspaceId, sessionId);
    for (const [, { turn, released }] of this.#batcher.scan<FlightRow>(prefix, keys.endOf(prefix)))
      if (released === -1) return firstIndexOf(turn);
    return Infinity;
  }

  /** The messages of the session's turns in flight that readers may see. */
  #readable(workspaceId: string, sessionId: string, reverse: boolean): [key: string, message: () => Message][] {
    return this.#inFlight(workspaceId, sessionId, reverse, ({ released }) => released !== -1);
  }

  /** The messages of the session's turns in flight, by the keys that they would have in separate rows. */
  #inFlight(
    workspaceId: string,
    sessionId: string,
    reverse: boolean,
    wanted: (row: FlightRow) => boolean = () => true,
  ): [key: string, message: () => Message][] {
    const prefix = keys.sessionFlights(workspaceId, sessionId);
    const entries: [string, () => Message][] = [];
    for (const [, row] of this.#batcher.scan<FlightRow | EarlierFlightRow>(prefix, keys.endOf(prefix))) {
      // Applies to a folder that this version has only read.
      if (row.turn === undefined || !wanted(row)) continue;
      const { place, turn, said, released } = row;
      if (said !== undefined) entries.push([keys.message(workspaceId, sessionId, turn.messageIndex - 1), () => said]);
      entries.push([
        keys.message(workspaceId, sessionId, turn.messageIndex),
        () => streamingMessage(turn, shown(this.#streamed(place), released), this.calls(place)),
      ]);
    }
    return entries.sort(([one], [other]) => (one < other === reverse ? 1 : -1));
  }

  /** Reads backwards, and stops at the bound, however long the transcript is. */
  async recent(
    workspaceId: string,
    sessionId: string,
    before: number,
    charactersMax: number,
    messagesMax: number,
  ): Promise<Message[]> {
    const messages: Message[] = [];
    let characters = 0;
    for (const message of this.#backwards(workspaceId, sessionId, before)) {
      characters += codePoints(message.content);
      if (characters > charactersMax || messages.length === messagesMax) break;
      messages.push(message);
    }
    return messages.reverse();
  }

  /**
   * The messages before an index but those that stream, newest first. Most are read by their keys, since for a range
   * the rows that wait must be sorted.
   */
  *#backwards(workspaceId: string, sessionId: string, before: number): Generator<Message> {
    for (let index = before - 1; index >= 0;) {
      const messages = this.#ending(workspaceId, sessionId, index).reverse();
      index -= messages.length;
      yield* messages;
      if (messages.length > 0) continue;
      const next = this.#newest(workspaceId, sessionId, index + 1);
      if (next === null) return;
      index = next.index - 1;
      yield next.message;
    }
  }

  /** The message at an index, after the user's where both are in one row. */
  #ending(workspaceId: string, sessionId: string, index: number): Message[] {
    const row = (at: number): StoredMessage | undefined =>
      at < 0 ? undefined : this.#batcher.committed(keys.message(workspaceId, sessionId, at));
    const both = row(index - 1);
    if (both !== undefined && 'said' in both) return [both.said, both.reply];
    const own = row(index);
    return own === undefined ? [] : 'said' in own ? [own.said] : [own];
  }

  /**
   * The newest message before an index, where the one just before it has no row: a withdrawn turn has left a gap, or a
   * turn is in flight.
   */
  #newest(workspaceId: string, sessionId: string, before: number): { index: number; message: Message } | null {
    const rows = overlaid(
      this.#stored(workspaceId, sessionId, before, true),
      this.#inFlight(workspaceId, sessionId, true),
      true,
    );
    for (const [key, stored, flying] of behind(before, rows, true)) {
      const message = flying?.() ?? stored!;
      if (message.status !== 'streaming') return { index: indexOf(key), message };
    }
    return null;
  }

  async output(place: TurnPlace): Promise<string> {
    const row = committedTurn(this.#batcher, place);
    if (row === undefined) return '';
    if (row.finished === null) return this.#streamed(place);
    return this.#reply(place, row.turn.messageIndex);
  }

  /**
   * Reads everything in one iteration of the event loop, so that nothing is committed between the reads of the turn and
   * its text.
   */
  outputAfter(place: TurnPlace, position: number): OutputAfter | null {
    const row = committedTurn(this.#batcher, place);
    if (row === undefined) return null;
    if (row.finished === null) {
      const released = this.#batcher.committed<FlightRow>(keys.flight(place))?.released;
      if (released === -1) return null;
      const text = released !== undefined && position > released ? null : this.#streamedAfter(place, position);
      return withCalls(
        { turn: row.turn, text: text === null || released === undefined ? text : shown(text, released - position) },
        this.calls(place),
      );
    }
    const { content, toolCalls } =
      this.#ending(place.workspaceId, place.sessionId, row.turn.messageIndex).at(-1) ?? noReply;
    return withCalls({ turn: row.turn, text: textBehind(content, position) }, toolCalls);
  }

  calls(place: TurnPlace): ToolCall[] {
    const prefix = keys.calls(place);
    return [...this.#batcher.scan<ToolCall>(prefix, keys.endOf(prefix))].map(([, call]) => call);
  }

  /** The output of an ended turn. */
  #reply({ workspaceId, sessionId }: TurnPlace, index: number): string {
    return this.#ending(workspaceId, sessionId, index).at(-1)?.content ?? '';
  }

  /** Begins with the piece that contains the position. */
  #streamedAfter(place: TurnPlace, position: number): string | null {
    const prefix = keys.output(place);
    let from = prefix;
    for (const [key] of this.#batcher.scan<string>(prefix, keys.justAfter(keys.outputAt(place, position)), true)) {
      from = key;
      break;
    }
    let text = '';
    for (const [, piece] of this.#batcher.scan<string>(from, keys.endOf(prefix))) text += piece;
    return textBehind(text, position - (from === prefix ? 0 : Number(keys.lastPart(from))));
  }

  #streamed(place: TurnPlace): string {
    const prefix = keys.output(place);
    let text = '';
    for (const [, piece] of this.#batcher.scan<string>(prefix, keys.endOf(prefix))) text += piece;
    return text;
  }
}

/** The part of a text that readers may see. */
const shown = (text: string, released: number | undefined): string =>
  released === undefined ? text : text.slice(0, indexAfter(text, released));

const noReply = { content: '', toolCalls: undefined };

const withCalls = (found: OutputAfter, calls: readonly ToolCall[] | undefined): OutputAfter =>
  calls === undefined || calls.length === 0 ? found : { ...found, calls };
