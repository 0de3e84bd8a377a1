/** The file between two stores: cut, damaged and foreign. */
import { appendFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import type { Test } from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { limits } from '../../../src/base/limits.ts';
import { exportTo, importFrom, type Exported } from '../../../src/operations/moving.ts';
import type { DumpProgress, DumpRow, DumpSource, DumpTarget } from '../../../src/store/dump.ts';
import { rowOf } from '../../../src/store/dump/text.ts';
import type { Message } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../folders.ts';
import { move } from '../../store/contract/history.ts';
import { ids, workspace } from '../../store/fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { live } from './life.ts';
import { inFolder, inMemory, onRedis, opened, type MakePlace, type Place } from './places.ts';
import { movingLineBytesMax } from '../../../src/operations/moving/file.ts';

const secret = 'a secret of thirty-two characters';

async function exported(source: DumpSource, out: string): Promise<Exported> {
  await source.open();
  try {
    return await exportTo({
      source,
      secret,
      version: '1.2.3',
      clock: new WheelClock(),
      ids,
      out,
      onRows: () => {},
    });
  } finally {
    await source.close();
  }
}

const imported = (target: DumpTarget, from: string, given = secret) =>
  importFrom({ target, secret: given, from, onRows: () => {} });

interface Scene {
  readonly place: Place;
  readonly path: (name: string) => string;
  readonly file: string;
  /** The lines, without their line ends. */
  readonly lines: readonly string[];
}

/** A store that has lived, several lives perhaps, and its export. */
async function scene(t: Test, make: MakePlace = inMemory, lives = 1): Promise<Scene> {
  const folder = await temporaryFolder(t);
  const path = (name: string): string => join(folder, name);
  const place = await make(t);
  await opened(place, async (store) => {
    for (let count = 0; count < lives; count++) await live(store, Date.now());
  });
  const file = path('export.jsonl');
  await exported(place.source(), file);
  return { place, path, file, lines: (await readFile(file, 'utf8')).trimEnd().split('\n') };
}

/** A target that fails at its nth batch, before or after it has taken it in. */
function failing(target: DumpTarget, at: number, after: boolean): DumpTarget {
  let batches = 0;
  return {
    name: target.name,
    open: () => target.open(),
    close: () => target.close(),
    progress: (id) => target.progress(id),
    async load(rows: readonly DumpRow[], progress: DumpProgress) {
      if (++batches === at && !after) throw new Error('cut');
      await target.load(rows, progress);
      if (batches === at) throw new Error('cut');
    },
  };
}

/** A source that fails behind so many rows. */
function cut(source: DumpSource, rows: number): DumpSource {
  return {
    name: source.name,
    open: () => source.open(),
    close: () => source.close(),
    async *rows(nowMs) {
      let left = rows;
      for await (const row of source.rows(nowMs)) {
        if (left-- === 0) throw new Error('cut');
        yield row;
      }
    },
  };
}

/** Cuts in a batch, by its number, before it is taken in or after. */
type Cuts = readonly (readonly [at: number, after: boolean])[];

async function resumes(t: Test, make: MakePlace, cuts: Cuts): Promise<void> {
  const { file, lines, path } = await scene(t, inMemory, 4);
  t.ok(lines.length > 2 * limits.movingRowsMax, 'there are three batches');
  for (const [at, after] of cuts) {
    const there = await make(t);
    await t.rejects(imported(failing(there.target(), at, after), file), { message: 'cut' });
    if (at > 1 || after) {
      const unfinished = { message: /^An import into this store was cut\. Run parley import again/ };
      await t.rejects(
        opened(there, async () => {}),
        unfinished,
      );
      await t.rejects(exported(there.source(), path('half.jsonl')), unfinished);
    }
    const done = await imported(there.target(), file);
    t.equal(done.rows, lines.length - 2);
    t.equal(done.before, limits.movingRowsMax * (after ? at : at - 1), 'it goes on where it was');
    await exported(there.source(), path('there.jsonl'));
    t.same((await readFile(path('there.jsonl'), 'utf8')).trimEnd().split('\n').slice(1), lines.slice(1));
    await opened(there, (store) => store.ping());
  }
}

t.test('an import into memory that was cut goes on', (t) =>
  resumes(t, inMemory, [
    [1, false],
    [1, true],
    [2, false],
    [2, true],
    [3, false],
  ]),
);

t.test('an import into lmdb that was cut goes on', (t) =>
  resumes(t, inFolder, [
    [1, true],
    [2, false],
  ]),
);

t.test('an import into redis that was cut goes on', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  await resumes(t, onRedis(server.url), [
    [1, true],
    [2, false],
  ]);
  const there = await onRedis(server.url)(t);
  const target = there.target();
  await target.open();
  const [kept, broken] = [workspace(), {} as Message];
  const rows = [
    { type: 'workspace', version: 1, record: kept },
    { type: 'message', workspaceId: kept.id, sessionId: 'ses_1', index: 0, record: broken },
  ] as const;
  await t.rejects(target.load(rows, { id: 'x', rows: 2, done: true }));
  await target.close();
  await t.rejects(
    opened(there, async () => {}),
    { message: /^An import into this store was cut/ },
    'even in its first batch',
  );

  const volatile = await RedisServer.start();
  t.teardown(() => volatile.stop());
  const { file } = await scene(t);
  await t.rejects(imported((await onRedis(volatile.url)(t)).target(), file), { message: /keeps no append-only file/ });
});

