/** `/console/api/machines`: the machines, for programs that draw them (contract 9). */
import t, { type Test } from 'tap';
import { createMachine, type AnyStateMachine } from 'xstate';
import { actorKinds, kinds } from '../../machines/all.ts';
import { openWorkspace, type House } from './house.ts';
import { isRated, isRefused, refusals, unrated, wrongField } from './refusal.ts';

t.test('the machines are served as they run', async (t) => {
  const house = await openWorkspace();
  await t.test('listed with their versions, page by page', (t) => listed(t, house));
  await t.test('each as the configuration that it was made of', (t) => configured(t, house));
  await t.test('machines are served to operators alone', (t) => guarded(t, house));
});

async function listed(t: Test, house: House): Promise<void> {
  const all = await house.console('/machines');
  t.equal(all.status, 200);
  isRated(t, all, false, 'no budget is charged');
  t.same(all.json, {
    object: 'list',
    data: actorKinds.map((kind) => ({ object: 'machine', kind, version: kinds[kind].version })),
    has_more: false,
    next_cursor: null,
  });
  const limit = Math.ceil(actorKinds.length / 2);
  const first = (await house.console(`/machines?limit=${limit}`)).json;
  t.equal(first.data.length, limit);
  t.match(first, { has_more: true, next_cursor: String });
  const rest = (await house.console(`/machines?limit=${limit}&after=${first.next_cursor}`)).json;
  t.same([...first.data, ...rest.data], all.json.data);
  t.match(rest, { has_more: false, next_cursor: null });
  t.match((await house.console(`/machines?limit=${actorKinds.length}`)).json, { has_more: false, next_cursor: null });
  t.same((await house.console('/machines?order=desc')).json.data, [...all.json.data].reverse());
  isRefused(t, await house.console('/machines?limit=0'), unrated(wrongField('limit')), 'limit');
}

async function configured(t: Test, house: House): Promise<void> {
  for (const kind of actorKinds) {
    const { status, json } = await house.console(`/machines/${kind}`);
    t.equal(status, 200, kind);
    t.same(Object.keys(json), ['id', 'initial', 'states', 'on'], kind);
    const machine: AnyStateMachine = kinds[kind].machine;
    const read = createMachine(json);
    t.same(definition(read), definition(machine), `${kind}: what reads it has the machine that runs`);
    t.same(Object.keys(json.states), Object.keys(machine.states));
  }
  for (const unknown of ['calls', 'Session', 'toString', '__proto__', 'session/states'])
    isRefused(t, await house.console(`/machines/${unknown}`), unrated(refusals.noRoute), unknown);
}

/** All that a machine is, but for its functions. */
const definition = (machine: AnyStateMachine): unknown => JSON.parse(JSON.stringify(machine.definition));

async function guarded(t: Test, house: House): Promise<void> {
  for (const path of ['/console/api/machines', '/console/api/machines/session']) {
    isRefused(t, await house.ask(path, { key: null }), unrated(refusals.missingKey), path);
    isRefused(t, await house.ask(path), unrated(refusals.invalidKey), `${path}, with an API key`);
  }
}
