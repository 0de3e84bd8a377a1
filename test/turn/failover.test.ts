/** A shared store that fails over and has forgotten the newest: less may be there, but nothing may mix (promise P4). */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { storeOf, takeStep } from '../../src/store/steps.ts';
import { SharedRows } from '../simulate/rows.ts';
import { Scene, type Talk } from '../host/scene.ts';

/** Two processes on a store that can be put back to what it was. */
async function open() {
  const scene = await Scene.open();
  let rows = new SharedRows();
  await rows.write([...scene.engine.range('', '\uffff', false)]);
  let current = new EmbeddedStore(rows);
  await current.open(0);
  const store = storeOf(
    { name: current.name, leaseMs: limits.leaseMs },
    (step) =>
      (...given) =>
        takeStep(current, step, given),
  );
  const failover = async (to: SharedRows): Promise<void> => {
    rows = await to.copy();
    rows.deaf = true;
    current = new EmbeddedStore(rows);
    await current.open(0);
    rows.deaf = false;
  };
  return { one: scene.beside(store), two: scene.beside(store), snapshot: () => rows.copy(), failover };
}

async function says(talk: Talk, text: string): Promise<void> {
  const { length } = talk.runner.log.pieces;
  talk.model.text(text);
  while (talk.runner.log.storedPieces <= length) await null;
}

t.test('a version that exists twice is told apart from the cached one', async (t) => {
  const { one, two, snapshot, failover } = await open();
  const { id } = await one.session();
  const talk = await one.streaming(id, 'one ');
  const before = await snapshot();
  await says(talk, 'two');
  talk.model.end();
  await talk.runner.over;
  const known = await one.store.sessions.read(one.workspaceId, id);
  await failover(before);
  one.clock.advance(limits.leaseMs + 1000);
  await two.actor(id);
  const found = await two.store.sessions.read(two.workspaceId, id);
  t.equal(found!.version, known!.version, 'somebody else has sealed the turn');
  const { history, runner } = await one.begin(id);
  t.same(
    history.map(({ content }) => content),
    ['Hello', 'one ', 'Hello'],
    'the model is told what is stored',
  );
  void runner.stop('aborted');
  await runner.over;
});

t.test('a session does not continue from a lost move, also if another process made the same version', async (t) => {
  const { one, two, snapshot, failover } = await open();
  const { workspaceId } = one;
  const { id } = await one.session();
  const before = await snapshot();
  const forgotten = await one.streaming(id, 'one ');
  const actor = await one.actor(id);
  await failover(before);
  const { runner } = await two.streaming(id, 'two ');
  t.equal((await two.store.sessions.read(workspaceId, id))!.version, actor.version);
  let ended = false;
  void one.host.sessions.end(actor).then(() => (ended = true));
  for (let ms = 0; ms < 2 * limits.leaseMs && !ended; ms += 50) {
    one.clock.advance(50);
    await turnOfTheLoop();
  }
  t.match(forgotten.runner.log.terminal, { type: 'failed', errorCode: 'api_error' });
  t.match(await one.store.sessions.read(workspaceId, id), {
    record: { machine: { state: 'ended', context: { activeTurnId: null } } },
  });
  t.match(
    await one.store.turns.read(workspaceId, id, runner.turnId),
    { status: 'aborted' },
    'the turn that is stored is the one that ends with it',
  );
  t.match((await one.transcript(id)).at(-1), { content: 'two ', status: 'partial', stopReason: 'aborted' });
});

t.test('a change by the console is told apart from a lost one', async (t) => {
  const { one, two, snapshot, failover } = await open();
  const { workspaceId, assistantId } = one;
  const before = await snapshot();
  await one.host.assistants.move(workspaceId, assistantId, 'disable', 1);
  await failover(before);
  await two.host.assistants.configure(workspaceId, assistantId, (record) => ({ ...record, name: 'renamed' }));
  one.clock.advance(limits.catalogFreshMs);
  const actor = (await one.host.assistants.of(workspaceId, assistantId))!;
  t.same([actor.record.name, actor.machine.state], ['renamed', 'published']);
});

t.test('a turn whose output was lost is sealed with the rest of it', async (t) => {
  const { one, snapshot, failover } = await open();
  const { id } = await one.session();
  const talk = await one.streaming(id, 'one ');
  const before = await snapshot();
  await says(talk, 'two ');
  await failover(before);
  talk.model.text('three');
  await talk.runner.settled;
  t.match(talk.runner.log.terminal, { type: 'failed', errorCode: 'api_error' });
  one.clock.advance(1000);
  await talk.runner.over;
  t.match((await one.transcript(id)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
  t.equal(await one.state(id), 'open');
});

t.test('readers elsewhere of a lost turn receive api_error', async (t) => {
  const { one, two, snapshot, failover } = await open();
  const { id } = await one.session();
  const before = await snapshot();
  const talk = await one.streaming(id, 'one ');
  const log = await two.host.remote.follow({ workspaceId: one.workspaceId, sessionId: id, turnId: talk.runner.turnId });
  const over = new Promise<void>((resolve) => void log.follow(() => log.terminal !== null && resolve()));
  await failover(before);
  two.clock.advance(limits.remotePollMs);
  await over;
  t.match(log.terminal, { type: 'failed', errorCode: 'api_error' });
  t.equal(log.pieces.join(''), 'one ');
});
