/** `POST /sessions/{id}/end` (contract 6). */
import t from 'tap';
import { openWorkspace } from './house.ts';
import { activeTurn, begin, end, refused, say, sayInVain, sessionOf, synthetic, transcriptOf } from './talk.ts';

t.test('an ended session stays ended', async (t) => {
  const house = await openWorkspace();

  await t.test('an open session ends once', async (t) => {
    const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
    const ended = await end(house, id);
    t.equal(ended.status, 200);
    t.match(ended.json, { id, object: 'session', status: 'ended', active_turn_id: null });
    t.ok(ended.json.ended_at >= ended.json.created_at && ended.json.ended_at < ended.json.expires_at);
    const again = await end(house, id);
    t.same([again.status, again.json], [200, ended.json]);
    t.same(await sessionOf(house, id), ended.json);
    refused(t, await sayInVain(house, id), 409, 'session_ended');
  });

  await t.test('the turn in flight is aborted', async (t) => {
    const { id, stream } = await begin(house, (await synthetic(house, 'tokens=4,hang_at=2')).id);
    const text = [(await stream.next())!, (await stream.next())!][1]!.data.text;
    const ended = await end(house, id);
    t.match(ended.json, { status: 'ended', active_turn_id: null });
    t.same(
      (await stream.rest()).map(({ event, data }) => [event, data.stop_reason]),
      [['turn.aborted', 'aborted']],
    );
    t.match(await transcriptOf(house, id), [
      {},
      { content: text, status: 'partial', stop_reason: 'aborted', error_code: null },
    ]);
  });

  await t.test('an end aborts a turn that waits for its first output', async (t) => {
    const { id } = await house.session((await synthetic(house, 'tokens=4,first_ms=600000')).id);
    const waiting = say(house, id);
    await activeTurn(house, id);
    t.match((await end(house, id)).json, { status: 'ended', active_turn_id: null });
    t.same(
      (await (await waiting).rest()).map(({ event }) => event),
      ['turn.started', 'turn.aborted'],
    );
  });

  await t.test('sessions that do not exist, or are not permitted', async (t) => {
    const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
    refused(t, await end(house, 'ses_00000000000000000000000000'), 404, 'session_not_found');
    const { key } = await house.newKey({ assistant_ids: [] });
    refused(t, await house.ask(`/sessions/${id}/end`, { method: 'POST', key }), 403, 'assistant_not_permitted');
    t.equal((await sessionOf(house, id)).status, 'open');
  });
});
