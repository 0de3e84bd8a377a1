/**
 * Places where secrets that the server keeps might be seen (contract 4 and 9; promises P15, P17 and P18): one table of
 * canaries and places, compared with all bytes that leave the server and all that it leaves behind.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient, RESP_TYPES } from 'redis';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { found } from './canaries.ts';
import { throwFaults } from './fault-run.ts';
import { converse, given, openScene, refuse, watched, type Scene } from './scene.ts';

type Place = (typeof places)[number];
const places = [
  ...([
    'before',
    'the making of a key',
    'console',
    'sessions',
    'streams',
    'transcripts',
    'failures',
    'service',
    'inspect',
  ] as const),
  ...(['standard output', 'standard error', 'the store', 'the export', 'the doctor'] as const),
];

/** The bytes of the store, and of an export of it. */
const kept = ['the store', 'the export'] as const;

/** Each canary with the places where it has to be; it is to be in no other. */
const table: Readonly<Record<keyof typeof given | 'key' | 'digest of the key', readonly Place[]>> = {
  secret: [],
  operator: [],
  credential: [],
  changedCredential: [],
  oddCredential: [],
  provider: [],
  // A provider refuses a later turn without what it put on its calls, so that stays with them, also in an installation
  // that they are moved to (contract 13).
  opaque: [...kept],
  key: ['the making of a key'],
  'digest of the key': [...kept],
  reply: ['streams', 'transcripts', ...kept],
  message: ['transcripts', ...kept],
  metadata: ['sessions', ...kept],
  visitor: ['sessions', ...kept],
  prompt: ['console', ...kept],
  model: ['console', ...kept],
  baseUrl: ['console', ...kept],
  idempotencyKey: [...kept],
  fieldName: ['failures'],
  junk: [],
  wrongValue: [],
};

/**
 * Number of the provider's faults tried on each store, each with another seed; `npm run fuzz -- --what faults` tries
 * more.
 */
const times = 30;

t.test('no marker secret appears on LMDB, in logs or answers', async (t) => {
  const folder = await temporaryFolder(t);
  const scene = await openScene(t, { folder, env: { PARLEY_STORE: 'lmdb:./data', PARLEY_EDGE: 'uws' } });
  const told = await everything(t, scene, 1);
  const running = await filesIn(join(folder, 'data'));
  told
    .set('the doctor', await command(folder, ['doctor', '--json']))
    .set('the export', await command(folder, ['export']));
  t.same(await scene.house.stop(), { code: 0, signal: null });
  told.set('the store', Buffer.concat([running, await filesIn(join(folder, 'data'))]));
  holdToTable(t, scene, told);
});

t.test('no marker secret appears on Redis, in logs or answers', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly, '--rdbcompression', 'no');
  t.teardown(() => redis.stop());
  const folder = await temporaryFolder(t);
  const scene = await openScene(t, { folder, env: { PARLEY_STORE: redis.url, PARLEY_EDGE: 'node' } });
  const told = await everything(t, scene, 2);
  const env = { PARLEY_STORE: redis.url };
  told
    .set('the doctor', await command(folder, ['doctor', '--json'], env))
    .set('the export', await command(folder, ['export'], env));
  told.set('the store', await redisBytes(redis));
  await redis.kill();
  await withoutStore(t, scene);
  await scene.house.kill('SIGKILL');
  holdToTable(t, scene, told);
});

/** Checks that a failure for want of a store reveals no more than any other failure. */
async function withoutStore(t: Test, { relay, house, key, assistants }: Scene): Promise<void> {
  const body = { assistant_id: assistants.openai, metadata: { a: given.metadata } };
  const asked: Promise<{ status: number }>[] = [];
  await relay.during('failures', async () => {
    asked.push(
      house.ask('/sessions', { key, body, headers: { 'idempotency-key': given.idempotencyKey } }),
      house.ask(`/sessions/ses_${'0'.repeat(26)}/chat`, { key, body: { message: given.message } }),
    );
    asked.push(
      house.console(`/workspaces/${house.workspaceId}/credentials`, {
        body: { kind: 'model', provider: 'openai', api_key: given.credential },
      }),
    );
    await Promise.all(asked);
  });
  for (const answer of asked) t.equal((await answer).status, 503);
}

