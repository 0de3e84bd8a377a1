/** Runs of tests whose process dies, drains or is another one (contract 21), on LMDB and on Redis. */
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { changedProgram } from '../secrets/changed-program.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, type House } from './house.ts';
import { assistantPath, operate, synthetic, until } from './talk.ts';

/** Opens a process on a store, in the workspace of the first process. */
type Opening = (command?: string) => Promise<House>;

async function openingOn(t: Test, store: string): Promise<Opening> {
  const folder = await temporaryFolder(t);
  const redis = store === 'redis' ? await RedisServer.start(...appendOnly) : null;
  t.teardown(async () => redis?.stop());
  const env = {
    PARLEY_STORE: redis?.url ?? 'lmdb:./data',
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
  };
  let workspaceId: string | undefined;
  return async (command) => {
    const house = await openHouse(t, { folder, env, ...(command !== undefined && { command }) });
    workspaceId ??= house.workspaceId;
    return { ...house, workspaceId };
  };
}

/** An assistant of this synthetic model with tests of a step each. */
async function tested(house: House, model: string, tests: number, steps = 1): Promise<string> {
  const { id } = await synthetic(house, model);
  const script = Array.from({ length: steps }, () => ({ message: 'Hi', expect: { contains: ['word'] } }));
  for (let count = 0; count < tests; count++)
    await operate(house, 'POST', assistantPath(house, id, '/tests'), { name: `T${count}`, steps: script });
  return id;
}

const startRun = (house: House, assistantId: string): Promise<any> =>
  operate(house, 'POST', assistantPath(house, assistantId, '/test-runs'), { version: 'draft' });

const read = (house: House, assistantId: string, { id }: any): Promise<any> =>
  operate(house, 'GET', assistantPath(house, assistantId, `/test-runs/${id}`));

const untilRun = (house: House, assistantId: string, run: any, is: (now: any) => boolean): Promise<any> =>
  until(async () => {
    const now = await read(house, assistantId, run);
    return is(now) && now;
  });

const hasEnded = ({ status }: any): boolean => !['queued', 'running'].includes(status);

/** The sessions of runs. */
const sessionsOf = async (house: House): Promise<any[]> =>
  (await operate(house, 'GET', `/workspaces/${house.workspaceId}/sessions?channel=test&limit=100`)).data;

const setModel = (house: House, assistantId: string, name: string): Promise<any> =>
  operate(house, 'PATCH', assistantPath(house, assistantId), { model: { provider: 'synthetic', name } });

for (const store of ['lmdb', 'redis']) {
  const skip = (store === 'redis' && whyNoRedis()) || false;
  t.test(store, { skip }, async (t) => {
    const open = await openingOn(t, store);
    await t.test('a run whose process is killed is continued by another one', (t) => killed(t, open, store));
    await t.test('a run whose process drains continues elsewhere, however often', (t) => drained(t, open));
  });
}

/** Kills the process; on Redis the next one is there already, on LMDB it opens after that. */
async function killed(t: Test, open: Opening, store: string): Promise<void> {
  const first = await open();
  const id = await tested(first, 'tokens=2,first_ms=300', 8);
  const other = store === 'redis' ? await open() : null;
  const run = await startRun(first, id);
  await untilRun(first, id, run, ({ progress }) => progress.done >= 2);
  await first.kill('SIGKILL');
  const killedAt = performance.now();
  const next = other ?? (await open());
  const { done } = (await read(next, id, run)).progress;
  await untilRun(next, id, run, ({ progress }) => progress.done > done);
  t.ok(performance.now() - killedAt < 30_000, 'it has continued within 30 s');
  const end = await untilRun(next, id, run, hasEnded);
  t.match(end, { status: 'passed', progress: { done: 8, of: 8 } });
  t.same(
    end.results.map(({ name }: any) => name),
    Array.from({ length: 8 }, (_, index) => `T${index}`),
  );
  const held = (await sessionsOf(next)).length;
  t.ok(held >= 8 && held <= 10, `${held} sessions: what was done is not played again`);
  t.match(await untilRun(next, id, await startRun(next, id), hasEnded), { status: 'passed' }, 'the queue continues');
  await next.stop();
}

