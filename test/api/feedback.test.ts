/** Feedback on turns (contract 19). */
import t, { type Test } from 'tap';
import { linked, Visit } from '../pages/link/visits.ts';
import { type House, openWorkspace } from './house.ts';
import { abort, begin, end, refused, synthetic, transcriptOf } from './talk.ts';

t.test('feedback on a turn is stored, changed and removed', async (t) => {
  const house = await openWorkspace();
  await t.test('a rating stands at turn and message, is counted where the turn is, and is replaced or removed', (t) =>
    rated(t, house),
  );
  await t.test('wrong bodies, unknown turns and turns that stream are refused', (t) => wrong(t, house));
  await t.test('a turn of an OpenAI client and of an ended session is rated', (t) => anywhere(t, house));
  await t.test('a visitor rates the own session where the link allows it', (t) => visitors(t, house));
  await t.test("a visitor's rating counts against the address's hour alone", (t) => limited(t, house));
});

const path = (id: string, turnId: string): string => `/sessions/${id}/turns/${turnId}/feedback`;

const put = (house: House, id: string, turnId: string, body: unknown, ask = {}) =>
  house.ask(path(id, turnId), { method: 'PUT', body, ...ask });

async function finished(house: House, assistantId: string): Promise<{ id: string; turnId: string }> {
  const { id, stream } = await begin(house, assistantId);
  await stream.rest();
  return { id, turnId: stream.turnId };
}

async function rated(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2', { greeting: 'Hello' });
  const { id, turnId } = await finished(house, assistant.id);
  const stands = async (feedback: object | null, up: number, down: number) => {
    const messages = await transcriptOf(house, id);
    t.match(
      messages.map((message) => message.feedback),
      [null, null, feedback],
    );
    const usage = (await house.ask(`/usage?assistant_id=${assistant.id}`)).json;
    t.match(usage.totals, { turns: 1, feedback_up: up, feedback_down: down });
    t.match(usage.data.at(-1), { feedback_up: up, feedback_down: down });
  };
  await stands(null, 0, 0);
  const comment = 'x'.repeat(999) + '😀';
  const first = await put(house, id, turnId, { rating: 'up', comment });
  t.match([first.status, first.json], [200, { object: 'turn', id: turnId, feedback: { rating: 'up', comment } }]);
  t.ok(Number.isInteger(first.json.feedback.at));
  await stands({ rating: 'up', comment }, 1, 0);
  t.match((await put(house, id, turnId, { rating: 'down' })).json.feedback, { rating: 'down', comment: null });
  t.match((await put(house, id, turnId, { rating: 'down', comment: '' })).json.feedback, { comment: null });
  await stands({ rating: 'down', comment: null }, 0, 1);
  t.match((await abort(house, id, turnId)).json, { status: 'completed', feedback: { rating: 'down' } });
  const shown = await house.console(`/workspaces/${house.workspaceId}/sessions/${id}/transcript`);
  t.match(shown.json.data.at(-1).feedback, { rating: 'down' });
  for (const _ of ['removes', 'finds none']) {
    const { status, text } = await house.ask(path(id, turnId), { method: 'DELETE' });
    t.same([status, text], [204, '']);
    await stands(null, 0, 0);
  }
}

