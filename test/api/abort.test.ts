/** `POST /sessions/{id}/turns/{turn_id}/abort` (contract 6). */
import t from 'tap';
import { edge, openHouse, textOf } from './house.ts';
import { abort, activeTurn, begin, end, refused, say, sayInVain, sessionOf, synthetic, transcriptOf } from './talk.ts';

const view = { object: 'turn', status: 'aborted', stop_reason: 'aborted', error_code: null };

t.test(edge, async (t) => {
  const house = await openHouse(t);
  const silent = await synthetic(house, 'tokens=3,first_ms=600000');
  const hanging = await synthetic(house, 'tokens=9,hang_at=2,text=word');

  await t.test('before the first output the waiting request gets a stream of beginning and end', async (t) => {
    const { id } = await house.session(silent.id);
    const waiting = say(house, id, 'Hello');
    const turnId = await activeTurn(house, id);
    const answer = await abort(house, id, turnId);
    t.equal(answer.status, 200);
    t.match(answer.json, { ...view, id: turnId, session_id: id });
    t.type(answer.json.ended_at, 'number');
    const stream = await waiting;
    const events = await stream.rest();
    t.same([stream.status, stream.turnId], [200, turnId]);
    t.same(events, [
      { event: 'turn.started', id: '0', data: { turn_id: turnId, message_id: answer.json.message_id } },
      {
        event: 'turn.aborted',
        id: '0',
        data: { turn_id: turnId, message_id: answer.json.message_id, stop_reason: 'aborted' },
      },
    ]);
    t.match(await transcriptOf(house, id), [
      { role: 'user' },
      { content: '', status: 'partial', stop_reason: 'aborted' },
    ]);
    t.match(
      (await house.ask('/metrics', { key: null })).text,
      /^parley_first_output_seconds_count 0$/m,
      'no output is no first output',
    );
    t.match(await sessionOf(house, id), { status: 'open', active_turn_id: null });
  });

  await t.test('mid-stream the rest of what is there comes, then the one end', async (t) => {
    const { id, stream } = await begin(house, hanging.id);
    const started = (await stream.next())!;
    t.equal((await stream.next())!.data.text, 'word word ');
    t.equal((await sessionOf(house, id)).active_turn_id, stream.turnId);
    t.match(await transcriptOf(house, id), [
      { role: 'user' },
      { status: 'streaming', content: 'word word ', stop_reason: null },
    ]);
    t.match((await abort(house, id, stream.turnId)).json, view);
    t.same(await stream.rest(), [
      {
        event: 'turn.aborted',
        id: '10',
        data: { turn_id: stream.turnId, message_id: started.data.message_id, stop_reason: 'aborted' },
      },
    ]);
    t.match(await transcriptOf(house, id), [
      {},
      { content: 'word word ', status: 'partial', stop_reason: 'aborted', error_code: null },
    ]);
    const next = await say(house, id);
    t.equal((await next.next())!.event, 'turn.started', 'the session takes a new turn');
    await abort(house, id, next.turnId);
  });

  await t.test('on a turn that is over it changes nothing', async (t) => {
    const quick = await synthetic(house, 'tokens=2');
    const { id, stream } = await begin(house, quick.id);
    const text = textOf(await stream.rest());
    const answers = [await abort(house, id, stream.turnId), await abort(house, id, stream.turnId)];
    for (const { status, json } of answers)
      t.match({ status, json }, { status: 200, json: { status: 'completed', stop_reason: 'end', error_code: null } });
    t.match(await transcriptOf(house, id), [{}, { content: text, status: 'completed', stop_reason: 'end' }]);

    const other = await begin(house, hanging.id);
    await end(house, other.id);
    t.match((await abort(house, other.id, other.stream.turnId)).json, view, 'on an ended session too');
    await other.stream.rest();
  });

  await t.test('a turn is known by its own session only', async (t) => {
    const one = await begin(house, hanging.id);
    const two = await house.session(hanging.id);
    refused(t, await abort(house, two.id, one.stream.turnId), 404, 'turn_not_found');
    refused(t, await abort(house, one.id, 'turn_00000000000000000000000000'), 404, 'turn_not_found');
    refused(t, await abort(house, 'ses_00000000000000000000000000', one.stream.turnId), 404, 'session_not_found');
    const { key } = await house.newKey({ assistant_ids: [silent.id] });
    refused(t, await abort(house, one.id, one.stream.turnId, { key }), 403, 'assistant_not_permitted');
    refused(t, await sayInVain(house, one.id), 409, 'turn_in_progress');
    await abort(house, one.id, one.stream.turnId);
  });
});
