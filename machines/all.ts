/** Every machine, by the kind of its actors. */
import { assistantKind } from './assistant.ts';
import { attendanceKind } from './attendance.ts';
import { callKind } from './call.ts';
import { keyKind } from './key.ts';
import { releaseKind } from './release.ts';
import { replyKind } from './reply.ts';
import { runKind } from './run.ts';
import { sessionKind } from './session.ts';
import { socketKind } from './socket.ts';
import { turnKind } from './turn.ts';
import { visitorKind } from './visitor.ts';
import { workspaceKind } from './workspace.ts';

export const kinds = {
  session: sessionKind,
  attendance: attendanceKind,
  turn: turnKind,
  call: callKind,
  reply: replyKind,
  key: keyKind,
  workspace: workspaceKind,
  assistant: assistantKind,
  release: releaseKind,
  run: runKind,
  socket: socketKind,
  visitor: visitorKind,
} as const;

export type ActorKind = keyof typeof kinds;

/** The kinds of actors, each with a chart. */
export const actorKinds = Object.keys(kinds) as readonly ActorKind[];

/**
 * The configuration that a machine was made of, whose functions are names: `createMachine` and Stately's tools read it
 * from JSON.
 */
export interface MachineConfiguration {
  readonly id: string;
  readonly initial: string;
  readonly states: Readonly<Record<string, unknown>>;
  /** The transitions that every state shares; empty without shared transitions. */
  readonly on: Readonly<Record<string, unknown>>;
}

export function configurationOf(kind: ActorKind): MachineConfiguration {
  const { id, initial, states, on = {} } = kinds[kind].machine.config;
  return { id, initial, states, on } as MachineConfiguration;
}
