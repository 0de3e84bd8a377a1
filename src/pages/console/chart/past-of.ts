/** The past of one actor, live: its history from the store, and what happens to it while the page is open. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { actorKinds, type ActorKind } from '../../../../machines/all.ts';
import { ApiFailure, ask, patiently, query } from '../api.ts';
import { watch } from '../feed.ts';
import { apiWorkspace } from '../route.ts';
import type { FeedMessage, HistoryRow, List, LiveActor } from '../types.ts';
import { historyPath, stepOfEvent, withPassing, withRows, withStep, type Step } from './steps.ts';

export interface PastOf {
  /** Oldest first. */
  readonly steps: readonly Step[];
  /** The actor as it is now; null while it sleeps. */
  readonly live: LiveActor | null;
  readonly begun: boolean;
  readonly failure: ApiFailure | null;
}

const pagesMax = 12;

/** Every row that is kept, oldest first. */
async function historyOf(path: string, signal: AbortSignal): Promise<HistoryRow[]> {
  const rows: HistoryRow[] = [];
  let after: string | null = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const page: List<HistoryRow> = await patiently(
      () => ask<List<HistoryRow>>(`${apiWorkspace()}${path}${query({ order: 'desc', limit: 100, after })}`, { signal }),
      signal,
    );
    rows.push(...page.data);
    after = page.next_cursor;
    if (after === null) break;
  }
  return rows.reverse();
}

const nothing: PastOf = { steps: [], live: null, begun: false, failure: null };

/** The past of the actor `id` after these messages. `keeps`: it keeps a history. */
function taken(
  { steps, live }: PastOf,
  id: string,
  messages: readonly FeedMessage[],
  keeps: boolean,
): Pick<PastOf, 'steps' | 'live'> {
  for (const message of messages) {
    if (message.type === 'actors') live = message.actors.find((one) => one.id === id) ?? null;
    else if (message.type === 'activated') live = { ...message.actor, state: message.state, context: null };
    else if (message.type === 'passivated') live = null;
    else if (message.type === 'event') {
      live = { ...message.actor, state: message.to, context: message.context };
      steps = (keeps ? withStep : withPassing)(steps, stepOfEvent(message));
    }
  }
  return { steps, live };
}

/** Reads an actor's past; reads nothing while `id` is null. `session`: the session of a turn, if known. */
export function usePast(kind: string, id: string | null, session: string | null = null): PastOf {
  const past = useRef(nothing);
  const [, drawn] = useState(0);
  useEffect(() => {
    past.current = nothing;
    if (id === null || !actorKinds.some((one) => one === kind)) return;
    const leaving = new AbortController();
    const path = historyPath(kind as ActorKind, id, session);
    /** Messages that came since the list of live actors, before the history did; null once it is here. */
    let early: FeedMessage[] | null = [];
    let reads = 0;
    const change = (fields: Partial<PastOf>) => {
      past.current = { ...past.current, ...fields };
      drawn((times) => times + 1);
    };
    const takeEarly = (messages: readonly FeedMessage[]) => {
      early = null;
      take(messages);
    };
    const read = async () => {
      // Only the last question counts.
      const mine = ++reads;
      try {
        const rows = path === null ? [] : await historyOf(path, leaving.signal);
        if (mine !== reads) return;
        change({ steps: withRows(past.current.steps, rows), failure: null });
        // The history has the refusals.
        takeEarly(
          (early ?? []).filter(
            (message) => message.type !== 'event' || !message.refused || message.from !== message.to,
          ),
        );
        change({ begun: true });
      } catch (error) {
        if (leaving.signal.aborted || mine !== reads) return;
        if (!(error instanceof ApiFailure)) throw error;
        takeEarly(early ?? []);
        // A turn that is withdrawn later may leave nothing but what was seen.
        change({ failure: error.status === 404 && past.current.steps.length > 0 ? null : error, begun: true });
      }
    };
    const take = (messages: readonly FeedMessage[]) =>
      change(taken(past.current, id, messages, kind === 'turn' || path !== null));
    const stop = watch({ workspace: apiWorkspace().split('/')[2], kind, id }, (messages) => {
      // The list of live actors comes at first and after every lost connection: the history has the steps taken
      // meanwhile.
      if (messages.some(({ type }) => type === 'actors' || type === 'dropped')) {
        early = [];
        void read();
      }
      if (early === null) take(messages);
      else {
        early.push(...messages);
        take(messages.filter(({ type }) => type === 'actors'));
      }
      // The steps of a turn that another process ran are in its history once the turn has ended.
      if (kind === 'turn' && messages.some(({ type }) => type === 'passivated')) void read();
    });
    return () => {
      leaving.abort();
      stop();
    };
  }, [kind, id, session]);
  return past.current;
}
