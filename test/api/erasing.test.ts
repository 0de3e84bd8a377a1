/** Erasing a person (contract 22), as the console's API does it: turns and calls in flight, repeats, kills. */
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { linked, Visit } from '../pages/link/visits.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { callOn, clipOf } from './caller.ts';
import { openHouse, openWorkspace, type Answer, type House } from './house.ts';
import { activeTurn, assistantPath, end, operate, refused, say, synthetic, transcriptOf, until } from './talk.ts';

const erase = (house: House, what: string): Promise<Answer> =>
  house.console(`/workspaces/${house.workspaceId}/${what}`, { method: 'DELETE' });

const zeros = { object: 'erasure', sessions: 0, messages: 0, turns: 0, feedback: 0, tests: 0 };

t.test('an erasure removes what it names and returns a receipt', async (t) => {
  const house = await openWorkspace();
  await t.test('an erased session is 404 and a repeat has zeros', (t) => session(t, house));
  await t.test('a turn in flight is aborted and erased', (t) => streaming(t, house));
  await t.test('a call is ended and erased with its session', (t) => calling(t, house));
  await t.test('tests and runs that repeat an erased session go with it, and no others', (t) => tested(t, house));
  await t.test('a run that plays an erased session ends, and stores nothing more', (t) => playing(t, house));
  await t.test('a visitor is erased with all sessions, and no other visitor', (t) => visitor(t, house));
  await t.test('requests for one erasure at the same time count each session once', (t) => together(t, house));
  await t.test('what never was has a receipt of zeros, and no workspace is 404', (t) => unknown(t, house));
});

async function session(t: Test, house: House): Promise<void> {
  const { id: assistantId } = await synthetic(house, 'tokens=2', { greeting: 'Hello.' });
  const key = { 'idempotency-key': 'erased once' };
  const open = () => house.ask('/sessions', { key: house.key, headers: key, body: { assistant_id: assistantId } });
  const { id } = (await open()).json;
  await (await say(house, id)).rest();
  const receipt = await erase(house, `sessions/${id}`);
  t.equal(receipt.status, 200);
  t.match(receipt.json, { ...zeros, sessions: 1, messages: 3, turns: 1 });
  t.same(Object.keys(receipt.json), ['object', 'at', 'sessions', 'messages', 'turns', 'feedback', 'tests']);
  for (const path of ['', '/transcript'])
    refused(t, await house.ask(`/sessions/${id}${path}`, { key: house.key }), 404, 'session_not_found');
  refused(t, await house.console(`/workspaces/${house.workspaceId}/sessions/${id}/history`), 404, 'session_not_found');
  t.match((await erase(house, `sessions/${id}`)).json, zeros);
  const again = await open();
  t.equal(again.status, 201, 'its Idempotency-Key is free');
  t.not(again.json.id, id);
}

async function streaming(t: Test, house: House): Promise<void> {
  const { id: assistantId } = await synthetic(house, 'tokens=100000,delay_ms=5', { greeting: null });
  const { id } = await house.session(assistantId);
  const stream = await say(house, id);
  await until(async () => (await stream.next())?.event === 'message.delta');
  t.match((await erase(house, `sessions/${id}`)).json, { ...zeros, sessions: 1, messages: 2, turns: 1 });
  t.equal((await stream.rest()).at(-1)?.event, 'turn.aborted');
  refused(t, await house.ask(`/sessions/${id}`, { key: house.key }), 404, 'session_not_found');
  const { turns, output_tokens: tokens } = (await house.ask('/usage')).json.totals;
  t.ok(turns > 0 && tokens > 0, 'what it used is counted');
}

async function calling(t: Test, house: House): Promise<void> {
  const { id: assistantId } = await synthetic(house, 'tokens=200', {
    channels: { voice: true },
    voice: { provider: 'synthetic', name: 'character_ms=60', transcription_name: 'texts=hello_there' },
  });
  const caller = await callOn(house, await house.session(assistantId));
  caller.say(await clipOf(house));
  await caller.until('message.delta');
  const { json } = await erase(house, `sessions/${caller.session.id}`);
  t.match(json, { sessions: 1, turns: 1 });
  t.equal(await caller.closed, 1008);
  t.match(caller.heard.at(-1), { type: 'error', code: 'session_ended' });
  t.match((await erase(house, `sessions/${caller.session.id}`)).json, zeros, 'the call has left nothing behind it');
}

const tests = (house: House, assistantId: string, path = ''): string =>
  assistantPath(house, assistantId, `/tests${path}`);
const runs = (house: House, assistantId: string, path = ''): string =>
  assistantPath(house, assistantId, `/test-runs${path}`);

