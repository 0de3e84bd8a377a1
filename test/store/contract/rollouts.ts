/** Versions of assistants in the steps of sessions and turns: what these compare, count and halt (contract 20). */
import { deepEqual, equal } from 'node:assert/strict';
import { versionId } from '../../../src/store/records/versions.ts';
import type { Assistant, Candidate, HaltRule, Release, Session, Turn } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { api, assistant, assistantVersion, at, page, type Begun, type Scene } from '../fixtures.ts';

const rule: HaltRule = { failedPercent: 50, afterTurns: 4 };

const candidate = (over: Partial<Candidate> = {}): Candidate => ({
  version: 2,
  digest: 'digest-2',
  percent: 10,
  halt: rule,
  isHalted: false,
  since: 3,
  ...over,
});

const released = (over: Partial<Release> = {}): Release => ({
  current: 1,
  newest: 2,
  digest: 'digest-1',
  earlier: [],
  revision: 3,
  candidate: candidate(),
  ...over,
});

/** Stores the scene's assistant with a release; resolves with its record, whose version is 2. */
async function rolling({ store, workspaceId, assistantId }: Scene, over: Partial<Release> = {}): Promise<Assistant> {
  const record = { ...assistant(workspaceId, { id: assistantId }), release: released(over) };
  await store.catalog.create('assistant', { ...record, release: null });
  equal(await store.catalog.replace('assistant', record, 1), 2);
  return record;
}

const on = (assistantVersion: number) => ({ assistantVersion });

/** A turn of the version on a session of the scene's assistant. */
async function begun(scene: Scene, assistantVersion = 2, channel: Session['channel'] = 'api'): Promise<Begun> {
  const session = await scene.created({ ...on(assistantVersion), channel });
  const step = scene.beginStep(session, 1);
  return scene.begun(session, 1, { ...step, turn: { ...step.turn, assistantVersion }, slot: api(100) });
}

const finish = (turn: Begun, over: Partial<Turn> = {}) => turn.scene.store.turns.finish(turn.finishStep({}, over));
const failed = { status: 'failed', stopReason: 'error', errorCode: 'provider_error' } as const;

const countsOf = ({ store, workspaceId, assistantId }: Scene) => store.catalog.releaseCounts(workspaceId, assistantId);

async function stored({ store, workspaceId, assistantId }: Scene) {
  const { record, version } = (await store.catalog.read('assistant', workspaceId, assistantId))!;
  return { release: record.release!, version, record };
}

