/** LMDB's durability. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { open } from 'lmdb';
import t from 'tap';
import type { Test } from 'tap';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { JournaledEngine } from '../../src/store/journal.ts';
import { readFolder } from '../../src/store/lmdb/read-only.ts';
import { LmdbSnapshot } from '../../src/store/lmdb/snapshot.ts';
import { LmdbEngine, lmdbStore } from '../../src/store/lmdb.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { runCase, cases } from './contract.ts';
import { ids, page, Scene } from './fixtures.ts';

const nowMs = Date.now();
const child = fileURLToPath(new URL('./acknowledging.ts', import.meta.url));

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'parley.store-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

t.test('stored rows are there after closing and opening again', async (t) => {
  const path = join(await folder(t), 'not', 'there.yet');
  const first = lmdbStore(path);
  await first.open(nowMs);
  const made = new Scene(first, nowMs);
  const turn = await made.streaming();
  await turn.append(0, 'text 👋\u0000');
  await first.limits.takeBudgets(made.workspaceId, 'key', [{ budget: 'speech', ceiling: 3 }], nowMs);
  await first.close();

  const second = lmdbStore(path);
  await second.open(nowMs);
  t.same((await second.sessions.read(made.workspaceId, turn.before.id))?.record, turn.step.session);
  t.equal(await second.turns.output(turn.place), 'text 👋\u0000');
  t.same(await second.turns.orphans(nowMs, 10), [turn.place]);
  const [taken] = await second.limits.takeBudgets(made.workspaceId, 'key', [{ budget: 'speech', ceiling: 3 }], nowMs);
  t.equal(taken!.remaining, 1);
  await second.close();
});

t.test('a second opener is refused in one sentence until the first has closed', async (t) => {
  const path = await folder(t);
  const first = lmdbStore(path);
  await first.open(nowMs);
  const second = lmdbStore(path);
  await t.rejects(
    second.open(nowMs),
    new StoreUnavailable(`The folder ${path} is in use by another process (${process.pid}).`),
  );
  await t.rejects(second.ping(), new StoreUnavailable('The store is not open.'));
  await first.ping();
  await first.close();
  await second.open(nowMs);
  await second.ping();
  await second.close();
});

t.test('a reused process id is recognised', async (t) => {
  const path = await folder(t);
  const raw = open({ path, noSubdir: false, encoding: 'binary' });
  await raw.put('owner', Buffer.from(JSON.stringify({ pid: process.ppid, started: 'another time' })));
  await raw.close();
  const store = lmdbStore(path);
  await store.open(nowMs);
  await store.ping();
  await store.close();
});

t.test('a folder that cannot be made is refused in one sentence', async (t) => {
  const path = join(await folder(t), 'file');
  await writeFile(path, '');
  await t.rejects(lmdbStore(join(path, 'data')).open(nowMs), {
    message: /^The folder .* cannot be opened as a store: /,
  });
});

for (const durability of ['committed', 'flushed'] as const) {
  t.test(`kill -9 loses nothing acknowledged (${durability}), and the dead owner does not block`, async (t) => {
    const path = await folder(t);
    const process_ = spawn(process.execPath, ['--import=tsx', child, path, durability], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[][] = [];
    for await (const line of createInterface(process_.stdout)) {
      lines.push(line.split(' '));
      if (lines.length === 1) {
        const other = lmdbStore(path);
        await t.rejects(other.open(nowMs), {
          message: `The folder ${path} is in use by another process (${process_.pid}).`,
        });
      }
      if (lines.length === 400) process_.kill('SIGKILL');
    }
    if (process_.signalCode === null) await once(process_, 'exit');
    t.equal(process_.signalCode, 'SIGKILL');

    const store = lmdbStore(path);
    await store.open(nowMs);
    const longest = new Map<string, string[]>();
    for (const line of lines) if (line.length === 5) longest.set(line[2]!, line);
    for (const [workspaceId, sessionId, turnId, length, state] of longest.values()) {
      const output = await store.turns.output({ workspaceId: workspaceId!, sessionId: sessionId!, turnId: turnId! });
      t.ok([...output].length >= Number(length), `${turnId} ${state}`);
      t.match(output, /^(?:👋x)*$/u, 'each character once');
      const session = await store.sessions.read(workspaceId!, sessionId!);
      if (state === 'finished') t.equal(session?.record.machine.state, 'open');
      t.equal((await store.sessions.messages(workspaceId!, sessionId!, page())).items.length, 2);
    }
    t.ok(longest.size > 1);
    await store.close();
  });
}

t.test('a read-only look merges database and journal and writes no file', async (t) => {
  const path = await folder(t);
  const made: string[] = [];
  const workspaceId = ids.make('wks');
  for (let life = 0; life < 2; life++) {
    const store = lmdbStore(path);
    await store.open(nowMs);
    const scene = Object.assign(new Scene(store, nowMs), { workspaceId });
    for (let count = 0; count < 3; count++) made.push((await scene.created()).id);
    if (life === 0) await store.close();
    else t.teardown(() => store.close());
  }
  const filter = { assistantIds: null, status: null, activeSince: 0, now: 0 };
  for (const [order, expected] of [
    ['asc', made],
    ['desc', made.toReversed()],
  ] as const) {
    const seen = await readFolder(path, async ({ sessions }) =>
      (await sessions.list(workspaceId, filter, page({ order }))).items.map(({ id }) => id),
    );
    t.same(seen, expected, order);
  }
  const snapshot = new LmdbSnapshot(path);
  await snapshot.open();
  await t.rejects(snapshot.write(), { message: /read-only/ });
  await snapshot.close();
});

t.test(
  'a journal beside the database of another store is refused, and both are whole when they are put back',
  async (t) => {
    const [mine, theirs] = [await folder(t), await folder(t)];
    /** A store that was killed: a turn of it is in the journal alone. */
    const killed = async (path: string) => {
      const engine = new JournaledEngine(new LmdbEngine(path), path, { flushes: false, newName: () => ids.secret() });
      const store = new EmbeddedStore(engine);
      await store.open(nowMs);
      const { id, workspaceId } = await new Scene(store, nowMs).created();
      const journal = readdirSync(path).find((name) => name.startsWith('journal-'))!;
      const bytes = readFileSync(join(path, journal));
      await store.close();
      return { id, workspaceId, journal, bytes, written: () => writeFileSync(join(path, journal), bytes) };
    };
    const [one, other] = [await killed(mine), await killed(theirs)];
    for (const name of readdirSync(mine)) t.notMatch(name, /^journal-/);
    writeFileSync(join(mine, other.journal), other.bytes);
    const message = new RegExp(`${other.journal} belongs to another store`);
    await t.rejects(lmdbStore(mine).open(nowMs), { message });
    await t.rejects(new LmdbSnapshot(mine).open(), { message });
    await t.rejects(
      readFolder(mine, async () => 0),
      { message },
    );
    t.ok(existsSync(join(mine, other.journal)), 'and is left where it is');
    rmSync(join(mine, other.journal));
    for (const [path, each] of [
      [mine, one],
      [theirs, other],
    ] as const) {
      each.written();
      const store = lmdbStore(path, { ids });
      await store.open(nowMs);
      t.ok(await store.sessions.read(each.workspaceId, each.id));
      await store.close();
    }
    // A store never opened by a version that names stores has no name; a file that bears one belongs to another.
    const bare = await folder(t);
    const unnamed = lmdbStore(bare);
    await unnamed.open(nowMs);
    await unnamed.close();
    writeFileSync(join(bare, one.journal), one.bytes);
    await t.rejects(lmdbStore(bare, { ids }).open(nowMs), { message: /belongs to another store/ });
  },
);

