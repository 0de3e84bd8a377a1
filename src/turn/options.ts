import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Tracer } from '../base/tracing.ts';
import type { Store } from '../store/store.ts';
import type { RemoteTurns } from './remote-turns.ts';
import type { Inspector } from '../actors/inspector.ts';
import type { LoopLoad } from './pace.ts';
import type { Takeovers } from './takeovers.ts';
import type { Visitors } from '../host/visitors.ts';
import type { Withdrawals } from './withdrawals.ts';

/** The options of the session actors. */
export interface SessionsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly inspector: Inspector;
  readonly remote: RemoteTurns;
  readonly withdrawals: Withdrawals;
  readonly visitors: Visitors;
  readonly takeovers: Takeovers;
  /** A random name of this process as an owner of turns. */
  readonly owner: string;
  /**
   * Returns a mark for the next move of a session (see `Session`): no other move, of this process or another, has the
   * same one.
   */
  mark(): string;
  /** The load of the event loop, for the beat of output; always busy if it is left out. */
  readonly loopLoad: LoopLoad | undefined;
  /** Null while traces are off. */
  readonly tracer: Tracer | null;
  /** The longest time that a turn may run, in milliseconds. */
  readonly turnMsMax: number;
}
