/** Snapshots of other versions of a machine. */
import t from 'tap';
import { setup } from 'xstate';
import { assistantKind } from '../../machines/assistant.ts';
import { attendanceKind } from '../../machines/attendance.ts';
import { callKind } from '../../machines/call.ts';
import { keyKind } from '../../machines/key.ts';
import { releaseKind } from '../../machines/release.ts';
import { replyKind } from '../../machines/reply.ts';
import { runKind } from '../../machines/run.ts';
import { sessionKind } from '../../machines/session.ts';
import { migrated, versionAfter, type MachineKind, type Migration } from '../../machines/version.ts';
import { socketKind } from '../../machines/socket.ts';
import { turnKind } from '../../machines/turn.ts';
import { visitorKind } from '../../machines/visitor.ts';
import { workspaceKind } from '../../machines/workspace.ts';
import { machines } from './machine.ts';

const machine = setup({}).createMachine({ id: 'lamp', initial: 'dark', states: { dark: {}, bright: {} } });
const migrations: Migration[] = [
  ({ state, context }) => ({ state: state === 'off' ? 'dark' : 'bright', context }),
  ({ state, context }) => ({ state, context: { ...(context as object), watts: 40 } }),
];
const lamp: MachineKind = { name: 'lamp', machine, version: versionAfter(migrations), migrations };

t.test('a snapshot is brought up version by version', async (t) => {
  t.same(migrated(lamp, { version: 1, state: 'off', context: { room: 1 } }), {
    version: 3,
    state: 'dark',
    context: { room: 1, watts: 40 },
  });
  t.same(migrated(lamp, { version: 2, state: 'bright', context: { room: 1 } }), {
    version: 3,
    state: 'bright',
    context: { room: 1, watts: 40 },
  });
  const present = { version: 3, state: 'dark', context: {} };
  t.equal(migrated(lamp, present), present, 'one of this version as it is');
  const stored = Object.freeze({ version: 1, state: 'on', context: Object.freeze({ room: 1 }) });
  t.same(
    [migrated(lamp, stored), migrated(lamp, stored)].map((found) => found?.state),
    ['bright', 'bright'],
    'what is stored stays as it is',
  );
});

t.test('an unreadable snapshot is null', async (t) => {
  for (const version of [4, 1000, 0, -1, 1.5, NaN, '3', null, undefined])
    t.equal(migrated(lamp, { version: version as number, state: 'dark', context: {} }), null, `version ${version}`);
  for (const state of ['off', 'broken', '', 'constructor', '__proto__'])
    t.equal(migrated(lamp, { version: 3, state, context: {} }), null, state);
  t.equal(
    migrated(
      { ...lamp, migrations: [() => ({ state: 'broken', context: {} }), migrations[1]!] },
      { version: 1, state: 'off', context: {} },
    ),
    null,
  );
});

t.test('every machine has a kind, whose version follows from its migrations', async (t) => {
  const kinds = [
    sessionKind,
    attendanceKind,
    keyKind,
    workspaceKind,
    assistantKind,
    socketKind,
    turnKind,
    callKind,
    replyKind,
    visitorKind,
    releaseKind,
    runKind,
  ];
  t.same(kinds.map(({ name }) => name).sort(), Object.keys(machines).sort());
  for (const kind of kinds) {
    t.equal(kind.machine, machines[kind.name]!.machine);
    t.equal(kind.version, kind.migrations.length + 1);
  }
});
