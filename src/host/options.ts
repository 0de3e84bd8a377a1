import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Store } from '../store.ts';
import type { ForeignTurns } from './foreign.ts';
import type { Inspector } from './inspector.ts';

/** What the session actors are made with. */
export interface SessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly inspector: Inspector;
  readonly foreign: ForeignTurns;
  /** A random name for this process as an owner of turns. */
  readonly owner: string;
  /** A mark for a session that is about to move (see `Session`): no other move, of this process or another, has the same. */
  mark(): string;
  /** How long a turn may run, in milliseconds. */
  readonly turnMsMax: number;
}
