/**
 * A data folder that is not whole, or is lost while a server runs on it: a sentence, and nothing acknowledged is
 * missing.
 */
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { lockFile } from '../../src/store/lmdb/files.ts';
import { run } from '../cli/support.ts';
import { containers, lackingContainers, signalWithin } from '../containers.ts';
import { temporaryFolder } from '../folders.ts';
import { startServer, type Server } from '../process.ts';
import { ballastOf, fill, lackingDisk, smallDisk } from '../small-disk.ts';
import { diagnose } from '../operations/doctor/diagnosis.ts';
import { openHouse, type House } from './house.ts';

const env = { PARLEY_STORE: 'lmdb:./data', PARLEY_SECRET: 'a-secret-of-the-tests-with-enough-characters' };

const house = (t: Test, folder: string): Promise<House> => openHouse(t, { folder, embedded: true, env });

const journalIn = (data: string): string =>
  readdirSync(data)
    .filter((name) => name.startsWith('journal-0'))
    .sort()[0]!;

/** A folder with the database of one time and the journal of a later one, and the name of the file between them. */
async function torn(t: Test): Promise<{ folder: string; data: string; missing: string; later: string }> {
  const folder = await temporaryFolder(t);
  const [running, copy] = [join(folder, 'data'), join(folder, 'copy')];
  mkdirSync(copy);
  const first = await house(t, folder);
  await first.assistant();
  cpSync(join(running, 'data.mdb'), join(copy, 'data.mdb'));
  const missing = journalIn(running);
  await first.stop();
  const second = await house(t, folder);
  await second.assistant();
  const later = journalIn(running);
  cpSync(join(running, later), join(copy, later));
  await second.kill('SIGKILL');
  rmSync(running, { recursive: true });
  renameSync(copy, running);
  t.not(missing, later);
  return { folder, data: running, missing, later };
}

/** The output of a server that does not start. */
const refused = (t: Test, folder: string): Promise<string> =>
  startServer(t, { folder, env }).then(
    () => 'it starts',
    (error: Error) => error.message,
  );

t.test('a second start on the same folder says how to stop the first, and how to start beside it', async (t) => {
  const folder = await temporaryFolder(t);
  const first = await house(t, folder);
  t.match(
    await refused(t, folder),
    `PARLEY_STORE: The folder ./data is in use by another process (${first.child.pid}). Stop it with \`kill ${first.child.pid}\`, or start on another folder and port: \`PARLEY_STORE=lmdb:./other PORT=8081 npm start\`.`,
  );
});

t.test('a journal that was copied later than the database is refused by name', async (t) => {
  const { folder, data, missing, later } = await torn(t);
  const before = readdirSync(data).sort();
  const sentence = `PARLEY_STORE: The folder ./data is not whole: ${missing} is missing: records are lost, as in a copy that was made while the server ran. Bring back a whole copy of the folder, or start with PARLEY_ACCEPT_LOSS=${missing} to do without what is lost.`;
  const message = await refused(t, folder);
  t.match(message, sentence);
  t.match(message, /ended with 1 before/);
  t.same(
    readdirSync(data)
      .filter((name) => name !== 'lock.mdb' && name !== 'operator-token')
      .sort(),
    before,
    'and stays as it is',
  );

  const found = await diagnose({ PARLEY_STORE: `lmdb:${data}` });
  t.match(found.of('store'), {
    status: 'fail',
    found: `${missing} is missing`,
    advice: `PARLEY_ACCEPT_LOSS=${missing}`,
  });
  t.equal(found.ok, false);
  rmSync(lockFile(data));
  t.equal((await diagnose({ PARLEY_STORE: `lmdb:${data}` })).of('store').status, 'fail', 'before the first start too');
  const exported = await run(['export', '--out', join(folder, 'all.jsonl')], {
    env: { ...env, PARLEY_STORE: `lmdb:${data}` },
  });
  t.equal(exported.code, 1);
  t.match(exported.stderr, `${missing} is missing`);

  t.match(await refused(t, folder), sentence, 'again');
  const told = await openHouse(t, { folder, embedded: true, env: { ...env, PARLEY_ACCEPT_LOSS: missing } });
  t.equal((await told.ask('/assistants')).status, 200);
  t.ok(readdirSync(data).includes(`rejected-${later}`), 'the later journal is kept');
  await told.stop();
  // The log writes a little later than its lines are made, and all of it before the process ends.
  t.match(
    told.stdout(),
    new RegExp(`"level":"warn".*${missing} is missing\\. The store starts without what is lost\\.`),
  );
  await (await house(t, folder)).stop();
});

/** The folder of a server that was killed once it had an assistant, and the file of its journal. */
async function killed(t: Test): Promise<{ readonly folder: string; readonly data: string; readonly name: string }> {
  const folder = await temporaryFolder(t);
  const data = join(folder, 'data');
  const server = await house(t, folder);
  await server.assistant();
  const name = journalIn(data);
  await server.kill('SIGKILL');
  return { folder, data, name };
}

t.test('a damaged journal is refused by name', async (t) => {
  const { folder, data, name } = await killed(t);
  const bytes = readFileSync(join(data, name));
  bytes[40]! ^= 1;
  writeFileSync(join(data, name), bytes);
  t.match(await refused(t, folder), new RegExp(`${name} is damaged at record \\d+, and records follow it`));
  t.match((await diagnose({ ...env, PARLEY_STORE: `lmdb:${data}` })).of('store'), { status: 'fail', found: name });
});

