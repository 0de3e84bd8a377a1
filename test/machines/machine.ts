/**
 * Helpers of the machines' tests: the machines by name, a way to wake one from rest, and the shape of a table's row.
 */
import { createActor, type AnyStateMachine } from 'xstate';
import { assistantMachine } from '../../machines/assistant.ts';
import { attendanceMachine } from '../../machines/attendance.ts';
import { callMachine } from '../../machines/call.ts';
import { keyMachine } from '../../machines/key.ts';
import { releaseMachine } from '../../machines/release.ts';
import { replyMachine } from '../../machines/reply.ts';
import { runMachine } from '../../machines/run.ts';
import { sessionMachine } from '../../machines/session.ts';
import { socketMachine } from '../../machines/socket.ts';
import { turnMachine } from '../../machines/turn.ts';
import { visitorMachine } from '../../machines/visitor.ts';
import { workspaceMachine } from '../../machines/workspace.ts';
import { assistantRows } from './assistant-rows.ts';
import { attendanceRows } from './attendance-rows.ts';
import { callRows } from './call-rows.ts';
import { keyRows } from './key-rows.ts';
import { releaseRows } from './release-rows.ts';
import { replyRows } from './reply-rows.ts';
import { runRows } from './run-rows.ts';
import { sessionRows } from './session-rows.ts';
import { socketRows } from './socket-rows.ts';
import { takenRows } from './taken-rows.ts';
import { turnRows } from './turn-rows.ts';
import { visitorRows } from './visitor-rows.ts';
import { workspaceRows } from './workspace-rows.ts';

/** One line of a machine's table: in this state with this context, the event leads there and says this. */
export interface Row<Context = object, Event = { type: string }> {
  readonly from: string;
  readonly context: Context;
  readonly event: Event;
  readonly to: string;
  readonly outcomes: readonly { type: string; code?: string }[];
  /** The fields of the context that change. */
  readonly changes?: Partial<Context>;
}

export const machines: Record<string, { machine: AnyStateMachine; rows: readonly Row[] }> = {
  session: { machine: sessionMachine, rows: sessionRows },
  attendance: { machine: attendanceMachine, rows: attendanceRows },
  key: { machine: keyMachine, rows: keyRows },
  workspace: { machine: workspaceMachine, rows: workspaceRows },
  assistant: { machine: assistantMachine, rows: assistantRows },
  socket: { machine: socketMachine, rows: socketRows },
  turn: { machine: turnMachine, rows: [...turnRows, ...takenRows] },
  call: { machine: callMachine, rows: callRows },
  reply: { machine: replyMachine, rows: replyRows },
  visitor: { machine: visitorMachine, rows: visitorRows },
  release: { machine: releaseMachine, rows: releaseRows },
  run: { machine: runMachine, rows: runRows },
};

/** A machine at rest. */
export interface Rest {
  readonly state: string;
  readonly context: object;
}

/**
 * Wakes the machine from rest and sends one event; returns its next state, the events emitted and the transitions
 * taken.
 */
export function step(machine: AnyStateMachine, rest: Rest, event: { type: string }) {
  const transitions: unknown[] = [];
  const snapshot = machine.resolveState({ value: rest.state, context: rest.context });
  const actor = createActor(machine, {
    snapshot,
    inspect: (seen) => {
      if (seen.type === '@xstate.microstep') transitions.push(...seen._transitions);
    },
  });
  const outcomes: object[] = [];
  actor.on('*', (outcome) => outcomes.push(outcome));
  actor.start();
  const atStart = { transitions: transitions.splice(0), outcomes: outcomes.splice(0) };
  actor.send(event);
  const { value, context } = actor.getSnapshot();
  actor.stop();
  return { state: String(value), context: { ...context } as object, outcomes, transitions, atStart };
}

/** Every candidate of the definition, whichever state it belongs to. */
export function transitionsOf(machine: AnyStateMachine) {
  const nodes = [machine.root, ...Object.values(machine.root.states)] as AnyStateMachine['root'][];
  return nodes.flatMap((node) => [...node.transitions.values()].flat());
}
