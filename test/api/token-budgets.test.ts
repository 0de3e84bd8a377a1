/** The token budget of a key (contract 19). */
import t, { type Test } from 'tap';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { delta, eventStream, type Provider } from '../providers/model/provider.ts';
import { openHouse, textOf, type Answer, type House } from './house.ts';
import { isRefused, limitedFor, wrongField, unrated } from './refusal.ts';
import {
  abort,
  answered,
  chatPath,
  onProvider,
  refused,
  say,
  sayInVain,
  synthetic,
  transcriptOf,
  until,
} from './talk.ts';

t.test('a key spends at most its daily budget of tokens', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  await t.test('the limit is a whole number from 1 or null', (t) => setting(t, house));
  await t.test('a turn that does not fit is refused before its model is asked', (t) => refusal(t, house));
  await t.test('a turn in flight holds its upper bound, and its end what it used', (t) => reserving(t, house));
  await t.test('a turn that is withdrawn or aborted gives back what it did not use', (t) => givingBack(t, house));
  await t.test('a repeat is answered, and other refusals come first', (t) => order(t, house));
  await t.test('the other protocols refuse as the chat does', (t) => protocols(t, house));
  await t.test('the budget is of the key that sends the message', (t) => own(t, house));
});

t.test('three processes together admit what fits', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const env = {
    PARLEY_STORE: redis.url,
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
    PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
  };
  const houses = await Promise.all([1, 2, 3].map(() => openHouse(t, { env })));
  await t.test('concurrent turns stay within the limit', (t) => together(t, houses));
  await t.test('a turn of a killed process is settled by another process', (t) => killed(t, houses));
});

const inside = (house: House): string => `/workspaces/${house.workspaceId}`;
const secondsToMidnight = (): number => Math.ceil((86_400_000 - (Date.now() % 86_400_000)) / 1000);

/** A key with this budget, and its use as the console shows it. */
async function budgeted(house: House, tokensPerDay: number | null) {
  const { id, key } = await house.newKey({ limits: { requests: 100_000, tokens_per_day: tokensPerDay } });
  const left = async (at = house): Promise<number> =>
    (await at.console(`${inside(house)}/keys/${id}`)).json.budgets.tokens_per_day.remaining;
  return { id, key, left };
}

/** Sends a message that the budget refuses until midnight. */
async function exhausted(t: Test, house: House, sessionId: string, key: string): Promise<Answer> {
  const seconds = secondsToMidnight();
  const answer = await sayInVain(house, sessionId, 'Hello', { key });
  isRefused(t, answer, limitedFor(seconds));
  return answer;
}

async function setting(t: Test, house: House): Promise<void> {
  const keys = `${inside(house)}/keys`;
  const { id, json } = await house.newKey({ limits: { requests: 100 } }).then((made) => ({ id: made.id, json: made }));
  t.equal(json.limits.tokens_per_day, null, 'the default');
  t.notOk('tokens_per_day' in json.budgets);
  const patch = (value: unknown): Promise<Answer> =>
    house.console(`${keys}/${id}`, { method: 'PATCH', body: { limits: { tokens_per_day: value } } });
  for (const wrong of [0, -1, 1.5, '10', true, {}, [], 1e16, 2 ** 53]) {
    isRefused(t, await patch(wrong), unrated(wrongField('limits.tokens_per_day')), `PATCH ${JSON.stringify(wrong)}`);
    const made = await house.console(keys, { body: { name: 'x', limits: { tokens_per_day: wrong } } });
    isRefused(t, made, unrated(wrongField('limits.tokens_per_day')), `POST ${JSON.stringify(wrong)}`);
  }
  for (const right of [1, 1_000_000_000, Number.MAX_SAFE_INTEGER, null, 7]) {
    const { status, json: patched } = await patch(right);
    t.same([status, patched.limits.tokens_per_day, patched.limits.requests], [200, right, 100]);
  }
  const renamed = await house.console(`${keys}/${id}`, {
    method: 'PATCH',
    body: { name: 'y', limits: { requests: 9 } },
  });
  t.same(renamed.json.limits, { requests: 9, speech: 30, transcription_tokens: 10, tokens_per_day: 7 });
  const { limit, remaining, reset } = renamed.json.budgets.tokens_per_day;
  t.same([limit, remaining, reset % 86_400], [7, 7, 0]);
  t.ok(reset * 1000 > Date.now() && reset * 1000 <= Date.now() + 86_400_000);
  const listed = (await house.console(keys)).json.data.find((key: any) => key.id === id);
  t.same(listed.budgets.tokens_per_day, renamed.json.budgets.tokens_per_day);
  const rotated = await house.console(`${keys}/${id}/rotate`, { body: {} });
  t.equal(rotated.json.limits.tokens_per_day, 7, 'a rotation keeps it');
}

