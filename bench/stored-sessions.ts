/**
 * Disk and memory that stored conversations take: holds N sessions of so many turns with the embedded model, on a server
 * as `npm start` runs it, then removes them as retention does, then holds as many again.
 * `node --import=tsx bench/stored-sessions.ts 10000`
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { Option } from 'commander';
import { WheelClock } from '../src/base/clock.ts';
import { randomIds } from '../src/base/ids.ts';
import { limits } from '../src/base/limits.ts';
import { wholeNumber } from '../src/cli/arguments.ts';
import { lmdbStore } from '../src/store/lmdb.ts';
import { redisStore } from '../src/store/redis.ts';
import type { Store } from '../src/store/store.ts';
import { build, startHouse, storeFolder, type House } from './contenders/parley.ts';
import { startRedis } from './contenders/redis.ts';
import { developmentCommand, numberOption } from './harness/development-command.ts';
import { residentBytes } from './harness/process.ts';

/** Conversations that are held at once. */
const abreast = 32;

const storeKinds = ['lmdb', 'redis'] as const;
type StoreKind = (typeof storeKinds)[number];

/** Messages of a visitor, of 80 characters on average; the embedded model answers each from its rules. */
const messages = [
  'Hello, I would like to know what you can do for me before I ask my real question.',
  'What is a session, and how long does it stay open if I do not write for a while?',
  'Could you explain how streaming works, and what happens when my connection breaks?',
  'And the limits of a key: what do I have to do when a request has been refused?',
  'How do I call this from a program of mine, and do I need a library for that?',
  'Thank you, this was helpful. Is there anything else that I should know about it?',
];

export interface Stage {
  readonly stage: string;
  /** Bytes that the data folder, or the append-only file of Redis, takes on disk. */
  readonly diskBytes: number;
  /** Resident memory of the server at the end of the stage, and the most that was seen during it; 0 without a server. */
  readonly residentBytes: number;
  readonly residentBytesMost: number;
  /** `used_memory` of Redis; null on LMDB. */
  readonly usedMemoryBytes: number | null;
}

/** A store of the measurement's own, as the server uses it and as it is measured from outside. */
interface Place {
  readonly url: string;
  open(clock: WheelClock): Store;
  diskBytes(): number;
  usedMemoryBytes(): Promise<number | null>;
  /** Rewrites the append-only file, which Redis does by itself when the file has doubled. */
  compact(): Promise<void>;
  stop(): Promise<void>;
}

