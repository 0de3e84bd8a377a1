/** Records of the desk, where people answer (contract 23): an assistant's settings, and who answers a session. */

export interface DeskSettings {
  /** Whether visitors and the model can ask for a person. */
  readonly enabled: boolean;
  /** Seconds that a visitor waits for a person. */
  readonly waitSeconds: number;
  /** The party that answers a visitor who waits. */
  readonly whileWaiting: 'assistant' | 'silent';
  /** The notes to the visitor, as templates; null for no note. */
  readonly texts: Readonly<Record<DeskText, string | null>>;
}

export const deskTexts = ['waiting', 'joined', 'left', 'nobody'] as const;
export type DeskText = (typeof deskTexts)[number];

export const defaultDesk: DeskSettings = {
  enabled: false,
  waitSeconds: 120,
  whileWaiting: 'assistant',
  texts: { waiting: null, joined: null, left: null, nobody: null },
};

/** A change of who answers, as the row in the transcript has it: its note to the visitor is the row's content. */
export interface AttendanceChange {
  readonly state: 'assistant' | 'waiting' | 'person';
  /** Unix seconds. */
  readonly since: number;
  /** The name of the person who has the session from then on; null for nobody. */
  readonly name: string | null;
  /** The name of the person who had it until then. Absent if nobody had. */
  readonly left?: string;
}

/** A person of the desk. */
export interface Attendant {
  readonly id: string;
  readonly name: string;
}

interface StoredMachine {
  readonly state: string;
  readonly context: unknown;
}

/** The fields of a session that say who answers it. */
interface Attended {
  readonly attendance?: StoredMachine;
  readonly machine: StoredMachine;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The part of the attendance machine's context that is shown. */
interface ShownContext {
  readonly since: number;
  readonly person: Attendant | null;
  readonly untilMs: number | null;
}

/** The party that answers a session at a time: the assistant once the session has ended. */
export function attendanceOf(session: Attended, atMs: number): AttendanceChange {
  const { attendance, createdAt, expiresAt, machine } = session;
  if (attendance === undefined) return { state: 'assistant', since: createdAt, name: null };
  const { since, person, untilMs } = attendance.context as ShownContext;
  const state = attendance.state as AttendanceChange['state'];
  const { endedAt } = machine.context as { readonly endedAt: number | null };
  const end = endedAt ?? (atMs >= 1000 * expiresAt ? expiresAt : null);
  if (state !== 'assistant' && end !== null) return { state: 'assistant', since: end, name: null };
  // The step that ends the wait comes after its deadline.
  if (state === 'waiting' && untilMs !== null && atMs >= untilMs)
    return { state: 'assistant', since: Math.floor(untilMs / 1000), name: null };
  return { state, since, name: person?.name ?? null };
}

/** Whether a session that has not ended waits for a person, or has one. */
export const isAtDesk = ({ attendance, machine }: Pick<Attended, 'attendance' | 'machine'>): boolean =>
  attendance !== undefined &&
  attendance.state !== 'assistant' &&
  machine.state !== 'ended' &&
  machine.state !== 'expired';
