/**
 * One process owns a folder: rivals that do not see each other, owners that were stopped for too long, folders that are
 * lost.
 */
import { cpSync, linkSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { WheelClock, type Timer } from '../../src/base/clock.ts';
import type { OwnerRecord } from '../../src/store/lmdb/owner.ts';
import {
  BeatWatch,
  FolderLost,
  standingOf,
  viewer,
  type OwnershipOptions,
  type Viewer,
} from '../../src/store/lmdb/ownership.ts';
import { LmdbEngine, lmdbStore } from '../../src/store/lmdb.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { JournaledEngine } from '../../src/store/journal.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { temporaryFolder } from '../folders.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { ids, workspace } from './fixtures.ts';

const here: Viewer = { boot: 'boot', namespace: 'pid:[1]', isAlive: () => true };
const record: OwnerRecord = {
  id: 'one',
  pid: 1,
  started: 'boot:1',
  boot: 'boot',
  namespace: 'pid:[1]',
  inode: 7,
  locked: true,
};
const look = (over: Partial<OwnerRecord> | null = {}, inode = 7) => ({
  record: over && { ...record, ...over },
  isNew: false,
  inode,
  beat: 0,
});

/** A process in another container on this kernel. */
const elsewhere = (): Viewer => ({ ...viewer(), namespace: 'pid:[2]' });

t.test('an owner is judged by the lock, then by what can be seen of it', async (t) => {
  const rows: [string, ReturnType<typeof standingOf>, Parameters<typeof standingOf>][] = [
    ['a lock that another process holds', 'living', [look(null), 'busy', here, true]],
    ['a new file', 'free', [{ ...look(null), isNew: true }, 'none', here, true]],
    ['an unreadable record', 'unseen', [look(null), 'held', here, true]],
    ['a lock that went with its owner', 'free', [look({ namespace: 'pid:[2]' }), 'held', here, false]],
    [
      'a record of another inode, which is a copy',
      'free',
      [look({ locked: false, namespace: 'pid:[2]' }, 8), 'none', here, false],
    ],
    ['a process of this namespace that lives', 'living', [look({ locked: false }), 'held', here, true]],
    [
      'a process of this namespace that is dead',
      'free',
      [look({ locked: false }), 'none', { ...here, isAlive: () => false }, true],
    ],
    ['a process of another namespace, without a lock', 'unseen', [look({ namespace: 'pid:[2]' }), 'none', here, true]],
    ['another boot, on a disk of this machine', 'free', [look({ boot: 'before' }), 'held', here, true]],
    ['another boot, on a disk that machines share', 'unseen', [look({ boot: 'other' }), 'held', here, false]],
    [
      'a copy from another machine, on a disk that machines share',
      'unseen',
      [look({ boot: 'other' }, 8), 'none', here, false],
    ],
  ];
  for (const [what, standing, given] of rows) t.equal(standingOf(...given), standing, what);
});

t.test('a beat that stands still for the lease is one of an owner that has lapsed', async (t) => {
  const watch = new BeatWatch(100);
  const seen = (beat: number, nowMs: number) => watch.judge('unseen', { ...look(), beat }, nowMs);
  t.same(
    [seen(1, 0), seen(1, 99), seen(2, 100), seen(2, 150), seen(2, 199), seen(2, 200)],
    ['unseen', 'unseen', 'living', 'unseen', 'unseen', 'lapsed'],
  );
  t.equal(watch.judge('living', look(), 300), 'living');
  t.equal(seen(2, 301), 'unseen', 'and is watched anew afterwards');
});

/** A store on a folder, whose owner beats only when the clock says so. */
async function opened(t: Test, folder: string, ownership: Partial<OwnershipOptions> = {}, Engine = LmdbEngine) {
  const lost: FolderLost[] = [];
  const engine = new Engine(folder, { onLost: (error) => lost.push(error), ...ownership });
  const store = new EmbeddedStore(new JournaledEngine(engine, folder, { flushes: false, newName: () => ids.secret() }));
  await store.open(Date.now());
  t.teardown(() => store.close());
  return { store, lost };
}

t.test(
  'a process in another container waits for the owner to end, and then has all that it acknowledged',
  async (t) => {
    const folder = await temporaryFolder(t);
    const first = lmdbStore(folder);
    await first.open(Date.now());
    const own = workspace();
    await first.catalog.create('workspace', own);
    const told: string[] = [];
    const second = lmdbStore(folder, {
      ownership: { here: elsewhere(), notify: (sentence) => (told.push(sentence), void first.close()) },
    });
    await second.open(Date.now());
    t.same(told, [
      `The folder ${folder} is in use by a process in another container or on another machine. Waiting up to 60 s for it to end.`,
    ]);
    t.ok(await second.catalog.read('workspace', own.id, own.id));
    await second.close();
    t.notOk(
      readdirSync(folder).some((name) => name.startsWith('owner')),
      'a folder at rest has no owner',
    );
  },
);

t.test('a process in another container ends with one sentence and leaves the owner undisturbed', async (t) => {
  const folder = await temporaryFolder(t);
  const first = lmdbStore(folder);
  await first.open(Date.now());
  t.teardown(() => first.close());
  const message = `The folder ${folder} is in use by a process in another container or on another machine. It did not end within 0 s: end it, then start this one again.`;
  await t.rejects(
    lmdbStore(folder, { ownership: { here: elsewhere(), waitMs: 0 } }).open(Date.now()),
    new StoreUnavailable(message),
  );
  await first.ping();
});

/** The clock of a process that can be stopped: nothing that waits for it happens then. */
class StoppableClock extends WheelClock {
  isStopped = false;

  override after(delayMs: number, callback: () => void): Timer {
    return super.after(delayMs, () => (this.isStopped ? undefined : callback()));
  }
}

/** Runs without the program that takes the system's lock. */
function lockless(t: Test): void {
  const { PATH } = process.env;
  process.env['PATH'] = '/nonexistent';
  t.teardown(() => (process.env['PATH'] = PATH));
}

/** A store that forgets to ask whose the folder is, as a planted fault. */
class Careless extends LmdbEngine {
  override verify(): void {}
}

for (const [Engine, outcome] of [
  [LmdbEngine, 'acknowledges nothing afterwards'],
  [Careless, 'is found out if it does not look'],
] as const) {
  t.test(`[P24] an owner that was stopped for longer than its lease ${outcome}`, async (t) => {
    lockless(t);
    const folder = await temporaryFolder(t);
    const clock = new StoppableClock();
    const first = await opened(t, folder, { clock }, Engine);
    const acknowledged: string[] = [];
    const create = async (): Promise<void> => {
      const own = workspace();
      await first.store.catalog.create('workspace', own);
      acknowledged.push(own.id);
    };
    await create();
    clock.isStopped = true;
    const told: string[] = [];
    const second = await opened(t, folder, {
      here: elsewhere(),
      leaseMs: 300,
      notify: (sentence) => told.push(sentence),
    });
    t.match(told, [/has not closed it, and cannot be seen from here\. Waiting 0\.3 s for a sign of life\.$/]);
    await create().catch((error) => t.ok(error instanceof StoreUnavailable));
    const held = await Promise.all(acknowledged.map((id) => second.store.catalog.read('workspace', id, id)));
    if (Engine === LmdbEngine) {
      t.ok(
        held.every((row) => row !== null),
        'what it acknowledged is there',
      );
      t.equal(acknowledged.length, 1);
      t.match(first.lost, [
        {
          message: `The folder ${folder} was taken over by another process, moved or removed while this process had it open.`,
        },
      ]);
    } else t.ok(held.includes(null), 'it has acknowledged what is lost');
    await second.store.ping();
  });
}

t.test(
  'an owner that is killed in another container, without a lock, is waited for as long as its lease',
  async (t) => {
    lockless(t);
    const folder = await temporaryFolder(t);
    const first = lmdbStore(folder);
    await first.open(Date.now());
    linkSync(join(folder, 'owner'), join(folder, 'left'));
    await first.close();
    renameSync(join(folder, 'left'), join(folder, 'owner'));
    const told: string[] = [];
    const second = lmdbStore(folder, {
      ownership: { here: elsewhere(), leaseMs: 300, notify: (sentence) => told.push(sentence) },
    });
    await second.open(Date.now());
    t.equal(told.length, 1);
    await second.ping();
    await second.close();
  },
);

t.test('a copy of a running folder is free', async (t) => {
  const [folder, copy] = [await temporaryFolder(t), await temporaryFolder(t)];
  const first = lmdbStore(folder);
  await first.open(Date.now());
  t.teardown(() => first.close());
  cpSync(folder, copy, { recursive: true });
  for (const without of ['the lock', 'a lock']) {
    if (without === 'a lock') lockless(t);
    const second = lmdbStore(copy);
    await second.open(Date.now());
    await second.ping();
    await second.close();
    cpSync(join(folder, 'owner'), join(copy, 'owner'));
  }
});

const losses: readonly (readonly [string, (folder: string) => void])[] = [
  ['is emptied', (folder) => readdirSync(folder).forEach((name) => rmSync(join(folder, name)))],
  ['is moved', (folder) => renameSync(folder, `${folder}-moved`)],
  [
    'gets another database',
    (folder) => (rmSync(join(folder, 'data.mdb')), writeFileSync(join(folder, 'data.mdb'), '')),
  ],
];

for (const [what, lose] of losses) {
  t.test(`a server whose folder ${what} ends at once`, async (t) => {
    const above = await temporaryFolder(t);
    const folder = join(above, 'data');
    const clock = new ManualClock();
    const { lost } = await opened(t, folder, { clock });
    lose(folder);
    clock.advance(1000);
    t.ok(lost[0] instanceof FolderLost);
  });
}
