/** `GET /sessions/{id}/turns/{turn_id}/events`: one log, many cursors (contract 7). */
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { data, delta, done } from '../providers/model/provider.ts';
import { edge, openWorkspace, textOf, type Ask, type House, type Stream } from './house.ts';
import {
  abort,
  activeTurn,
  answering,
  begin,
  onProvider,
  refused,
  say,
  synthetic,
  transcriptOf,
  turnPath,
  until,
} from './talk.ts';

const eventsOf = (house: House, id: string, turnId: string, query = '', ask: Ask = {}): Promise<Stream> =>
  house.stream(`${turnPath(id, turnId)}/events${query}`, ask);
const refusedEvents = (house: House, id: string, turnId: string, query: string, headers: Record<string, string> = {}) =>
  house.ask(`${turnPath(id, turnId)}/events${query}`, { headers });

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a finished turn is replayed from any code point', (t) => finished(t, house));
  await t.test('an impossible cursor is refused with 422', (t) => wrongCursors(t, house));
  await t.test('a turn in flight has many readers and outlives them all', (t) => live(t, house));
  await t.test('the head is sent at once while nothing is there yet', (t) => waiting(t, house));
});

async function finished(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=16,unicode=1');
  const { id, stream } = await begin(house, assistant.id);
  const original = await stream.rest();
  const text = [...textOf(original)];
  const end = original.at(-1)!;

  const whole = await eventsOf(house, id, stream.turnId);
  t.equal(whole.headers.get('content-type'), 'text/event-stream');
  t.equal(whole.headers.get('cache-control'), 'no-store');
  t.equal(whole.headers.get('x-accel-buffering'), 'no');
  t.equal(whole.turnId, stream.turnId);
  const replayed = await whole.rest();
  t.same(
    [replayed[0], textOf(replayed), replayed.at(-1)],
    [original[0], text.join(''), end],
    'without a cursor all of it, turn.started too',
  );

  const wrong: number[] = [];
  for (let after = 0; after <= text.length; after++) {
    const rest = await (await eventsOf(house, id, stream.turnId, `?after=${after}`)).rest();
    const whole = textOf(rest) === text.slice(after).join('') && rest.every(({ event }) => event !== 'turn.started');
    const ids =
      rest.length > 1
        ? rest[0]!.id === String(after + [...(rest[0]!.data.text as string)].length)
        : after === text.length;
    if (!whole || !ids || JSON.stringify(rest.at(-1)) !== JSON.stringify(end)) wrong.push(after);
  }
  t.same(wrong, [], 'each character once, then the one end');

  const byHeader = await (await eventsOf(house, id, stream.turnId, '', { headers: { 'last-event-id': '3' } })).rest();
  t.equal(textOf(byHeader), text.slice(3).join(''));
  const both = await (
    await eventsOf(house, id, stream.turnId, '?after=5', { headers: { 'last-event-id': '3' } })
  ).rest();
  t.equal(textOf(both), text.slice(5).join(''), '?after= wins');
}

async function wrongCursors(t: Test, house: House): Promise<void> {
  const { id, stream } = await begin(house, (await synthetic(house, 'tokens=2,text=ab')).id);
  await stream.rest();
  refused(t, await refusedEvents(house, id, stream.turnId, '?after=7'), 422, 'invalid_request');
  refused(t, await refusedEvents(house, id, stream.turnId, '', { 'last-event-id': '7' }), 422, 'invalid_request');
  refused(
    t,
    await refusedEvents(house, id, stream.turnId, '', { 'last-event-id': '99999999999999999999999' }),
    422,
    'invalid_request',
  );
  for (const wrong of ['x1', '', '-1'])
    refused(t, await refusedEvents(house, id, stream.turnId, '', { 'last-event-id': wrong }), 400, 'invalid_request');
  for (const after of ['-1', 'x', '1.5', '']) {
    const answer = await refusedEvents(house, id, stream.turnId, `?after=${after}`, { 'last-event-id': '1' });
    refused(t, answer, 422, 'invalid_request');
    t.match(answer.json.error.message, /`after`/);
  }
  refused(t, await refusedEvents(house, id, 'turn_00000000000000000000000000', ''), 404, 'turn_not_found');
  const other = await house.session((await synthetic(house, 'tokens=1')).id);
  refused(t, await refusedEvents(house, other.id, stream.turnId, ''), 404, 'turn_not_found');
}

async function live(t: Test, house: House): Promise<void> {
  let upstream: ServerResponse | undefined;
  const { assistant, provider } = await onProvider(t, house, (response) => answering((upstream = response), 'one '));
  const { id, stream } = await begin(house, assistant.id);
  await stream.next();
  t.equal((await stream.next())!.data.text, 'one ');
  const second = await eventsOf(house, id, stream.turnId);
  const third = await eventsOf(house, id, stream.turnId, '?after=2');
  t.equal((await second.next())!.event, 'turn.started');
  t.equal((await second.next())!.data.text, 'one ');
  t.same(await third.next(), { event: 'message.delta', id: '4', data: { text: 'e ' } });
  const atTheEnd = await eventsOf(house, id, stream.turnId, '?after=4');
  refused(t, await refusedEvents(house, id, stream.turnId, '?after=5'), 422, 'invalid_request');

  stream.leave();
  second.leave();
  third.leave();
  atTheEnd.leave();
  upstream!.write(delta('two '));
  await until(async () => (await transcriptOf(house, id))[1].content === 'one two ');
  t.equal(provider.sockets.filter(({ destroyed }) => destroyed).length, 0, 'nobody closed the request to the provider');
  const late = await eventsOf(house, id, stream.turnId, '?after=4');
  t.equal((await late.next())!.data.text, 'two ');
  upstream!.write(delta('three', 'stop'));
  upstream!.write(data({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }));
  upstream!.end(done);
  const rest = await late.rest();
  t.same(
    rest.map(({ event, id }) => [event, id]),
    [
      ['message.delta', '13'],
      ['turn.completed', '13'],
    ],
  );
  t.match(await transcriptOf(house, id), [{}, { content: 'one two three', status: 'completed' }]);
  t.same(
    (await (await eventsOf(house, id, stream.turnId, '?after=13')).rest()).map(({ event }) => event),
    ['turn.completed'],
  );
}

async function waiting(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1,first_ms=600000')).id);
  const chat = say(house, id);
  const turnId = await activeTurn(house, id);
  const reader = await eventsOf(house, id, turnId);
  t.equal(reader.status, 200);
  t.equal((await reader.next())!.event, 'turn.started');
  const resumed = await eventsOf(house, id, turnId, '?after=0');
  t.equal(resumed.status, 200);
  refused(t, await refusedEvents(house, id, turnId, '?after=1'), 422, 'invalid_request');
  await abort(house, id, turnId);
  t.same(
    (await reader.rest()).map(({ event }) => event),
    ['turn.aborted'],
  );
  t.same(
    (await resumed.rest()).map(({ event }) => event),
    ['turn.aborted'],
  );
  t.same(
    (await (await chat).rest()).map(({ event }) => event),
    ['turn.started', 'turn.aborted'],
  );
}
