/** The attendance of a session (contract 23): people ask for a person, take, answer, return and release. */
import t, { type Test } from 'tap';
import { data, delta, done, eventStream } from '../providers/model/provider.ts';
import { edge, openWorkspace, type Answer, type House, type Stream } from './house.ts';
import {
  activeTurn,
  answered,
  assistantPath,
  begin,
  end,
  onProvider,
  operate,
  refused,
  say,
  sayInVain,
  sessionOf,
  synthetic,
  transcriptOf,
} from './talk.ts';

const texts = {
  waiting: 'Please wait, {{visitor.name|friend}}.',
  joined: '{{person.name}} joined.',
  left: '{{person.name}} left.',
  nobody: 'Nobody is free.',
};
const desk = { enabled: true, texts };

const inDesk = (house: House, id: string, verb: string, ask: object = {}): Promise<Answer> =>
  house.console(`/workspaces/${house.workspaceId}/sessions/${id}/${verb}`, { method: 'POST', ...ask });
const take = (house: House, id: string): Promise<Answer> => inDesk(house, id, 'take');
const askFor = (house: House, id: string, body?: object): Promise<Answer> =>
  house.ask(`/sessions/${id}/ask`, { method: 'POST', ...(body && { body }) });
const short = (events: readonly any[]): string[] =>
  events.map(({ id, event, data }) =>
    `${id} ${event} ${data.role ?? data.status ?? data.attendance?.state ?? ''}`.trim(),
  );
const rolesOf = (messages: readonly any[]): string[] => messages.map(({ role, content }) => `${role}: ${content}`);
const wholeOf = async (house: House, id: string): Promise<any[]> =>
  (await house.stream(`/sessions/${id}/events?after=0`)).rest();

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('the settings of the desk are kept, and wrong ones are refused by name', (t) => settings(t, house));
  await t.test('a conversation goes from the assistant to a person and back', (t) => conversation(t, house));
  await t.test('a take silences a reply in the middle', (t) => silences(t, house));
  await t.test('a take before the first output seals an empty reply', (t) => takesEarly(t, house));
  await t.test('a message for a person is accepted once under its key', (t) => acceptsOnce(t, house));
  await t.test('operations of anybody else, or on sessions that have ended, are refused', (t) => refusals(t, house));
  await t.test('nobody comes: the assistant answers again', (t) => lapses(t, house));
  await t.test('the model is sent what both said', (t) => sentToModel(t, house));
  await t.test('the model asks for a person with a function of its own', (t) => asksItself(t, house));
  await t.test('a visitor who waits in silence is accepted for a person', (t) => waitsInSilence(t, house));
  await t.test('messages are accepted though the assistant is disabled', (t) => acceptsWithoutAssistant(t, house));
  await t.test('no call begins while a person has the session', (t) => refusesCalls(t, house));
  await t.test('a session of an OpenAI client is never at the desk', (t) => leavesOthers(t, house));
});

async function settings(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=1');
  const path = assistantPath(house, id);
  t.same((await house.console(path)).json.desk, {
    enabled: false,
    wait_seconds: 120,
    while_waiting: 'assistant',
    texts: { waiting: null, joined: null, left: null, nobody: null },
  });
  const patch = (body: object): Promise<Answer> => house.console(path, { method: 'PATCH', body: { desk: body } });
  const patched = await patch({
    enabled: true,
    wait_seconds: 10,
    while_waiting: 'silent',
    texts: { joined: texts.joined },
  });
  t.equal(patched.status, 200);
  t.match(patched.json.desk, {
    enabled: true,
    wait_seconds: 10,
    while_waiting: 'silent',
    texts: { joined: texts.joined },
  });
  t.equal(patched.json.draft.changed, false, 'the desk is not versioned');
  for (const [body, field] of [
    [{ wait_seconds: 9 }, 'desk.wait_seconds'],
    [{ wait_seconds: 3601 }, 'desk.wait_seconds'],
    [{ while_waiting: 'nobody' }, 'desk.while_waiting'],
    [{ enabled: 'yes' }, 'desk.enabled'],
    [{ texts: { joined: '{{nobody}}' } }, 'desk.texts.joined'],
    [{ texts: { waiting: '{{visitor.name}}' } }, 'desk.texts.waiting'],
    [{ texts: { left: 'x'.repeat(501) } }, 'desk.texts.left'],
  ] as const) {
    const answer = await patch(body);
    refused(t, answer, 422, 'invalid_request');
    t.match(answer.json.error.message, `\`${field}\``);
  }
}

