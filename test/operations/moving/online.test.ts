/** Exports of stores in use: rows that they may and must not hold. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { open } from 'lmdb';
import t, { type Test } from 'tap';
import { unpackRow } from '../../../src/store/codec.ts';
import type { DumpRow } from '../../../src/store/dump.ts';
import { nextKey } from '../../../src/store/journal/replay.ts';
import { readSegment, Segment } from '../../../src/store/journal/segment.ts';
import { LmdbSnapshot } from '../../../src/store/lmdb/snapshot.ts';
import { temporaryFolder } from '../../folders.ts';
import { at, message, Scene, snapshot, workspace } from '../../store/fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { inFolder, onRedis, opened, type Place } from './places.ts';

/** Enough for several pages. */
const messagesMax = 60;
/** Number of times that a folder is read while it is written to. */
const looksCount = 60;

async function told(place: Place): Promise<DumpRow[]> {
  const source = place.source();
  await source.open();
  const rows: DumpRow[] = [];
  for await (const row of source.rows(Date.now())) rows.push(row);
  await source.close();
  return rows;
}

/** Turns begun, spoken in, finished and withdrawn, until told to stop. */
async function converse(scene: Scene, stopped: () => boolean): Promise<void> {
  let session = scene.session({ messageCount: 1 });
  await scene.store.sessions.create(scene.createStep({ session, greeting: message() }));
  for (let version = 1, count = 0; session.messageCount < messagesMax || !stopped(); count++) {
    const turn = await scene.begun(session, version);
    await turn.append(0, `Answer ${count}`);
    if (count % 3 === 2 || session.messageCount >= messagesMax) {
      await scene.store.turns.withdraw(turn.withdrawStep());
    } else {
      const step = turn.finishStep({ tail: { position: 0, text: '' } });
      await scene.store.turns.finish(step);
      ({ session } = step);
    }
    version = turn.version + 1;
  }
}

t.test(
  'an export of Redis in use has each session as it was at one moment',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => server.stop());
    const place = await onRedis(server.url)(t);
    await opened(place, async (store) => {
      const scene = new Scene(store, Date.now());
      await store.catalog.create('workspace', workspace({ id: scene.workspaceId }));
      let over = false;
      const talks = Promise.all(Array.from({ length: 4 }, () => converse(scene, () => over)));
      let flying = 0;
      for (let count = 0; count < 15; count++) {
        const rows = await told(place);
        for (const session of rows.filter((row) => row.type === 'session')) {
          const { id, messageCount, machine } = session.record;
          const messages = rows.filter((row) => row.type === 'message').filter(({ sessionId }) => sessionId === id);
          const turns = rows.filter((row) => row.type === 'turn').filter(({ record }) => record.sessionId === id);
          const flights = turns.filter(({ flight }) => flight !== null);
          flying += flights.length;
          const whole =
            messages.length === messageCount &&
            messages.every(({ index }, at) => index === at) &&
            messages.filter(({ record }) => record.status === 'streaming').length === flights.length &&
            turns.length === (messageCount - 1) / 2 &&
            flights.length === (machine.state === 'streaming' ? 1 : 0) &&
            turns.every(({ finished, flight }) => (finished === null) === (flight !== null));
          if (!whole)
            t.fail('a session that never was', {
              session,
              messages: messages.length,
              turns: turns.length,
              flights: flights.length,
            });
        }
      }
      over = true;
      await talks;
      t.ok(flying > 0, 'turns in flight were among them');
    });
  },
);

t.test('a folder in use is told as it was when the export began', async (t) => {
  const place = await inFolder(t);
  await opened(place, async (store) => {
    const scene = new Scene(store, Date.now());
    const { workspaceId } = scene;
    await store.catalog.create('workspace', workspace({ id: workspaceId }));
    for (let count = 0; count < 300; count++) await scene.created();
    const source = place.source();
    await source.open();
    const all: DumpRow[] = [];
    for await (const row of source.rows(Date.now())) {
      if (all.length === 1) await change(scene);
      all.push(row);
    }
    await source.close();
    t.equal(all.filter(({ type }) => type === 'workspace').length, 1);
    const states = all.flatMap((row) => (row.type === 'session' ? [row.record.machine.state] : []));
    t.same([states.length, new Set(states)], [300, new Set(['open'])], 'nothing of what came later');
    const later = await told(place);
    t.equal(later.filter((row) => row.type === 'session' && row.record.machine.state === 'ended').length, 300);
  });
});

