/** The part of a store that erases what a person left behind (contract 22). Usage stays, as counts. */
import type { AuditEntry } from '../records.ts';

/** An erasure of one session, or of all sessions of a visitor. */
export interface Erasure {
  readonly workspaceId: string;
  readonly kind: 'session' | 'visitor';
  readonly id: string;
}

/** The numbers of records that an erasure has removed. */
export interface ErasedCounts {
  readonly sessions: number;
  readonly messages: number;
  readonly turns: number;
  readonly feedback: number;
  /** Tests that were made from the sessions. */
  readonly tests: number;
}

/** The kinds of records that an erasure removes. */
export type ErasedKind = 'assistant_test' | 'test_run' | 'test_result';

/** Rows outside of sessions that name an erased session or visitor. */
export interface ErasedTraces {
  /** The sessions whose remembered requests are removed. */
  readonly sessionIds: ReadonlySet<string>;
  /** Places that are freed: all of a holder if `seat` is null. */
  readonly places: readonly { readonly holder: string; readonly seat: string | null }[];
  /** The names of limits that are removed. */
  readonly limits: readonly string[];
}

export interface ErasureStore {
  /**
   * Stores an erasure before anything is removed, so that it is continued if its process dies. An erasure that has
   * begun continues with its counts; resolves with whether it had begun before. `audit`: its row in the audit, unless it
   * had. A lost answer: the next sweep may carry the erasure out although the caller got 503.
   */
  begin(erasure: Erasure, nowMs: number, audit?: AuditEntry): Promise<boolean>;
  /**
   * Removes a session with its messages, turns, output, tool calls and history, a turn in flight included, and counts
   * them in the erasure. From the first step on nobody can read the session, and no step of a turn applies to it. Each
   * step is bounded. A lost answer: a repeat removes the rest and counts nothing twice.
   */
  eraseSession(erasure: Erasure, sessionId: string): Promise<void>;
  /**
   * Removes a test, a run of tests or a result of one, and counts a test in the erasure. A lost answer: a repeat finds no
   * record, and counts nothing.
   */
  eraseRecord(erasure: Erasure, kind: ErasedKind, id: string): Promise<void>;
  /** Removes traces, found by scans in bounded pieces. A lost answer: a repeat removes the rest. */
  forget(workspaceId: string, traces: ErasedTraces): Promise<void>;
  /**
   * Ends an erasure; resolves with what it has removed, or with zeros if it has not begun. Every process is notified. A
   * lost answer: the erasure is complete; a repeat of it counts zeros.
   */
  finish(erasure: Erasure): Promise<ErasedCounts>;
  /** The erasures that have begun and not finished, of every workspace. */
  unfinished(): Promise<Erasure[]>;
}

export const nothingErased: ErasedCounts = { sessions: 0, messages: 0, turns: 0, feedback: 0, tests: 0 };
