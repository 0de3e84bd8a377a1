/** The greeting of a new session. */
import type { Parley } from '../client/parley.ts';
import type { Assistant, Session } from '../client/types.ts';

/** The assistant's greeting, or the session's own where variables of the greeting need a session; null for none. */
export async function greetingOf(
  parley: Parley,
  { greeting }: Assistant,
  { id }: Session,
  signal?: AbortSignal,
): Promise<string | null> {
  if (greeting !== null) return greeting;
  const { data } = await parley.sessions.transcript(id, { limit: 1 }, signal && { signal }).page();
  const [first] = data;
  return first?.turn_id === null ? first.content : null;
}
