/** Tests of an assistant are created, changed and made of sessions (contract 21). */
import t, { type Test } from 'tap';
import { countingTool } from './counting-tool.ts';
import { edge, type House, openWorkspace } from './house.ts';
import { isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { assistantPath, operate, say } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a test is created, listed, changed and deleted', (t) => changed(t, house));
  await t.test('a field of a test beyond its bounds is refused by its name', (t) => refused(t, house));
  await t.test('the 201st test of an assistant is refused', (t) => full(t, house));
  await t.test('a test is made of a session with its calls and their outputs', (t) => fromSession(t, house));
});

const step = { message: 'Where is order 7?' };
const script = {
  name: 'Order status',
  visitor: { plan: 'gold', age: 7 },
  metadata: { ref: '1' },
  steps: [
    {
      ...step,
      expect: {
        contains: ['way'],
        not_contains: ['sorry'],
        calls: [{ name: 'look_up', arguments: { order: 7 } }],
        stop_reason: 'end',
        characters_max: 100,
        judge: 'It names the state of the order.',
      },
    },
    { message: 'Thanks', expect: { no_calls: true } },
  ],
  tool_results: { look_up: [{ status: 'completed', output: 'sent' }] },
  repeat: 3,
};

async function changed(t: Test, house: House): Promise<void> {
  const { id: assistantId } = await house.assistant();
  const other = await house.assistant();
  const path = assistantPath(house, assistantId, '/tests');
  const made = await operate(house, 'POST', path, script);
  t.match(made, { id: /^tst_[0-9a-z]{26}$/, object: 'assistant_test', ...script, from_session: null });
  t.same(await operate(house, 'GET', `${path}/${made.id}`), made);
  const plain = await operate(house, 'POST', path, { name: 'Plain', steps: [step] });
  t.match(plain, { visitor: {}, metadata: {}, steps: [{ ...step, expect: {} }], tool_results: {}, repeat: 1 });
  await operate(house, 'POST', assistantPath(house, other.id, '/tests'), { name: 'Of another', steps: [step] });
  const ids = async (query: string) => {
    const { data, has_more, next_cursor } = await operate(house, 'GET', path + query);
    return { ids: data.map(({ id }: any) => id), has_more, next_cursor };
  };
  t.same(await ids(''), { ids: [plain.id, made.id], has_more: false, next_cursor: null });
  t.same(await ids('?order=asc'), { ids: [made.id, plain.id], has_more: false, next_cursor: null });
  const first = await ids('?limit=1');
  t.same(first, { ids: [plain.id], has_more: true, next_cursor: plain.id });
  t.same((await ids(`?limit=1&after=${first.next_cursor}`)).ids, [made.id]);

  const patched = await operate(house, 'PATCH', `${path}/${made.id}`, { name: 'Renamed', repeat: 1 });
  t.match(patched, { ...script, name: 'Renamed', repeat: 1 });
  const object = await operate(house, 'PATCH', `${path}/${made.id}`, {
    tool_results: { look_up: [{ output: { a: 1 } }] },
  });
  t.same(object.tool_results, { look_up: [{ status: 'completed', output: '{"a":1}' }] }, 'a value becomes JSON');
  t.equal((await house.console(`${path}/${made.id}`, { method: 'DELETE' })).status, 204);
  for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const)
    isRefused(
      t,
      await house.console(`${path}/${made.id}`, { method, ...(body && { body }) }),
      unrated(refusals.noRoute),
      `${method} of a test that is gone`,
    );
  isRefused(
    t,
    await house.console(`${assistantPath(house, other.id, '/tests')}/${plain.id}`),
    unrated(refusals.noRoute),
    "a test of another assistant's path",
  );
  const rows = (await house.console(`/audit?object_id=${made.id}&order=asc`)).json.data;
  t.same(
    rows.map(({ action, object_type }: any) => `${action} ${object_type}`),
    ['create test', 'update test', 'update test', 'delete test'],
  );
}

