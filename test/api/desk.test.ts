/** The console's views of a workspace beyond its records (contract 9, "Details of history, feed and desk"). */
import t, { type Test } from 'tap';
import { openHouse, type House } from './house.ts';
import { isRated, isRefused, refusals, unrated, wrongField } from './refusal.ts';

t.test('the console lists budgets, sessions and usage', async (t) => {
  const house = await openHouse(t);
  await t.test('budgets as they stand', (t) => budgets(t, house));
  await t.test('sessions are filtered', (t) => filters(t, house));
  await t.test('usage is listed by key', (t) => usage(t, house));
  await t.test('the load of the last hour', (t) => load(t, house));
});

async function budgets(t: Test, house: House): Promise<void> {
  const keys = `/workspaces/${house.workspaceId}/keys`;
  // A ceiling so low that nothing is refilled while the test runs.
  const made = await house.newKey({ limits: { requests: 3, speech: 2, transcription_tokens: 1 } });
  const now = () => Date.now() / 1000;
  const read = async () => (await house.console(`${keys}/${made.id}`)).json;
  const full = {
    requests: { limit: 3, remaining: 3 },
    speech: { limit: 2, remaining: 2 },
    transcription_tokens: { limit: 1, remaining: 1 },
  };
  t.match(made, { last_used_at: null, budgets: full }, 'a new key');
  for (let times = 0; times < 5; times++)
    t.match(await read(), { last_used_at: null, budgets: full }, 'reading charges nothing');

  const before = now();
  const answer = await house.ask('/assistants', { key: made.key });
  const used = await read();
  t.same(
    used.budgets.requests,
    { limit: 3, remaining: 2, reset: Number(answer.headers.get('x-ratelimit-reset')) },
    'as the answer said',
  );
  t.match(used.budgets, { speech: full.speech, transcription_tokens: full.transcription_tokens }, 'each by itself');
  t.equal(used.last_used_at % 60, 0, 'to the minute');
  t.ok(used.last_used_at > before - 60 - 1 && used.last_used_at <= now() + 1);
  const listed = (await house.console(keys)).json.data;
  t.same(
    listed.find(({ id }: { id: string }) => id === made.id).budgets.requests,
    used.budgets.requests,
    'in the list as well',
  );
  t.match(
    listed.find(({ id }: { id: string }) => id !== made.id).budgets.requests,
    { limit: 100_000 },
    'each key its own',
  );

  for (let times = 0; times < 3; times++) await house.ask('/assistants', { key: made.key });
  const refused = await house.ask('/assistants', { key: made.key });
  t.equal(refused.status, 429);
  const owing = await read();
  t.same([owing.budgets.requests.remaining, owing.status], [0, 'active']);
  t.ok(owing.budgets.requests.reset >= Number(refused.headers.get('x-ratelimit-reset')) - 1, 'the debt is in it');
  t.equal(
    (await house.ask('/assistants', { key: made.key })).headers.get('retry-after'),
    refused.headers.get('retry-after'),
    'the deepest debt: nothing was charged in between',
  );

  const raised = await house.console(`${keys}/${made.id}`, { method: 'PATCH', body: { limits: { speech: 7 } } });
  t.match(
    raised.json,
    { last_used_at: owing.last_used_at, budgets: { speech: { limit: 7, remaining: 7 } } },
    'a change answers with them too',
  );
  isRated(t, raised, false, 'no rate headers');
  const rotated = (await house.console(`${keys}/${made.id}/rotate`, { body: {} })).json;
  t.match(
    rotated,
    { last_used_at: null, budgets: { requests: { limit: 3, remaining: 3 } } },
    'the key that replaces it is unused',
  );
}

