/** `POST /sessions/{id}/chat` and the transcript that it writes (contract 6 and 7). */
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { delta, done } from '../providers/model/provider.ts';
import { edge, openWorkspace, textOf, type House } from './house.ts';
import {
  abort,
  answered,
  answering,
  begin,
  chatPath,
  end,
  onProvider,
  refused,
  say,
  sayInVain,
  sessionOf,
  synthetic,
  transcriptOf,
} from './talk.ts';

const points = (text: string): number => [...text].length;

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a stream has one beginning, deltas that count code points, and one end', (t) => streams(t, house));
  await t.test('the transcript has what was said', (t) => transcripts(t, house));
  await t.test('a message may have 8000 characters of any kind', (t) => longest(t, house));
  await t.test('an 11th turn is refused, a second one on a session conflicts', (t) => crowded(t, house));
});

t.test('with a provider of the test', async (t) => {
  const house = await openWorkspace();
  await t.test('the conversation reaches the model in order, the system prompt first', (t) => history(t, house));
  await t.test('a turn in flight runs on when its assistant is disabled, unpublished or its key revoked', (t) =>
    runsOn(t, house),
  );
  await t.test('what an assistant or a session in the wrong state answers', (t) => wrongState(t, house));
});

async function streams(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=48,unicode=1,delay_ms=20');
  const session = await house.session(assistant.id);
  const stream = await say(house, session.id);
  t.equal(stream.headers.get('content-type'), 'text/event-stream');
  t.equal(stream.headers.get('cache-control'), 'no-store');
  t.equal(stream.headers.get('x-accel-buffering'), 'no');
  t.match(stream.turnId, /^turn_[0-9a-z]{26}$/);
  for (const name of ['limit', 'remaining', 'reset'])
    t.match(stream.headers.get(`x-ratelimit-${name}`), /^\d+$/, `X-RateLimit-${name}`);
  t.equal(stream.headers.get('idempotent-replayed'), null);

  const events = await stream.rest();
  t.same([...new Set(events.map(({ event }) => event))], ['turn.started', 'message.delta', 'turn.completed']);
  t.equal(events.filter(({ event }) => event !== 'message.delta').length, 2, 'one beginning, one end');
  t.ok(events.length > 3, 'in more than one piece');
  const [started, ...rest] = events;
  const completed = rest.pop()!;
  t.same(started!.data, { turn_id: stream.turnId, message_id: started!.data.message_id });
  t.equal(started!.id, '0');
  let length = 0;
  for (const { id, data } of rest) {
    t.same(Object.keys(data), ['text']);
    t.ok(data.text.isWellFormed() && data.text !== '', 'no character is split');
    t.equal(id, String((length += points(data.text))));
  }
  t.equal(completed.id, String(length));
  t.match(completed.data, {
    turn_id: stream.turnId,
    message_id: started!.data.message_id,
    stop_reason: 'end',
    usage: { output_tokens: 48 },
  });
  t.ok(completed.data.usage.input_tokens > 0);
  t.ok(textOf(events).includes('😀') && textOf(events).includes('שלום'));
  t.equal((await transcriptOf(house, session.id))[1].content, textOf(events));
  t.equal((await sessionOf(house, session.id)).active_turn_id, null);
}

