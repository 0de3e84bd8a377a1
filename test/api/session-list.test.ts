/** The console's list of sessions: the first words of each, and how many there are. */
import t, { type Test } from 'tap';
import { type House, openWorkspace } from './house.ts';
import { answered, onProvider } from './talk.ts';

t.test("the console's list of sessions", async (t) => {
  const house = await openWorkspace();
  await t.test('a session has the first words of its user, in one line', (t) => firstWords(t, house));
  await t.test('the words of a turn that was withdrawn are gone with it', (t) => withdrawn(t, house));
  await t.test('the sessions that match are counted where the total is asked for', (t) => total(t, house));
});

const listed = async (house: House, query: string): Promise<any> =>
  (await house.console(`/workspaces/${house.workspaceId}/sessions${query}`)).json;

async function firstWords(t: Test, house: House): Promise<void> {
  const { id: assistant } = await house.assistant({ greeting: 'Hello!' });
  const say = async (id: string, message: string) =>
    (await house.stream(`/sessions/${id}/chat`, { body: { message } })).rest();
  const wordsOf = async (id: string) => {
    const { data } = await listed(house, `?assistant_id=${assistant}&first_words=true`);
    return data.find((each: { id: string }) => each.id === id).first_words;
  };
  const { id } = await house.session(assistant);
  t.equal(await wordsOf(id), null, 'a greeting is none of them');
  await say(id, '  Where\n\tis   my order? ');
  t.equal(await wordsOf(id), 'Where is my order?');
  await say(id, 'And another one?');
  t.equal(await wordsOf(id), 'Where is my order?', 'later messages change nothing');
  for (const [message, expected] of [
    ['😀'.repeat(200), '😀'.repeat(120)],
    [`${'word '.repeat(1000)}`, 'word '.repeat(24)],
    [`a${' '.repeat(4000)}b`, 'a'],
  ] as const) {
    const other = (await house.session(assistant)).id;
    await say(other, message);
    t.equal(await wordsOf(other), expected, `${message.length} units`);
  }
  t.notOk(
    (await listed(house, '')).data.some((one: object) => 'first_words' in one),
    'only where they are asked for',
  );
  const answer = await house.ask('/v1/chat/completions', {
    body: {
      model: assistant,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is 1 plus 1?' },
        { role: 'assistant', content: '2' },
        { role: 'user', content: 'And 2 plus 2?' },
      ],
    },
  });
  t.equal(answer.status, 200);
  const [{ id: brought }] = (await listed(house, `?assistant_id=${assistant}&limit=1`)).data;
  const { data: said } = (await house.console(`/workspaces/${house.workspaceId}/sessions/${brought}/transcript`)).json;
  t.equal(
    await wordsOf(brought),
    said.find(({ role }: { role: string }) => role === 'user').content,
    'of a conversation that a client brings along, the first that is kept',
  );
}

async function withdrawn(t: Test, house: House): Promise<void> {
  const { provider, assistant: failing } = await onProvider(t, house, (response) => void response.destroy());
  const { id } = await house.session(failing.id);
  t.equal((await house.ask(`/sessions/${id}/chat`, { body: { message: 'Is anybody there?' } })).status, 503);
  const words = async () => (await listed(house, `?q=${id}&first_words=true`)).data[0].first_words;
  t.equal(await words(), null);
  provider.answer = (response) => answered(response, ['yes']);
  await (await house.stream(`/sessions/${id}/chat`, { body: { message: 'And now?' } })).rest();
  t.equal(await words(), 'And now?');
}

async function total(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant({});
  const of = (query: string) => listed(house, `?assistant_id=${assistant.id}${query}`);
  t.same(
    [(await of('')).total, (await of('&total=false')).total, (await of('&total=true')).total],
    [undefined, undefined, 0],
  );
  const ids = [];
  for (let number = 0; number < 3; number++) ids.push((await house.session(assistant.id)).id);
  await house.ask(`/sessions/${ids[0]}/end`, { method: 'POST' });
  t.same(
    [
      (await of('&total=true&limit=1')).total,
      (await of('&total=true&status=ended')).total,
      (await of(`&total=true&q=${ids[1]}`)).total,
    ],
    [3, 1, 1],
    'of all pages, and of what matches',
  );
  t.equal((await of(`&total=true&after=${ids[2]}`)).total, 3, 'of any page');
  t.equal((await house.console(`/workspaces/${house.workspaceId}/sessions?total=yes`)).status, 422);
  const { key } = await house.newKey({ name: 'many', limits: { requests: 100_000 } });
  for (let batch = 0; batch < 10; batch++)
    await Promise.all(
      Array.from({ length: 100 }, () => house.ask('/sessions', { key, body: { assistant_id: assistant.id } })),
    );
  const { total: counted, data } = await of('&total=true');
  t.same([counted, data.length], [null, 20], 'more than a thousand are not counted');
}