async function wrong(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { id, turnId } = await finished(house, assistant.id);
  for (const [body, field] of [
    [{}, 'rating'],
    [{ rating: 'sideways' }, 'rating'],
    [{ rating: 'up', comment: 'x'.repeat(1001) }, 'comment'],
    [{ rating: 'up', comment: 5 }, 'comment'],
  ] as const) {
    const answer = await put(house, id, turnId, body);
    refused(t, answer, 422, 'invalid_request');
    t.match(answer.json.error.message, `\`${field}\``);
  }
  const none = `turn_${'0'.repeat(26)}`;
  refused(t, await put(house, id, none, { rating: 'up' }), 404, 'turn_not_found');
  refused(t, await put(house, `ses_${'0'.repeat(26)}`, turnId, { rating: 'up' }), 404, 'session_not_found');
  const { key } = await house.newKey({ assistant_ids: [] });
  refused(t, await put(house, id, turnId, { rating: 'up' }, { key }), 403, 'assistant_not_permitted');
  const hanging = await begin(house, (await synthetic(house, 'tokens=9,hang_at=2')).id);
  await hanging.stream.next();
  refused(t, await put(house, hanging.id, hanging.stream.turnId, { rating: 'up' }), 409, 'turn_in_progress');
  refused(t, await house.ask(path(hanging.id, hanging.stream.turnId), { method: 'DELETE' }), 409, 'turn_in_progress');
  await abort(house, hanging.id, hanging.stream.turnId);
  t.equal((await put(house, hanging.id, hanging.stream.turnId, { rating: 'down' })).status, 200, 'once it is aborted');
}

async function anywhere(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { headers } = await house.ask('/v1/chat/completions', {
    body: { model: assistant.id, messages: [{ role: 'user', content: 'Hi' }] },
  });
  const [id, turnId] = ['x-session-id', 'x-turn-id'].map((name) => headers.get(name)!) as [string, string];
  t.equal((await put(house, id, turnId, { rating: 'up' })).status, 200);
  const other = await finished(house, assistant.id);
  await end(house, other.id);
  t.equal((await put(house, other.id, other.turnId, { rating: 'up' })).status, 200);
  t.equal((await house.ask(`/usage?assistant_id=${assistant.id}`)).json.totals.feedback_up, 2);
}

async function visitors(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'rated', { name: 'tokens=2' });
  const patch = (link: object) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}`, { method: 'PATCH', body: { link } });
  const visit = await Visit.to(house, 'rated');
  const session = (await visit.ask('/sessions', { body: {} })).json;
  const turnId = (await visit.say(session)).headers.get('x-turn-id')!;
  const rate = (from: Visit, body: unknown = { rating: 'up', comment: 'mine' }) =>
    from.ask(path(session.id, turnId), { method: 'PUT', body });
  const about = async () => (await house.ask('/p/rated/about', { key: null })).json.feedback;
  t.equal(await about(), false);
  refused(t, await rate(visit), 404, 'route_not_found');
  t.equal((await patch({ feedback: true })).json.link.feedback, true);
  t.equal(await about(), true);
  t.match((await rate(visit)).json.feedback, { rating: 'up', comment: null });
  t.match((await visit.ask(`/sessions/${session.id}/transcript`)).json.data.at(-1).feedback, { comment: null });
  t.match((await transcriptOf(house, session.id)).at(-1).feedback, { rating: 'up', comment: 'mine' });
  refused(t, await rate(await Visit.to(house, 'rated')), 404, 'session_not_found');
  t.equal((await visit.ask(path(session.id, turnId), { method: 'DELETE' })).status, 204);
  t.equal((await patch({ origins: [] })).json.link.feedback, true, 'another change keeps it');
  const preflight = await fetch(`${house.url}/p/rated${path(session.id, turnId)}`, { method: 'OPTIONS' });
  t.match(preflight.headers.get('access-control-allow-methods'), /PUT, DELETE/);
}

async function limited(t: Test, house: House): Promise<void> {
  await linked(house, 'few', {
    name: 'tokens=2',
    link: {
      slug: 'few',
      feedback: true,
      limits: { messages_per_address_per_hour: 4, messages_per_visitor_per_day: 1 },
    },
  });
  const visit = await Visit.to(house, 'few');
  const session = (await visit.ask('/sessions', { body: {} })).json;
  const turnId = (await visit.say(session)).headers.get('x-turn-id')!;
  const rate = () => visit.ask(path(session.id, turnId), { method: 'PUT', body: { rating: 'down' } });
  t.same([(await rate()).status, (await rate()).status], [200, 200], 'the messages of the day are used up');
  const third = await rate();
  refused(t, third, 429, 'rate_limited', 'rate_limit_error');
  t.match(third.headers.get('retry-after'), /^\d+$/);
}