t.test('a file that was cut or changed is refused before anything is written', async (t) => {
  const { lines, path } = await scene(t);
  const broken = path('broken.jsonl');
  const last = lines.length;
  const changed = (at: number, from: string | RegExp, to: string): string[] =>
    lines.map((line, index) => (index === at ? line.replace(from, to) : line));
  const message = lines.findIndex((line) => line.startsWith('{"type":"message"'));
  const wrong: [string, string[], RegExp][] = [
    ['no closing line', lines.slice(0, -1), new RegExp(`ends after line ${last - 1} without its closing line`)],
    ['a header alone', lines.slice(0, 1), /ends after line 1 without/],
    ['nothing', [], /^The file is empty\.$/],
    ['a row less', lines.toSpliced(9, 1), new RegExp(`has ${last - 3} rows, but its closing line says ${last - 2}`)],
    ["two rows in each other's place", lines.with(5, lines[6]!).with(6, lines[5]!), /checksum of the closing line/],
    ['a changed text', changed(message, '"content":"', '"content":"X'), /checksum of the closing line/],
    [
      'a field of another type',
      changed(message, /"index":\d+/, '"index":"no"'),
      new RegExp(`^Line ${message + 1} cannot be imported: index must be integer\\.$`),
    ],
    [
      'a field within',
      changed(message, /"role":"\w+"/, '"role":"root"'),
      new RegExp(`^Line ${message + 1} cannot be imported: record\\.role `),
    ],
    [
      'a field less',
      changed(message, /"index":\d+,/, ''),
      new RegExp(`^Line ${message + 1} cannot be imported: .*index`),
    ],
    [
      'an unknown row',
      changed(2, /"type":"\w+"/, '"type":"toString"'),
      /^Line 3 cannot be imported: type must name a kind of row\.$/,
    ],
    ['no row', lines.with(4, 'null'), /^Line 5 cannot be imported: type must/],
    ['no JSON', lines.with(4, '{"type'), /^Line 5 is not JSON\.$/],
    ['another file', ['{"log":1}'], /its first line is not a header/],
    [
      'a later format',
      changed(0, '"format":3', '"format":4'),
      /^The file has format 4, of parley 1\.2\.3; this version reads formats up to 3\. Import it with that version/,
    ],
    ['a broken header', changed(0, '"id":', '"no":'), /^The header on line 1/],
  ];
  for (const [name, content, said] of wrong) {
    const there = await inMemory(t);
    await writeFile(broken, content.map((line) => `${line}\n`).join(''));
    await t.rejects(imported(there.target(), broken), { message: said }, name);
    const { rows } = await exported(there.source(), path('nothing.jsonl'));
    t.equal(rows, 0, `${name}: nothing was written`);
  }
  await writeFile(broken, `${lines.join('\n')}\n`);
  for (let cut = (await stat(broken)).size - 1; cut > 0; cut = Math.floor(cut / 2)) {
    await truncate(broken, cut);
    await t.rejects(imported((await inMemory(t)).target(), broken), { message: /was cut short|is empty/ });
  }
  await writeFile(broken, `${lines[0]}\n`);
  await appendFile(broken, 'x'.repeat(movingLineBytesMax + 1));
  await t.rejects(imported((await inMemory(t)).target(), broken), { message: /a line of more than/ });
});