/** Bytes on disk of all files in a folder. Files come and go meanwhile. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce((sum, name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return sum + (found?.isFile() ? found.blocks * 512 : 0);
  }, 0);
}

async function onLmdb(): Promise<Place> {
  const { folder, remove } = await storeFolder();
  return {
    url: `lmdb:${folder}`,
    open: () => lmdbStore(folder),
    diskBytes: () => bytesIn(folder),
    usedMemoryBytes: () => Promise.resolve(null),
    compact: () => Promise.resolve(),
    stop: remove,
  };
}

async function onRedis(): Promise<Place> {
  const redis = await startRedis();
  const client = createClient({ url: redis.url });
  await client.connect();
  const infoOf = async (section: string, name: string): Promise<string> =>
    new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(await client.info(section))![1]!;
  const folder = (await client.configGet('dir'))['dir']!;
  return {
    url: redis.url,
    open: (clock) => redisStore(redis.url, { clock, ids: randomIds(clock) }),
    diskBytes: () => bytesIn(folder),
    usedMemoryBytes: async () => Number(await infoOf('memory', 'used_memory')),
    async compact() {
      await client.bgRewriteAof();
      while ((await infoOf('persistence', 'aof_rewrite_in_progress')) !== '0')
        await new Promise((resolve) => setTimeout(resolve, 100));
    },
    async stop() {
      await client.close();
      await redis.stop();
    },
  };
}

/** Holds the conversations; resolves with the text's bytes of the last one. */
async function converse(house: House, assistantId: string, sessions: number, turns: number): Promise<number> {
  const headers = { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' };
  const ask = async (method: string, path: string, body?: object): Promise<Response> => {
    const response = await fetch(house.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response;
  };
  let left = sessions;
  let textBytes = 0;
  const talk = async (): Promise<void> => {
    while (left-- > 0) {
      const { id } = (await (await ask('POST', '/sessions', { assistant_id: assistantId })).json()) as { id: string };
      for (let turn = 0; turn < turns; turn++)
        await (await ask('POST', `/sessions/${id}/chat`, { message: messages[turn % messages.length]! })).text();
      if (left > 0) continue;
      const { data } = (await (await ask('GET', `/sessions/${id}/transcript?limit=100`)).json()) as {
        data: { content: string }[];
      };
      textBytes = data.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
    }
  };
  await Promise.all(Array.from({ length: abreast }, talk));
  return textBytes;
}

/** Removes every session by the step by which retention does: with a retention of no days all are past it. */
async function removeSessions(place: Place, workspaceId: string): Promise<void> {
  const clock = new WheelClock();
  const store = place.open(clock);
  try {
    await store.open(clock.now());
    const { record, version } = (await store.catalog.read('workspace', workspaceId, workspaceId))!;
    const changed = await store.catalog.replace('workspace', { ...record, retentionDays: 0 }, version);
    // A second later than the last activity.
    while ((await store.sweep(clock.now() + 1000, limits.sweepSessionsMax, true)) > 0);
    await store.catalog.replace('workspace', record, changed!);
  } finally {
    await store.close();
    clock.stop();
  }
}

/**
 * Holds `sessions` conversations of `turns` turns, and reports what they take at the end of each stage. Resolves with the
 * UTF-8 bytes of the text of one conversation, of visitor and assistant.
 */
export async function storedSessions(
  kind: StoreKind,
  sessions: number,
  turns: number,
  report: (stage: Stage) => void,
): Promise<number> {
  const place = kind === 'lmdb' ? await onLmdb() : await onRedis();
  let house: House | null = null;
  let most = 0;
  const sample = (): number => {
    const now = house === null ? 0 : residentBytes(house.processes);
    most = Math.max(most, now);
    return now;
  };
  const sampling = setInterval(sample, 500);
  const note = async (stage: string): Promise<void> => {
    const now = sample();
    report({
      stage,
      diskBytes: place.diskBytes(),
      residentBytes: now,
      residentBytesMost: most,
      usedMemoryBytes: await place.usedMemoryBytes(),
    });
    most = 0;
  };
  const start = async (): Promise<House> =>
    (house = await startHouse({ store: place.url, surroundings: { upstream: 9, profile: null } }));
  const end = async (): Promise<void> => {
    await house!.server.stop('SIGTERM');
    house = null;
  };
  try {
    const first = await start();
    await note('started, empty');
    const embedded = { name: 'stored', model: { provider: 'scripted', name: 'demo' } };
    const within = `/workspaces/${first.workspace}/assistants`;
    const { id } = await first.console('POST', within, embedded);
    await first.console('POST', `${within}/${id}/publish`);
    const textBytes = await converse(first, id, sessions, turns);
    await note('sessions stored');
    await end();
    await place.compact();
    await note('server stopped');
    await removeSessions(place, first.workspace);
    await place.compact();
    await note('removed by retention');
    const second = await start();
    await converse(second, id, sessions, turns);
    await note('as many stored again');
    await end();
    await place.compact();
    await note('server stopped');
    return textBytes;
  } finally {
    clearInterval(sampling);
    await (house as House | null)?.server.stop();
    await place.stop();
  }
}

const megabytes = (bytes: number | null): string => (bytes === null ? '' : (bytes / 1e6).toFixed(1));

if (import.meta.filename === process.argv[1]) {
  const command = developmentCommand(
    'node --import=tsx bench/stored-sessions.ts',
    'Holds conversations with the embedded model on a server and a store of its own, and reports the disk and the memory that they take, before and after their removal by retention.',
    'node --import=tsx bench/stored-sessions.ts 1000 --store redis',
  )
    .argument('[sessions]', 'how many', wholeNumber(1, 999_999_999), 10_000)
    .addOption(numberOption('--turns <number>', 'in each session', 1).default(6))
    .addOption(new Option('--store <store>', 'where they are stored').choices(storeKinds).default('lmdb'))
    .parse();
  const { turns, store } = command.opts<{ turns: number; store: StoreKind }>();
  build();
  const sessions = command.processedArgs[0] as number;
  process.stdout.write('stage                  disk MB  server MB  at most MB  Redis MB\n');
  const textBytes = await storedSessions(store, sessions, turns, (found) => {
    const figures = [
      megabytes(found.diskBytes).padStart(9),
      megabytes(found.residentBytes).padStart(10),
      megabytes(found.residentBytesMost).padStart(11),
      megabytes(found.usedMemoryBytes).padStart(9),
    ];
    process.stdout.write(`${found.stage.padEnd(20)} ${figures.join(' ')}\n`);
  });
  process.stdout.write(`${sessions} sessions of ${turns} turns, ${textBytes} bytes of text each, on ${store}\n`);
}
