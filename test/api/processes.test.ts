/** Three processes on one Redis (contract 5 and 6): whichever is asked, the answer is the same. */
import { on } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { clipOf, opened } from './caller.ts';
import { assistantWith, openTool, told } from '../faults/tool-house.ts';
import { openHouse, textOf, type Answer, type Ask, type House, type StreamEvent } from './house.ts';
import {
  abort,
  activeTurn,
  begin,
  chatPath,
  end,
  refused,
  say,
  sayInVain,
  sessionOf,
  synthetic,
  transcriptOf,
  turnPath,
  until,
} from './talk.ts';

const lacking = whyNoRedis();
const options = lacking === null ? {} : { skip: lacking };

type Houses = readonly [House, House, House];

async function openHouses(t: Test, redis: RedisServer): Promise<Houses> {
  const env = {
    PARLEY_STORE: redis.url,
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
    PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
  };
  return (await Promise.all([1, 2, 3].map(() => openHouse(t, { env })))) as unknown as Houses;
}

/** Properties of any three processes on one store. */
const sharing: Record<string, (t: Test, houses: Houses) => Promise<void>> = {
  'of those that start at once on an empty store one makes the first workspace': async (t, [one, two, three]) => {
    t.equal([one, two, three].filter((house) => / ak_/.test(house.stdout())).length, 1);
    t.equal((await two.console('/workspaces')).json.data.length, 1);
  },

  "a session's turns go on in any of them, and all list the same": async (t, [one, two, three]) => {
    const assistant = await synthetic(one, 'tokens=3');
    const { id } = await one.session(assistant.id);
    for (const house of [two, three, one, two]) {
      const events = await (await say(house, id)).rest();
      t.equal(events.at(-1)!.event, 'turn.completed');
    }
    const transcripts = await Promise.all([one, two, three].map((house) => transcriptOf(house, id)));
    t.equal(transcripts[0]!.length, 8);
    t.same(transcripts[1], transcripts[0]);
    t.same(transcripts[2], transcripts[0]);
    t.same((await three.ask('/sessions')).json.data, (await one.ask('/sessions')).json.data);
    t.same((await three.ask('/usage')).json.totals, (await one.ask('/usage')).json.totals);
  },

  'an alias that is given away in two of them at once is of one assistant': async (t, [one, two]) => {
    for (let round = 0; round < 10; round++) {
      const wanted = { alias: `desk.${round}` };
      const patched = await Promise.all(
        [one, two].map(async (house) =>
          house.console(`/workspaces/${house.workspaceId}/assistants/${(await house.assistant()).id}`, {
            method: 'PATCH',
            body: wanted,
          }),
        ),
      );
      t.same(
        patched.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 422],
      );
      t.match(patched.find(({ status }) => status === 422)!.json.error.message, /`alias`/);
      const made = await Promise.all(
        [one, two].map((house) =>
          house.console(`/workspaces/${house.workspaceId}/assistants`, {
            body: { name: 'New', alias: `new_${round}` },
          }),
        ),
      );
      t.same(
        made.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 422],
      );
    }
  },

  'a name that two of them give at once is of one credential': async (t, [one, two]) => {
    const list = `/workspaces/${one.workspaceId}/credentials`;
    const body = { kind: 'model', provider: 'openai', api_key: 'sk-name' };
    for (let round = 0; round < 10; round++) {
      const name = `key ${round}`;
      const [first, second] = await Promise.all([one, two].map((house) => house.console(list, { body })));
      const answers = await Promise.all([
        ...[one, two].map((house) => house.console(list, { body: { ...body, name } })),
        one.console(`${list}/${first!.json.id}`, { method: 'PATCH', body: { name } }),
        two.console(`${list}/${second!.json.id}`, { method: 'PATCH', body: { name } }),
      ]);
      const refusals = answers.filter(({ status }) => status === 422);
      t.equal(refusals.length, 3, JSON.stringify(answers.map(({ status }) => status)));
      for (const { json } of refusals) t.match(json.error.message, /`name`/);
    }
  },

  'calls that wait are answered in any of them, also where another turn waited when it looked last': async (
    t,
    [one, two, three],
  ) => {
    const made = await told(one, '/tools', { kind: 'client', name: 'Client', functions: [{ name: 'pick' }] });
    const { id: assistantId } = await assistantWith(one, 'call=pick,tokens=1', [made.id]);
    for (let round = 0; round < 5; round++) {
      const { id } = await one.session(assistantId);
      for (const house of [two, three, one]) await (await say(house, id)).rest();
      const [{ call_id: callId }] = (await one.ask(`/sessions/${id}`)).json.pending_tool_calls;
      const answered = await two.ask(chatPath(id), { body: { tool_results: [{ call_id: callId, output: 'picked' }] } });
      t.equal(answered.status, 200, answered.text);
    }
  },

  'the calls of a tool in a minute are counted together': async (t, [one, two, three]) => {
    const tool = await openTool(t);
    const callsPerMinute = 20;
    const made = await told(one, '/tools', {
      kind: 'http',
      name: 'Counter',
      url: tool.url,
      calls_per_minute: callsPerMinute,
      functions: [{ name: 'count' }],
    });
    const { id: assistantId } = await assistantWith(two, 'call=count,calls=6,tokens=1', [made.id]);
    const startedAt = performance.now();
    const sessions = await Promise.all(
      [one, two, three].flatMap((house) =>
        [1, 2, 3].map(async () => ({ house, id: (await house.session(assistantId)).id })),
      ),
    );
    await Promise.all(sessions.map(async ({ house, id }) => (await say(house, id)).rest()));
    const refilled = Math.ceil(((performance.now() - startedAt) / 60_000) * callsPerMinute);
    const calls = (
      await Promise.all(sessions.map(async ({ house, id }) => (await transcriptOf(house, id)).at(-1).tool_calls))
    ).flat();
    t.equal(calls.length, 54);
    const sent = calls.filter(({ status }: any) => status === 'completed').length;
    t.ok(
      sent >= callsPerMinute && sent <= callsPerMinute + refilled,
      `${sent} of ${callsPerMinute}, and ${refilled} at most since`,
    );
    t.equal(tool.reached.length, sent);
    t.equal(
      calls.filter(({ error }: any) => error === 'limit').length,
      54 - sent,
      'the others were over the limit, and were not sent',
    );
  },

  'who watches one of them sees the actors of all': async (t, [one, two]) => {
    const assistant = await synthetic(two, 'tokens=3');
    const { id } = await two.session(assistant.id);
    const socket = new WebSocket(`${one.url.replace('http', 'ws')}/console/api/inspect?kind=session&id=${id}`, {
      headers: { authorization: `Bearer ${one.operatorToken}` },
    });
    t.teardown(() => socket.terminate());
    const heard = on(socket, 'message');
    const next = async (): Promise<any> => JSON.parse(String((await heard.next()).value[0]));
    t.match(await next(), { type: 'actors', actors: { length: 0 } });
    const stream = await say(two, id);
    await stream.rest();
    const seen = [];
    do seen.push(await next());
    while (seen.at(-1).event !== 'finished');
    const events = seen.filter(({ type }) => type === 'event');
    const requestId = stream.headers.get('x-request-id');
    t.match(events, [
      { seq: 2, event: 'chat', request_id: requestId },
      { seq: 3, event: 'finished', request_id: requestId, by: { kind: 'key' } },
    ]);
    socket.send('{"type":"sync"}');
    let picture;
    do picture = await next();
    while (picture.type !== 'actors');
    t.match(picture.actors, [{ kind: 'session', id, state: 'open' }], 'it is awake in the other');
    const history = await one.console(`/workspaces/${one.workspaceId}/sessions/${id}/history?order=asc`);
    t.same(
      history.json.data.map(({ event }: { event: string }) => event),
      ['create', 'chat', 'finished'],
    );
  },

  'a turn is read, joined, refused and aborted from elsewhere': async (t, [one, two, three]) => {
    const assistant = await synthetic(one, 'tokens=100000,delay_ms=5,unicode=1');
    const { id } = await one.session(assistant.id);
    const ask = { headers: { 'idempotency-key': 'same' }, key: one.key };
    const stream = await say(one, id, 'Hello', ask);
    refused(t, await sayInVain(two, id), 409, 'turn_in_progress');
    const elsewhere = await two.stream(`${turnPath(id, stream.turnId)}/events`);
    const joined = await say(three, id, 'Hello', ask);
    t.equal(joined.turnId, stream.turnId);
    t.equal(joined.headers.get('idempotent-replayed'), 'true');
    const seen: StreamEvent[] = [];
    while (seen.length < 6) seen.push((await elsewhere.next())!);
    const cursor = seen.at(-1)!.id;
    const resumed = await three.stream(`${turnPath(id, stream.turnId)}/events?after=${cursor}`);
    const answer = await abort(two, id, stream.turnId);
    t.match(answer.json, { status: 'aborted', stop_reason: 'aborted' });
    const [first, second, third, fourth] = await Promise.all([
      stream.rest(),
      elsewhere.rest(),
      joined.rest(),
      resumed.rest(),
    ]);
    const [, { content }] = (await transcriptOf(three, id)) as [unknown, { content: string }];
    t.equal(textOf(first), content);
    t.equal(textOf(seen) + textOf(second), content);
    t.equal(textOf(third), content);
    t.equal(textOf(seen) + textOf(fourth), content);
    for (const events of [first, second, third, fourth])
      t.equal(events.filter(({ event }) => /^(turn\.(completed|aborted)|error)$/.test(event)).length, 1);
    t.equal((await say(three, id)).status, 200, 'the next turn is anywhere');
    await end(one, id);
  },

  'before its first output a turn is aborted from elsewhere, and a request that joined it there waited': async (
    t,
    [one, two, three],
  ) => {
    const assistant = await synthetic(one, 'tokens=3,first_ms=600000');
    const { id } = await one.session(assistant.id);
    const ask = { headers: { 'idempotency-key': 'silent' }, key: one.key };
    const waiting = say(one, id, 'Hello', ask);
    const turnId = await activeTurn(two, id);
    const joining = say(three, id, 'Hello', ask);
    t.equal((await abort(two, id, turnId)).json.status, 'aborted');
    t.match(
      (await (await waiting).rest()).map(({ event }) => event),
      ['turn.started', 'turn.aborted'],
    );
    t.match(
      (await (await joining).rest()).map(({ event }) => event),
      ['turn.started', 'turn.aborted'],
    );
  },

  'a session that is ended elsewhere is over everywhere, with its turn': async (t, [one, two, three]) => {
    const assistant = await synthetic(one, 'tokens=100000,delay_ms=5');
    const { id } = await one.session(assistant.id);
    const stream = await say(one, id);
    t.match((await end(two, id)).json, { status: 'ended', active_turn_id: null });
    t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted');
    for (const house of [one, two, three]) {
      t.equal((await sessionOf(house, id)).status, 'ended');
      refused(t, await sayInVain(house, id), 409, 'session_ended');
    }
  },

  'a chat elsewhere is read along by a call, and a turn of the call begins after it': async (t, [one, two]) => {
    const caller = await opened(one, { texts: 'hello_there', model: 'tokens=100000,delay_ms=50' });
    const { id } = caller.session;
    const chat = await say(two, id, 'Typed elsewhere');
    // The call does not know of it yet.
    caller.send({ type: 'message', text: 'Me too' });
    t.match(await caller.until('turn.failed'), { turn_id: null, code: 'turn_in_progress' });
    caller.say(await clipOf(one));
    const started = await caller.until('turn.started');
    t.match(started, { turn_id: chat.turnId, text: 'Typed elsewhere', spoken: false });
    await caller.until('transcript.final');
    await abort(two, id, chat.turnId);
    t.match(await caller.until('turn.aborted'), { turn_id: chat.turnId, cut_by: null });
    const text = caller.textOf(started.message_id);
    t.equal(text, textOf(await chat.rest()));
    const own = await caller.until('turn.started', ({ spoken }) => spoken);
    t.match(own, { text: 'hello there' }, 'what was said meanwhile, without the message that was refused');
    caller.send({ type: 'interrupt' });
    await until(() => caller.states().at(-1) === 'listening');
    t.match((await transcriptOf(two, id)).map(({ content }) => content).slice(0, 2), ['Typed elsewhere', text]);
    t.match(
      caller
        .states()
        .filter((state) => state !== 'hearing' && state !== 'listening')
        .slice(0, 3),
      ['thinking', 'busy', 'thinking'],
      'it listens between them, however soon a turn begins',
    );
    caller.send({ type: 'hangup' });
    await caller.closed;
  },

  'what the console changes holds everywhere': async (t, [one, two, three]) => {
    const [mine, other] = [await synthetic(one, 'tokens=1'), await synthetic(one, 'tokens=1')];
    const { key, id } = await one.newKey({ assistant_ids: [mine.id] });
    for (const house of [one, two, three]) {
      t.same(
        (await house.ask('/assistants', { key })).json.data.map((each: any) => each.id),
        [mine.id],
      );
      refused(t, await house.ask(`/assistants/${other.id}`, { key }), 403, 'assistant_not_permitted');
    }
    await two.console(`/workspaces/${one.workspaceId}/assistants/${mine.id}/disable`, { method: 'POST' });
    for (const house of [one, three])
      await until(async () => (await house.ask(`/assistants/${mine.id}`, { key })).json.status === 'disabled');
    await three.console(`/workspaces/${one.workspaceId}/keys/${id}/revoke`, { method: 'POST' });
    for (const house of [one, two])
      refused(
        t,
        await until(
          async () => (await house.ask('/assistants', { key })).status === 401 && house.ask('/assistants', { key }),
        ),
        401,
        'revoked_api_key',
      );
  },

  'a key that is restricted, let go and revoked is so everywhere within a second': async (t, houses) => {
    const [one] = houses;
    const [mine, other] = [await synthetic(one, 'tokens=1'), await synthetic(one, 'tokens=1')];
    const { key, id } = await one.newKey();
    const path = `/workspaces/${one.workspaceId}/keys/${id}`;
    const change = (house: House, ask: Ask, to = path) => house.console(to, ask).then(() => Date.now());
    const answersIn = (house: House) => house.ask(`/assistants/${mine.id}`, { key });
    for (const house of houses) t.equal((await answersIn(house)).status, 200, 'all know it');
    for (const [index, house] of houses.entries()) {
      const next = houses[(index + 1) % houses.length]!;
      const restrictedAt = await change(house, { method: 'PATCH', body: { assistant_ids: [other.id] } });
      for (const each of houses)
        refused(t, await sinceASecond(restrictedAt, () => answersIn(each), 403), 403, 'assistant_not_permitted');
      const freedAt = await change(next, { method: 'PATCH', body: { assistant_ids: null } });
      for (const each of houses) t.equal((await sinceASecond(freedAt, () => answersIn(each), 200)).status, 200);
    }
    const revokedAt = await change(houses[2], { method: 'POST' }, `${path}/revoke`);
    for (const each of houses)
      refused(t, await sinceASecond(revokedAt, () => answersIn(each), 401), 401, 'revoked_api_key');
  },

  'a budget is one for all': async (t, [one, two, three]) => {
    const { key } = await one.newKey({ limits: { requests: 60 } });
    const before = Date.now();
    const answers = await Promise.all(
      [one, two, three].flatMap((house) => Array.from({ length: 40 }, () => house.ask('/assistants', { key }))),
    );
    const refilled = Math.ceil((Date.now() - before) / 1000);
    const passed = answers.filter(({ status }) => status === 200).length;
    t.ok(passed >= 60 && passed <= 60 + refilled, `${passed} passed`);
    t.equal(answers.filter(({ status }) => status === 429).length, 120 - passed);
  },

  'so are the slots for turns': async (t, [one, two, three]) => {
    const assistant = await synthetic(one, 'tokens=100000,delay_ms=20');
    const sessions = await Promise.all(Array.from({ length: 24 }, () => one.session(assistant.id)));
    const houses = [one, two, three] as const;
    const tries = sessions.map(({ id }, index) => statusOf(houses[index % 3]!, id));
    const statuses = await Promise.all(tries);
    t.equal(statuses.filter((status) => status === 200).length, 10);
    t.equal(statuses.filter((status) => status === 429).length, 14);
    await Promise.all(sessions.map(({ id }) => end(two, id)));
  },
};

