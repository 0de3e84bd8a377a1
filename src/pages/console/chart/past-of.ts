/** The past of one actor, live: its history from the store, and what happens to it while the page is open. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { actorKinds, type ActorKind } from '../../../../machines/all.ts';
import { ApiFailure, ask, patiently, query } from '../api.ts';
import { watch } from '../feed.ts';
import { apiWorkspace } from '../route.ts';
import type { FeedMessage, HistoryRow, List, LiveActor } from '../types.ts';
import { stepOfEvent, stepOfRow, withStep, type Step } from './steps.ts';

export interface PastOf {
  /** Oldest first. */
  readonly steps: readonly Step[];
  /** As it stands; null while it sleeps. */
  readonly live: LiveActor | null;
  readonly begun: boolean;
  readonly failure: ApiFailure | null;
}

const historyKinds: readonly ActorKind[] = ['session', 'key', 'assistant'];
const pagesMax = 12;

/** Every row that is kept, oldest first. */
async function historyOf(kind: ActorKind, id: string, signal: AbortSignal): Promise<HistoryRow[]> {
  const rows: HistoryRow[] = [];
  let after: string | null = null;
  for (let pages = 0; pages < pagesMax; pages++) {
    const path: string = `${apiWorkspace()}/${kind}s/${id}/history${query({ order: 'desc', limit: 100, after })}`;
    const page: List<HistoryRow> = await patiently(() => ask<List<HistoryRow>>(path, { signal }), signal);
    rows.push(...page.data);
    after = page.next_cursor;
    if (after === null) break;
  }
  return rows.reverse();
}

const nothing: PastOf = { steps: [], live: null, begun: false, failure: null };

/** Nothing while `id` is null. */
export function usePast(kind: string, id: string | null): PastOf {
  const past = useRef(nothing);
  const [, drawn] = useState(0);
  useEffect(() => {
    past.current = nothing;
    if (id === null || !actorKinds.some((one) => one === kind)) return;
    const leaving = new AbortController();
    const actorKind = kind as ActorKind;
    /** Events that came before the history did; null once it is here. */
    let early: FeedMessage[] | null = [];
    const change = (fields: Partial<PastOf>) => {
      past.current = { ...past.current, ...fields };
      drawn((times) => times + 1);
    };
    const read = async () => {
      try {
        const rows = historyKinds.includes(actorKind) ? await historyOf(actorKind, id, leaving.signal) : [];
        // Steps seen live have contexts, which the history lacks.
        const known = new Map(past.current.steps.map((step) => [step.id, step]));
        const steps = rows.map(stepOfRow).reduce(withStep, [] as readonly Step[]).map((step) => known.get(step.id) ?? step);
        const waiting = (early ?? []).filter((message) => message.type !== 'event' || !message.refused || message.from !== message.to);
        early = null;
        change({ steps: rows.length === 0 ? past.current.steps : steps, failure: null });
        take(waiting);
        change({ begun: true });
      } catch (error) {
        if (leaving.signal.aborted) return;
        if (!(error instanceof ApiFailure)) throw error;
        early = null;
        change({ failure: error, begun: true });
      }
    };
    const take = (messages: readonly FeedMessage[]) => {
      let { steps, live } = past.current;
      for (const message of messages) {
        if (message.type === 'actors') live = message.actors.find((one) => one.id === id) ?? null;
        else if (message.type === 'activated') live = { ...message.actor, state: message.state, context: null };
        else if (message.type === 'passivated') live = null;
        else if (message.type === 'event') {
          live = { ...message.actor, state: message.to, context: message.context };
          steps = withStep(steps, stepOfEvent(message));
        }
      }
      change({ steps, live });
    };
    const stop = watch({ workspace: apiWorkspace().split('/')[2]!, kind, id }, (messages) => {
      // The list of live actors comes at first and after every lost connection: the history has the steps taken meanwhile.
      const picture = messages.some(({ type }) => type === 'actors' || type === 'dropped');
      if (picture) {
        early = [];
        void read();
      }
      if (early === null) return take(messages);
      early.push(...messages.filter(({ type }) => type === 'event'));
      take(messages.filter(({ type }) => type !== 'event'));
    });
    return () => {
      leaving.abort();
      stop();
    };
  }, [kind, id]);
  return past.current;
}