/** An ended session, a test that is made of it, and another test. */
async function scripted(house: House) {
  const { id: assistantId } = await synthetic(house, 'tokens=2', { greeting: null });
  const { id } = await house.session(assistantId);
  await (await say(house, id, 'My name is Ada.')).rest();
  await end(house, id);
  const test = await operate(house, 'POST', tests(house, assistantId), { from_session: id });
  const steps = [{ message: 'Hello' }];
  const other = await operate(house, 'POST', tests(house, assistantId), { name: 'Kept', steps });
  return { assistantId, id, test, other };
}

const startRun = (house: House, assistantId: string, body: object): Promise<any> =>
  operate(house, 'POST', runs(house, assistantId), { version: 'draft', ...body });

const passed = (house: House, assistantId: string, { id }: any): Promise<any> =>
  until(async () => {
    const run = await operate(house, 'GET', runs(house, assistantId, `/${id}`));
    return run.status === 'passed' && run;
  });

/** The sessions of runs of an assistant. */
const sessionsOfRuns = async (house: House, assistantId: string): Promise<any[]> =>
  (await operate(house, 'GET', `/workspaces/${house.workspaceId}/sessions?channel=test&limit=100`)).data.filter(
    ({ assistant_id }: any) => assistant_id === assistantId,
  );

async function tested(t: Test, house: House): Promise<void> {
  const { assistantId, id, test, other } = await scripted(house);
  const gone = [];
  for (const body of [{ test_ids: [test.id] }, {}, { replay: { sessions: 5 } }])
    gone.push(await startRun(house, assistantId, body));
  const kept = await startRun(house, assistantId, { test_ids: [other.id] });
  for (const run of [...gone, kept]) await passed(house, assistantId, run);
  t.equal((await sessionsOfRuns(house, assistantId)).length, 5);
  t.match((await erase(house, `sessions/${id}`)).json, { ...zeros, sessions: 1, messages: 2, turns: 1, tests: 1 });
  for (const path of [
    tests(house, assistantId, `/${test.id}`),
    ...gone.map((run) => runs(house, assistantId, `/${run.id}`)),
  ])
    refused(t, await house.console(path), 404, 'route_not_found');
  t.match(await operate(house, 'GET', tests(house, assistantId)), { data: [{ id: other.id }] });
  t.match((await operate(house, 'GET', runs(house, assistantId))).data, [{ id: kept.id }]);
  t.equal((await sessionsOfRuns(house, assistantId)).length, 1);
  refused(t, await house.console(tests(house, assistantId), { body: { from_session: id } }), 404, 'route_not_found');
  t.match((await erase(house, `sessions/${id}`)).json, zeros);
}

async function playing(t: Test, house: House): Promise<void> {
  const { assistantId, id, other } = await scripted(house);
  const model = (name: string) =>
    operate(house, 'PATCH', assistantPath(house, assistantId), { model: { provider: 'synthetic', name } });
  await model('tokens=2,hang_at=1');
  const run = await startRun(house, assistantId, { replay: { sessions: 5 } });
  const [held] = await until(async () => {
    const all = await sessionsOfRuns(house, assistantId);
    return all.length === 1 && all;
  });
  await model('tokens=2');
  const next = await startRun(house, assistantId, { test_ids: [other.id] });
  t.match((await erase(house, `sessions/${id}`)).json, { sessions: 1, tests: 1 });
  refused(t, await house.console(runs(house, assistantId, `/${run.id}`)), 404, 'route_not_found');
  await passed(house, assistantId, next);
  const left = await sessionsOfRuns(house, assistantId);
  t.match(left, [{ status: 'ended' }]);
  t.not(left[0].id, held.id, 'the session of the next run');
}

async function visitor(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'erased-visitors', { greeting: null });
  const [first, second] = [await Visit.to(house, 'erased-visitors'), await Visit.to(house, 'erased-visitors')];
  const held = [await first.session(), await first.session(), await second.session()];
  for (const [index, each] of held.entries()) await (index < 2 ? first : second).say(each);
  const own = await house.session(assistant.id);
  const shown = await house.console(`/workspaces/${house.workspaceId}/sessions/${held[0].id}`);
  t.equal(shown.json.link_visitor_id, first.id, 'the console names the visitor');
  t.match((await erase(house, `visitors/${first.id}`)).json, { ...zeros, sessions: 2, messages: 4, turns: 2 });
  for (const { id } of held.slice(0, 2)) refused(t, await first.ask(`/sessions/${id}`), 404, 'session_not_found');
  t.equal((await second.ask(`/sessions/${held[2].id}`)).status, 200, 'another visitor keeps theirs');
  t.equal((await house.ask(`/sessions/${own.id}`, { key: house.key })).status, 200);
  const later = await first.session();
  t.equal((await first.say(later)).status, 200, 'the visitor may come back');
  t.match((await erase(house, `visitors/${first.id}`)).json, { ...zeros, sessions: 1, messages: 2, turns: 1 });
}