async function conversation(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2', { desk });
  const { id } = await house.session(assistant.id);
  await (await say(house, id, 'One')).rest();
  t.match((await sessionOf(house, id)).attendance, { state: 'assistant', person: null });
  const asked = await askFor(house, id, { reason: 'a refund' });
  t.equal(asked.status, 200);
  t.match(asked.json.attendance, { state: 'waiting', person: null });
  t.equal((await askFor(house, id)).status, 200, 'asked again');
  const list = await operate(house, 'GET', `/workspaces/${house.workspaceId}/desk`);
  t.match(list.data, [{ id, attendance: { state: 'waiting' }, reason: 'a refund', last_message: { role: 'notice' } }]);
  const taken = await take(house, id);
  t.equal(taken.status, 200);
  t.match(taken.json.attendance, { state: 'person', person: { name: 'operator' } });
  t.equal((await take(house, id)).status, 200, 'taken again by the same person');
  const chat = await say(house, id, 'Two');
  t.equal(chat.status, 200);
  t.equal(chat.headers.get('x-turn-id'), null);
  const events = await chat.rest();
  t.same(
    events.map(({ event }) => event),
    ['message.accepted'],
  );
  const said = await inDesk(house, id, 'messages', { body: { text: 'Hello, this is Ann.' } });
  t.equal(said.status, 201);
  t.match(said.json, { role: 'person', content: 'Hello, this is Ann.', by: { name: 'operator' }, turn_id: null });
  t.equal((await inDesk(house, id, 'return')).status, 200);
  await (await say(house, id, 'Three')).rest();
  const transcript = await transcriptOf(house, id);
  t.same(
    rolesOf(transcript).filter((text) => !text.startsWith('assistant')),
    [
      'user: One',
      'notice: Please wait, friend.',
      'notice: operator joined.',
      'user: Two',
      'person: Hello, this is Ann.',
      'notice: operator left.',
      'user: Three',
    ],
  );
  t.equal(transcript[4].id, events[0]!.data.message_id);
  await end(house, id);
  t.same(short(await wholeOf(house, id)), [
    '1 message.created user',
    '2 turn.started',
    '3 message.created assistant',
    '4 turn.ended completed',
    '5 attendance.changed waiting',
    '6 message.created notice',
    '7 attendance.changed person',
    '8 message.created notice',
    '9 message.created user',
    '10 message.created person',
    '11 attendance.changed assistant',
    '12 message.created notice',
    '13 message.created user',
    '14 turn.started',
    '15 message.created assistant',
    '16 turn.ended completed',
    '17 session.ended ended',
  ]);
  const usage = await house.ask(`/usage?assistant_id=${assistant.id}`);
  t.match(usage.json.totals, { handovers: 1, person_messages: 1, turns: 2 });
  const audit = await operate(house, 'GET', `/audit?object_id=${id}&order=asc`);
  t.same(
    audit.data.map(({ action, changes }: any) => [action, changes]),
    [
      ['take', [{ path: 'attendance', before: 'waiting', after: 'person' }]],
      ['message', []],
      ['return', [{ path: 'attendance', before: 'person', after: 'assistant' }]],
    ],
  );
}