async function refusal(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, (response) => answered(response, ['yes']));
  const { key, left } = await budgeted(house, 1000);
  const { id } = await house.session(assistant.id);
  const vain = await exhausted(t, house, id, key);
  t.equal(vain.headers.get('x-ratelimit-limit'), '100000', 'of the request budget');
  t.equal(provider.requests.length, 0, 'the model was not asked');
  t.same([await left(), await transcriptOf(house, id)], [1000, []], 'nothing is reserved or stored');
  t.match((await house.ask('/metrics', { key: null })).text, /parley_limited_total\{budget="tokens_per_day"\} 1\n/);
  await house.revise(assistant.id, { model: { output_tokens_max: 900 } });
  const lower = await house.session(assistant.id);
  t.equal(textOf(await (await say(house, lower.id, 'Hello', { key })).rest()), 'yes', 'a lower bound fits');
  // The prompt and the history count as well.
  await house.revise(assistant.id, { model: { system_prompt: 'x'.repeat(400) } });
  await exhausted(t, house, (await house.session(assistant.id)).id, key);
}

async function reserving(t: Test, house: House): Promise<void> {
  const gates: (() => void)[] = [];
  const usage = { prompt_tokens: 40, completion_tokens: 7 };
  const { assistant } = await onProvider(t, house, (response) => {
    response.writeHead(200, eventStream).write(delta('a'));
    gates.push(() => answeredRest(response, usage));
  });
  const { key, left } = await budgeted(house, 2100);
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => house.session(assistant.id)));
  const first = await say(house, one.id, 'Hello', { key });
  t.equal(await left(), 2100 - 1002, 'two tokens of input, and 1,000 of output');
  const second = await say(house, two.id, 'Hello', { key });
  t.equal(await left(), 2100 - 2 * 1002);
  await exhausted(t, house, three.id, key);
  gates[0]!();
  t.equal((await first.rest()).at(-1)!.event, 'turn.completed');
  t.equal(await left(), 2100 - 1002 - 47, 'settled with what the provider counted');
  const third = await say(house, three.id, 'Hello', { key });
  for (const gate of gates.slice(1)) gate();
  for (const stream of [second, third]) await stream.rest();
  t.equal(await left(), 2100 - 3 * 47);
  const { totals } = (await house.ask(`/usage?assistant_id=${assistant.id}`)).json;
  t.equal(totals.input_tokens + totals.output_tokens, 3 * 47, 'as the usage says');
}

