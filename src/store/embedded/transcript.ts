/** Reads the transcript. */
import type { Message, OutputAfter, Page, PageRequest, TurnPlace } from '../../store.ts';
import type { Ledger } from '../ledger.ts';
import { codePoints, textBehind } from '../../text.ts';
import { overlaid } from '../sorted.ts';
import { streamingMessage } from '../../records.ts';
import { committedTurn, type EarlierFlightRow, type FlightRow } from './flights.ts';
import * as keys from './keys.ts';
import { pageOf } from './pages.ts';

const index = /^\d{1,9}$/;

export class Transcript {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async page(workspaceId: string, sessionId: string, page: PageRequest): Promise<Page<Message>> {
    if (page.after !== null && !index.test(page.after)) return { items: [], next: null };
    const prefix = keys.messages(workspaceId, sessionId);
    const after = page.after === null ? null : keys.message(workspaceId, sessionId, Number(page.after));
    const ascending = page.order === 'asc';
    const from = ascending && after !== null ? keys.justAfter(after) : prefix;
    const to = !ascending && after !== null ? after : keys.endOf(prefix);
    const rows = overlaid(this.#ledger.scan<Message>(from, to, !ascending), this.#inFlight(workspaceId, sessionId, from, to, !ascending), !ascending);
    const found = pageOf(rows, page.limit, ([key]) => String(Number(keys.lastPart(key))));
    return { items: found.items.map(([, message, flight]) => (flight === undefined ? message! : streamingMessage(flight.turn, this.#streamed(flight.place)))), next: found.next };
  }

  /** The session's turns in flight, by the keys that their messages will have, as far as these are between two keys. */
  #inFlight(workspaceId: string, sessionId: string, from: string, to: string, reverse: boolean): [string, FlightRow][] {
    const prefix = keys.sessionFlights(workspaceId, sessionId);
    const found: [string, FlightRow][] = [];
    for (const [, row] of this.#ledger.scan<FlightRow | EarlierFlightRow>(prefix, keys.endOf(prefix))) {
      // In a folder that this version has only looked into.
      if (row.turn === undefined) continue;
      const key = keys.message(workspaceId, sessionId, row.turn.messageIndex);
      if (key >= from && key < to) found.push([key, row]);
    }
    return found.sort(([one], [other]) => (one < other === reverse ? 1 : -1));
  }

  /** Reads backwards, and stops at the bound, however long the transcript is. */
  async recent(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number): Promise<Message[]> {
    const found: Message[] = [];
    let characters = 0;
    // Gaps are rare, and a read by key costs less than a range, for which rows that wait must be sorted.
    const at = (index: number) => (index < 0 ? undefined : this.#ledger.committed<Message>(keys.message(workspaceId, sessionId, index)));
    let index = before;
    const next = () => (index <= 0 ? undefined : (at(--index) ?? at((index = this.#lastBefore(workspaceId, sessionId, index)))));
    for (let message = next(); message !== undefined; message = next()) {
      characters += codePoints(message.content);
      if (characters > charactersMax || found.length === messagesMax) break;
      found.push(message);
    }
    return found.reverse();
  }

  /** The index of the newest message before an index, where a withdrawn turn has left a gap; -1 if there is none. */
  #lastBefore(workspaceId: string, sessionId: string, before: number): number {
    for (const [key] of this.#ledger.scan(keys.messages(workspaceId, sessionId), keys.message(workspaceId, sessionId, before), true)) return Number(keys.lastPart(key));
    return -1;
  }

  async output(place: TurnPlace): Promise<string> {
    const row = committedTurn(this.#ledger, place);
    if (row === undefined) return '';
    if (row.finished === null) return this.#streamed(place);
    return this.#ledger.committed<Message>(keys.message(place.workspaceId, place.sessionId, row.turn.messageIndex))?.content ?? '';
  }

  /** Reads everything in one turn of the event loop, so that nothing is committed between the reads of the turn and its text. */
  outputAfter(place: TurnPlace, position: number): OutputAfter | null {
    const row = committedTurn(this.#ledger, place);
    if (row === undefined) return null;
    if (row.finished === null) return { turn: row.turn, text: this.#streamedAfter(place, position) };
    const content = this.#ledger.committed<Message>(keys.message(place.workspaceId, place.sessionId, row.turn.messageIndex))?.content ?? '';
    return { turn: row.turn, text: textBehind(content, position) };
  }

  /** Begins with the piece that contains the position. */
  #streamedAfter(place: TurnPlace, position: number): string | null {
    const prefix = keys.output(place);
    let from = prefix;
    for (const [key] of this.#ledger.scan<string>(prefix, keys.justAfter(keys.outputAt(place, position)), true)) {
      from = key;
      break;
    }
    let text = '';
    for (const [, piece] of this.#ledger.scan<string>(from, keys.endOf(prefix))) text += piece;
    return textBehind(text, position - (from === prefix ? 0 : Number(keys.lastPart(from))));
  }

  #streamed(place: TurnPlace): string {
    const prefix = keys.output(place);
    let text = '';
    for (const [, piece] of this.#ledger.scan<string>(prefix, keys.endOf(prefix))) text += piece;
    return text;
  }
}