t.test('flushed stores pass the contract', async (t) => {
  for (const each of cases.filter(({ name }) => /turn stands whole|exactly/.test(name))) {
    await t.test(each.name, async (t) => {
      const path = await folder(t);
      await runCase(each, async () => {
        const store = lmdbStore(path, { durability: 'flushed' });
        await store.open(nowMs);
        return { store, dispose: () => store.close() };
      });
    });
  }
});

t.test('the engine reads ranges either way and lets others run in between', async (t) => {
  const engine = new LmdbEngine(await folder(t));
  await engine.open();
  const keys = ['a/1', 'a/2', 'a/3', 'a0'];
  await engine.write(keys.map((key) => [key, Buffer.from(key)] as const));
  const read = (from: string, to: string, reverse: boolean) =>
    [...engine.range(from, to, reverse)].map(([key, value]) => [key, String(value)]);
  const rows = keys.map((key) => [key, key]);
  t.same(read('a/1', 'a0', false), rows.slice(0, 3));
  t.same(read('a/1', 'a/3', true), [rows[1], rows[0]]);
  t.same(read('a/', 'a/9', true), [rows[2], rows[1], rows[0]]);
  await engine.write([
    ['a/2', null],
    ['a/1', Buffer.from('new')],
  ]);
  t.same(read('a/', 'a0', false), [['a/1', 'new'], rows[2]]);
  let turned = false;
  setImmediate(() => (turned = true));
  await engine.pause();
  t.ok(turned);
  await engine.close();
});
