/** The events and outcomes of a turn's machine, and the ways in which a turn ends. */

/** The reason why a model's answer is incomplete: a bound of its length, or a filter of its provider. */
export type AnswerCut = 'length' | 'content_filter';

/**
 * The end of a turn: by itself, complete or cut; with tool calls that wait for the caller; by a request; with its
 * session; because a person has taken the session; by a failure of its provider or of the voice that speaks it; or by a fault of ours.
 */
export type TurnEnding =
  | 'completed'
  | AnswerCut
  | 'tool_calls'
  | 'aborted'
  | 'expired'
  | 'taken'
  | 'provider'
  | 'voice'
  | 'ours';

/** The reason why a turn is stopped: on request, with its session, by a person's take, or because the process ends. */
export type TurnStop = 'aborted' | 'expired' | 'taken' | 'drain';

/** The answer to a chat whose turn has not begun: its provider failed, its time ran out, or a service is away. */
export type ChatRefusal = 'withdrawn' | 'late' | 'unavailable';

/**
 * Every event has the time at which it happens, in milliseconds since the epoch. `until`: how long the chat, or
 * readers, wait for an end that only the store knows.
 */
export type TurnEvent =
  /** The model's first output. */
  | { type: 'output'; at: number }
  /** The store has the first output. */
  | { type: 'stored'; at: number }
  /** The store did not take a piece of output, for the named fault. */
  | { type: 'unstored'; at: number; fault: string }
  /** The model has ended its answer. `cut`: the reason why it is incomplete; absent if it is complete. */
  | { type: 'ended'; at: number; cut?: AnswerCut }
  /** The model's round has ended in tool calls. */
  | { type: 'called'; at: number }
  /** The store has the round's calls. */
  | { type: 'noted'; at: number }
  /** Each call of the round has a result, and the store has them. */
  | { type: 'answered'; at: number }
  /** Each call has a stored result, except those that wait for the caller. */
  | { type: 'awaited'; at: number }
  /** The provider failed. `said`: a listener, or a step of the store, has got text of the answer; absent if not. */
  | { type: 'failed'; at: number; reason: string; said?: true }
  /** The output is longer than a turn may be. */
  | { type: 'overflow'; at: number }
  | { type: 'stop'; at: number; reason: TurnStop }
  /**
   * The call announces the turn: it was requested in time, or the person finished early with the words that the model
   * was sent.
   */
  | { type: 'announced'; at: number }
  /** The listener has heard all of the reply. */
  | { type: 'heard'; at: number }
  /** The listener cuts the reply. */
  | { type: 'cut'; at: number }
  /** A part of the reply was heard, and the rest cannot be spoken. */
  | { type: 'dropped'; at: number; reason: 'provider' | 'voice' | 'ours' }
  /** The listener heard no part of the reply, and the call withdraws it. */
  | { type: 'unheard'; at: number }
  /** The model could not be called, for a fault of ours. */
  | { type: 'fault'; at: number; fault: string }
  /** The lease could not be renewed in time. */
  | { type: 'lease.lost'; at: number }
  /**
   * The store does not renew the lease, because another process has taken over the turn or its slot. The store decides
   * which end the turn has.
   */
  | { type: 'fenced'; at: number; until: number }
  /** A step was rejected, because another process owns the turn. */
  | { type: 'taken'; at: number; until: number }
  /** The end is stored. */
  | { type: 'sealed'; at: number }
  /** A person has taken the session before the end was stored: the turn is sealed with what was stored until then. */
  | { type: 'silenced'; at: number }
  /** The store did not take the end. `certain`: it has not applied it either. `last`: it is not tried again. */
  | { type: 'unsealed'; at: number; fault: string; certain: boolean; last: boolean; until: number }
  /** All traces are removed; `stored`: now, and not only once the store answers again. */
  | { type: 'withdrawn'; at: number; stored: boolean }
  /** The store's record of a turn that another process owns; `unknown`: no answer yet. */
  | { type: 'fate'; at: number; end: 'completed' | 'aborted' | 'expired' | 'failed' | 'gone' | 'unknown' }
  /** A deadline may be due. */
  | { type: 'tick'; at: number };

export type TurnOutcome =
  | { type: 'unchanged' }
  /** Store the output that waits. */
  | { type: 'append' }
  /** Store the end. */
  | { type: 'seal'; reason: TurnEnding }
  /** Remove all traces. */
  | { type: 'withdraw' }
  /** Read from the store how the turn ends. */
  | { type: 'follow' }
  /** Store the round's calls, then send them. */
  | { type: 'calls.store' }
  | { type: 'calls.send' }
  /** Send the model the next request, with the results; or send the next model the first request. */
  | { type: 'model.ask' }
  | { type: 'model.next' }
  /** Cancel the request to the model and the tool calls. */
  | { type: 'model.cancel' }
  | { type: 'chat.begun' }
  /** Informs the call that the model produces no more text. */
  | { type: 'reply.over'; reason: 'completed' | 'provider' | 'ours' }
  | { type: 'chat.refused'; reason: ChatRefusal }
  /** The turn is no longer run by this process. */
  | { type: 'turn.left' }
  /** The readers get the end that is known. */
  | { type: 'readers.end' }
  /** The readers' streams end without an end of the turn: they learn it when they resume. */
  | { type: 'readers.cut' }
  /** Answers a request that waits for the end: it is stored, or the store has not taken it yet. */
  | { type: 'settled' }
  | { type: 'unsettled' }
  | { type: 'provider.failed'; reason: string }
  /** A fault of ours, to be counted. */
  | { type: 'faulted'; reason: string };
