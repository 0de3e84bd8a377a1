/** `GET /sessions/{id}/events`: one sequence of events for each session (contract 23). */
import t, { type Test } from 'tap';
import { delta } from '../providers/model/provider.ts';
import { edge, openWorkspace, type Ask, type House, type Stream, type StreamEvent } from './house.ts';
import {
  abort,
  activeTurn,
  answered,
  answering,
  begin,
  end,
  onProvider,
  refused,
  say,
  sayInVain,
  synthetic,
  transcriptOf,
} from './talk.ts';

const eventsPath = (id: string, query = ''): string => `/sessions/${id}/events${query}`;
const follow = (house: House, id: string, query = '', ask: Ask = {}): Promise<Stream> =>
  house.stream(eventsPath(id, query), ask);

/** The next events of a stream. */
async function take(stream: Stream, count: number): Promise<StreamEvent[]> {
  const taken: StreamEvent[] = [];
  while (taken.length < count) {
    const event = await stream.next();
    if (event === undefined) throw new Error(`The stream ended after ${JSON.stringify(taken)}.`);
    taken.push(event);
  }
  return taken;
}

/** Each event in short: its number, its name, and what it is about. */
const short = (events: readonly StreamEvent[]): string[] =>
  events.map(({ id, event, data }) => `${id} ${event} ${data.role ?? data.status ?? ''}`.trim());

/** An ended session whose events are all known. */
async function wholeOf(house: House, id: string): Promise<StreamEvent[]> {
  await end(house, id);
  return (await follow(house, id, '?after=0')).rest();
}

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a follower gets each event of a session in order, with the messages as the transcript has them', (t) =>
    live(t, house),
  );
  await t.test('a stream is resumed from any number, by header or parameter', (t) => resumed(t, house));
  await t.test('a cursor that cannot be is refused, and an ended session without events left is 204', (t) =>
    cursors(t, house),
  );
  await t.test('a turn without output that is aborted has its four events', (t) => aborted(t, house));
  await t.test('a turn that is cut ends with its stored output and its status', (t) => cut(t, house));
  await t.test('a turn that is withdrawn leaves no number', (t) => withdrawn(t, house));
  await t.test('a session that expires ends its stream to the second', (t) => expired(t, house));
  await t.test('an erased session ends its stream', (t) => erased(t, house));
  await t.test('five streams of a session may be open, and a place is free once one is left', (t) => places(t, house));
  await t.test('a session of another key, of another workspace or unknown is refused', (t) => strangers(t, house));
  await t.test('a visitor follows their own session, and no other', (t) => visitors(t, house));
  await t.test('a long message arrives whole at a client that reads slowly', (t) => long(t, house));
});

async function live(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=3', { greeting: 'Welcome' })).id);
  const all = await follow(house, id, '?after=0');
  t.equal(all.headers.get('content-type'), 'text/event-stream');
  t.equal(all.headers.get('cache-control'), 'no-store');
  t.equal(all.headers.get('x-accel-buffering'), 'no');
  const later = await follow(house, id);
  const first = await say(house, id, 'One');
  const reply = await first.rest();
  const events = await take(all, 5);
  t.same(short(events), [
    '1 message.created assistant',
    '2 message.created user',
    '3 turn.started',
    '4 message.created assistant',
    '5 turn.ended completed',
  ]);
  t.same(events[2]!.data, { turn_id: first.turnId, message_id: reply[0]!.data.message_id });
  t.same(events[4]!.data, { turn_id: first.turnId, status: 'completed' });
  t.same(
    [events[0], events[1], events[3]].map((event) => event!.data),
    await transcriptOf(house, id),
  );
  t.same(short(await take(later, 1)), ['2 message.created user'], 'a follower without a cursor begins now');
  await (await say(house, id, 'Two')).rest();
  await end(house, id);
  t.same(short(await all.rest()), [
    '6 message.created user',
    '7 turn.started',
    '8 message.created assistant',
    '9 turn.ended completed',
    '10 session.ended ended',
  ]);
  t.equal((await later.rest()).length, 8);
}