async function filters(t: Test, house: House): Promise<void> {
  const { id: workspaceId } = (await house.console('/workspaces', { body: { name: 'filtered' } })).json;
  const inside = `/workspaces/${workspaceId}`;
  const [one, other] = [
    (await house.console(`${inside}/keys`, { body: { name: 'one' } })).json,
    (await house.console(`${inside}/keys`, { body: { name: 'other' } })).json,
  ];
  const assistant = (await house.console(`${inside}/assistants`, { body: { name: 'a' } })).json;
  await house.console(`${inside}/assistants/${assistant.id}/publish`, { method: 'POST' });
  const open = async ({ key }: { key: string }, visitor: object) =>
    (await house.ask('/sessions', { key, body: { assistant_id: assistant.id, visitor } })).json;
  const made = [
    await open(one, { name: 'Ada Byron', age: 36 }),
    await open(other, { name: 'adam', city: 'Bern' }),
    await open(one, {}),
  ];
  await house.ask(`/sessions/${made[2].id}/end`, { key: one.key, method: 'POST' });
  const find = async (query: string): Promise<number[]> => {
    const { status, json } = await house.console(`${inside}/sessions?order=asc&${query}`);
    t.equal(status, 200, query);
    return json.data.map(({ id }: { id: string }) => made.findIndex((each) => each.id === id));
  };
  const [first, last] = [made[0].created_at, made[2].created_at];
  for (const [query, found] of [
    ['', [0, 1, 2]],
    ['channel=api', [0, 1, 2]],
    ['channel=console', []],
    [`key_id=${one.id}`, [0, 2]],
    [`key_id=${other.id}`, [1]],
    [`key_id=key_${'0'.repeat(26)}`, []],
    [`key_id=${one.id}&status=open`, [0]],
    [`from=${first}&to=${last + 1}`, [0, 1, 2]],
    [`to=${first}`, []],
    [`from=${last + 1}`, []],
    ['q=ada', [0, 1]],
    ['q=ADA%20b', [0]],
    ['q=36', [0]],
    ['q=bern', [1]],
    ['q=yron', []],
    [`q=${made[2].id}`, [2]],
    [`q=${made[1].id.slice(0, -3)}`, [1]],
    ['q=ses_', [0, 1, 2]],
    ['q=', [0, 1, 2]],
    [`q=ada&key_id=${other.id}&assistant_id=${assistant.id}&channel=api&status=open&from=${first}`, [1]],
  ] as const)
    t.same(await find(query), found, query);

  const page = (await house.console(`${inside}/sessions?key_id=${one.id}&limit=1`)).json;
  t.same([page.data[0].id, page.has_more], [made[2].id, true]);
  const next = (await house.console(`${inside}/sessions?key_id=${one.id}&limit=1&after=${page.next_cursor}`)).json;
  t.same([next.data[0].id, next.has_more], [made[0].id, false], 'the cursor goes on behind what the filter left out');
  for (const [query, field] of [
    ['channel=phone', 'channel'],
    ['from=yesterday', 'from'],
    ['to=-1', 'to'],
    ['to=1.5', 'to'],
    [`q=${'x'.repeat(201)}`, 'q'],
  ] as const) {
    isRefused(t, await house.console(`${inside}/sessions?${query}`), unrated(wrongField(field)), query);
  }
  isRefused(
    t,
    await house.console(`${inside}/sessions?assistant_id=asst_${'0'.repeat(26)}`),
    unrated(refusals.noAssistant),
  );
  t.same(
    (await house.ask(`/sessions?order=asc&q=bern&key_id=${other.id}`, { key: one.key })).json.data.length,
    3,
    'the API has no such filters: unknown parameters are ignored',
  );
}

