/** SIGTERM (contract 3 and 11). */
import { request } from 'node:http';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { WebSocket } from 'ws';
import { data, delta, done } from '../providers/model/provider.ts';
import { edges, openHouse, textOf } from './house.ts';
import { refusedUpgrade } from './raw.ts';
import {
  answering,
  begin,
  onProvider,
  refused,
  say,
  sayInVain,
  sessionOf,
  synthetic,
  transcriptOf,
  until,
} from './talk.ts';

for (const edge of edges) {
  t.test(`${edge}: turns finish, new work is refused, reads are served`, async (t) => {
    const house = await openHouse(t, {
      env: { PARLEY_STORE: 'lmdb:./data', PARLEY_EDGE: edge, PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' },
    });
    let upstream: ServerResponse | undefined;
    const { assistant } = await onProvider(t, house, (response) => answering((upstream = response), 'one '));
    const { id, stream } = await begin(house, assistant.id);
    await stream.next();
    await stream.next();
    const idle = await house.session(assistant.id);
    t.equal((await house.ask('/readyz')).status, 200);

    const watcher = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect`, {
      headers: { authorization: `Bearer ${house.operatorToken}` },
    });
    await once(watcher, 'message');
    const watched = once(watcher, 'close');

    const ended = house.stop();
    t.equal((await watched)[0], 1012, 'the feed is closed at once');
    const ready = await until(async () => {
      const answer = await house.ask('/readyz');
      return answer.status === 503 && answer;
    });
    refused(t, ready, 503, 'api_error');
    for (const refusal of [
      await sayInVain(house, idle.id),
      await house.ask('/sessions', { body: { assistant_id: assistant.id } }),
    ]) {
      refused(t, refusal, 503, 'api_error');
      t.match(refusal.headers.get('retry-after'), /^[1-9]\d*$/);
      t.ok(refusal.headers.has('x-ratelimit-limit'));
    }
    const completion = await house.ask('/v1/chat/completions', {
      body: { model: assistant.id, messages: [{ role: 'user', content: 'Hello' }] },
    });
    t.same(
      [completion.status, completion.json.error.code, completion.headers.has('x-should-retry')],
      [503, 'api_error', false],
      'its clients ask again',
    );
    const asked = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: `ask_${assistant.id}`, arguments: { message: 'Hello' } },
    };
    t.match(
      (await house.ask('/mcp', { body: asked })).text,
      /The service is temporarily unavailable\..*"isError":true/,
    );
    refused(
      t,
      await refusedUpgrade(house.url, '/console/api/inspect', { token: house.operatorToken }),
      503,
      'api_error',
    );
    refused(
      t,
      await refusedUpgrade(house.url, '/console/api/inspect', { token: 'not-the-token' }),
      401,
      'invalid_api_key',
    );
    refused(t, await refusedUpgrade(house.url, '/transcription?token=tok_none'), 401, 'invalid_token');
    t.equal((await house.ask('/healthz')).status, 200);
    t.equal((await sessionOf(house, id)).active_turn_id, stream.turnId);
    t.match(await transcriptOf(house, id), [{}, { content: 'one ', status: 'streaming' }]);
    const second = await house.stream(`/sessions/${id}/turns/${stream.turnId}/events?after=4`);

    upstream!.write(delta('two', 'stop'));
    upstream!.write(data({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }));
    upstream!.end(done);
    for (const one of [stream, second]) {
      const rest = await one.rest();
      t.same([textOf(rest), rest.at(-1)!.event], ['two', 'turn.completed']);
    }
    t.same(await ended, { code: 0, signal: null });

    const again = await openHouse(t, { folder: house.folder, env: { PARLEY_STORE: 'lmdb:./data', PARLEY_EDGE: edge } });
    t.match(await transcriptOf(again, id), [{}, { content: 'one two', status: 'completed' }]);
    t.same(await again.stop(), { code: 0, signal: null }, 'with nothing to wait for it ends as well');
  });
}

t.test(
  'turns can be aborted while the server drains, and a signal that comes again later ends it at once',
  async (t) => {
    const house = await openHouse(t);
    const hanging = await synthetic(house, 'tokens=5,hang_at=1');
    const one = await begin(house, hanging.id);
    const two = await begin(house, hanging.id);
    const ended = house.stop();
    await until(async () => (await house.ask('/readyz')).status === 503);
    t.equal(
      (await house.ask(`/sessions/${one.id}/turns/${one.stream.turnId}/abort`, { method: 'POST' })).json.status,
      'aborted',
    );
    t.equal((await house.ask(`/sessions/${two.id}/end`, { method: 'POST' })).json.status, 'ended');
    t.same(await ended, { code: 0, signal: null });

    const hasty = await openHouse(t);
    await begin(hasty, (await synthetic(hasty, 'tokens=5,hang_at=1')).id);
    const cut = hasty.stop();
    await until(async () => (await hasty.ask('/readyz')).status === 503);
    // Within half a second a second signal counts as the same one; a later one ends the process.
    await until(() => {
      hasty.child.kill('SIGTERM');
      return hasty.ask('/readyz').then(
        () => false,
        () => true,
      );
    });
    t.same(await cut, { code: 1, signal: null });
  },
);

t.test('a repeat under an Idempotency-Key is answered while the server drains', async (t) => {
  const house = await openHouse(t);
  const [short, hanging] = [await synthetic(house, 'tokens=3'), await synthetic(house, 'tokens=4,hang_at=2,text=so')];
  const once = { headers: { 'idempotency-key': 'once' } };
  const create = (key = 'once') =>
    house.ask('/sessions', { body: { assistant_id: short.id }, headers: { 'idempotency-key': key } });
  const made = await create();
  const first = await say(house, made.json.id, 'Hello', once);
  const events = await first.rest();
  const { id } = await house.session(hanging.id);
  const flowing = await say(house, id, 'Hello', once);
  await flowing.next();

  const ended = house.stop();
  await until(async () => (await house.ask('/readyz')).status === 503);
  const again = await create();
  t.same([again.status, again.headers.get('idempotent-replayed'), again.json], [201, 'true', made.json]);
  const replay = await say(house, made.json.id, 'Hello', once);
  t.same([replay.turnId, replay.headers.get('idempotent-replayed')], [first.turnId, 'true']);
  t.same(textOf(await replay.rest()), textOf(events));
  const joined = await say(house, id, 'Hello', once);
  t.same(
    [joined.turnId, (await joined.next())!.event, (await joined.next())!.data.text],
    [flowing.turnId, 'turn.started', 'so so '],
  );
  const other = { headers: { 'idempotency-key': 'other' } };
  for (const refusal of [
    await create('other'),
    await sayInVain(house, made.json.id, 'Hello', other),
    await sayInVain(house, id, 'Hello', other),
    await sayInVain(house, made.json.id),
  ]) {
    refused(t, refusal, 503, 'api_error');
    t.match(refusal.headers.get('retry-after'), /^[1-9]\d*$/, 'what is no repeat is new work');
  }
  refused(t, await sayInVain(house, made.json.id, 'Bye', once), 422, 'invalid_request');
  t.equal((await transcriptOf(house, made.json.id)).length, 2);
  t.equal(
    (await house.ask(`/sessions/${id}/turns/${flowing.turnId}/abort`, { method: 'POST' })).json.status,
    'aborted',
  );
  t.equal((await joined.rest()).at(-1)!.event, 'turn.aborted');
  t.same(await ended, { code: 0, signal: null });
});

t.test('a connection that is kept open does not hold the end up', async (t) => {
  const house = await openHouse(t);
  const open = request(`${house.url}/healthz`, { headers: { connection: 'keep-alive' } }).end();
  const [response] = await once(open, 'response');
  response.resume();
  await once(response, 'end');
  const session = await house.session((await synthetic(house, 'tokens=1')).id);
  await (await say(house, session.id)).rest();
  t.same(await house.stop(), { code: 0, signal: null });
});

for (const edge of edges) {
  t.test(`${edge}: the streams of sessions are closed at once, and new ones are refused`, async (t) => {
    const house = await openHouse(t, {
      env: { PARLEY_STORE: 'lmdb:./data', PARLEY_EDGE: edge, PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' },
    });
    let upstream: ServerResponse | undefined;
    const { assistant } = await onProvider(t, house, (response) => answering((upstream = response), 'one'));
    const { id, stream } = await begin(house, assistant.id);
    const events = await house.stream(`/sessions/${id}/events?after=0`);
    t.equal((await events.next())!.event, 'message.created');
    t.equal((await events.next())!.event, 'turn.started');
    const ended = house.stop();
    t.same(await events.rest(), [], 'without an end of the session');
    const refusal = await house.ask(`/sessions/${id}/events`);
    refused(t, refusal, 503, 'api_error');
    t.match(refusal.headers.get('retry-after'), /^[1-9]\d*$/);
    upstream!.end(delta('', 'stop') + done);
    t.equal(textOf(await stream.rest()), 'one');
    await ended;
  });
}
