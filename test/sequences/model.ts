/**
 * The model of a live server, made of the machines themselves: each gets the events that the contract's order of checks
 * would send it.
 */
import { assistantKind, type AssistantEvent, type AssistantOutcome } from '../../machines/assistant.ts';
import { keyKind, type KeyEvent, type KeyOutcome } from '../../machines/key.ts';
import {
  openedSession,
  sessionKind,
  type SessionContext,
  type SessionEvent,
  type SessionOutcome,
} from '../../machines/session.ts';
import { workspaceKind, type WorkspaceEvent, type WorkspaceOutcome } from '../../machines/workspace.ts';
import { openActor, refusalOf, type MachineInstance } from '../../src/actors/actor.ts';
import { Inspector } from '../../src/actors/inspector.ts';

const inspector = new Inspector();
const identity = { kind: 'session', id: 'model', workspaceId: 'model' } as const;
const farAway = 1e11;

export interface ModelTurn {
  readonly said: string;
  status: 'streaming' | 'completed' | 'aborted';
}

export interface ModelSession {
  /** Index of its assistant. */
  readonly assistant: number;
  readonly machine: MachineInstance<SessionEvent, SessionOutcome>;
  /** Turns by the server's ids, which the machine uses as well. */
  readonly turns: Map<string, ModelTurn>;
}

/** Whether the replies of an assistant's model end by themselves, or only when they are stopped. */
export const kinds = ['whole', 'hanging'] as const;

/** The assistant of each session. */
export const sessionsOf = [0, 1, 1, 1] as const;

export class Model {
  readonly key: MachineInstance<KeyEvent, KeyOutcome> = openActor(
    keyKind,
    { input: { expiresAt: null } },
    identity,
    inspector,
  );
  readonly workspace: MachineInstance<WorkspaceEvent, WorkspaceOutcome> = openActor(
    workspaceKind,
    { input: { inFlight: 0, max: 2 } },
    identity,
    inspector,
  );
  readonly assistants: readonly MachineInstance<AssistantEvent, AssistantOutcome>[] = kinds.map(() =>
    openActor(
      assistantKind,
      { snapshot: { version: 1, state: 'published', context: { voice: false } } },
      identity,
      inspector,
    ),
  );
  readonly sessions: readonly ModelSession[] = sessionsOf.map((assistant) => ({
    assistant,
    machine: openActor(
      sessionKind,
      { snapshot: { version: 1, state: 'open', context: openedSession(farAway) } },
      identity,
      inspector,
    ),
    turns: new Map(),
  }));

  /** The code that a request with the key is refused with. */
  authenticate(): string | null {
    return refusalOf(this.key.send({ type: 'request', at: Date.now(), debt: null }));
  }

  /** The code that a message is refused with; null if a turn begins, which the machines then have under this name. */
  chat(index: number, turnId: string): string | null {
    const { assistant, machine } = this.sessions[index]!;
    const before = machine.snapshot();
    const assistantRefusal = refusalOf(this.assistants[assistant]!.send({ type: 'converse' }));
    const refusal = refusalOf(machine.send({ type: 'chat', at: Date.now(), turnId, assistantRefusal }));
    if (refusal !== null) return refusal;
    const full = refusalOf(this.workspace.send({ type: 'acquire' }));
    if (full !== null) machine.restore(before);
    return full;
  }

  /** The server has sent the id of the turn that has begun, or its end. */
  named(index: number, turnId: string, said: string): void {
    const { machine, turns } = this.sessions[index]!;
    const snapshot = machine.snapshot();
    machine.restore({ ...snapshot, context: { ...(snapshot.context as SessionContext), activeTurnId: turnId } });
    turns.set(turnId, { said, status: 'streaming' });
  }

  finished(index: number, turnId: string, status: 'completed' | 'aborted'): void {
    const { machine, turns } = this.sessions[index]!;
    machine.send({ type: 'finished', at: Date.now(), turnId });
    this.workspace.send({ type: 'release' });
    turns.get(turnId)!.status = status;
  }

  /** An event that may stop the session's turn. */
  stopping(index: number, event: SessionEvent): void {
    for (const outcome of this.sessions[index]!.machine.send(event))
      if (outcome.type === 'turn.stop') this.finished(index, outcome.turnId, 'aborted');
  }

  activeTurn(index: number): string | null {
    return (this.sessions[index]!.machine.context as SessionContext).activeTurnId;
  }
}
