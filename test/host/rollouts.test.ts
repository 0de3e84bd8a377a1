/** Rollouts in a process that has not heard of the latest change: its steps obey the stored release. */
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { createOnVersion } from '../../src/conversation/new-session.ts';
import type { Services } from '../../src/conversation/services.ts';
import { rolloutPlace } from '../../src/host/release.ts';
import { releaseBasis } from '../../src/host/versions.ts';
import type { Session } from '../../src/store/store.ts';
import { draftSnapshot, type AssistantActor, type ReleaseRequest } from '../../src/host/assistants.ts';
import * as records from '../store/fixtures.ts';
import { Scene, StagedModel, unreported, withSteps } from './scene.ts';

/** Two processes without notices of each other; the clock stands still, so that no record is read again for its age. */
async function processes() {
  const scene = await Scene.open({ turnsInFlightMax: 100 });
  const deaf = withSteps(scene.store, { leaseMs: limits.leaseMs, watch: async () => async () => {} });
  const [one, two] = [scene.beside(deaf), scene.beside(deaf)];
  const { workspaceId, assistantId } = scene;
  const { assistants } = one.host;
  await assistants.move(workspaceId, assistantId, 'publish', 1);
  await assistants.configure(workspaceId, assistantId, (record) => ({ ...record, greeting: 'Two' }));
  await assistants.move(workspaceId, assistantId, 'publish', 2);
  const change = (wanted: ReleaseRequest) => assistants.release(workspaceId, assistantId, wanted, 3);
  await change({ type: 'rollback', version: 1 });
  const actor = (await two.host.assistants.of(workspaceId, assistantId))!;
  return { one, two, change, actor };
}

const createIn = ({ host, workspaceId, assistantId }: Scene, actor: AssistantActor): Promise<Session> =>
  createOnVersion(
    actor,
    null,
    ({ maxCallSeconds, greeting }) => ({
      workspaceId,
      assistantId,
      channel: 'api',
      visitor: {},
      metadata: {},
      maxCallSeconds,
      greeting,
      remember: null,
    }),
    { host } as Services,
  ).then(({ session }) => session);

t.test('a session gets the version that the stored release gives it', async (t) => {
  const { one, two, change, actor } = await processes();
  for (const percent of [50, 99, 1]) {
    await change({ type: 'rollout', version: 2, percent });
    t.not(actor.record.release?.candidate?.percent, percent, 'the process does not know of it');
    for (let count = 0; count < 10; count++) {
      const { id, assistantVersion } = await createIn(two, actor);
      t.equal(assistantVersion, rolloutPlace(one.assistantId, 2, id) < percent ? 2 : 1, `${percent} percent`);
      const [greeting] = (await two.store.sessions.messages(two.workspaceId, id, page)).items;
      t.equal(greeting!.content, assistantVersion === 2 ? 'Two' : 'Hello 👋', 'its greeting is of the same version');
    }
  }
});

const page = { limit: 10, after: null, order: 'asc' } as const;

t.test('no session and no turn gets the candidate after the turn that halts its rollout', async (t) => {
  const { one, two, change, actor } = await processes();
  await change({ type: 'rollout', version: 2, percent: 99, halt: { failedPercent: 1, afterTurns: 3 } });
  await two.host.assistants.refresh(actor);
  const sessions: Session[] = [];
  while (sessions.length < 4) {
    const session = await createIn(two, actor);
    if (session.assistantVersion === 2) sessions.push(session);
  }
  const answering = await two.host.versions.ofSession(actor.record, sessions[0]!);
  const chat = async (scene: Scene, { id }: Session) =>
    scene.host.turns.begin((await scene.host.sessions.of(scene.workspaceId, id))!, {
      message: 'Hello',
      assistantRefusal: null,
      takesSlot: true,
      remember: null,
      assistantVersion: 2,
      release: releaseBasis(answering),
      model: new StagedModel((sink) => {
        sink.text('a');
        sink.failed('provider_error');
      }),
      reports: unreported,
    });
  for (const session of sessions.slice(0, 3)) {
    const started = await chat(one, session);
    t.equal(started.kind, 'started');
    if (started.kind === 'started') await started.runner.over;
  }
  t.equal(actor.record.release?.candidate?.isHalted, false, 'the process does not know of the halt');
  t.equal((await chat(two, sessions[3]!)).kind, 'outdated', 'its turn does not begin on the candidate');
  for (let count = 0; count < 10; count++) t.equal((await createIn(two, actor)).assistantVersion, 1);
  t.equal(actor.record.release?.candidate?.isHalted, true);
  const moved = await two.host.versions.ofNextTurn(actor.record, sessions[3]!);
  t.equal(moved.version?.number, 1, 'the next turn of its session is on the current version');
});

t.test('a process that owns its store knows of a halt at once', async (t) => {
  const scene = await Scene.open();
  const { workspaceId, assistantId, host } = scene;
  await host.start();
  t.teardown(() => host.close());
  await host.assistants.move(workspaceId, assistantId, 'publish', 1);
  await host.assistants.configure(workspaceId, assistantId, (record) => ({ ...record, greeting: 'Two' }));
  const halt = { failedPercent: 1, afterTurns: 1 };
  await host.assistants.release(workspaceId, assistantId, { type: 'rollout', version: 'draft', percent: 99, halt }, 2);
  const session = { ...(await scene.session()), assistantVersion: 2 };
  const actor = (await host.sessions.of(workspaceId, session.id))!;
  const started = await host.turns.begin(actor, {
    message: 'Hello',
    assistantRefusal: null,
    takesSlot: true,
    remember: null,
    assistantVersion: 2,
    model: new StagedModel((sink) => {
      sink.text('a');
      sink.failed('provider_error');
    }),
    reports: unreported,
  });
  if (started.kind === 'started') await started.runner.over;
  const assistant = await host.assistants.of(workspaceId, assistantId);
  t.match(assistant?.record.release, { candidate: { version: 2, isHalted: true } });
});

t.test('an assistant that was unpublished before versions existed keeps its settings for its sessions', async (t) => {
  const scene = await Scene.open();
  const { workspaceId, assistantId, host, store } = scene;
  const stored = (await store.catalog.read('assistant', workspaceId, assistantId))!;
  const unpublished = { ...stored.record, machine: draftSnapshot(false) };
  await store.catalog.replace('assistant', unpublished, stored.version);
  const session = await scene.session();
  const other = records.assistant(workspaceId, { machine: draftSnapshot(false) });
  await store.catalog.create('assistant', other);
  for (const id of [assistantId, other.id]) {
    await host.assistants.configure(workspaceId, id, (record) => ({ ...record, greeting: 'New' }));
    await host.assistants.move(workspaceId, id, 'publish', 2);
  }
  const used = (await host.assistants.of(workspaceId, assistantId))!.record;
  t.match(used.release, { current: 2, newest: 2, earlier: [1] });
  t.equal((await host.versions.ofSession(used, session)).greeting, unpublished.greeting);
  t.match((await host.assistants.of(workspaceId, other.id))!.record.release, { current: 1 }, 'one without sessions');
});

t.test('a message that another process seals names the version of its turn', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  const started = await scene.host.turns.begin(await scene.actor(id), {
    message: 'Hello',
    assistantRefusal: null,
    takesSlot: true,
    remember: null,
    assistantVersion: 2,
    model: new StagedModel((sink) => sink.text('a')),
    reports: unreported,
  });
  if (started.kind === 'started') await started.runner.begun;
  const later = await scene.afterDeath();
  await later.actor(id);
  t.match((await later.transcript(id)).at(-1), { status: 'partial', content: 'a', assistantVersion: 2 });
});