/** Asks until the status is there, and last at the first time that is a second after the change: then it must be. */
async function sinceASecond(changedAt: number, ask: () => Promise<Answer>, status: number): Promise<Answer> {
  for (;;) {
    const last = Date.now() - changedAt > 1000;
    const answer = await ask();
    if (answer.status === status || last) return answer;
  }
}

t.test('three processes are one', options, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const houses = await openHouses(t, redis);
  for (const [name, check] of Object.entries(sharing)) await t.test(name, (t) => check(t, houses));
  const [, two, three] = houses;
  await t.test('one that dies leaves its turns to the others', (t) => dies(t, houses));
  await t.test('a turn whose process dies shortly before its session expires ends with the session', (t) =>
    diesLate(t, two, three),
  );
  await t.test('a Redis that hangs is 503 and comes back', (t) => hangs(t, three, redis));
});

async function dies(t: Test, [one, two, three]: Houses): Promise<void> {
  const assistant = await synthetic(one, 'tokens=100000,delay_ms=2');
  const { id } = await one.session(assistant.id);
  const stream = await say(one, id);
  const elsewhere = await three.stream(`${turnPath(id, stream.turnId)}/events`);
  const [aborted, ended] = [await begin(one, assistant.id), await begin(one, assistant.id)];
  const seen: StreamEvent[] = [];
  while (seen.length < 50) seen.push((await stream.next())!);
  await one.kill('SIGKILL');
  const diedAt = Date.now();
  const answers = Promise.all([abort(two, aborted.id, aborted.stream.turnId), end(three, ended.id)]);
  t.equal(
    await until(async () => (await statusOf(two, id)) !== 409 && statusOf(three, id)),
    409,
    'the next turn is there',
  );
  t.comment(`free after ${Date.now() - diedAt} ms`);
  const [, partial] = await transcriptOf(three, id);
  t.ok(partial.content.startsWith(textOf(seen)), 'what was seen is kept');
  t.match(partial, { status: 'partial', stop_reason: 'error', error_code: 'api_error' });
  const rest = await elsewhere.rest();
  t.equal(textOf(rest), partial.content, 'a reader elsewhere has all of it');
  t.match(rest.at(-1), { event: 'error', data: { code: 'api_error' } });
  const [abortion, ending] = await answers;
  t.match(
    abortion,
    { status: 200, json: { status: 'aborted', stop_reason: 'aborted', error_code: null } },
    'what is stopped then is answered when it is sealed',
  );
  t.match(ending, { status: 200, json: { status: 'ended', active_turn_id: null } });
  t.match((await transcriptOf(two, ended.id))[1], { status: 'partial', stop_reason: 'aborted' });
  await end(two, id);
}