async function load(t: Test, house: House): Promise<void> {
  const read = async () => {
    const { status, json } = await house.console('/load');
    t.match([status, json.object, json.step_seconds], [200, 'load', 5]);
    return json.data as any[];
  };
  for (const [accepted, coding] of [
    ['gzip', 'gzip'],
    ['br;q=1, gzip;q=0', null],
    ['identity', null],
  ] as const) {
    const { status, headers, json } = await house.console('/load', { headers: { 'accept-encoding': accepted } });
    t.same(
      [status, headers.get('content-encoding'), headers.get('vary'), json.data.length],
      [200, coding, 'accept-encoding', 720],
      accepted,
    );
  }
  const sum = (steps: any[], name: string): number => steps.reduce((all, step) => all + (step[name] ?? 0), 0);
  const before = await read();
  t.equal(before.length, 720, 'an hour');
  t.same(
    before.map(({ start }) => start),
    before.map((_, index) => before[0].start + index * 5),
    'oldest first',
  );
  t.equal(before[0].start % 5, 0);
  t.ok(Math.abs(before.at(-1).start - Date.now() / 1000) < 60, 'until now');
  const { start: _, ...nothing } = before[0];
  t.same(
    nothing,
    Object.fromEntries(Object.keys(nothing).map((name) => [name, null])),
    'an hour ago there was no process',
  );

  const assistant = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=3,hang_at=3' } });
  const limited = await house.newKey({ limits: { requests: 1 } });
  for (let times = 0; times < 4; times++) await house.ask('/assistants', { key: limited.key });
  const stream = await house.stream(`/sessions/${(await house.session(assistant.id)).id}/chat`, {
    body: { message: 'Hi' },
  });
  for (let times = 0; times < 2; times++) await stream.next();
  const after = await read();
  t.ok(sum(after, 'requests') >= sum(before, 'requests') + 8, 'without waiting for the step to end');
  t.equal(sum(after, 'refused'), sum(before, 'refused') + 3);
  t.ok(sum(after, 'events') >= sum(before, 'events') + 2);
  const last = after.at(-1);
  t.equal(last.turns_in_flight, 1);
  t.ok(last.memory_bytes > 10_000_000 && last.loop_lag_ms >= 0);
  t.ok(after.some(({ store_ms }) => store_ms > 0));
  const outputs = after.filter(({ first_output_p50_ms }) => first_output_p50_ms !== null);
  t.ok(outputs.length > 0 && outputs.every((step) => step.first_output_p50_ms <= step.first_output_p99_ms));
  stream.leave();

  isRefused(t, await house.console('/load', { key: 'x'.repeat(24) }), unrated(refusals.invalidKey));
}

async function usage(t: Test, house: House): Promise<void> {
  const { id: workspaceId } = (await house.console('/workspaces', { body: { name: 'used' } })).json;
  const inside = `/workspaces/${workspaceId}`;
  const [one, other] = [
    (await house.console(`${inside}/keys`, { body: { name: 'one' } })).json,
    (await house.console(`${inside}/keys`, { body: { name: 'other' } })).json,
  ];
  const assistant = (
    await house.console(`${inside}/assistants`, {
      body: {
        name: 'a',
        channels: { voice: true },
        voice: { provider: 'synthetic' },
        model: { provider: 'synthetic', name: 'tokens=2' },
      },
    })
  ).json;
  await house.console(`${inside}/assistants/${assistant.id}/publish`, { method: 'POST' });
  const session = (await house.ask('/sessions', { key: one.key, body: { assistant_id: assistant.id } })).json;
  // A turn is counted for the key that made its session, whichever sends the message.
  for (const { key } of [one, other])
    await (await house.stream(`/sessions/${session.id}/chat`, { key, body: { message: 'Hi' } })).rest();
  await house.ask('/sessions', { key: other.key, body: { assistant_id: assistant.id } });
  t.equal(
    (
      await house.ask('/speech', {
        key: other.key,
        body: { assistant_id: assistant.id, text: 'Hello.', stream: false },
      })
    ).status,
    200,
  );
  const totals = async (query: string) => (await house.console(`${inside}/usage?${query}`)).json.totals;
  t.match(await totals(`key_id=${one.id}`), { sessions: 1, turns: 2, speech_characters: 0 });
  t.match(await totals(`key_id=${other.id}`), { sessions: 1, turns: 0, speech_characters: 6 });
  for (const query of ['', `assistant_id=${assistant.id}`])
    t.match(await totals(query), { sessions: 2, turns: 2, speech_characters: 6 }, `all: ${query}`);
  t.match(await totals(`key_id=${one.id}&assistant_id=${assistant.id}`), { sessions: 1, turns: 2 });
  t.match(
    await totals(`key_id=key_${'0'.repeat(26)}`),
    { sessions: 0, turns: 0 },
    'a key that there is not has used nothing',
  );
  const csv = (await house.console(`${inside}/usage?format=csv&key_id=${one.id}`)).text
    .trim()
    .split('\r\n')
    .map((line) => line.split(','));
  t.equal(
    csv.slice(1).reduce((sum, row) => sum + Number(row[csv[0]!.indexOf('turns')]), 0),
    2,
    'as a table too',
  );
  t.match(
    (await house.ask(`/usage?key_id=${one.id}`, { key: other.key })).json.totals,
    { sessions: 2 },
    'the API has no such filter',
  );
}
