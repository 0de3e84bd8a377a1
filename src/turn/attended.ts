/** The attendances of a process as live actors: of live sessions that a person was asked for, or has taken. */
import type { ActorIdentity } from '../actors/inspector.ts';
import type { Snapshot } from '../store/store.ts';
import type { LiveSession } from './in-flight.ts';

interface LiveAttendance {
  readonly identity: ActorIdentity;
  readonly machine: Snapshot;
  /** The version of the session. */
  readonly version: number;
}

interface LiveSessions {
  residents(): Iterable<LiveSession>;
  peek(id: string): LiveSession | undefined;
}

/** Attendances live and go with their sessions. */
export class AttendedSessions {
  readonly #sessions: LiveSessions;

  constructor(sessions: LiveSessions) {
    this.#sessions = sessions;
  }

  get size(): number {
    return this.residents().length;
  }

  residents(): LiveAttendance[] {
    return [...this.#sessions.residents()].flatMap((session) => attendanceIn(session) ?? []);
  }

  find(id: string): LiveAttendance | undefined {
    const session = this.#sessions.peek(id);
    return session && attendanceIn(session);
  }

  discard(): void {}

  clear(): void {}
}

function attendanceIn({ record, version }: LiveSession): LiveAttendance | undefined {
  const { id, workspaceId, attendance } = record;
  return attendance && { identity: { kind: 'attendance', id, workspaceId }, machine: attendance, version };
}