async function diesLate(t: Test, one: House, two: House): Promise<void> {
  const brief = await synthetic(one, 'tokens=100000,delay_ms=5', { max_call_seconds: 8 });
  const { id, stream } = await begin(one, brief.id);
  const { expires_at } = await sessionOf(two, id);
  const elsewhere = await two.stream(`${turnPath(id, stream.turnId)}/events`);
  while (Date.now() < expires_at * 1000 - 1000) await stream.next();
  await one.kill('SIGKILL');
  t.match((await elsewhere.rest()).at(-1), { event: 'error', data: { code: 'session_expired' } });
  const turn = (await abort(two, id, stream.turnId)).json;
  t.match(turn, { status: 'failed', stop_reason: 'expired', error_code: 'session_expired' });
  // The exact delay is proved with a manual clock (test/turn/orphans.test.ts).
  t.comment(`${turn.ended_at - expires_at} s late`);
  t.match(await sessionOf(two, id), { status: 'expired', ended_at: expires_at, active_turn_id: null });
}

/** Sends a message and leaves at once: the status. */
async function statusOf(house: House, id: string): Promise<number> {
  const leaving = new AbortController();
  const response = await fetch(house.url + chatPath(id), {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
    body: '{"message":"Hello"}',
    signal: leaving.signal,
  });
  leaving.abort();
  return response.status;
}

async function hangs(t: Test, one: House, redis: RedisServer): Promise<void> {
  await one.ask('/assistants');
  redis.signal('SIGSTOP');
  const askedAt = Date.now();
  const answer = await one.ask('/assistants');
  refused(t, answer, 503, 'api_error');
  t.comment(`refused after ${Date.now() - askedAt} ms`);
  redis.signal('SIGCONT');
  t.ok(await until(async () => (await one.ask('/assistants')).status === 200));
}
