/** Snapshots of the machines as the store keeps them, a few for each state, with what became of each at every event. */
import { getShortestPaths } from 'xstate/graph';
import { assistantKind } from '../../machines/assistant.ts';
import { keyKind } from '../../machines/key.ts';
import { sessionKind } from '../../machines/session.ts';
import type { MachineKind } from '../../machines/version.ts';
import { workspaceKind } from '../../machines/workspace.ts';
import { Inspector } from '../../src/actors/inspector.ts';
import { openActor } from '../../src/actors/actor.ts';
import type { Snapshot } from '../../src/store/store.ts';
import { machines } from '../machines/machine.ts';

export interface GoldenSnapshot {
  readonly snapshot: Snapshot;
  readonly answers: readonly { readonly event: { readonly type: string }; readonly to: string; readonly outcomes: readonly object[] }[];
}

const kinds: Readonly<Record<string, { readonly kind: MachineKind; readonly input: object }>> = {
  session: { kind: sessionKind, input: { expiresAt: 2000 } },
  key: { kind: keyKind, input: { expiresAt: 2000 } },
  workspace: { kind: workspaceKind, input: { inFlight: 0, max: 2 } },
  assistant: { kind: assistantKind, input: { voice: false } },
};

const ofEachState = 3;

/** A snapshot woken as the host wakes it, and sent one event. */
export function answer(name: string, snapshot: Snapshot, event: { readonly type: string }) {
  const identity = { kind: name, id: 'golden', workspaceId: 'wks_golden' } as never;
  const actor = openActor(kinds[name]!.kind, { snapshot }, identity, new Inspector());
  const outcomes = actor.send(event) as object[];
  return { event, to: actor.state, outcomes: JSON.parse(JSON.stringify(outcomes)) as object[] };
}

export function snapshotsOfMachines(): Record<string, GoldenSnapshot[]> {
  return Object.fromEntries(
    Object.entries(machines).map(([name, { machine, rows }]) => {
      const { input, kind: { version } } = kinds[name]!;
      const events = [...new Map(rows.map(({ event }) => [JSON.stringify(event), event])).values()];
      const paths = getShortestPaths(machine, { events: events as never, input: input, limit: 20_000 });
      const found = paths.map(({ state }): Snapshot => ({ version, state: String(state.value), context: state.context as unknown }));
      const chosen = Object.keys(machine.states).flatMap((state) => found.filter((one) => one.state === state).slice(0, ofEachState));
      return [name, chosen.map((snapshot) => ({ snapshot, answers: events.map((event) => answer(name, snapshot, event)) }))];
    }),
  );
}
