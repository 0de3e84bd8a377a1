/**
 * Data of another version of parley: actors of an older one continue, actors of a newer one are neither run nor
 * written.
 */
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { setup } from 'xstate';
import type { MachineKind } from '../../machines/version.ts';
import { migratedSnapshot, openActor, UnreadableSnapshot } from '../../src/actors/actor.ts';
import { draftSnapshot } from '../../src/host/assistants.ts';
import { activeSnapshot } from '../../src/host/keys.ts';
import { Inspector } from '../../src/actors/inspector.ts';
import { Host } from '../../src/host.ts';
import { limits } from '../../src/base/limits.ts';
import { takeStep, type AnyStep } from '../../src/store/steps.ts';
import type { Snapshot } from '../../src/store/store.ts';
import { assistantView, sessionView } from '../../src/conversation/views.ts';
import * as records from '../store/fixtures.ts';
import { pass, Scene, withSteps } from './scene.ts';

const writing = [
  'createSession',
  'saveSession',
  'beginTurn',
  'appendOutput',
  'renewTurn',
  'requestStop',
  'finishTurn',
  'withdrawTurn',
  'takeOverTurn',
] as const;

/** A second process on the scene's store, shared by both, and which steps it has written with. */
function besideNoting(scene: Scene): { other: Scene; written: string[] } {
  const written: string[] = [];
  const noting =
    (step: (typeof writing)[number]): AnyStep =>
    (...given) => (written.push(step), takeStep(scene.store, step, given));
  const steps = Object.fromEntries(writing.map((step) => [step, noting(step)]));
  return { other: scene.beside(withSteps(scene.store, { leaseMs: limits.leaseMs, ...steps })), written };
}

/** Stores the session as a process of another version would. */
async function store(scene: Scene, sessionId: string, change: (machine: Snapshot) => Partial<Snapshot>): Promise<void> {
  const { record, version } = (await scene.store.sessions.read(scene.workspaceId, sessionId))!;
  const saved = await scene.store.sessions.save(
    { ...record, mark: `m${version}`, machine: { ...record.machine, ...change(record.machine) } },
    { version, mark: record.mark },
  );
  if (saved === null) throw new Error('The session was moved.');
}

const unreadable = { name: 'Error', constructor: UnreadableSnapshot };

async function refusesAll(t: Test, scene: Scene, id: string, message: RegExp): Promise<void> {
  const { sessions } = scene.host;
  const asks: Record<string, () => Promise<unknown>> = {
    read: async () => sessions.read(scene.workspaceId, id),
    wake: async () => sessions.of(scene.workspaceId, id),
    chat: () => scene.begin(id),
  };
  for (const [what, ask] of Object.entries(asks)) await t.rejects(ask(), { ...unreadable, message }, what);
}

for (const [what, change, message] of [
  [
    'of a later version',
    () => ({ version: 2 }),
    /^The session was stored by version 2 of its machine; this process runs version 1\.$/,
  ],
  [
    'in an unknown state',
    () => ({ state: 'paused' }),
    /^The session was stored in the state "paused", which its machine does not have; this process runs version 1\.$/,
  ],
] as const) {
  t.test(`a session ${what} is neither run nor written`, async (t) => {
    const scene = await Scene.open();
    const { other, written } = besideNoting(scene);
    const [asleep, awake] = [await scene.session(), await scene.session()];
    const actor = await other.actor(awake.id);
    for (const { id } of [asleep, awake]) {
      await store(scene, id, change);
      await refusesAll(t, other, id, message);
      const { record } = (await scene.store.sessions.read(scene.workspaceId, id))!;
      t.throws(() => sessionView(record, scene.clock.now()), { ...unreadable, message });
    }
    await t.rejects(
      other.host.sessions.end(actor),
      { ...unreadable, message },
      'decided on what it was before, and lost',
    );
    t.same(
      [actor.machine.state, written],
      ['open', ['saveSession']],
      'the one write was refused, as the session had moved',
    );
    t.match((await scene.store.sessions.read(scene.workspaceId, awake.id))!.record.machine, {
      ...change(),
      context: { endedAt: null },
    });
    other.host.close();
    scene.host.close();
  });
}

t.test(
  'the turn of a session of a later version is left to a process of that version, and others are sealed',
  async (t) => {
    const scene = await Scene.open();
    const ids = [(await scene.session()).id, (await scene.session()).id, (await scene.session()).id];
    for (const id of ids) await scene.streaming(id);
    for (const id of ids.slice(0, 2)) await store(scene, id, () => ({ version: 2 }));
    const { clock, workspaceId } = scene;
    const dead = await scene.afterDeath();
    const { other, written } = besideNoting(dead);
    const lines: { level: number; msg: string; err: { message: string } }[] = [];
    const host = new Host(
      other.store,
      clock,
      records.ids,
      pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
      1000,
    );
    await host.start();
    await pass(other, 3 * limits.orphansMs);
    t.same(written, ['takeOverTurn', 'finishTurn'], 'the one that can be read');
    t.match((await dead.store.sessions.read(workspaceId, ids[2]!))!.record.machine, { version: 1, state: 'open' });
    for (const id of ids.slice(0, 2))
      t.match((await dead.store.sessions.read(workspaceId, id))!.record.machine, { version: 2, state: 'streaming' });
    t.match(lines, [
      {
        level: 40,
        msg: 'This version cannot read the sessions of some turns. They are left to a process of a later version.',
        err: { message: /version 2/ },
      },
    ]);
    t.equal(lines.length, 1, 'said once, and the store is not called away');
    t.equal(host.outage.count, 0);
    host.close();
  },
);