async function together(t: Test, house: House): Promise<void> {
  await linked(house, 'erased-together', { greeting: null });
  const visit = await Visit.to(house, 'erased-together');
  for (let count = 0; count < 20; count++) await visit.session();
  const receipts = await Promise.all(Array.from({ length: 3 }, () => erase(house, `visitors/${visit.id}`)));
  // A request that comes after the end of the erasure has zeros.
  const counts = receipts.map(({ json }) => json.sessions);
  t.same(
    counts.filter((count) => count !== 0 && count !== 20),
    [],
  );
  t.ok(counts.includes(20));
}

async function unknown(t: Test, house: House): Promise<void> {
  for (const id of [`ses_${'0'.repeat(26)}`, 'x', encodeURIComponent('👋/*?[a]'), 'a'.repeat(300)]) {
    t.match((await erase(house, `sessions/${id}`)).json, zeros, id);
    t.match((await erase(house, `visitors/${id}`)).json, zeros, id);
  }
  refused(
    t,
    await house.console('/workspaces/wks_unknown/sessions/ses_1', { method: 'DELETE' }),
    404,
    'route_not_found',
  );
}

const stores: Readonly<Record<string, (t: Test) => Promise<Readonly<Record<string, string>>>>> = {
  lmdb: async () => ({ PARLEY_STORE: 'lmdb:./data' }),
  async redis(t) {
    const redis = await RedisServer.start(...appendOnly);
    t.teardown(() => redis.stop());
    return { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  },
};

for (const [name, settings] of Object.entries(stores)) {
  const skip = (name === 'redis' && whyNoRedis()) || false;
  t.test(`${name}: an erasure that a kill cuts is completed by the next process`, { skip }, async (t) => {
    const [env, folder] = [await settings(t), await temporaryFolder(t)];
    const first = await openHouse(t, { env, folder });
    await linked(first, 'cut', { limits: { messages_per_address_per_hour: null } });
    const visit = await Visit.to(first, 'cut');
    const sessions: any[] = [];
    for (let count = 0; count < 300; count++) sessions.push(await visit.session());
    await visit.say(sessions[0], 'Hello');
    const oldest = (house: House) => house.console(`/workspaces/${first.workspaceId}/sessions?order=asc&limit=1`);

    const answer = erase(first, `visitors/${visit.id}`).catch(() => 'cut');
    await until(async () => (await oldest(first)).json.data[0]?.id !== sessions[0].id);
    await first.kill('SIGKILL');
    t.comment(`the answer before the kill: ${typeof (await answer) === 'string' ? 'none' : 'a receipt'}`);

    const second = await openHouse(t, { env, folder });
    await until(async () => (await oldest(second)).json.data.length === 0);
    t.match((await erase(second, `visitors/${visit.id}`)).json, { object: 'erasure' });
    t.match((await erase(second, `visitors/${visit.id}`)).json, zeros);
  });
}

t.test('two processes that erase one visitor count each session once', { skip: whyNoRedis() ?? false }, async (t) => {
  const env = await stores['redis']!(t);
  const [one, other] = [await openHouse(t, { env }), await openHouse(t, { env })];
  const { workspaceId } = one;
  await linked(one, 'erased-twice', { limits: { messages_per_address_per_hour: null } });
  const visit = await Visit.to(one, 'erased-twice');
  const sessions = await Promise.all(Array.from({ length: 100 }, () => visit.session()));
  const both = [one, { ...other, workspaceId }] as const;
  const answers = await Promise.all(both.map((house) => erase(house, `visitors/${visit.id}`)));
  for (const { status, text } of answers) t.equal(status, 200, text);
  t.equal(
    answers.reduce((sum, { json }) => sum + json.sessions, 0),
    sessions.length,
  );
});

t.test('a turn that another process runs is aborted and erased', { skip: whyNoRedis() ?? false }, async (t) => {
  const env = await stores['redis']!(t);
  const [runs, erases] = [await openHouse(t, { env }), await openHouse(t, { env })];
  const { id: assistantId } = await synthetic(runs, 'tokens=100000,delay_ms=5', { greeting: null });
  const { id } = await runs.session(assistantId);
  const stream = await say(runs, id);
  await until(async () => (await stream.next())?.event === 'message.delta');
  await activeTurn(runs, id);
  await transcriptOf(erases, id);
  const other: House = { ...erases, workspaceId: runs.workspaceId };
  t.match((await erase(other, `sessions/${id}`)).json, { ...zeros, sessions: 1, messages: 2, turns: 1 });
  t.equal((await stream.rest()).at(-1)?.event, 'turn.aborted');
  for (const house of [runs, erases])
    refused(t, await house.ask(`/sessions/${id}`, { key: runs.key }), 404, 'session_not_found');
  t.match((await erase(other, `sessions/${id}`)).json, zeros, 'the other process has written nothing since');
});
