/**
 * A list of sessions beside the feed: its rows follow the states of their sessions, and sessions that it lacks are
 * counted, so that no row moves under a reader.
 */
import { batch } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, ask, query } from '../api.ts';
import { after, repeatedly } from '../clock.ts';
import { changeInLists, pageSize, type ListOf } from '../data.ts';
import { watch } from '../feed.ts';
import { workspaceId } from '../route.ts';
import type { FeedMessage, List, ListedSession, LiveActor } from '../types.ts';

/** Time from a message of the feed to the look for sessions that the list lacks. */
const lookMs = 1000;
/** Milliseconds between two reads of the newest session: the feed reports a session only from its first turn on. */
const newestMs = 5000;

interface Moved {
  readonly id: string;
  readonly state: string;
  readonly turn: string | null;
}

const movedOf = ({ id, state, context }: Pick<LiveActor, 'id' | 'state' | 'context'>): Moved => ({
  id,
  state,
  turn: (context as { readonly activeTurnId?: string | null } | null)?.activeTurnId ?? null,
});

/** Returns the sessions that a message reports, with their new states. */
function toldBy(message: FeedMessage): readonly Moved[] {
  if (message.type === 'actors') return message.actors.map(movedOf);
  if (message.type === 'event') return [movedOf({ ...message.actor, state: message.to, context: message.context })];
  return message.type === 'activated' ? [movedOf({ ...message.actor, state: message.state, context: null })] : [];
}

/** The row of a session in this state; the same object where nothing has changed. */
function rowIn(row: ListedSession, { state, turn }: Moved): ListedSession {
  const isOver = state === 'ended' || state === 'expired';
  // The message that a session has woken does not name its turn.
  if (state === 'streaming' && turn === null) return row;
  const [status, active] = [
    isOver ? state : row.status === 'expired' ? 'expired' : 'open',
    isOver ? null : turn,
  ] as const;
  return row.status === status && row.active_turn_id === active ? row : { ...row, status, active_turn_id: active };
}

/**
 * Returns how many sessions the list at `path` with these fields would have more if it were read again; at most a page
 * of them are counted.
 */
export function useSessionNews(
  list: ListOf<ListedSession>,
  path: string,
  fields: Readonly<Record<string, string | null>>,
): number {
  const [found, setFound] = useState<readonly string[]>([]);
  const key = query(fields);
  const latest = useRef(list);
  latest.current = list;
  const has = (id: string) => latest.current.items.some((one) => one.id === id);
  useEffect(() => {
    setFound([]);
    const leaving = new AbortController();
    let cancel: (() => void) | null = null;
    /**
     * The ids of the list's first sessions as they are now; none where the server does not answer: a later look has
     * them.
     */
    const idsOf = async (limit: number): Promise<readonly string[]> => {
      try {
        return (
          await ask<List<ListedSession>>(path + query({ ...fields, limit }), { signal: leaving.signal })
        ).data.map(({ id }) => id);
      } catch (error) {
        if (leaving.signal.aborted || error instanceof ApiFailure) return [];
        throw error;
      }
    };
    const readRow = async (id: string) => {
      const read = await ask<List<ListedSession>>(path + query({ q: id, first_words: 'true', limit: 1 }), {
        signal: leaving.signal,
      }).catch(() => null);
      if (read?.data[0]) changeInLists(id, read.data[0]);
    };
    const look = async () => {
      cancel = null;
      const ids = await idsOf(pageSize);
      if (!leaving.signal.aborted && ids.length > 0) setFound(ids);
    };
    const lookAtNewest = async () => {
      const [newest] = await idsOf(1);
      if (newest !== undefined && latest.current.begun && !has(newest) && !leaving.signal.aborted) await look();
    };
    /** A session belongs to the list later than it began where the list is of one state. */
    const mayLack = ({ id }: Moved) =>
      latest.current.begun && !has(id) && (fields['status'] != null || id > (latest.current.items[0]?.id ?? ''));
    const stop = watch({ workspace: workspaceId.value, kind: 'session' }, (messages) => {
      const told = messages.flatMap(toldBy);
      batch(() => {
        for (const moved of told) {
          const row = latest.current.items.find(({ id }) => id === moved.id);
          if (row === undefined) continue;
          if (rowIn(row, moved) !== row) changeInLists(row.id, rowIn(row, moved));
          // The feed reports no messages.
          if (row.first_words === null && moved.turn !== null) void readRow(row.id);
        }
      });
      if (cancel === null && told.some(mayLack)) cancel = after(lookMs, () => void look());
    });
    const stopLooking = repeatedly(newestMs, lookAtNewest);
    return () => {
      leaving.abort();
      cancel?.();
      stop();
      stopLooking();
    };
  }, [path, key]);
  return found.filter((id) => !has(id)).length;
}