t.test('a compressed file that was cut is known as such, and one that is none is refused', async (t) => {
  const { place, path, lines } = await scene(t);
  const packed = path('export.jsonl.gz');
  await exported(place.source(), packed);
  t.same(
    gunzipSync(await readFile(packed))
      .toString()
      .trimEnd()
      .split('\n')
      .slice(1),
    lines.slice(1),
  );
  t.equal((await stat(packed)).mode & 0o777, 0o600, 'for its owner alone');
  await imported((await inMemory(t)).target(), packed);
  // The last bytes are a checksum of the packing alone.
  for (let cut = (await stat(packed)).size - 16; cut > 0; cut = Math.floor(cut / 2)) {
    await truncate(packed, cut);
    await t.rejects(imported((await inMemory(t)).target(), packed), { message: /was cut short|is empty/ }, `${cut}`);
  }
  await writeFile(packed, lines.join('\n'));
  await t.rejects(imported((await inMemory(t)).target(), packed), { message: /^The file cannot be unpacked/ });
});

t.test('another secret is refused with the way to the right one, and so is a store that holds anything', async (t) => {
  const { place, file, path } = await scene(t);
  await t.rejects(imported((await inMemory(t)).target(), file, `${secret}!`), {
    message: /another PARLEY_SECRET\. Set PARLEY_SECRET to the secret of the exported installation/,
  });
  const header = JSON.parse((await readFile(file, 'utf8')).split('\n')[0]!);
  t.notMatch(JSON.stringify(header), secret);
  const used = /^The store holds other data\. Import into an empty one/;
  await t.rejects(imported(place.target(), file), { message: used }, 'the store itself');
  const there = await inMemory(t);
  await imported(there.target(), file);
  await exported(place.source(), path('later.jsonl'));
  await t.rejects(
    imported(there.target(), path('later.jsonl')),
    { message: used },
    'a store that took in another file',
  );
});

t.test('a folder that a server has opened and left empty accepts an import', async (t) => {
  const { file } = await scene(t);
  const place = await inFolder(t);
  await opened(place, (store) => store.ping());
  await t.resolves(imported(place.target(), file));
});

t.test('an export that was cut has no name, and the next one begins anew', async (t) => {
  const { place, path, lines } = await scene(t, inFolder);
  const out = path('out.jsonl');
  await t.rejects(exported(cut(place.source(), 60), out), { message: 'cut' });
  t.notOk(existsSync(out), 'it has no name before it is whole');
  t.equal((await exported(place.source(), out)).rows, lines.length - 2);
  t.same((await readFile(out, 'utf8')).trimEnd().split('\n').slice(1), lines.slice(1));
  t.notOk(existsSync(`${out}.part`));
});

t.test('however much there is, little of it is held at a time', async (t) => {
  const path = join(await temporaryFolder(t), 'many.jsonl.gz');
  const count = 10 * limits.movingRowsMax;
  let told = 0;
  const { lines } = await scene(t);
  const [workspace, template] = ['workspace', 'session'].map((type) =>
    lines.find((line) => line.startsWith(`{"type":"${type}"`))!,
  ) as [string, string];
  const many: DumpSource = {
    name: 'memory',
    open: async () => {},
    close: async () => {},
    async *rows() {
      for (; told < count; told++) yield JSON.parse(told === 0 ? workspace : template);
    },
  };
  t.equal((await exported(many, path)).rows, count);
  let [largest, taken, ahead] = [0, 0, 0];
  const target: DumpTarget = {
    name: 'memory',
    open: async () => {},
    close: async () => {},
    progress: async (id) => ({ id, rows: 0, done: false }),
    async load(rows) {
      largest = Math.max(largest, rows.length);
      taken += rows.length;
      ahead = Math.max(ahead, read - taken);
    },
  };
  let read = 0;
  await importFrom({ target, secret, from: path, onRows: (doing, rows) => (read = doing === 'importing' ? rows : 0) });
  t.same([taken, largest], [count, limits.movingRowsMax]);
  t.ok(ahead <= limits.movingRowsMax);
});

t.test("an import keeps a turn's past in its history", async (t) => {
  const past = {
    turnId: 'turn_1',
    version: 1,
    runsUntil: 1,
    shared: true,
    events: [{ type: 'output', at: 1 }],
    stoppedBy: { requestId: null, by: null },
  };
  const row = (turn: unknown): object => ({
    type: 'history',
    workspaceId: 'wks_1',
    kind: 'session',
    id: 'ses_1',
    moves: [{ ...move(1), ...(turn !== undefined && { turn }) }],
  });
  t.same(rowOf(row(past)), row(past));
  t.same(rowOf(row(undefined)), row(undefined), 'of earlier versions');
  for (const wrong of [
    null,
    5,
    {},
    { ...past, events: 'no' },
    { ...past, events: [null] },
    { ...past, events: Array(limits.turnEventsKept + 1).fill(past.events[0]) },
    { ...past, stoppedBy: null },
  ]) {
    t.throws(() => rowOf(row(wrong)), { message: /^moves\.0\.turn/ }, JSON.stringify(wrong).slice(0, 60));
  }
});