async function resumed(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1', { greeting: 'Welcome' })).id);
  for (let turn = 0; turn < 12; turn++) await (await say(house, id, `Message ${turn}`)).rest();
  const whole = await wholeOf(house, id);
  t.equal(whole.length, 50);
  t.same(
    whole.map(({ id }) => Number(id)),
    whole.map((_, index) => index + 1),
    'without a gap',
  );
  for (let after = 0; after < whole.length; after++)
    t.same(await (await follow(house, id, `?after=${after}`)).rest(), whole.slice(after), `after ${after}`);
  const headers = { 'last-event-id': '40' };
  t.same(await (await follow(house, id, '', { headers })).rest(), whole.slice(40));
  t.same(await (await follow(house, id, '?after=47', { headers })).rest(), whole.slice(47), '?after= wins');
}

async function cursors(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1', { greeting: 'Welcome' })).id);
  const ask = (query: string, headers: Record<string, string> = {}) => house.ask(eventsPath(id, query), { headers });
  const beyond = await ask('?after=2');
  refused(t, beyond, 422, 'invalid_request');
  t.match(beyond.json.error.message, /`after`/);
  refused(t, await ask('', { 'last-event-id': '2' }), 400, 'invalid_request');
  refused(t, await ask('', { 'last-event-id': 'x' }), 400, 'invalid_request');
  for (const after of ['x', '-1', '1.5', '']) refused(t, await ask(`?after=${after}`), 422, 'invalid_request');
  await end(house, id);
  t.same(short(await (await follow(house, id, '?after=1')).rest()), ['2 session.ended ended']);
  for (const query of ['?after=2', ''])
    t.match(await ask(query), { status: 204, text: '' }, `asked ${query || 'from now on'}`);
  t.equal((await ask('', { 'last-event-id': '2' })).status, 204);
  refused(t, await ask('?after=3'), 422, 'invalid_request');
}

async function aborted(t: Test, house: House): Promise<void> {
  const { assistant } = await onProvider(t, house, () => {});
  const { id } = await house.session(assistant.id);
  const stream = await follow(house, id);
  const saying = say(house, id);
  await abort(house, id, await activeTurn(house, id));
  await (await saying).rest();
  t.same(short(await take(stream, 4)), [
    '1 message.created user',
    '2 turn.started',
    '3 message.created assistant',
    '4 turn.ended aborted',
  ]);
  stream.leave();
}

async function cut(t: Test, house: House): Promise<void> {
  const { assistant } = await onProvider(t, house, (response) => answering(response, 'Half a re'));
  const { id, stream: reply } = await begin(house, assistant.id);
  const stream = await follow(house, id, '?after=0');
  t.same(short(await take(stream, 2)), ['1 message.created user', '2 turn.started'], 'while the turn streams');
  const late = await follow(house, id);
  await abort(house, id, reply.turnId);
  await reply.rest();
  const events = await take(stream, 2);
  t.same(short(events), ['3 message.created assistant', '4 turn.ended aborted']);
  t.match(events[0]!.data, { content: 'Half a re', status: 'partial', stop_reason: 'aborted' });
  t.same(short(await take(late, 1)), ['3 message.created assistant'], 'from now on, within a turn');
  const second = await say(house, id);
  t.same(short(await take(stream, 2)), ['5 message.created user', '6 turn.started']);
  await end(house, id);
  await second.rest();
  t.same(short(await stream.rest()), ['7 message.created assistant', '8 turn.ended aborted', '9 session.ended ended']);
  late.leave();
}

async function withdrawn(t: Test, house: House): Promise<void> {
  let isBroken = true;
  const { assistant } = await onProvider(t, house, (response) => {
    if (isBroken) response.writeHead(500).end('{}');
    else answered(response, ['Fine']);
  });
  const { id } = await house.session(assistant.id);
  const stream = await follow(house, id);
  for (let count = 0; count < 3; count++) t.equal((await sayInVain(house, id)).status, 503);
  isBroken = false;
  await (await say(house, id, 'Again')).rest();
  t.same(short(await take(stream, 4)), [
    '1 message.created user',
    '2 turn.started',
    '3 message.created assistant',
    '4 turn.ended completed',
  ]);
  stream.leave();
}

