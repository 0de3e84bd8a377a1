/** A turn that this process runs, as its session, its readers and its chat use it. */
import type { SessionActor, StoppableTurn } from '../host/session-actor.ts';
import type { TurnPast } from '../store/store.ts';
import type { TurnLog } from './log.ts';
import type { Begun } from './ports.ts';

/** The turn in flight of a session (see `TurnRunner`). */
export interface TurnInFlight extends StoppableTurn {
  readonly messageId: string;
  readonly log: TurnLog;
  readonly past: TurnPast;
  readonly begun: Promise<Begun>;
  /** Whether a call speaks its reply. */
  readonly isSpoken: boolean;
  /** Whether only a call knows of it: it was started before the person had finished. */
  readonly isHidden: boolean;
  /** The turn's span; null while traces are off. */
  readonly traceparent: string | null;
}

/** A session's actor with its turn in flight. */
export type LiveSession = SessionActor<TurnInFlight>;