function answeredRest(response: Parameters<Provider['answer']>[0], usage: object): void {
  response.write(delta('', 'stop'));
  response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`);
  response.end('data: [DONE]\n\n');
}

async function givingBack(t: Test, house: House): Promise<void> {
  const { key, left } = await budgeted(house, 3000);
  const failing = await onProvider(t, house, (response) => void response.writeHead(500).end('{}'));
  const { id } = await house.session(failing.assistant.id);
  refused(t, await sayInVain(house, id, 'Hello', { key }), 503, 'assistant_unavailable');
  t.equal(await left(), 3000, 'withdrawn');
  const silent = await onProvider(t, house, (response) => {
    response.writeHead(200, eventStream).write(delta('abcd'));
  });
  const session = await house.session(silent.assistant.id);
  const stream = await say(house, session.id, 'Hello', { key });
  await stream.next();
  t.equal(await left(), 3000 - 1002);
  await abort(house, session.id, stream.turnId, { key });
  await stream.rest();
  t.equal(await left(), 3000 - 3, 'two tokens of input and one of output, by estimate');
}

async function order(t: Test, house: House): Promise<void> {
  const { key, left } = await budgeted(house, 1010);
  const { assistant } = await onProvider(t, house, (response) =>
    answered(response, ['yes'], { prompt_tokens: 500, completion_tokens: 10 }),
  );
  const { id } = await house.session(assistant.id);
  const headers = { 'idempotency-key': 'once' };
  const first = await say(house, id, 'Hello', { key, headers });
  await first.rest();
  t.equal(await left(), 500);
  const again = await say(house, id, 'Hello', { key, headers });
  t.same([again.turnId, textOf(await again.rest())], [first.turnId, 'yes'], 'a repeat begins nothing');
  await exhausted(t, house, id, key);
  refused(t, await sayInVain(house, id, '', { key }), 422, 'invalid_request');
  await house.ask(`/sessions/${id}/end`, { method: 'POST' });
  refused(t, await sayInVain(house, id, 'More', { key }), 409, 'session_ended');
  t.equal((await house.ask('/assistants', { key })).status, 200, 'other requests pass');
}

async function protocols(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=3');
  const { key, left } = await budgeted(house, 500);
  const messages = [{ role: 'user', content: 'Hello' }];
  for (const [path, body] of [
    ['/v1/chat/completions', { model: assistant.id, messages }],
    ['/v1/responses', { model: assistant.id, input: 'Hello' }],
  ] as const) {
    const before = secondsToMidnight();
    const answer = await house.ask(path, { key, body });
    t.same([answer.status, answer.json.error.code], [429, 'rate_limited'], path);
    const passed = before - Number(answer.headers.get('retry-after'));
    t.ok(passed >= 0 && passed <= before - secondsToMidnight(), `${path}: Retry-After`);
    t.equal(answer.headers.get('x-should-retry'), null, path);
  }
  // A lower bound of the caller fits.
  const low = await house.ask('/v1/chat/completions', {
    key,
    body: { model: assistant.id, messages, max_tokens: 400 },
  });
  t.equal(low.status, 200);
  const { prompt_tokens: input, completion_tokens: output } = low.json.usage;
  t.equal(await left(), 500 - input - output);
}

async function own(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=3');
  const { key, left } = await budgeted(house, 1);
  const { id } = await house.session(assistant.id);
  await exhausted(t, house, id, key);
  t.equal((await (await say(house, id)).rest()).at(-1)!.event, 'turn.completed', 'a key without a budget');
  t.equal(await left(), 1);
}

async function together(t: Test, houses: readonly House[]): Promise<void> {
  const [one] = houses as [House];
  const gates: (() => void)[] = [];
  const usage = { prompt_tokens: 90, completion_tokens: 900 };
  const { assistant } = await onProvider(t, one, (response) => {
    response.writeHead(200, eventStream).write(delta('a'));
    gates.push(() => answeredRest(response, usage));
  });
  await one.console(inside(one), { method: 'PATCH', body: { turns_in_flight_max: 100 } });
  const limit = 7 * 1002;
  const { key, left } = await budgeted(one, limit);
  const sessions = await Promise.all(Array.from({ length: 30 }, () => one.session(assistant.id)));
  const answers = sessions.map(async ({ id }, index) => {
    const house = houses[index % 3]!;
    const answer = await house.ask(chatPath(id), { key, body: { message: 'Hello' } });
    return answer.status;
  });
  await until(() => gates.length === 7);
  const refusals = await until(async () => {
    const settled = await Promise.race([Promise.all(answers.map((each) => Promise.race([each, Promise.resolve(0)])))]);
    return settled.filter((status) => status === 429).length === 23 && settled;
  });
  t.equal(refusals.filter((status) => status === 0).length, 7, 'exactly as many as fit');
  for (const house of houses) t.equal(await left(house), 0, 'all is reserved');
  for (const gate of gates) gate();
  t.equal((await Promise.all(answers)).filter((status) => status === 200).length, 7);
  t.equal(await left(), limit - 7 * 990);
}

async function killed(t: Test, houses: readonly House[]): Promise<void> {
  const [one, two] = houses as [House, House];
  const { assistant } = await onProvider(t, one, (response) => {
    response.writeHead(200, eventStream).write(delta('abcd'));
  });
  const { key, left } = await budgeted(one, 5000);
  const { id } = await one.session(assistant.id);
  const stream = await say(two, id, 'Hello', { key });
  await stream.next();
  t.equal(await left(), 5000 - 1002);
  await two.kill('SIGKILL');
  await until(async () => (await one.ask(`/sessions/${id}`)).json.active_turn_id === null);
  t.equal(await left(), 5000 - 3, 'the tokens of what it had stored, by estimate');
}