async function refused(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant();
  const path = assistantPath(house, id, '/tests');
  const expecting = (expect: object) => ({ steps: [{ ...step, expect }] });
  const many = (count: number, item: unknown) => Array.from({ length: count }, () => item);
  const deep = JSON.parse('{"a":'.repeat(150) + '1' + '}'.repeat(150));
  const wrong: readonly (readonly [body: object, field: string])[] = [
    [{ steps: [] }, 'steps'],
    [{ steps: many(51, step) }, 'steps'],
    [{ steps: [{}] }, 'steps.0.message'],
    [{ steps: [{ message: '' }] }, 'steps.0.message'],
    [expecting({ contains: many(21, 'x') }), 'steps.0.expect.contains'],
    [expecting({ contains: ['x'.repeat(1001)] }), 'steps.0.expect.contains.0'],
    [expecting({ not_contains: [''] }), 'steps.0.expect.not_contains.0'],
    [expecting({ calls: many(21, { name: 'a' }) }), 'steps.0.expect.calls'],
    [expecting({ calls: [{ name: 'a', arguments: 1 }] }), 'steps.0.expect.calls.0.arguments'],
    [expecting({ calls: [{ name: 'a', arguments: deep }] }), 'steps.0.expect.calls.0.arguments'],
    [expecting({ no_calls: false }), 'steps.0.expect.no_calls'],
    [expecting({ stop_reason: 'never' }), 'steps.0.expect.stop_reason'],
    [expecting({ characters_max: -1 }), 'steps.0.expect.characters_max'],
    [expecting({ judge: 'x'.repeat(1001) }), 'steps.0.expect.judge'],
    [{ repeat: 0 }, 'repeat'],
    [{ repeat: 11 }, 'repeat'],
    [{ tool_results: { look_up: {} } }, 'tool_results.look_up'],
    [{ tool_results: { look_up: [{ status: 'running' }] } }, 'tool_results.look_up.0.status'],
    [{ tool_results: { look_up: [{ output: deep }] } }, 'tool_results'],
    [{ visitor: { a: [] } }, 'visitor.a'],
    [{ metadata: { a: 1 } }, 'metadata.a'],
  ];
  for (const [body, field] of wrong) {
    const answer = await house.console(path, { body: { name: 'T', steps: [step], ...body } });
    const isMissing = field === 'steps.0.message' && JSON.stringify(body).includes('{}');
    if (isMissing)
      t.match(answer.json.error, { code: 'invalid_request', message: 'The field `steps.0.message` is required.' });
    else isRefused(t, answer, unrated(wrongField(field)), field);
  }
  for (const field of ['name', 'steps'])
    t.match(
      (await house.console(path, { body: { name: 'T', steps: [step], [field]: null } })).json.error.message,
      `The field \`${field}\` is required.`,
    );
  t.same((await operate(house, 'GET', path)).data, []);
}

async function full(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant();
  const path = assistantPath(house, id, '/tests');
  const create = () => house.console(path, { body: { name: 'T', steps: [step] } });
  const statuses = new Map<number, number>();
  for (let round = 0; round < 6; round++)
    for (const { status } of await Promise.all(Array.from({ length: 35 }, create)))
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
  t.same(Object.fromEntries(statuses), { 201: 200, 422: 10 });
  isRefused(t, await create(), unrated(wrongField('tests')), 'one more');
}

async function fromSession(t: Test, house: House): Promise<void> {
  const tool = await countingTool(t, house, {
    functions: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } }],
  });
  const { id } = await house.assistant({
    model: { provider: 'synthetic', name: 'tokens=2,call=look_up' },
    tool_ids: [tool.id],
  });
  const session = await house.session(id);
  await (await say(house, session.id, 'Where is it?')).rest();
  const path = assistantPath(house, id, '/tests');
  const made = await operate(house, 'POST', path, { from_session: session.id, repeat: 2 });
  t.match(made, { name: `Session ${session.id}`, from_session: session.id, repeat: 2 });
  t.match(made.steps, [{ message: 'Where is it?', expect: { calls: [{ name: 'look_up' }] } }]);
  t.same(made.tool_results, { look_up: [{ status: 'completed', output: '{"done":true}' }] });
  const other = await house.assistant();
  for (const [assistantId, sessionId] of [
    [id, 'ses_none'],
    [other.id, session.id],
  ])
    isRefused(
      t,
      await house.console(assistantPath(house, assistantId, '/tests'), { body: { from_session: sessionId } }),
      unrated(refusals.noRoute),
      'a session that the assistant does not have',
    );
  const empty = await house.session(id);
  isRefused(
    t,
    await house.console(path, { body: { from_session: empty.id } }),
    unrated(wrongField('from_session')),
    'a session without a message',
  );
}