async function silences(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2000,delay_ms=5', { desk });
  const { id, stream } = await begin(house, assistant.id);
  await activeTurn(house, id);
  for (let event = await stream.next(); event?.event !== 'message.delta';) event = await stream.next();
  const taken = await take(house, id);
  t.equal(taken.status, 200);
  const rest = await stream.rest();
  t.match(rest.at(-1), { event: 'turn.aborted', data: { stop_reason: 'taken' } });
  const [, reply, note] = await transcriptOf(house, id);
  t.match(reply, { role: 'assistant', status: 'partial', stop_reason: 'taken' });
  t.match(note, { role: 'notice', content: 'operator joined.' });
  await end(house, id);
  t.same(short(await wholeOf(house, id)), [
    '1 message.created user',
    '2 turn.started',
    '3 message.created assistant',
    '4 turn.ended aborted',
    '5 attendance.changed person',
    '6 message.created notice',
    '7 attendance.changed assistant',
    '8 session.ended ended',
  ]);
}

async function takesEarly(t: Test, house: House): Promise<void> {
  const { assistant } = await onProvider(t, house, () => {});
  const { id } = await house.session(assistant.id);
  const chat = say(house, id);
  const turnId = await activeTurn(house, id);
  t.equal((await take(house, id)).status, 200);
  const stream = await chat;
  t.equal(stream.status, 200);
  t.match(await stream.rest(), [
    { event: 'turn.started', data: { turn_id: turnId } },
    { event: 'turn.aborted', data: { stop_reason: 'taken' } },
  ]);
}

async function acceptsOnce(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
  await take(house, id);
  const headers = { 'idempotency-key': 'one' };
  const send = async (): Promise<[Stream, any[]]> => {
    const stream = await say(house, id, 'Hi', { headers });
    return [stream, await stream.rest()];
  };
  const [, first] = await send();
  const [again, second] = await send();
  t.same(second, first);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  await inDesk(house, id, 'return');
  t.same((await send())[1], first, 'also once the assistant answers again');
  refused(t, await sayInVain(house, id, 'Other', { headers }), 422, 'invalid_request');
  const message = (): Promise<Answer> => inDesk(house, id, 'messages', { body: { text: 'Yes' }, headers });
  await take(house, id);
  t.equal((await message()).json.id, (await message()).json.id);
  t.equal((await transcriptOf(house, id)).filter(({ role }) => role === 'person').length, 1);
}

async function refusals(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
  refused(t, await askFor(house, id), 404, 'route_not_found');
  for (const verb of ['return', 'release']) refused(t, await inDesk(house, id, verb), 409, 'session_taken');
  refused(t, await inDesk(house, id, 'messages', { body: { text: 'Hi' } }), 409, 'session_taken');
  await take(house, id);
  const results = { tool_results: [{ call_id: 'call_x', output: 'x' }] };
  const answer = await house.ask(`/sessions/${id}/chat`, { body: results });
  refused(t, answer, 422, 'invalid_request');
  t.match(answer.json.error.message, '`tool_results`');
  t.equal((await inDesk(house, id, 'release')).json.attendance.state, 'waiting');
  await end(house, id);
  for (const verb of ['take', 'return', 'release']) refused(t, await inDesk(house, id, verb), 409, 'session_ended');
  t.match((await sessionOf(house, id)).attendance, { state: 'assistant', person: null });
}

async function lapses(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1', { desk: { ...desk, wait_seconds: 10 } })).id);
  const events = await house.stream(`/sessions/${id}/events`);
  await askFor(house, id);
  t.match(await events.next(), { event: 'attendance.changed', data: { attendance: { state: 'waiting' } } });
  await events.next();
  t.match(await events.next(), { event: 'attendance.changed', data: { attendance: { state: 'assistant' } } });
  t.match(await events.next(), { data: { role: 'notice', content: 'Nobody is free.' } });
}

async function sentToModel(t: Test, house: House): Promise<void> {
  const bodies: any[] = [];
  const { assistant } = await onProvider(t, house, (response, request: any) => {
    bodies.push(request.body);
    answered(response, ['Yes.']);
  });
  const { id } = await house.session(assistant.id);
  await (await say(house, id, 'One')).rest();
  await take(house, id);
  await (await say(house, id, 'Two')).rest();
  await inDesk(house, id, 'messages', { body: { text: 'Three' } });
  await inDesk(house, id, 'return');
  await (await say(house, id, 'Four')).rest();
  t.same(
    bodies.at(-1).messages.map(({ role, content }: any) => `${role}: ${content}`),
    [
      'user: One',
      'assistant: Yes.',
      'user: (operator joined the conversation.)\n\nTwo',
      'assistant: [operator] Three',
      'user: (operator left the conversation.)\n\nFour',
    ],
  );
}