async function transcripts(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=3,text=yes', { greeting: 'Good day 👋' });
  const session = await house.session(assistant.id);
  const greeting = {
    role: 'assistant',
    content: 'Good day 👋',
    status: 'completed',
    stop_reason: null,
    error_code: null,
    turn_id: null,
  };
  t.match(await transcriptOf(house, session.id), [greeting]);
  const first = await say(house, session.id, ' one  two ');
  const events = await first.rest();
  const second = await say(house, session.id, 'again');
  await second.rest();

  const messages = await transcriptOf(house, session.id);
  t.match(messages, [
    greeting,
    {
      object: 'message',
      role: 'user',
      content: ' one  two ',
      status: 'completed',
      turn_id: first.turnId,
      error_code: null,
    },
    {
      object: 'message',
      role: 'assistant',
      content: 'yes yes yes ',
      status: 'completed',
      stop_reason: 'end',
      turn_id: first.turnId,
      id: events[0]!.data.message_id,
    },
    { role: 'user', content: 'again', turn_id: second.turnId },
    { role: 'assistant', content: 'yes yes yes ', turn_id: second.turnId },
  ]);
  t.equal(new Set(messages.map(({ id }) => id)).size, 5);
  const newest = (await house.ask(`/sessions/${session.id}/transcript?order=desc&limit=2`)).json;
  t.same(newest.data, [messages[4], messages[3]]);
  t.equal(newest.has_more, true);
  const next = (await house.ask(`/sessions/${session.id}/transcript?order=desc&limit=3&after=${newest.next_cursor}`))
    .json;
  t.same([next.data, next.has_more, next.next_cursor], [[messages[2], messages[1], messages[0]], false, null]);
}

async function longest(t: Test, house: House): Promise<void> {
  const session = await house.session((await synthetic(house, 'tokens=1')).id);
  const message = '🧑'.repeat(8000);
  t.equal((await (await say(house, session.id, message)).rest()).at(-1)!.event, 'turn.completed');
  t.equal((await transcriptOf(house, session.id))[0].content, message);
  const tooLong = await sayInVain(house, session.id, `${message}x`);
  refused(t, tooLong, 422, 'message_too_long');
  t.equal((await transcriptOf(house, session.id)).length, 2, 'nothing of it is kept');
  for (const wrong of [{ message: '' }, { message: '\ud83d' }, { message: 7 }, { message: null }, {}]) {
    const answer = await house.ask(chatPath(session.id), { body: wrong });
    refused(t, answer, 422, 'invalid_request');
    t.match(answer.json.error.message, /`message`/, 'the field is named');
  }
}

async function crowded(t: Test, house: House): Promise<void> {
  const hanging = await synthetic(house, 'tokens=9,hang_at=1');
  const { key } = await house.newKey({ limits: { requests: 1000 } });
  const running = await Promise.all(Array.from({ length: 10 }, () => begin(house, hanging.id)));
  t.equal(new Set(running.map(({ stream }) => stream.turnId)).size, 10);

  const spare = await house.session(hanging.id);
  const before = await house.ask(`/sessions/${spare.id}`, { key });
  const answer = await sayInVain(house, spare.id, 'Hello', { key });
  refused(t, answer, 429, 'rate_limited');
  t.equal(answer.headers.get('retry-after'), '1');
  t.equal(answer.json.error.message, 'Rate limit exceeded. Retry in 1 seconds.');
  t.equal(answer.headers.get('x-ratelimit-limit'), '1000', "the request bucket's headers");
  const remaining = (of: typeof answer): number => Number(of.headers.get('x-ratelimit-remaining'));
  t.ok(remaining(answer) >= remaining(before) - 1, 'it costs what every request costs');
  t.ok(remaining(await house.ask(`/sessions/${spare.id}`, { key })) >= remaining(before) - 2, 'and no debt follows');
  t.equal((await transcriptOf(house, spare.id)).length, 0);
  t.equal((await sessionOf(house, spare.id)).active_turn_id, null);

  refused(t, await sayInVain(house, running[0]!.id), 409, 'turn_in_progress');
  const [first, ...others] = running;
  t.equal((await abort(house, first!.id, first!.stream.turnId)).json.status, 'aborted');
  const eleventh = await say(house, spare.id);
  t.equal((await eleventh.next())!.event, 'turn.started', 'the slot is free again');
  await Promise.all(
    [...others, { id: spare.id, stream: eleventh }].map(({ id, stream }) => abort(house, id, stream.turnId)),
  );
  for (const { stream } of others) t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted');

  const racing = await house.session((await synthetic(house, 'tokens=3,hang_at=1')).id);
  const raced = await Promise.allSettled(Array.from({ length: 6 }, () => say(house, racing.id)));
  t.equal(raced.filter(({ status }) => status === 'fulfilled').length, 1, 'of messages sent at once one is taken');
  t.equal(
    raced.filter((one) => one.status === 'rejected' && /got 409.*turn_in_progress/.test(String(one.reason))).length,
    5,
  );
  t.equal((await transcriptOf(house, racing.id)).length, 2);
  await end(house, racing.id);
}