/** More processes drain, each before any part is done, than may die in a row. */
async function drained(t: Test, open: Opening): Promise<void> {
  let house = await open();
  const id = await tested(house, 'tokens=2,first_ms=400', 1, 8);
  const before = (await sessionsOf(house)).length;
  const run = await startRun(house, id);
  for (let drains = 1; drains <= 4; drains++) {
    await until(async () => (await sessionsOf(house)).length >= before + drains);
    t.same(await house.stop(), { code: 0, signal: null });
    house = await open();
  }
  const end = await untilRun(house, id, run, hasEnded);
  t.match(end, { status: 'passed', progress: { done: 1, of: 1 }, results: [{ verdict: 'passed' }] });
  t.equal(end.results[0].repeats[0].steps.length, 8);
  await house.stop();
}

t.test('a part whose process dies between its result and its count is counted, and not played again', async (t) => {
  const open = await openingOn(t, 'lmdb');
  const dies = await changedProgram(t, [/if \(!isFirst\d*\) return;/, '$& process.kill(process.pid, "SIGKILL");']);
  const first = await open(dies);
  const id = await tested(first, 'tokens=2', 4);
  const run = await startRun(first, id);
  await first.ended;
  const next = await open();
  const end = await untilRun(next, id, run, hasEnded);
  t.match(end, { status: 'passed', progress: { done: 4, of: 4 } });
  t.equal(end.results.length, 4);
  const held = (await sessionsOf(next)).length;
  t.ok(held <= 5, `${held} sessions: at most one was cut`);
});

t.test('runs and their sessions go with their assistant', async (t) => {
  const house = await (await openingOn(t, 'lmdb'))();
  const [id, other] = [await tested(house, 'tokens=2', 2), await tested(house, 'tokens=2', 1)];
  for (const each of [id, other]) await untilRun(house, each, await startRun(house, each), hasEnded);
  t.equal((await sessionsOf(house)).length, 3);
  await house.console(assistantPath(house, id), { method: 'DELETE' });
  t.same(
    (await sessionsOf(house)).map(({ assistant_id }) => assistant_id),
    [other],
  );
});

t.test('a run that three processes in a row begin and die of is interrupted, and the queue continues', async (t) => {
  const open = await openingOn(t, 'lmdb');
  let house = await open();
  const id = await tested(house, 'tokens=2,hang_at=1', 1);
  const run = await startRun(house, id);
  for (let kills = 1; kills <= 3; kills++) {
    await until(async () => (await sessionsOf(house)).length === kills);
    t.equal((await read(house, id, run)).status, 'running');
    if (kills === 3) await setModel(house, id, 'tokens=2');
    const next = kills === 3 ? await startRun(house, id) : null;
    await house.kill('SIGKILL');
    house = await open();
    if (next === null) continue;
    const end = await untilRun(house, id, run, hasEnded);
    t.match(end, { status: 'interrupted', progress: { done: 0, of: 1 }, results: [] });
    t.type(end.ended_at, 'number');
    t.match(await untilRun(house, id, next, hasEnded), { status: 'passed' });
  }
});

t.test(
  'a run that another process plays is cancelled by DELETE, and its turn ends',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const open = await openingOn(t, 'redis');
    const plays = await open();
    const id = await tested(plays, 'tokens=2,hang_at=1', 1);
    const run = await startRun(plays, id);
    await until(async () => (await sessionsOf(plays)).some(({ active_turn_id: turn }) => turn !== null));
    const other = await open();
    const path = assistantPath(other, id, `/test-runs/${run.id}`);
    t.match(await operate(other, 'DELETE', path), { id: run.id, status: 'cancelled' });
    t.match(await operate(other, 'DELETE', path), { status: 'cancelled' });
    await until(async () => (await sessionsOf(other)).every(({ active_turn_id: turn }) => turn === null));
    await setModel(other, id, 'tokens=2');
    t.match(await untilRun(other, id, await startRun(other, id), hasEnded), { status: 'passed' });
    t.match(await read(other, id, run), { status: 'cancelled', results: [] });
  },
);
