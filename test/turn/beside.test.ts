/** Processes that meet over one session: each answers as one process alone would (contract 3 and 6). */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import type { LiveSession } from '../../src/turn/in-flight.ts';
import type { WantedTurn } from '../../src/turn/turns.ts';
import { limits } from '../../src/base/limits.ts';
import type { Steps } from '../../src/store/steps.ts';
import { Scene, StagedModel, unreported, withSteps } from '../host/scene.ts';

/** Processes on a store that several share. */
async function open(
  options: { turnsInFlightMax?: number } = {},
): Promise<{ one: Scene; two: Scene; three: Scene; die(): void }> {
  const made = await Scene.open(options);
  const store = withSteps(made.store, { leaseMs: limits.leaseMs });
  let dead = false;
  const renewTurn: Steps['renewTurn'] = (...given) => (dead ? new Promise(() => {}) : store.turns.renew(...given));
  const finishTurn: Steps['finishTurn'] = (step) => (dead ? new Promise(() => {}) : store.turns.finish(step));
  const one = made.beside(withSteps(store, { renewTurn, finishTurn }));
  return { one, two: made.beside(store), three: made.beside(store), die: () => (dead = true) };
}

/** Lets time pass until it is so. */
async function until({ clock }: Scene, so: () => boolean): Promise<void> {
  for (let ms = 0; ms < 2 * limits.leaseMs && !so(); ms += 50) {
    clock.advance(50);
    for (let turn = 0; turn < 5; turn++) await turnOfTheLoop();
  }
}

for (const owner of ['alive', 'dead'] as const) {
  t.test(
    `an abort and a second end that meet an end answer once the turn is sealed, its owner being ${owner}`,
    async (t) => {
      const { one, two, three, die } = await open();
      const { id } = await one.session();
      const { runner } = await one.streaming(id);
      const [ending, aborting] = [await two.actor(id), await three.actor(id)];
      if (owner === 'dead') die();
      const answers: string[] = [];
      const first = two.host.sessions.end(ending).then(() => answers.push('first end'));
      while ((await two.state(id)) !== 'ended') await turnOfTheLoop();
      t.equal((await one.store.turns.read(one.workspaceId, id, runner.turnId))!.status, 'streaming');
      const second = three.host.sessions.end(aborting).then(() => {
        answers.push('second end');
        t.equal(aborting.context.activeTurnId, null, 'nothing is in flight any more');
      });
      const abort = three.host.sessions.abort(aborting, runner.turnId).then(() => answers.push('abort'));
      await until(one, () => answers.length === 3);
      await Promise.all([first, second, abort]);
      t.match(await one.store.turns.read(one.workspaceId, id, runner.turnId), { status: 'aborted' });
    },
  );
}

const remember = { scope: 'key_1 /sessions/ses_1/chat', key: 'k', bodyDigest: 'd' };

/** Begins a turn on the session as this process saw it last. */
const chat = ({ host }: Scene, actor: LiveSession, more: Partial<WantedTurn> = {}) =>
  host.turns.begin(actor, {
    message: 'Hello',
    assistantRefusal: null,
    takesSlot: true,
    remember: null,
    model: new StagedModel(),
    reports: unreported,
    ...more,
  });

t.test('a turn on a session that streams elsewhere is a conflict, also if that turn took the last slot', async (t) => {
  const { one, two } = await open({ turnsInFlightMax: 1 });
  const { id } = await one.session();
  const actor = await two.actor(id);
  const other = await two.actor((await two.session()).id);
  await one.streaming(id);
  await t.rejects(chat(two, actor), { code: 'turn_in_progress' });
  t.equal(actor.machine.state, 'streaming', 'as it is');
  await t.rejects(chat(two, other), { code: 'rate_limited' });
  t.equal(other.machine.state, 'open');
});

t.test('a repeat whose first attempt is withdrawn meanwhile begins anew', async (t) => {
  const { one, two } = await open();
  const { id } = await one.session();
  const first = await one.begin(id, remember);
  const actor = await two.actor(id);
  t.equal(actor.machine.state, 'streaming');
  first.model.failed('status');
  await first.runner.over;
  t.match(await chat(two, actor, { remember }), { kind: 'started' });
  const third = await one.actor(id);
  await t.rejects(
    chat(one, third, { remember: { ...remember, key: 'other' } }),
    { code: 'turn_in_progress' },
    'one that is there is one',
  );
});

/** A process that has used a session, and one that moves it afterwards. */
async function known(options: { turnsInFlightMax?: number } = {}) {
  const scenes = await open(options);
  const { id } = await scenes.one.session();
  await scenes.two.actor(id);
  const asKnown = async (): Promise<LiveSession> =>
    (await scenes.two.host.sessions.of(scenes.two.workspaceId, id, true))!;
  return { ...scenes, id, asKnown };
}