async function expired(t: Test, house: House): Promise<void> {
  const fields = { model: { provider: 'synthetic', name: 'tokens=1' }, max_call_seconds: 2 };
  const { id } = await house.session((await house.assistant(fields)).id);
  const stream = await follow(house, id);
  t.same(short(await stream.rest()), ['1 session.ended expired']);
  t.equal((await house.ask(eventsPath(id))).status, 204);
  const later = await house.session((await house.assistant(fields)).id);
  const { expires_at: expiresAt } = later;
  while (Date.now() < expiresAt * 1000) await new Promise((resolve) => setTimeout(resolve, 50));
  t.same(short(await (await follow(house, later.id, '?after=0')).rest()), ['1 session.ended expired'], 'unnoticed');
}

async function erased(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1', { greeting: 'Welcome' })).id);
  const stream = await follow(house, id, '?after=0');
  t.same(short(await take(stream, 1)), ['1 message.created assistant']);
  const path = `/workspaces/${house.workspaceId}/sessions/${id}`;
  t.equal((await house.console(path, { method: 'DELETE' })).status, 200);
  const rest = short(await stream.rest());
  t.ok(rest.length === 0 || rest.join() === '2 session.ended ended', `an erasure ends a session first: ${rest.join()}`);
  refused(t, await house.ask(eventsPath(id)), 404, 'session_not_found');
}

async function places(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
  const open: Stream[] = [];
  for (let count = 0; count < 5; count++) open.push(await follow(house, id));
  const answer = await house.ask(eventsPath(id));
  refused(t, answer, 429, 'rate_limited');
  t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/);
  const other = await house.session((await synthetic(house, 'tokens=1')).id);
  open.push(await follow(house, other.id));
  open[0]!.leave();
  for (let status = 429; status === 429;) {
    const asked = await house.ask(eventsPath(id, '?after=1'));
    ({ status } = asked);
    if (status !== 429) refused(t, asked, 422, 'invalid_request');
  }
  open.push(await follow(house, id));
  for (const stream of open) stream.leave();
}

async function strangers(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=1');
  const { id } = await house.session(assistant.id);
  refused(t, await house.ask(eventsPath('ses_unknown')), 404, 'session_not_found');
  const other = await openWorkspace();
  refused(t, await other.ask(eventsPath(id)), 404, 'session_not_found');
  const { key } = await house.newKey({ assistant_ids: [] });
  refused(t, await house.ask(eventsPath(id), { key }), 403, 'assistant_not_permitted');
  refused(t, await house.ask(eventsPath(id), { key: null }), 401, 'missing_api_key');
  const stream = await house.stream(`/console/api/workspaces/${house.workspaceId}/sessions/${id}/events`, {
    key: house.operatorToken,
  });
  await (await say(house, id)).rest();
  t.equal((await take(stream, 4)).length, 4, 'the console sees it');
  stream.leave();
}

async function long(t: Test, house: House): Promise<void> {
  const text = '👋"\n'.repeat(30_000);
  const { assistant } = await onProvider(t, house, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let at = 0; at < text.length; at += 4000) response.write(delta(text.slice(at, at + 4000)));
    response.write(delta('', 'stop'));
    response.end('data: [DONE]\n\n');
  });
  const { id, stream } = await begin(house, assistant.id);
  await stream.rest();
  const events = await wholeOf(house, id);
  t.equal(events[2]!.data.content, text);
  t.equal(events.length, 5);
}

async function visitors(t: Test, house: House): Promise<void> {
  const slug = `stream-${edge}`;
  const channels = { voice: false, link: true, widget: false };
  const fields = { channels, link: { slug, limits: {}, origins: [] }, greeting: 'Welcome' };
  await synthetic(house, 'tokens=1', fields);
  const visit = async () =>
    (await house.ask(`/p/${slug}/visitors`, { key: null, body: { channel: 'link' } })).json.token as string;
  const [own, other] = [await visit(), await visit()];
  const at = `/p/${slug}/sessions`;
  const { id } = (await house.ask(at, { key: own, body: {} })).json;
  const stream = await house.stream(`${at}/${id}/events?after=0`, { key: own });
  t.equal(stream.headers.get('x-ratelimit-limit'), null);
  await (await house.stream(`${at}/${id}/chat`, { key: own, body: { message: 'Hello' } })).rest();
  t.equal(short(await take(stream, 5)).at(-1), '5 turn.ended completed');
  refused(t, await house.ask(`${at}/${id}/events`, { key: other }), 404, 'session_not_found');
  refused(t, await house.ask(`${at}/${id}/events`, { key: null }), 401, 'invalid_token');
  stream.leave();
}