async function everything(t: Test, scene: Scene, seed: number): Promise<Map<Place, Buffer>> {
  const told = new Map<Place, Buffer>();
  told.set(
    'inspect',
    await watched(t, scene, async () => {
      await converse(scene);
      await refuse(scene);
      await throwFaults(scene, { seed, times });
    }),
  );
  t.ok(
    scene.provider.asked.some((text) => text.includes(`Bearer ${given.credential}`)),
    'the provider is given the credential',
  );
  t.ok(
    scene.provider.asked.some(
      (text) => text.includes(given.prompt) && text.includes(given.message) && text.includes(given.model),
    ),
    'and what it is to answer',
  );
  return told;
}

/** Details that no answer to a key may contain: where the server's code is, and the provider behind an assistant. */
const inside =
  /\bat \S+ \(|node_modules|node:internal|\/dist\/|\.ts:\d|ECONN|undici|openai|anthropic|lmdb|redis|xstate|(?:crd|wks|tok)_[0-9a-z]{20}/i;

function holdToTable(t: Test, { house, relay, canaries }: Scene, told: Map<Place, Buffer>): void {
  for (const [place, bytes] of relay.kept) told.set(place as Place, bytes);
  t.match(told.get('the doctor')!.toString(), /PARLEY_STORE|store/, 'the doctor spoke');
  told.set('standard output', Buffer.from(house.stdout())).set('standard error', Buffer.from(house.stderr()));
  t.same([...told.keys()].sort(), [...places].sort(), 'every place was looked at');
  const where = [...told].flatMap(([place, bytes]) => found(bytes, canaries).map((name) => ({ name, place })));
  for (const [name, expected] of Object.entries(table)) {
    const seen = where.filter((one) => one.name === name).map(({ place }) => place);
    t.same(seen.sort(), [...expected].sort(), `${name} is in its places and in no other`);
  }
  for (const place of ['sessions', 'streams', 'transcripts'] as const)
    t.notMatch(told.get(place)!.toString('latin1'), inside, `nothing of the inside in ${place}`);
  for (const line of house
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{')))
    JSON.parse(line);
}

async function filesIn(folder: string): Promise<Buffer> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return Buffer.concat(await Promise.all(names.map(({ parentPath, name }) => readFile(join(parentPath, name)))));
}

/** Every key with its value as the server would dump it, and the append-only file. */
async function redisBytes(redis: RedisServer): Promise<Buffer> {
  const client = createClient({ url: redis.url }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await client.connect();
  const pieces: Buffer[] = [];
  for await (const keys of client.scanIterator({ COUNT: 1000 })) {
    for (const key of keys)
      pieces.push(key, (await client.sendCommand<Buffer | null>(['DUMP', key])) ?? Buffer.alloc(0));
  }
  client.destroy();
  const folder = (await redis.command('CONFIG', 'GET', 'dir')).split('\n')[1]!;
  return Buffer.concat([...pieces, await filesIn(folder)]);
}

const start = fileURLToPath(new URL('../../src/install/start.mjs', import.meta.url));

/** Resolves with the output of a command of parley, for any exit code. */
function command(
  folder: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Buffer> {
  const { PATH, HOME, TMPDIR } = process.env;
  // The embedded voice, which is given no text of these, takes the doctor seconds to look at.
  const env = {
    PATH,
    HOME,
    TMPDIR,
    PORT: '0',
    PARLEY_VOICE_PROCESSES: '0',
    PARLEY_SECRET: given.secret,
    PARLEY_OPERATOR_TOKEN: given.operator,
    ...more,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [start, ...args], { cwd: folder, env }, (_, stdout, stderr) =>
      resolve(Buffer.from(stdout + stderr)),
    );
  });
}
