/** Calls of tools that wait for the caller, when a process dies (contract 13). */
import t from 'tap';
import type { CallAnswer } from '../../src/turn/pending-tool-calls.ts';
import type { OfferedFunction } from '../../src/providers/tool.ts';
import type { TurnRunner } from '../../src/turn/runner.ts';
import { open } from './losses.ts';
import { noTools, Scene, StagedModel, unreported } from '../host/scene.ts';

const mine: OfferedFunction = {
  toolId: 'tool_1',
  kind: 'client',
  name: 'mine',
  description: null,
  parameters: { type: 'object' },
  approval: 'never',
  show: 'name',
};

class CallingModel extends StagedModel {
  override readonly tools = { ...noTools, find: () => mine, check: () => ({}) };
}

async function begun(
  scene: Scene,
  sessionId: string,
  model: StagedModel,
  answers?: readonly CallAnswer[],
): Promise<TurnRunner> {
  const wanted = {
    message: answers === undefined ? 'Hello' : null,
    ...(answers && { answers }),
    assistantRefusal: null,
    takesSlot: true,
    remember: null,
    model,
    reports: unreported,
  };
  const started = await scene.host.turns.begin(await scene.actor(sessionId), wanted);
  if (started.kind !== 'started') throw new Error(`The turn is ${started.kind}.`);
  return started.runner;
}

t.test('sealing an orphan shows no answered call as waiting', async (t) => {
  const first = await Scene.open();
  const { id } = await first.session();
  const asking = new CallingModel((sink) => {
    sink.call!({ name: 'mine', arguments: '{}' });
    sink.end();
  });
  await (
    await begun(first, id, asking)
  ).settled;
  const answers = [{ callId: 'call_1', output: 'done' }];
  const saying = await begun(first, id, new StagedModel((sink) => sink.text('one ')), answers);
  await saying.begun;

  const second = await first.afterDeath();
  const { record } = await second.actor(id);
  t.match((await second.transcript(id)).at(-1), { content: 'one ', status: 'partial' }, 'the turn is sealed');
  t.equal(record.pending, undefined);
  await t.rejects(
    begun(second, id, new StagedModel(), answers),
    { code: 'invalid_request' },
    'an answer is taken once',
  );
  second.host.close();
});

t.test('calls wait again when the turn that answered them is withdrawn, also if its end was stored', async (t) => {
  for (const loss of ['the answer', 'the step'] as const) {
    const { scene, losses, pass, close } = await open();
    const { id } = await scene.session();
    const asking = new CallingModel((sink) => {
      sink.call!({ name: 'mine', arguments: '{}' });
      sink.end();
    });
    await (
      await begun(scene, id, asking)
    ).settled;
    const waits = (await scene.actor(id)).record.pending;
    losses.set('finishTurn', loss);
    const answers = [{ callId: 'call_1', output: 'done' }];
    const failing = await begun(scene, id, new StagedModel((sink) => sink.end()), answers);
    for (const verb of ['withdrawTurn', 'appendOutput'] as const) losses.set(verb, loss);
    await pass(5_000);
    losses.clear();
    await pass(30_000);
    await failing.over;
    const { record } = await scene.actor(id);
    t.same(record.pending, waits, loss);
    t.match((await scene.transcript(id)).at(-1), { toolCalls: [{ status: 'pending', output: null }] }, loss);
    t.ok(await begun(scene, id, new StagedModel((sink) => sink.text('one ')), answers), 'and are answered again');
    close();
  }
});
