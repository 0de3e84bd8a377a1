/** The promises of a journal before a database, under every failure, crash and loss of power. */
import fs from 'node:fs';
import { rmSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import fc from 'fast-check';
import t from 'tap';
import type { Test } from 'tap';
import { AppendedBytes } from '../../src/store/engine.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { JournaledEngine } from '../../src/store/journal.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { temporaryFolder } from '../folders.ts';
import { cases, runCase } from './contract.ts';
import { ids, page, Scene } from './fixtures.ts';
import { bounds, Connection, Database, journals, keyOf, opened, put, readAll, Run, step } from './journal-lives.ts';

for (const flushes of [false, true]) {
  t.test(`whatever happens, what was acknowledged is there (${flushes ? 'flushed' : 'committed'})`, async (t) => {
    const seed = Number(process.env['PARLEY_TEST_SEED'] ?? 20_261_121);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        const run = new Run(await temporaryFolder(t), flushes);
        await run.engine.open();
        for (const each of steps) await run.apply(t, each);
        run.check(t);
        await run.engine.close();
        return t.passing();
      }),
      { numRuns: flushes ? 30 : 150, seed },
    );
  });
}

t.test('the database never gets a row that was created and removed while it waited', async (t) => {
  const run = await opened(t);
  const heard: string[] = [];
  const write = run.base.write.bind(run.base);
  run.base.write = (rows) => {
    const all = [...rows];
    for (const [key, change] of all) heard.push(`${key} ${change === null ? 'goes' : 'comes'}`);
    return write(all);
  };
  const fresh = (key: number): Promise<void> => run.engine.write(put(key, 'text'), new Set([keyOf(key)]));
  await fresh(1);
  await run.engine.write([[keyOf(1), new AppendedBytes([Buffer.from('!')])], ...put(2, 'text')]);
  await run.engine.write([
    [keyOf(1), null],
    [keyOf(2), null],
  ]);
  t.equal(run.engine.get(keyOf(1)), undefined);
  t.strictSame(readAll(run.engine), []);
  await fresh(3);
  await run.engine.close();
  t.strictSame(
    heard.filter((each) => each.startsWith('row/')),
    ['row/2 goes', 'row/3 comes'],
    'one that it may have had goes',
  );
  await run.reopen();
  t.strictSame(readAll(run.engine), [[keyOf(3), 'text']]);
});

t.test('the database gets only what is left of the rows, and the files go', async (t) => {
  const run = await opened(t);
  const written: string[] = [];
  const write = run.base.write.bind(run.base);
  run.base.write = (rows) => {
    const all = [...rows];
    written.push(...all.map(([key]) => key));
    return write(all);
  };
  for (let turn = 0; turn < 3; turn++) await run.engine.write(put(1, `text ${turn}`));
  await run.engine.write([[keyOf(1), new AppendedBytes([Buffer.from('!')])]]);
  t.strictSame(written, [], 'nothing yet');
  await run.engine.close();
  t.strictSame(written, [keyOf(1), 'journal-next', 'journal-open', 'journal-open']);
  t.equal(Buffer.from(run.base.get(keyOf(1))!).toString(), 'text 2!');
  t.strictSame(journals(run.folder), []);
});

t.test('a file that has gone by the time its rows are taken is no fault', async (t) => {
  const run = await opened(t);
  await run.engine.write(put(1, 'text'));
  const [file] = journals(run.folder);
  const write = run.base.write.bind(run.base);
  run.base.write = (rows) => {
    rmSync(file!, { force: true });
    return write(rows);
  };
  await run.reopen();
  t.strictSame(readAll(run.engine), [[keyOf(1), 'text']]);
  await run.engine.close();
});

/** A journal that holds as many rows as it may, whose next file could not be begun: the database was given nothing. */
async function full(t: Test): Promise<Awaited<ReturnType<typeof opened>>> {
  let broken = false;
  failing(t, 'fsyncSync', () => broken);
  const run = await opened(t, true);
  for (let turn = 0; turn < bounds.journalRowsMax; turn++) {
    broken = turn === bounds.journalRowsMax - 1;
    await run.engine.write(put(turn, 'text'));
  }
  broken = false;
  return run;
}