async function asksItself(t: Test, house: House): Promise<void> {
  const offered: string[][] = [];
  const { assistant } = await onProvider(
    t,
    house,
    (response, request: any) => {
      const { messages, tools = [] } = request.body;
      offered.push(tools.map(({ function: { name } }: any) => name));
      if (messages.some(({ role }: any) => role === 'tool')) return answered(response, ['I have asked.']);
      const call = { name: 'ask_for_person', arguments: '{"reason":"a refund"}' };
      response.writeHead(200, eventStream);
      response.write(data({ choices: [{ delta: { tool_calls: [{ index: 0, id: 'a', function: call }] } }] }));
      response.end(delta('', 'tool_calls') + done);
    },
    { desk },
  );
  const { id, stream } = await begin(house, assistant.id);
  const events = await stream.rest();
  t.equal(events.at(-1)!.event, 'turn.completed');
  t.same(offered, [['ask_for_person'], ['ask_for_person']]);
  t.match((await sessionOf(house, id)).attendance, { state: 'waiting' });
  const list = await operate(house, 'GET', `/workspaces/${house.workspaceId}/desk`);
  t.equal(list.data.find((session: any) => session.id === id).reason, 'a refund');
  const transcript = await transcriptOf(house, id);
  t.same(rolesOf(transcript), ['user: Hello', 'assistant: I have asked.', 'notice: Please wait, friend.']);
  t.match(transcript[1].tool_calls, [{ name: 'ask_for_person', status: 'completed' }]);
  t.equal((await house.ask(`/usage?assistant_id=${assistant.id}`)).json.totals.tool_calls, 0);
  await house.console(assistantPath(house, assistant.id), { method: 'PATCH', body: { desk: { enabled: false } } });
  await (await say(house, id, 'Again')).rest();
  t.same(offered.at(-1), [], 'it is not offered while the desk is closed');
}

async function waitsInSilence(t: Test, house: House): Promise<void> {
  const silentDesk = { ...desk, while_waiting: 'silent' };
  const { id } = await house.session((await synthetic(house, 'tokens=1', { desk: silentDesk })).id);
  await askFor(house, id);
  t.match(await (await say(house, id)).rest(), [{ event: 'message.accepted' }]);
  await take(house, id);
  await inDesk(house, id, 'return');
  t.equal((await (await say(house, id)).rest()).at(-1)!.event, 'turn.completed');
}

async function acceptsWithoutAssistant(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=1');
  const { id } = await house.session(assistant.id);
  await take(house, id);
  await house.console(assistantPath(house, assistant.id, '/disable'), { method: 'POST' });
  t.match(await (await say(house, id)).rest(), [{ event: 'message.accepted' }]);
  await inDesk(house, id, 'return');
  refused(t, await sayInVain(house, id), 409, 'assistant_disabled');
}

async function refusesCalls(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant({ voice: { provider: 'synthetic' }, channels: { voice: true } });
  const { id } = await house.session(assistant.id);
  const mint = (): Promise<Answer> => house.ask('/call-tokens', { body: { session_id: id } });
  t.equal((await mint()).status, 201);
  await take(house, id);
  refused(t, await mint(), 409, 'session_taken');
  await inDesk(house, id, 'return');
  t.equal((await mint()).status, 201);
}

async function leavesOthers(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=1', { desk });
  const messages = [{ role: 'user', content: 'Hi' }];
  const answer = await house.ask('/v1/chat/completions', { body: { model: assistant.id, messages } });
  t.equal(answer.status, 200);
  const [session] = (await house.ask(`/sessions?assistant_id=${assistant.id}`)).json.data;
  refused(t, await askFor(house, session.id), 404, 'route_not_found');
  refused(t, await take(house, session.id), 404, 'route_not_found');
}
