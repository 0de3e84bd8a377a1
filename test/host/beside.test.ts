/** Processes that meet over one session: each answers as one process alone would (contract 3 and 6). */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import type { SessionActor } from '../../src/host/sessions.ts';
import type { WantedTurn } from '../../src/host/turns.ts';
import { limits } from '../../src/limits.ts';
import type { Steps } from '../../src/store/steps.ts';
import { Scene, withSteps } from './scene.ts';

/** Processes on a store that several share. */
async function open(options: { turnsInFlightMax?: number } = {}): Promise<{ one: Scene; two: Scene; three: Scene; die(): void }> {
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
  t.test(`an abort and a second end that meet an end answer once the turn is sealed, its owner being ${owner}`, async (t) => {
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
  });
}

const remember = { scope: 'key_1 /sessions/ses_1/chat', key: 'k', bodyDigest: 'd' };

/** Begins a turn on the session as this process saw it last. */
const chat = ({ host }: Scene, actor: SessionActor, more: Partial<WantedTurn> = {}) =>
  host.turns.begin(actor, { message: 'Hello', assistantRefusal: null, takesSlot: true, remember: null, providerFailed: () => {}, ourFault: () => {}, over: () => {}, ...more });

t.test('a turn on a session that talks elsewhere is a conflict, though that turn took the last slot', async (t) => {
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
  await t.rejects(chat(one, third, { remember: { ...remember, key: 'other' } }), { code: 'turn_in_progress' }, 'one that is there is one');
});
