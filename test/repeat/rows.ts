/**
 * Everything that somebody can send again and again: a row for each route of the table and for each message of a
 * socket, and what providers send. `test/tidy.test.ts` fails where a route or a message has no row.
 */
import { messageRows } from './messages.ts';
import { providerRows } from './providers.ts';
import { routeRows } from './requests.ts';
import { peculiarRows } from './peculiar.ts';
import { textRows } from './texts.ts';
import type { RepeatWorld } from './world.ts';

/** The result of a row. */
export interface Sent {
  readonly sent: number;
  /** The answers, and how often each came. */
  readonly came: string;
  /** Reason why the row has proved nothing: its condition was never met; else null. */
  readonly missed: string | null;
}

export interface Row {
  readonly name: string;
  readonly by: 'nobody' | 'key' | 'visitor' | 'operator' | 'provider';
  /** The route or the message that it stands for; null for another kind of row. */
  readonly covers: string | null;
  /** Sends it so many times, and calls `held` while all that it opened is still open. */
  send(world: RepeatWorld, times: number, held: () => Promise<void>): Promise<Sent>;
}

export const rows: readonly Row[] = [...peculiarRows, ...messageRows, ...providerRows, ...routeRows, ...textRows];