t.test('a folder that briefly cannot be flushed loses no acknowledged row', async (t) => {
  const run = await full(t);
  for (let turn = 0; turn < 3; turn++) await run.engine.write(put(turn, 'newer'));
  await run.reopen();
  const expected = Array.from({ length: bounds.journalRowsMax }, (_, turn) => [
    keyOf(turn),
    turn < 3 ? 'newer' : 'text',
  ]);
  t.strictSame(readAll(run.engine), expected);
  await run.engine.close();
});

/** Has calls of `node:fs` fail as on a full or broken disk. */
function failing<Name extends 'writeSync' | 'ftruncateSync' | 'fdatasync' | 'fsyncSync'>(
  t: Test,
  name: Name,
  fail: () => boolean,
): void {
  const real = fs[name] as (...given: unknown[]) => unknown;
  const error = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  Object.assign(fs, {
    [name]: (...given: unknown[]) => {
      if (!fail()) return real(...given);
      if (name === 'fdatasync') return (given.at(-1) as (error: Error) => void)(error);
      if (name === 'writeSync') real(given[0], given[1], given[2], 3, given[4]);
      throw error;
    },
  });
  syncBuiltinESMExports();
  t.teardown(() => {
    Object.assign(fs, { [name]: real });
    syncBuiltinESMExports();
  });
}

for (const torn of [false, true]) {
  t.test(
    `a full disk refuses the batch and no other${torn ? ', even where half of it cannot be taken back' : ''}`,
    async (t) => {
      let full = false;
      failing(t, 'writeSync', () => full);
      failing(t, 'ftruncateSync', () => torn);
      const run = await opened(t);
      await run.engine.write(put(0, 'before'));
      full = true;
      await t.rejects(run.engine.write(put(1, 'refused')), { code: 'ENOSPC' });
      await t.rejects(run.engine.write(put(1, 'refused too')), { code: 'ENOSPC' });
      t.equal(run.engine.get(keyOf(1)), undefined);
      full = false;
      await run.engine.write(put(2, 'after'));
      await run.reopen();
      t.strictSame(readAll(run.engine), [
        [keyOf(0), 'before'],
        [keyOf(2), 'after'],
      ]);
      await run.engine.close();
    },
  );
}

t.test('a batch that could not be flushed is not there after a crash', async (t) => {
  let broken = false;
  failing(t, 'fdatasync', () => broken);
  const run = await opened(t, true);
  await run.engine.write(put(0, 'before'));
  broken = true;
  await t.rejects(run.engine.write(put(1, 'refused')), { code: 'ENOSPC' });
  broken = false;
  await run.engine.write(put(2, 'after'));
  await run.reopen();
  t.strictSame(readAll(run.engine), [
    [keyOf(0), 'before'],
    [keyOf(2), 'after'],
  ]);
  await run.engine.close();
});

t.test(
  'the journal refuses writes while the database rejects rows for long, and accepts them afterwards',
  async (t) => {
    const run = await opened(t);
    run.base.writesLeft = 0;
    let taken = 0;
    const all = async (count: number) => {
      for (let index = 0; index < count; index++) {
        await run.engine.write([[`row/${taken}`, Buffer.from('text')]]);
        taken++;
      }
    };
    await t.rejects(all(1000), { message: 'The database rejects the records that wait in the journal.' });
    t.equal(readAll(run.engine).length, taken, 'what it acknowledged is there');
    run.base.writesLeft = Infinity;
    for (let attempt = 0; attempt < 200; attempt++) await all(1).catch(() => {});
    await all(1);
    t.equal(readAll(run.engine).length, taken);
    await run.engine.close();
  },
);