t.test('a turn whose session a later version has moved is left by its process', async (t) => {
  const scene = await Scene.open();
  const { other } = besideNoting(scene);
  const { id } = await other.session();
  const talk = await other.streaming(id);
  await store(scene, id, () => ({ version: 2 }));
  talk.model.text('two');
  talk.model.end();
  await talk.runner.over;
  // The store decides the end of the turn: a process of the later version seals it.
  t.same([other.host.turns.inFlight, talk.runner.log.terminal], [0, null]);
  t.match((await scene.store.sessions.read(scene.workspaceId, id))!.record.machine, { version: 2, state: 'streaming' });
  const place = { workspaceId: scene.workspaceId, sessionId: id, turnId: talk.runner.turnId };
  t.match(await scene.store.turns.output(place), /^one /);
  await pass(other, 2 * limits.leaseMs);
  t.not(
    await scene.store.turns.takeOver(place, 'later', scene.clock.now() + limits.leaseMs, scene.clock.now()),
    null,
    'its lease runs out',
  );
  other.host.close();
});

t.test('an assistant or a key of a later version refuses, and keeps what is stored', async (t) => {
  const scene = await Scene.open();
  const { workspaceId } = scene;
  const { catalog } = scene.store;
  const later = (snapshot: Snapshot): Snapshot => ({ ...snapshot, version: 2 });
  const assistant = records.assistant(workspaceId, { machine: later(draftSnapshot(false)) });
  const key = records.key(workspaceId, { machine: later(activeSnapshot(null)) });
  await catalog.create('assistant', assistant);
  await catalog.create('key', key);
  await t.rejects(async () => scene.host.assistants.of(workspaceId, assistant.id), unreadable);
  await t.rejects(scene.host.assistants.move(workspaceId, assistant.id, 'publish', 1), unreadable);
  await t.rejects(scene.host.keys.revoke(workspaceId, key.id), unreadable);
  t.throws(() => assistantView(assistant), unreadable);
  t.same((await catalog.read('key', workspaceId, key.id))!.record, key);

  // An awake actor is changed by a process of that version while this one changes it as well.
  const known = (await scene.host.assistants.of(workspaceId, scene.assistantId))!;
  const changed = { ...known.record, name: 'Changed', machine: later(known.record.machine) };
  await catalog.replace('assistant', changed, known.version);
  for (const attempt of ['the first', 'another'])
    await t.rejects(scene.host.assistants.move(workspaceId, scene.assistantId, 'disable', 1), unreadable, attempt);
  t.match(
    known,
    { record: { name: 'Ada' }, machine: { state: 'published' } },
    'what was decided is not seen, nor what cannot be read',
  );
  t.same((await catalog.read('assistant', workspaceId, scene.assistantId))!.record, changed);
  scene.host.close();
});

t.test(
  'an actor is woken from an earlier version and put back to one, and stored as this version has it',
  async (t) => {
    const machine = setup({ types: { context: {} as { watts: number } } }).createMachine({
      id: 'lamp',
      initial: 'dark',
      context: { watts: 60 },
      states: { dark: { on: { on: 'bright' } }, bright: { on: { off: 'dark' } } },
    });
    const lamp: MachineKind = {
      name: 'lamp',
      machine,
      version: 2,
      migrations: [
        ({ state, context }) => ({
          state: state === 'off' ? 'dark' : 'bright',
          context: { ...(context as object), watts: 40 },
        }),
      ],
    };
    const old = { version: 1, state: 'off', context: {} };
    const actor = openActor<{ type: string }, { type: string }>(
      lamp,
      { snapshot: old },
      { kind: 'lamp', id: 'lamp_1', workspaceId: 'wks_1' },
      new Inspector(),
    );
    actor.send({ type: 'on' });
    t.same(actor.snapshot(), { version: 2, state: 'bright', context: { watts: 40 } });
    actor.restore(old);
    t.same(actor.snapshot(), { version: 2, state: 'dark', context: { watts: 40 } });
    t.throws(() => actor.restore({ version: 3, state: 'dark', context: {} }), unreadable);
    t.same([actor.state, actor.context], ['dark', { watts: 40 }], 'it stays where it was');
    t.throws(() => migratedSnapshot(lamp, { version: 2, state: 'off', context: {} }), {
      ...unreadable,
      message: 'The lamp was stored in the state "off", which its machine does not have; this process runs version 2.',
    });
  },
);