t.test('a turn begins on a cached session only if the stored session is unchanged', async (t) => {
  const { one, two, id, asKnown } = await known();
  const talk = await one.streaming(id);
  talk.model.end();
  await talk.runner.over;
  t.equal((await asKnown()).version, 1, 'known from before the turn elsewhere');
  const model = new StagedModel();
  t.match(await chat(two, await asKnown(), { model }), { kind: 'started' });
  t.match(
    model.conversation,
    [{ role: 'user' }, { role: 'assistant', content: 'one ' }, { role: 'user' }],
    'the model gets what was said elsewhere',
  );
});

t.test('a refusal follows from the stored session, not from a cached one', async (t) => {
  const { one, two, id, asKnown } = await known();
  await one.host.sessions.end(await one.actor(id));
  t.equal((await asKnown()).machine.state, 'open');
  await t.rejects(chat(two, await asKnown()), { code: 'session_ended' });

  const other = await known();
  await other.one.streaming(other.id);
  await t.rejects(chat(other.two, await other.asKnown()), { code: 'turn_in_progress' });
  t.equal((await other.asKnown()).machine.state, 'streaming');

  const refused = await known();
  await refused.one.host.sessions.end(await refused.one.actor(refused.id));
  await t.rejects(
    chat(refused.two, await refused.asKnown(), { assistantRefusal: 'assistant_disabled' }),
    { code: 'session_ended' },
    'the first refusal in order',
  );
});

t.test('a session that was removed elsewhere is not found despite a cached copy', async (t) => {
  const { two, id } = await known();
  const { store } = two;
  let removed = false;
  const session: Steps['session'] = async (...given) => (removed ? null : store.sessions.read(...given));
  const beginTurn: Steps['beginTurn'] = async (step) => (removed ? { outcome: 'lost' } : store.turns.begin(step));
  const third = two.beside(withSteps(store, { session, beginTurn }));
  const actor = await third.actor(id);
  removed = true;
  t.equal(await third.host.sessions.of(third.workspaceId, id, true), actor);
  await t.rejects(chat(third, actor), { code: 'session_not_found' });
});

t.test('a turn whose process died while another knew its session as open is sealed by the next one', async (t) => {
  const { one, two, id, asKnown, die } = await known();
  await one.streaming(id);
  die();
  t.equal((await asKnown()).machine.state, 'open');
  await t.rejects(chat(two, await asKnown()), { code: 'turn_in_progress' }, 'while its lease lasts');
  one.clock.advance(2 * limits.leaseMs);
  t.match(await chat(two, await asKnown()), { kind: 'started' });
  t.match((await two.transcript(id))[1], { content: 'one ', status: 'partial', errorCode: 'api_error' });

  const late = await known();
  await late.one.streaming(late.id);
  late.die();
  late.one.clock.advance(2 * limits.leaseMs);
  t.equal((await late.asKnown()).machine.state, 'open');
  t.match(
    await chat(late.two, await late.asKnown()),
    { kind: 'started' },
    'also when the process hears of that turn only now',
  );
});

t.test(
  'a repeat of a request whose process died seals its turn, or begins anew if that turn had no output',
  async (t) => {
    for (const words of ['one ', null]) {
      const { one, two, id, asKnown, die } = await known();
      const talk = await one.begin(id, remember);
      if (words !== null) {
        talk.model.text(words);
        await talk.runner.begun;
      }
      die();
      one.clock.advance(2 * limits.leaseMs);
      const repeated = await chat(two, await asKnown(), { remember });
      t.equal(repeated.kind, words === null ? 'started' : 'remembered');
      t.match(
        await two.store.turns.read(two.workspaceId, id, talk.runner.turnId),
        words === null ? null : { status: 'failed', errorCode: 'api_error' },
      );
    }
  },
);

t.test('an expiry that a turn meets on a cached session is reported once', async (t) => {
  const { one, two, die } = await open();
  const { id } = await one.session({ maxCallSeconds: 60 });
  const actor = await two.actor(id);
  await one.streaming(id);
  die();
  one.clock.advance(60_000);
  await t.rejects(chat(two, actor), { code: 'session_expired' });
  t.equal(actor.refusals, null, 'the refusal is that of the stored step');
});

t.test(
  'a session that moves between processes is read first, until this process has moved it alone for a while',
  async (t) => {
    const { one, two, id, asKnown } = await known();
    const turn = async (scene: Scene, actor: LiveSession): Promise<void> => {
      const model = new StagedModel((sink) => {
        sink.text('one ');
        sink.end();
      });
      const started = await chat(scene, actor, { model });
      if (started.kind !== 'started') throw new Error('It was begun before.');
      await started.runner.over;
    };
    await turn(one, await one.actor(id));
    t.equal((await asKnown()).version, 1);
    await turn(two, await asKnown());
    for (let left = limits.looksAfterMove; left > 0; left--) {
      await turn(one, await one.actor(id));
      t.equal((await asKnown()).version, (await one.store.sessions.read(one.workspaceId, id))!.version, 'looked at');
    }
    for (let left = limits.looksAfterMove; left > 0; left--) await turn(two, await asKnown());
    const { version } = await asKnown();
    await turn(one, await one.actor(id));
    t.equal((await asKnown()).version, version, 'known alone');
  },
);
