/** Trials, and conversations of a workspace in the console (contract 9). */
import t, { type Test } from 'tap';
import { Caller } from './caller.ts';
import { openWorkspace, textOf, type Answer, type House } from './house.ts';
import { until } from './talk.ts';
import {
  isRated,
  isRefused,
  limitedFor,
  missingField,
  refusals,
  unrated,
  wrongField,
  type Refusal,
} from './refusal.ts';

t.test('conversations in the console', async (t) => {
  const house = await openWorkspace();
  await t.test('a draft is tried without its visitor fields', (t) => trialOfDraft(t, house));
  await t.test('the states of an assistant', (t) => states(t, house));
  await t.test('four trials are open at most', (t) => four(t, house));
  await t.test('a trial takes nothing and is nowhere on the API', (t) => apart(t, house));
  await t.test('chat in a trial is as on the API', (t) => chats(t, house));
  await t.test('any session is read along, aborted and ended', (t) => any(t, house));
  await t.test('a draft is heard', (t) => heard(t, house));
  await t.test('a draft is called', (t) => called(t, house));
  await t.test('an unknown workspace, assistant or session is answered with 404', (t) => nowhere(t, house));
});

interface Place {
  readonly inside: string;
  readonly key: string;
}

async function workspace(house: House, fields: object = {}): Promise<Place> {
  const { id } = (await house.console('/workspaces', { body: { name: 'tried', ...fields } })).json;
  const inside = `/workspaces/${id}`;
  return { inside, key: (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json.key };
}

const post = (house: House, path: string) => house.console(path, { method: 'POST' });
const draft = async (house: House, { inside }: Place, fields: object = {}) =>
  (await house.console(`${inside}/assistants`, { body: { name: 'draft', ...fields } })).json;
const tried = (house: House, { inside }: Place, { id }: { id: string }) =>
  post(house, `${inside}/assistants/${id}/trials`);
const say = (house: House, { inside }: Place, session: string, message = 'Hi', headers = {}) =>
  house.stream(`/console/api${inside}/sessions/${session}/chat`, {
    key: house.operatorToken,
    body: { message },
    headers,
  });

async function trialOfDraft(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const assistant = await draft(house, place, {
    greeting: 'Hello.',
    visitor_fields: [{ name: 'email', type: 'email', required: true }],
    model: { provider: 'synthetic', name: 'tokens=2' },
  });
  const made = await tried(house, place, assistant);
  t.equal(made.status, 201, 'without its visitor fields');
  isRated(t, made, false, 'no rate headers');
  const { id } = made.json;
  t.match(made.json, {
    object: 'session',
    assistant_id: assistant.id,
    status: 'open',
    channel: 'console',
    visitor: {},
    metadata: {},
  });
  t.equal(made.headers.get('location'), `/console/api${place.inside}/sessions/${id}`);
  const stream = await say(house, place, id);
  const events = await stream.rest();
  t.same([events[0]!.event, events.at(-1)!.event], ['turn.started', 'turn.completed']);
  t.match(stream.turnId, /^turn_/);
  const { data } = (await house.console(`${place.inside}/sessions/${id}/transcript`)).json;
  t.same(
    data.map(({ content }: { content: string }) => content),
    ['Hello.', 'Hi', textOf(events)],
  );
  t.same((await house.console(`${place.inside}/sessions/${id}`)).json, made.json);
  for (const query of ['', '?channel=console', '?status=open'])
    t.same((await house.console(`${place.inside}/sessions${query}`)).json.data, [made.json], query);
  t.same((await house.console(`${place.inside}/sessions?channel=api`)).json.data, []);
}

async function states(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const assistant = await draft(house, place, { model: { provider: 'synthetic', name: 'tokens=1' } });
  const path = `${place.inside}/assistants/${assistant.id}`;
  const { id } = (await tried(house, place, assistant)).json;
  const chat = () => house.console(`${place.inside}/sessions/${id}/chat`, { body: { message: 'Hi' } });
  await post(house, `${path}/publish`);
  t.equal((await tried(house, place, assistant)).status, 201, 'published');
  t.equal((await chat()).status, 200, 'a trial of the draft goes on');
  await post(house, `${path}/disable`);
  isRefused(t, await tried(house, place, assistant), unrated(refusals.disabled));
  isRefused(t, await chat(), unrated(refusals.disabled), 'and in an open trial');
  await post(house, `${path}/unpublish`);
  t.equal((await chat()).status, 200, 'as a draft again');
  isRefused(
    t,
    await house.ask('/sessions', { key: place.key, body: { assistant_id: assistant.id } }),
    refusals.notPublished,
    'which the API does not open',
  );
}

async function heard(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const assistant = await draft(house, place, {
    channels: { voice: true },
    voice: { provider: 'synthetic', name: 'audio_ms=100' },
  });
  const path = `${place.inside}/assistants/${assistant.id}`;
  // The page's own paths stand in no document that answers could be held to.
  const ask = async (
    from: string,
    options: { method?: string; body?: string } = {},
    token = house.operatorToken,
  ): Promise<Answer> => {
    const answer = await fetch(`${house.url}/console/api${from}`, {
      ...options,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      json: text.startsWith('{') ? JSON.parse(text) : undefined,
    };
  };
  const speak = (body: object, from = path, token?: string) =>
    ask(`${from}/speech`, { method: 'POST', body: JSON.stringify(body) }, token);
  const spoken = await speak({ text: 'Hello.' });
  t.same([spoken.status, spoken.headers.get('content-type'), spoken.text.slice(0, 4)], [200, 'audio/wav', 'RIFF']);
  isRated(t, spoken, false, 'no rate headers');
  isRefused(t, await speak({ text: 'Hello.' }, path, house.key), unrated(refusals.invalidKey), 'not to an API key');
  isRefused(
    t,
    await speak({ text: 'Hello.' }, path.replace(place.inside, (await workspace(house)).inside)),
    unrated(refusals.noAssistant),
    'nor from another workspace',
  );
  const voices = (await ask(`${path}/voices`)).json.data;
  t.same(
    voices,
    (await house.ask(`/voices?assistant_id=${assistant.id}`, { key: place.key })).json.data,
    'its voices are those of the API',
  );
  t.equal((await speak({ text: 'Hello.', voice: voices[0].id })).status, 200);
  isRefused(t, await speak({ text: 'Hello.', voice: 'nobody' }), unrated(wrongField('voice')));
  isRefused(t, await speak({ text: '…' }), unrated(wrongField('text')));
  isRefused(t, await speak({ text: 'a'.repeat(1001) }), unrated(refusals.textTooLong));
  await house.console(path, { method: 'PATCH', body: { channels: { voice: false } } });
  isRefused(t, await speak({ text: 'Hello.' }), unrated(refusals.voiceDisabled));
  await post(house, `${path}/disable`);
  isRefused(t, await speak({ text: 'Hello.' }), unrated(refusals.disabled));
  isRefused(t, await speak({ text: 'Hello.' }, `${place.inside}/assistants/asst_none`), unrated(refusals.noAssistant));
}

async function called(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const voiced = {
    model: { provider: 'synthetic', name: 'tokens=1' },
    voice: { provider: 'synthetic', name: 'audio_ms=100' },
  };
  const assistant = await draft(house, place, { ...voiced, channels: { voice: true } });
  const path = `${place.inside}/assistants/${assistant.id}`;
  const { id } = (await tried(house, place, assistant)).json;
  const token = () => post(house, `${place.inside}/sessions/${id}/call-tokens`);
  const minted = await token();
  t.match(minted, { status: 201, json: { object: 'call_token' } });
  const caller = new Caller(minted.json.url, { id });
  await caller.until('ready');
  caller.send({ type: 'message', text: 'Hi' });
  await caller.plays();
  await caller.until('turn.completed');
  caller.send({ type: 'hangup' });
  t.equal(await caller.closed, 1000);
  await house.console(path, { method: 'PATCH', body: { channels: { voice: false } } });
  isRefused(t, await token(), unrated(refusals.voiceDisabled));
  await post(house, `${path}/disable`);
  isRefused(t, await token(), unrated(refusals.disabled));
}

async function four(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const assistant = await draft(house, place);
  const answers = await Promise.all(Array.from({ length: 12 }, () => tried(house, place, assistant)));
  const made = answers.filter(({ status }) => status === 201).map(({ json }) => json.id as string);
  t.equal(made.length, 4, 'however many are asked for at once');
  for (const answer of answers) if (answer.status !== 201) isRefused(t, answer, unrated(limitedFor(1)));
  t.equal((await tried(house, await workspace(house), assistant)).status, 404, 'an assistant of another workspace');
  const brief = await draft(house, place, { max_call_seconds: 1 });
  t.equal((await post(house, `${place.inside}/sessions/${made[0]}/end`)).json.status, 'ended');
  const expiring = (await tried(house, place, brief)).json;
  t.equal(expiring.status, 'open', 'one that has ended leaves its place');
  // The trial of a second may have expired already.
  const again = await until(async () => {
    const answer = await tried(house, place, assistant);
    return answer.status === 429 ? null : answer;
  });
  t.equal(again.status, 201, 'and one that has expired');
  t.equal((await house.console(`${place.inside}/sessions/${expiring.id}`)).json.status, 'expired');
  isRefused(t, await tried(house, place, assistant), unrated(limitedFor(1)), 'no more than these');
  t.equal((await house.console(`${place.inside}/sessions?channel=console&status=open`)).json.data.length, 4);
}

async function apart(t: Test, house: House): Promise<void> {
  const place = await workspace(house, { turns_in_flight_max: 1 });
  const assistant = await draft(house, place, { model: { provider: 'synthetic', name: 'tokens=2,hang_at=2' } });
  await post(house, `${place.inside}/assistants/${assistant.id}/publish`);
  const { id } = (await tried(house, place, assistant)).json;
  const stream = await say(house, place, id);
  await stream.next();
  const asKey = { key: place.key };
  const own = (await house.ask('/sessions', { ...asKey, body: { assistant_id: assistant.id } })).json;
  const second = await house.stream(`/sessions/${own.id}/chat`, { ...asKey, body: { message: 'Hi' } });
  t.equal(second.status, 200, 'its turn takes none of the turns in flight');
  await house.ask(`/sessions/${own.id}/end`, { ...asKey, method: 'POST' });
  await second.rest();
  const turn = `/sessions/${id}/turns/${stream.turnId}`;
  for (const [path, ask] of [
    [`/sessions/${id}`, {}],
    [`/sessions/${id}/transcript`, {}],
    [`${turn}/events`, {}],
    [`${turn}/abort`, { method: 'POST' }],
    [`/sessions/${id}/end`, { method: 'POST' }],
    [`/sessions/${id}/chat`, { body: { message: 'Hi' } }],
    ['/transcription-tokens', { body: { assistant_id: assistant.id, session_id: id } }],
  ] as const) {
    isRefused(t, await house.ask(path, { ...asKey, ...ask }), refusals.noSession, path);
  }
  t.same(
    (await house.ask('/sessions', asKey)).json.data.map((each: { id: string }) => each.id),
    [own.id],
    'not in the list either',
  );
  const aborted = await post(house, `${place.inside}${turn}/abort`);
  t.match(aborted.json, { object: 'turn', status: 'aborted', stop_reason: 'aborted' });
  t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted');
  const used = async () => (await house.console(`${place.inside}/usage`)).json.totals;
  t.match(await used(), { sessions: 1, turns: 1 }, "the API's alone count");
  t.match((await house.ask('/usage', asKey)).json.totals, { sessions: 1, turns: 1 });
  t.same((await house.console(`${place.inside}/usage?assistant_id=${assistant.id}`)).json.totals, await used());
}

async function chats(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const assistant = await draft(house, place, { model: { provider: 'synthetic', name: 'tokens=3' } });
  const { id } = (await tried(house, place, assistant)).json;
  const path = `${place.inside}/sessions/${id}/chat`;
  const headers = { 'idempotency-key': 'once' };
  const first = await say(house, place, id, 'Hi', headers);
  const events = await first.rest();
  const again = await say(house, place, id, 'Hi', headers);
  t.same(
    [again.headers.get('idempotent-replayed'), again.turnId, textOf(await again.rest())],
    ['true', first.turnId, textOf(events)],
  );
  const refused: [string, unknown, Record<string, string>, Refusal][] = [
    ['another body under the key', { message: 'Ho' }, headers, unrated(refusals.mismatch)],
    ['no message', {}, {}, unrated(missingField('message'))],
    ['too long', { message: 'x'.repeat(8001) }, {}, unrated(refusals.messageTooLong)],
    ['malformed', '{', {}, unrated(refusals.malformedJson)],
  ];
  for (const [name, body, given, refusal] of refused)
    isRefused(t, await house.console(path, { body, headers: given }), refusal, name);
  isRefused(
    t,
    await house.console(path, { body: { message: 'Hi' }, headers: { 'content-type': 'text/plain' } }),
    unrated(refusals.notJson),
  );

  await house.console(`${place.inside}/assistants/${assistant.id}`, {
    method: 'PATCH',
    body: { model: { name: 'hang_at=1' } },
  });
  const hanging = await say(house, place, id);
  isRefused(t, await house.console(path, { body: { message: 'Hi' } }), unrated(refusals.inProgress));
  t.equal((await post(house, `${place.inside}/sessions/${id}/end`)).json.status, 'ended');
  t.equal((await hanging.rest()).at(-1)!.event, 'turn.aborted', 'the end aborts its turn');
  isRefused(t, await house.console(path, { body: { message: 'Hi' } }), unrated(refusals.ended));
  t.equal(
    (await post(house, `${place.inside}/sessions/${id}/end`)).json.status,
    'ended',
    'ending it again changes nothing',
  );
}

async function any(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const assistant = await draft(house, place, { model: { provider: 'synthetic', name: 'tokens=3,hang_at=3' } });
  await post(house, `${place.inside}/assistants/${assistant.id}/publish`);
  const asKey = { key: place.key };
  const { id } = (await house.ask('/sessions', { ...asKey, body: { assistant_id: assistant.id } })).json;
  const own = `${place.inside}/sessions/${id}`;
  isRefused(
    t,
    await house.console(`${own}/chat`, { body: { message: 'Hi' } }),
    unrated(refusals.noSession),
    'nobody speaks into it',
  );
  const stream = await house.stream(`/sessions/${id}/chat`, { ...asKey, body: { message: 'Hi' } });
  const seen = [(await stream.next())!, (await stream.next())!];
  const events = `${own}/turns/${stream.turnId}/events`;
  const along = await house.stream(`/console/api${events}`, { key: house.operatorToken });
  t.equal((await along.next())!.event, 'turn.started');
  isRefused(t, await house.console(`${events}?after=9999`), unrated(wrongField('after')));
  t.match((await post(house, `${own}/turns/${stream.turnId}/abort`)).json, { id: stream.turnId, status: 'aborted' });
  const heard = await along.rest();
  seen.push(...(await stream.rest()));
  t.same([heard.at(-1)!.event, textOf(heard)], ['turn.aborted', textOf(seen)], 'both hear the same');
  const cursor = heard[0]!.id;
  const rest = await (
    await house.stream(`/console/api${events}`, { key: house.operatorToken, headers: { 'last-event-id': cursor } })
  ).rest();
  t.equal(textOf(heard), heard[0]!.data.text + textOf(rest), 'from behind a cursor');
  t.equal((await post(house, `${own}/end`)).json.status, 'ended');
  t.equal((await house.ask(`/sessions/${id}`, asKey)).json.status, 'ended');
}

async function nowhere(t: Test, house: House): Promise<void> {
  const place = await workspace(house);
  const other = await workspace(house);
  const assistant = await draft(house, place);
  const { id } = (await tried(house, place, assistant)).json;
  const none = (prefix: string) => `${prefix}_${'0'.repeat(26)}`;
  const noRoute = unrated(refusals.noRoute);
  const paths: [string, Refusal][] = [
    [`/workspaces/${none('wks')}/assistants/${assistant.id}/trials`, noRoute],
    [`${place.inside}/assistants/${none('asst')}/trials`, unrated(refusals.noAssistant)],
    [`/workspaces/${none('wks')}/sessions/${id}/end`, noRoute],
    [`${place.inside}/sessions/${none('ses')}/end`, unrated(refusals.noSession)],
    [`${other.inside}/sessions/${id}/end`, unrated(refusals.noSession)],
    [`${place.inside}/sessions/${id}/turns/${none('turn')}/abort`, unrated(refusals.noTurn)],
  ];
  for (const [path, refusal] of paths) isRefused(t, await post(house, path), refusal, path);
  isRefused(
    t,
    await house.console(`${other.inside}/sessions/${id}/chat`, { body: { message: 'Hi' } }),
    unrated(refusals.noSession),
  );
  isRefused(
    t,
    await house.console(`${place.inside}/sessions/${id}/turns/${none('turn')}/events`),
    unrated(refusals.noTurn),
  );
  isRefused(
    t,
    await house.console(`${place.inside}/sessions/${id}/end`, { key: place.key, method: 'POST' }),
    unrated(refusals.invalidKey),
    'a key is no operator',
  );
  t.equal((await house.console(`${place.inside}/sessions/${id}`)).json.status, 'open');
}
