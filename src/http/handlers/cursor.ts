/** The cursor from which a stream of events is resumed. */
import { Failure } from '../../base/errors.ts';
import type { Request } from '../request.ts';

/** The header that a client's `EventSource` resumes with. */
export const cursorHeader = 'Last-Event-ID';

export interface Cursor {
  /** Null without one. */
  readonly position: number | null;
  /** The field or the header that a failure names. */
  readonly field: 'after' | typeof cursorHeader;
}

/** `?after=` wins over `Last-Event-ID` (contract 7). */
export function cursorOf({ query, head }: Pick<Request<unknown, { after?: number }>, 'query' | 'head'>): Cursor {
  if (query.after !== undefined) return { position: query.after, field: 'after' };
  const values = head.headers('last-event-id');
  if (values.length === 0) return { position: null, field: cursorHeader };
  if (values.length > 1 || !/^\d+$/.test(values[0]!)) throw new Failure('unreadable_header', { field: cursorHeader });
  return { position: Number(values[0]), field: cursorHeader };
}