t.test('a database that rejects rows is reported before the first refusal, until it accepts rows', async (t) => {
  const { base, folder } = await opened(t);
  const store = new EmbeddedStore(new JournaledEngine(base, folder, { flushes: false, bounds }));
  await store.open(0);
  await store.ping();
  base.writesLeft = 0;
  const scene = new Scene(store, Date.now());
  while (
    await store.ping().then(
      () => true,
      () => false,
    )
  )
    await scene.created();
  t.ok(await scene.created(), 'steps are still taken');
  t.ok((await store.ping().catch((error) => error)) instanceof StoreUnavailable);
  base.writesLeft = 1;
  await t.rejects(store.ping(), { message: /soon reject writes/ }, 'half of it is not enough');
  base.writesLeft = Infinity;
  await t.resolves(store.ping(), 'though nobody writes');
  t.ok(base.get('journal-next'));
  await scene.created();
  await store.close();
});

t.test('a call of sound() while a record is flushed does not remove its file', async (t) => {
  const run = await full(t);
  const [file] = journals(run.folder);
  const { size } = statSync(file!);
  const writing = run.engine.write(put(9, 'kept'));
  while (statSync(file!).size === size) await null;
  await run.engine.sound();
  t.ok(run.base.get('journal-next'), 'the database is asked again');
  await writing;
  await run.reopen();
  t.same(readAll(run.engine).at(-1), [keyOf(9), 'kept']);
  await run.engine.close();
});

t.test('a slow database delays the writer and refuses no write', async (t) => {
  const run = await opened(t);
  const write = run.base.write.bind(run.base);
  run.base.write = async (rows) => {
    await new Promise((resolve) => setImmediate(resolve));
    await write(rows);
  };
  const count = 50 * bounds.journalRowsMax;
  for (let index = 0; index < count; index++)
    await run.engine.write([[`row/${String(index).padStart(4, '0')}`, Buffer.from('text')]]);
  t.equal(readAll(run.engine).length, count);
  await run.engine.close();
  t.equal([...run.base.range('row/', 'row0', false)].length, count);
});

for (const handed of [true, false]) {
  t.test(
    `a turn that was cut is cut after a crash, ${handed ? 'with' : 'without'} its text in the database`,
    async (t) => {
      const [base, folder] = [new Database(), await temporaryFolder(t)];
      const open = async () => {
        const connection = new Connection(base, false);
        const engine = new JournaledEngine(connection, folder, { flushes: false, bounds, newName: () => ids.secret() });
        const store = new EmbeddedStore(engine);
        await store.open(Date.now());
        return { connection, engine, store };
      };
      const first = await open();
      if (!handed) base.writesLeft = 0;
      const scene = new Scene(first.store, Date.now());
      const turn = await scene.streaming();
      await turn.append(0, 'a👋é');
      await turn.append(3, '𠮷x');
      while (handed && [...base.range('output/', 'output0', false)].length === 0) await scene.created();
      base.writesLeft = 0;
      const step = turn.finishStep(
        { tail: { position: 5, text: '👋' }, cutAt: 2 },
        { status: 'aborted', stopReason: 'aborted' },
      );
      const answer = await first.store.turns.finish(step);
      first.connection.crashed = true;
      base.writesLeft = Infinity;

      const { store, engine } = await open();
      const { workspaceId } = scene;
      t.equal((await store.sessions.messages(workspaceId, turn.before.id, page())).items[1]!.content, 'a👋');
      t.equal(await store.turns.output(turn.place), 'a👋');
      t.equal((await store.turns.outputAfter(turn.place, 2))?.text, '');
      t.equal((await store.turns.outputAfter(turn.place, 3))?.text, null);
      t.same([...engine.range('output/', 'output0', false), ...engine.range('flight/', 'flight0', false)], []);
      t.same(await store.turns.finish(step), answer, 'the end, sent again');
      t.equal(await store.turns.output(turn.place), 'a👋');
      t.same(await store.turns.orphans(Date.now(), 10), []);
      await store.close();
      t.same([...base.range('output/', 'output0', false)], [], 'nor is it in the database');
    },
  );
}

t.test('the contract holds over a journal that hands over all the time', async (t) => {
  for (const each of cases) {
    await t.test(each.name, async (t) => {
      await runCase(each, async () => {
        const engine = new JournaledEngine(new Database(), await temporaryFolder(t), { flushes: false, bounds });
        const store = new EmbeddedStore(engine);
        await store.open(Date.now());
        return { store, dispose: () => store.close() };
      });
    });
  }
});