async function history(t: Test, house: House): Promise<void> {
  const { assistant, provider } = await onProvider(
    t,
    house,
    (response) => answered(response, ['Fi', 'ne.'], { prompt_tokens: 12, completion_tokens: 34 }),
    {
      greeting: 'Welcome!',
      model: { system_prompt: 'Be brief.', temperature: 0.5, output_tokens_max: 77 },
    },
  );
  const session = await house.session(assistant.id);
  const events = await (await say(house, session.id, 'How are you?')).rest();
  t.same(events.at(-1)!.data.usage, { input_tokens: 12, output_tokens: 34, cached_input_tokens: 0 });
  await (await say(house, session.id, 'And now?')).rest();
  const first = [
    { role: 'system', content: 'Be brief.' },
    { role: 'assistant', content: 'Welcome!' },
    { role: 'user', content: 'How are you?' },
  ];
  t.same(
    provider.requests.map(({ body }) => body.messages),
    [first, [...first, { role: 'assistant', content: 'Fine.' }, { role: 'user', content: 'And now?' }]],
  );
  t.match(provider.requests[0]!.body, { model: 'canary-model', temperature: 0.5, max_tokens: 77, stream: true });
  t.equal(provider.requests[0]!.headers.authorization, 'Bearer canary-secret');
}

async function runsOn(t: Test, house: House): Promise<void> {
  let response: ServerResponse | undefined;
  const { assistant } = await onProvider(t, house, (given) => answering((response = given), 'So '));
  const path = `/workspaces/${house.workspaceId}`;
  const made = await house.newKey();
  const changes: [string, string][] = [
    [`${path}/assistants/${assistant.id}/disable`, `${path}/assistants/${assistant.id}/enable`],
    [`${path}/assistants/${assistant.id}/unpublish`, `${path}/assistants/${assistant.id}/publish`],
    [`${path}/keys/${made.id}/revoke`, ''],
  ];
  for (const [change, back] of changes) {
    const { id, stream } = await begin(house, assistant.id, { key: made.key });
    t.equal((await stream.next())!.event, 'turn.started');
    t.equal((await stream.next())!.data.text, 'So ');
    t.equal((await house.console(change, { method: 'POST' })).status, 200);
    response!.write(delta('it goes.', 'stop'));
    response!.end(done);
    const rest = await stream.rest();
    t.equal(textOf(rest), 'it goes.', change);
    t.equal(rest.at(-1)!.event, 'turn.completed');
    t.equal((await transcriptOf(house, id))[1].content, 'So it goes.');
    if (back !== '') await house.console(back, { method: 'POST' });
  }
}

async function wrongState(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=1');
  const { id } = await house.session(assistant.id);
  const move = (verb: string) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/${verb}`, { method: 'POST' });
  await move('disable');
  refused(t, await sayInVain(house, id), 409, 'assistant_disabled');
  await move('enable');
  await move('unpublish');
  refused(t, await sayInVain(house, id), 409, 'assistant_not_published');
  await house.ask(`/sessions/${id}/end`, { method: 'POST' });
  refused(t, await sayInVain(house, id), 409, 'session_ended');
  const { key } = await house.newKey({ assistant_ids: [] });
  refused(t, await sayInVain(house, id, 'Hello', { key }), 403, 'assistant_not_permitted');
  refused(t, await sayInVain(house, 'ses_00000000000000000000000000'), 404, 'session_not_found');
}