/** Ends every session and makes another workspace. */
async function change({ store, workspaceId, ...scene }: Scene): Promise<void> {
  const filter = { assistantIds: null, status: null, activeSince: 0, now: scene.now };
  for (const { id } of (await store.sessions.list(workspaceId, filter, { limit: 300, after: null, order: 'asc' }))
    .items) {
    const { record, version } = (await store.sessions.read(workspaceId, id))!;
    await store.sessions.save({ ...record, machine: snapshot('ended') }, at(version));
  }
  await store.catalog.create('workspace', workspace());
}

t.test('a look at a folder finds one state, whatever its journal and its database are at', async (t) => {
  const folder = await temporaryFolder(t);
  const writer = spawn(
    process.execPath,
    ['--import=tsx', fileURLToPath(new URL('./writing.ts', import.meta.url)), folder],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.teardown(() => writer.kill('SIGKILL'));
  await Promise.race([once(writer.stdout, 'data'), once(writer, 'exit')]);
  const seen = new Set<number>();
  for (let count = 0; count < looksCount; count++) {
    const snapshot = new LmdbSnapshot(folder);
    await snapshot.open();
    const rows = [...snapshot.range('row/', 'row0')].map(([key, value]) => [key, unpackRow<number>(value)] as const);
    const values = new Set(rows.map(([, value]) => value));
    const [value] = [...values];
    if (values.size !== 1 || rows.length !== (value! % 2 === 0 ? 30 : 31)) t.fail('two states in one', { rows });
    seen.add(value!);
    await snapshot.close();
  }
  t.same([writer.exitCode, writer.signalCode], [null, null]);
  t.ok(seen.size > looksCount / 8, 'it was written to meanwhile');
});

/** A folder whose database the test changes while it is read. */
async function movable(
  t: Test,
): Promise<{ folder: string; taken: (next: number, rows?: readonly [string, string][]) => void }> {
  const folder = await temporaryFolder(t);
  const database = open<Buffer, string>({ path: folder, noSubdir: false, encoding: 'binary', overlappingSync: true });
  t.teardown(() => database.close());
  await database.put('row', Buffer.from('old'));
  const taken = (next: number, rows: readonly [string, string][] = []): void =>
    database.transactionSync(() => {
      for (const [key, value] of [...rows, [nextKey, String(next)] as const]) database.putSync(key, Buffer.from(value));
    });
  return { folder, taken };
}

t.test('a journal that goes into the database between the looks at both is looked at again', async (t) => {
  const { folder, taken } = await movable(t);
  let looks = 0;
  const snapshot = new LmdbSnapshot(folder, {
    files: () => {
      if (++looks > 1) return [];
      taken(7, [['row', 'new']]);
      return [readSegment(`${folder}/journal-000000000000000`)];
    },
  });
  await snapshot.open();
  t.same([String(snapshot.get('row')), looks], ['new', 2]);
  await snapshot.close();
  const hurried = new LmdbSnapshot(folder, {
    files: () => {
      taken(++looks);
      return [];
    },
  });
  await t.rejects(hurried.open(), { message: /changes faster than it can be read/ });
});

t.test('rows that the database takes while the journal is read cause no second look', async (t) => {
  const { folder, taken } = await movable(t);
  const segment = new Segment(`${folder}/journal-000000000000000`, 0);
  segment.append(0, [{ key: 'row', offset: 0, pieces: [Buffer.from('journal')] }]);
  segment.close();
  const { path, bytes } = readSegment(segment.path);
  let looks = 0;
  const slow = {
    path,
    get bytes() {
      taken(looks, [['row', 'later']]);
      return bytes;
    },
  };
  const snapshot = new LmdbSnapshot(folder, {
    files: () => {
      looks++;
      return [slow];
    },
  });
  await snapshot.open();
  t.same([String(snapshot.get('row')), looks], ['journal', 1]);
  await snapshot.close();
});