t.test('a journal that was cut, as one that was copied before the other files, is refused by name', async (t) => {
  for (const kept of [0.5, 0]) {
    const { folder, data, name } = await killed(t);
    truncateSync(join(data, name), Math.floor(statSync(join(data, name)).size * kept));
    t.match(
      await refused(t, folder),
      new RegExp(`The folder ./data is not whole: ${name} was cut before record \\d+, and had record \\d+`),
    );
    t.match((await diagnose({ ...env, PARLEY_STORE: `lmdb:${data}` })).of('store'), { status: 'fail', found: name });
    t.match(await refused(t, folder), 'is not whole', 'again');
    const told = await openHouse(t, { folder, embedded: true, env: { ...env, PARLEY_ACCEPT_LOSS: name } });
    await told.stop();
  }
});

t.test('a journal without its database is refused, and no empty one begins in its place', async (t) => {
  const { folder, data, name } = await killed(t);
  const file = join(data, 'data.mdb');
  const says = (beside: string): string =>
    `The file data/data.mdb is missing or empty, and ${beside} beside it needs it. Bring back the last good copy of the folder, or name an empty folder.`;
  rmSync(file);
  t.match(await refused(t, folder), says(name));
  t.match((await diagnose({ ...env, PARLEY_STORE: `lmdb:${data}` })).of('store'), { status: 'fail', found: name });
  // A copy that met no file of the journal, as between two of them, has the note of its end.
  rmSync(join(data, name));
  t.match(await refused(t, folder), says('journal-end'));
  t.notOk(readdirSync(data).includes('data.mdb'));
  writeFileSync(file, '');
  t.match(await refused(t, folder), says('journal-end'));
  t.equal(statSync(file).size, 0);
});

t.test('an empty database file is begun anew, with a line in the log', async (t) => {
  const folder = await temporaryFolder(t);
  const server = await house(t, folder);
  await server.stop();
  writeFileSync(join(folder, 'data', 'data.mdb'), '');
  const anew = await house(t, folder);
  await anew.stop();
  t.match(anew.stdout(), /"level":"warn".*The file data\/data\.mdb was empty: an empty store begins\./);
});

t.test('a wrong PARLEY_ACCEPT_LOSS is a wrong setting', async (t) => {
  t.match(
    await startServer(t, { env: { PARLEY_ACCEPT_LOSS: '1' } }).catch((error: Error) => error.message),
    /PARLEY_ACCEPT_LOSS must be the name of a file of the journal, as journal-000000000000120, not "1"\./,
  );
});

t.test('a server whose folder is emptied acknowledges nothing more, and ends with a sentence', async (t) => {
  const folder = await temporaryFolder(t);
  const server = await house(t, folder);
  const { id } = await server.assistant();
  for (const name of readdirSync(join(folder, 'data'))) rmSync(join(folder, 'data', name));
  const asked = await server.ask('/sessions', { body: { assistant_id: id } }).then(
    ({ status }) => status,
    () => null,
  );
  t.not(asked, 201);
  t.match(await server.ended, { code: 1 });
  t.match(
    server.stderr(),
    /^The folder \.\/data was taken over by another process, moved or removed while this process had it open\. This process ends\.$/m,
  );
});

t.test('a journal that is removed under a running server costs nothing', async (t) => {
  const folder = await temporaryFolder(t);
  const data = join(folder, 'data');
  const server = await house(t, folder);
  const { id } = await server.assistant();
  const sessions = [await server.session(id)];
  rmSync(join(data, journalIn(data)));
  sessions.push(await server.session(id));
  await server.kill('SIGKILL');
  const again = await house(t, folder);
  for (const session of sessions) t.equal((await again.ask(`/sessions/${session.id}`)).status, 200);
  await again.stop();
});

t.test('a server on a full disk ends in order, and loses nothing', { skip: lackingDisk() ?? false }, async (t) => {
  const folder = await smallDisk(t, '4m');
  const server = await house(t, folder);
  const { id } = await server.session((await server.assistant()).id);
  await fill(folder);
  t.match(await server.stop(), { code: 0, signal: null });
  // A write that the disk rejects damages the memory of lmdb: see lmdb/room.ts.
  t.notMatch(server.stderr(), 'Write error', 'the database is asked for nothing that the disk may not hold');
  t.match(await refused(t, folder), 'no space left on the disk', 'nor does a server start');
  rmSync(ballastOf(folder));
  const again = await house(t, folder);
  t.equal((await again.ask(`/sessions/${id}`)).status, 200);
  await again.stop();
});

t.test('SIGTERM ends a server that waits for a folder', { skip: lackingContainers() ?? false }, async (t) => {
  const folder = await temporaryFolder(t);
  const first = await house(t, folder);
  let output = '';
  const waits = new Promise<Server['child']>((resolve) => {
    const onOutput = (text: string, child: Server['child']): void => {
      output += text;
      if (/in use by a process in another container .* Waiting up to 60 s for it to end/.test(output)) resolve(child);
    };
    startServer(t, { folder, env, within: containers.container, onOutput }).catch(
      (error: Error) => (output += error.message),
    );
  });
  const second = await waits;
  signalWithin(second, 'SIGTERM');
  t.same(await once(second, 'exit'), [143, null]);
  t.equal((await first.ask('/assistants')).status, 200, 'the first one serves on');
});