export const rolloutCases: readonly Case[] = [
  {
    name: 'a session is created only while the versions are those that its own was chosen from',
    async run(scene) {
      const { store, workspaceId, assistantId } = scene;
      const create = (revision: number, session = scene.session(on(1))) =>
        store.sessions.create(scene.createStep({ session, release: { assistantId, revision } }));
      equal((await create(0)).outcome, 'created', 'an assistant without a release has revision 0');
      equal((await create(1)).outcome, 'outdated');
      const record = await rolling(scene);
      const session = scene.session(on(2));
      equal((await create(2, session)).outcome, 'outdated');
      equal(await store.sessions.read(workspaceId, session.id), null, 'nothing is stored');
      equal((await create(3, session)).outcome, 'created');
      await store.catalog.replace('assistant', { ...record, release: released({ revision: 4 }) }, 2);
      equal((await create(3, session)).outcome, 'created', 'a step that is sent again');
      equal((await create(3)).outcome, 'outdated');
      const { versions } = await countsOf(scene);
      deepEqual(
        [1, 2].map((number) => versions.get(number)?.sessions),
        [1, 1],
      );
    },
  },
  {
    name: 'a turn begins only while the versions are those that its own was chosen from',
    async run(scene) {
      const { store, workspaceId, assistantId } = scene;
      const record = await rolling(scene);
      const session = await scene.created(on(2));
      const step = scene.beginStep(session, 1, { release: { assistantId, revision: 2 } });
      equal((await store.turns.begin(step)).outcome, 'outdated');
      equal(await store.turns.inFlight(workspaceId), 0, 'no slot is taken');
      equal((await store.sessions.read(workspaceId, session.id))?.version, 1);
      const right = { ...step, release: { assistantId, revision: 3 } };
      equal((await store.turns.begin(right)).outcome, 'begun');
      await store.catalog.replace('assistant', { ...record, release: released({ revision: 4 }) }, 2);
      equal((await store.turns.begin(right)).outcome, 'begun', 'a step that is sent again');
    },
  },
  {
    name: 'the turn that exceeds the rule halts the rollout in its own step, once, with its move in the history',
    async run(scene) {
      const { store, workspaceId, assistantId } = scene;
      const record = await rolling(scene);
      const turns = await Promise.all([0, 1, 2, 3, 4, 5].map(() => begun(scene)));
      await finish(turns[0]!);
      for (const turn of turns.slice(1, 3)) await finish(turn, failed);
      deepEqual((await countsOf(scene)).candidate, { turns: 3, failedTurns: 2 });
      equal((await stored(scene)).release.candidate!.isHalted, false, 'too few turns');
      await finish(turns[3]!, failed);
      const { release, version } = await stored(scene);
      equal(version, 3);
      deepEqual(
        { ...release, candidate: { ...release.candidate } },
        { ...released({ revision: 4 }), candidate: candidate({ isHalted: true }) },
      );
      const session = scene.session(on(2));
      const creating = scene.createStep({ session, release: { assistantId, revision: 3 } });
      equal((await store.sessions.create(creating)).outcome, 'outdated', 'no new session gets the candidate');
      equal(
        await store.catalog.replace('assistant', { ...record, name: 'Late' }, 2),
        null,
        'a change that came too late',
      );
      await finish(turns[3]!, failed);
      await Promise.all(turns.slice(4).map((turn) => finish(turn, failed)));
      deepEqual((await countsOf(scene)).candidate, { turns: 6, failedTurns: 5 });
      equal((await stored(scene)).version, 3, 'it is halted once');
      const [halt, ...more] = await store.history.read('assistant', workspaceId, assistantId);
      deepEqual(
        [halt!.seq, halt!.event, halt!.from, halt!.to, halt!.atMs],
        [3, { type: 'halt' }, 'rolling', 'halted', scene.nowMs],
      );
      deepEqual([halt!.outcomes, halt!.cause], [[{ type: 'halted', version: 2 }], { requestId: null, by: null }]);
      deepEqual(more, []);
    },
  },
  {
    name: 'a rollout is halted by its own version and its own rule alone',
    async run(scene) {
      await rolling(scene, { candidate: candidate({ halt: { failedPercent: 50, afterTurns: 2 } }) });
      for (let count = 0; count < 3; count++) await finish(await begun(scene, 1), failed);
      for (const over of [failed, {}, { status: 'aborted', stopReason: 'aborted' } as const, failed])
        await finish(await begun(scene), over);
      deepEqual((await countsOf(scene)).candidate, { turns: 4, failedTurns: 2 }, 'half of them, and not more, failed');
      equal((await stored(scene)).release.candidate!.isHalted, false);
      await finish(await begun(scene), failed);
      equal((await stored(scene)).release.candidate!.isHalted, true);
    },
  },
  {
    name: 'a rollout without a rule is never halted',
    async run(scene) {
      await rolling(scene, { candidate: candidate({ halt: null }) });
      for (let count = 0; count < 5; count++) await finish(await begun(scene), failed);
      deepEqual((await countsOf(scene)).candidate, { turns: 5, failedTurns: 5 });
      const { release, version } = await stored(scene);
      deepEqual([release.candidate!.isHalted, version], [false, 2]);
    },
  },
  {
    name: 'a withdrawn turn counts as failed for the rollout, once, and not for its version',
    async run(scene) {
      const { store } = scene;
      await rolling(scene);
      const [unsealed, sealed, sealedAsFailed] = [await begun(scene), await begun(scene), await begun(scene)];
      const nowMs = scene.nowMs;
      const withdrawn = unsealed.withdrawStep({ nowMs });
      for (let times = 0; times < 2; times++) equal((await store.turns.withdraw(withdrawn)).outcome, 'finished');
      deepEqual((await countsOf(scene)).candidate, { turns: 1, failedTurns: 1 });
      for (const [turn, over] of [
        [sealed, {}],
        [sealedAsFailed, failed],
      ] as const) {
        const step = turn.finishStep({}, over);
        await store.turns.finish(step);
        const { version, session } = { version: turn.version + 1, session: step.session };
        const withdrawal = turn.withdrawStep({ session, ...at(version, session.mark), turn: step.turn, nowMs });
        equal((await store.turns.withdraw(withdrawal)).outcome, 'finished');
      }
      const { candidate: counts, versions } = await countsOf(scene);
      deepEqual(counts, { turns: 3, failedTurns: 3 });
      deepEqual(versions.get(2), { sessions: 3, turns: 0, failedTurns: 0, feedbackUp: 0, feedbackDown: 0 });
      await store.turns.withdraw((await begun(scene)).withdrawStep({ nowMs }));
      equal((await stored(scene)).release.candidate!.isHalted, true, 'a withdrawal halts it as well');
    },
  },
  {
    name: 'a rollout that begins anew counts from zero, and one that is adjusted continues to count',
    async run(scene) {
      const { store } = scene;
      const record = await rolling(scene);
      const replace = (version: number, over: Partial<Candidate>, revision: number) =>
        store.catalog.replace(
          'assistant',
          { ...record, release: released({ revision, candidate: candidate(over) }) },
          version,
        );
      for (let count = 0; count < 2; count++) await finish(await begun(scene), failed);
      equal(await replace(2, { percent: 50 }, 4), 3);
      deepEqual((await countsOf(scene)).candidate, { turns: 2, failedTurns: 2 });
      equal(await replace(3, { since: 5 }, 5), 4);
      deepEqual((await countsOf(scene)).candidate, { turns: 0, failedTurns: 0 });
      for (let count = 0; count < 3; count++) await finish(await begun(scene), failed);
      equal((await stored(scene)).release.candidate!.isHalted, false);
      await finish(await begun(scene), failed);
      deepEqual([(await stored(scene)).release.candidate!.isHalted, (await stored(scene)).version], [true, 5]);
      equal((await countsOf(scene)).versions.get(2)?.turns, 6, 'the counts of the version stay');
    },
  },
  {
    name: 'sessions, turns and feedback are counted for their versions',
    async run(scene) {
      const { store, workspaceId, assistantId } = scene;
      const zero = { sessions: 0, turns: 0, failedTurns: 0, feedbackUp: 0, feedbackDown: 0 };
      const turn = await begun(scene, 1);
      for (let times = 0; times < 2; times++) await finish(turn);
      await finish(await begun(scene, 1), failed);
      const other = await begun(scene, 12);
      await finish(other);
      const discarded = await scene.created(on(12));
      for (let times = 0; times < 2; times++)
        await store.sessions.discard(discarded, { version: 1, mark: discarded.mark }, null);
      await finish(await begun(scene, 1, 'console'));
      const rate = (rated: Begun, rating: 'up' | 'down' | null) => {
        const step = rated.finishStep();
        const feedback = rating && { rating, comment: null, at: scene.now };
        return store.turns.rate({ session: step.session, turn: step.turn, feedback });
      };
      for (const rating of ['up', 'up', 'down'] as const) equal(await rate(turn, rating), true);
      await rate(other, 'up');
      const counts = async () => new Map([...(await countsOf(scene)).versions].sort(([one], [two]) => one - two));
      const two = { sessions: 1, turns: 1, failedTurns: 0, feedbackUp: 1, feedbackDown: 0 };
      deepEqual(
        [...(await counts())],
        [
          [1, { sessions: 2, turns: 2, failedTurns: 1, feedbackUp: 0, feedbackDown: 1 }],
          [12, two],
        ],
      );
      await rate(turn, null);
      equal((await counts()).get(1)?.feedbackDown, 0);
      deepEqual((await store.catalog.releaseCounts(workspaceId, `${assistantId}x`)).versions, new Map(), 'of another');
      deepEqual({ ...zero, ...two }, two);
    },
  },
  {
    name: 'versions that a change drops are removed with it, and not by a change that comes too late',
    async run(scene) {
      const { store, workspaceId, assistantId } = scene;
      const { catalog } = store;
      const record = await rolling(scene);
      const made = [1, 2, 3].map((number) => assistantVersion(record, number));
      for (const [index, version] of made.entries())
        await catalog.replace('assistant', record, 2 + index, undefined, undefined, version);
      for (const number of [1, 2, 3]) await finish(await begun(scene, number));
      const dropped = [versionId(assistantId, 1), versionId(assistantId, 3)];
      const next = assistantVersion(record, 4);
      const drop = (version: number) =>
        catalog.replace('assistant', record, version, undefined, undefined, next, dropped);
      equal(await drop(1), null);
      equal((await catalog.list('assistant_version', workspaceId, page())).items.length, 3);
      equal(await drop(5), 6);
      const { items } = await catalog.list('assistant_version', workspaceId, page());
      deepEqual(
        items.map(({ number }) => number),
        [2, 4],
      );
      equal(await catalog.read('assistant_version', workspaceId, dropped[0]!), null);
      deepEqual([...(await countsOf(scene)).versions.keys()], [2], 'their counts are removed');
    },
  },
  {
    name: 'the counts of an assistant are removed with it',
    async run(scene) {
      const { store, workspaceId, assistantId } = scene;
      await rolling(scene);
      await finish(await begun(scene), failed);
      equal(await store.catalog.remove('assistant', workspaceId, assistantId), true);
      deepEqual(await countsOf(scene), { candidate: { turns: 0, failedTurns: 0 }, versions: new Map() });
      const session = scene.session(on(1));
      const step = scene.createStep({ session, release: { assistantId, revision: 0 } });
      equal((await store.sessions.create(step)).outcome, 'created', 'the release is removed');
    },
  },
];
