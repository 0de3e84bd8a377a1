/**
 * Makes golden files: an installation as this version leaves it, in every form of storage. Later versions must open
 * them (`golden.test.ts`), so an existing folder is never made anew; a version with another format makes a new one with
 * `npm run golden -- 0.2`.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { InvalidArgumentError } from 'commander';
import { createClient, RESP_TYPES } from 'redis';
import { developmentCommand } from '../../bench/harness/development-command.ts';
import { openHouse, textOf, type House } from '../api/house.ts';
import { abort, begin, credentialOf, end, say, sayInVain, synthetic, transcriptOf, until } from '../api/talk.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import { appendOnly, RedisServer } from '../store/redis-server.ts';
import { snapshotsOfMachines } from './machines.ts';
import type { About } from './opened.ts';

const secret = 'the secret of the golden files, 32 or more';
const start = fileURLToPath(new URL('../../src/install/start.mjs', import.meta.url));

const folderOf = (version: string): string => fileURLToPath(new URL(`${version}/`, import.meta.url));

function newVersion(text: string): string {
  if (!/^\d+\.\d+$/.test(text) || existsSync(folderOf(text))) throw new InvalidArgumentError('It must be a version that has no golden files yet, such as 0.2.');
  return text;
}

const command = developmentCommand(
  'npm run golden --',
  'Keeps in test/golden what this version leaves behind, for later ones to open. Once for each version with another format; needs redis-server.',
  `
  npm run golden -- 0.2`,
);
const out = folderOf(command.argument('<version>', 'the version, two numbers and a point', newVersion).parse().processedArgs[0]);

const undo: (() => Promise<unknown>)[] = [];
const owner: Owner = { teardown: (run) => undo.unshift(run) };

/**
 * All that a server keeps, made over its API in two lives: the first ends in order, the second by SIGKILL in the middle
 * of a turn.
 */
async function live(open: () => Promise<House>): Promise<About> {
  const first = await open();
  await first.console(`/workspaces/${first.workspaceId}`, { method: 'PATCH', body: { retention_days: 3650, name: 'Golden' } });
  const credential = await credentialOf(first, 'openai', 'https://api.example.com/v1', 'sk-golden-credential');
  const talking = await synthetic(first, 'tokens=3,text=one👋,usage=0', { greeting: 'Hello 👋', visitor_fields: [{ name: 'email', label: 'E-mail', type: 'email', required: false }] });
  const hanging = await synthetic(first, 'tokens=9,hang_at=2,text=word');
  const brief = await synthetic(first, 'tokens=9,hang_at=2', { max_call_seconds: 1 });
  await first.assistant({ model: { provider: 'openai', name: 'm', credential_id: credential.id } });
  const disabled = await first.assistant({ name: 'disabled' });
  await first.console(`/workspaces/${first.workspaceId}/assistants/${disabled.id}/disable`, { method: 'POST' });
  const { key } = await first.newKey({ name: 'golden', limits: { requests: 1000 } });
  const revoked = await first.newKey();
  await first.console(`/workspaces/${first.workspaceId}/keys/${revoked.id}/revoke`, { method: 'POST' });
  const ask = { key };

  const session = await first.session(talking.id, { visitor: { email: 'a@b.example' }, metadata: { plan: 'gold' } });
  await (await say(first, session.id, 'First', { ...ask, headers: { 'idempotency-key': 'golden' } })).rest();
  const aborted = await begin(first, hanging.id, ask);
  await aborted.stream.next();
  await abort(first, aborted.id, aborted.stream.turnId);
  const ended = await begin(first, talking.id, ask);
  await ended.stream.rest();
  await end(first, ended.id);
  const expired = await first.session(brief.id);
  await until(async () => (await sayInVain(first, expired.id)).status === 409);
  await first.stop();

  const second = await open();
  await (await say(second, session.id, 'Second', ask)).rest();
  const cut = await begin(second, hanging.id, ask);
  const seen = [await cut.stream.next(), await cut.stream.next()];
  const transcripts: Record<string, unknown> = {};
  for (const id of [session.id, aborted.id, ended.id, expired.id]) transcripts[id] = await transcriptOf(second, id);
  const usage = (await second.ask('/usage')).json.totals;
  const takenAtMs = Date.now();
  await second.kill('SIGKILL');
  return {
    takenAtMs, secret, workspaceId: second.workspaceId, key, revokedKey: revoked.key, transcripts, usage,
    credential: { id: credential.id, apiKey: 'sk-golden-credential' },
    sessions: { open: session.id, ended: ended.id, expired: expired.id, cut: cut.id },
    cutText: textOf(seen.filter((event) => event !== undefined)),
  };
}

async function embedded(): Promise<void> {
  const folder = await temporaryFolder(owner);
  const about = await live(() => openHouse(owner, { folder, env: { PARLEY_STORE: 'lmdb:./data', PARLEY_SECRET: secret } }));
  mkdirSync(join(out, 'lmdb'), { recursive: true });
  for (const file of readdirSync(join(folder, 'data'))) {
    if (file !== 'lock.mdb') copyFileSync(join(folder, 'data', file), join(out, 'lmdb', file));
  }
  writeFileSync(join(out, 'lmdb.json'), `${JSON.stringify(about, null, 2)}\n`);
  const exported = spawnSync(process.execPath, [start, 'export', '--store', `lmdb:${join(folder, 'data')}`, '--out', join(out, 'export.jsonl.gz')], {
    env: { PATH: process.env['PATH'], PARLEY_SECRET: secret }, stdio: 'inherit',
  });
  if (exported.status !== 0) throw new Error('The export failed.');
}

async function onRedis(): Promise<void> {
  const server = await RedisServer.start(...appendOnly);
  owner.teardown(() => server.stop());
  const about = await live(() => openHouse(owner, { env: { PARLEY_STORE: server.url, PARLEY_SECRET: secret } }));
  writeFileSync(join(out, 'redis.jsonl.gz'), gzipSync((await commandsOf(server.url)).map((command) => `${JSON.stringify(command)}\n`).join('')));
  writeFileSync(join(out, 'redis.json'), `${JSON.stringify(about, null, 2)}\n`);
}

/** Commands that recreate the content of a Redis, each word in base64. Keys that last a minute at most are left out. */
async function commandsOf(url: string): Promise<string[][]> {
  const client = createClient({ url, RESP: 2 }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await client.connect();
  const ask = (...words: (string | Buffer)[]): Promise<any> => client.sendCommand(words);
  const commands: Buffer[][] = [];
  const put = (command: string, key: Buffer, words: Buffer[]): unknown => commands.push([Buffer.from(command), key, ...words]);
  for (const key of ((await ask('KEYS', '*')) as Buffer[]).sort(Buffer.compare)) {
    if (/:(?:write:.*|ping)$/.test(String(key))) continue;
    const type = String(await ask('TYPE', key));
    if (type === 'string') put('SET', key, [await ask('GET', key)]);
    else if (type === 'hash') put('HSET', key, await ask('HGETALL', key));
    else if (type === 'set') put('SADD', key, await ask('SMEMBERS', key));
    else if (type === 'zset') {
      const found: Buffer[] = await ask('ZRANGE', key, '0', '-1', 'WITHSCORES');
      put('ZADD', key, found.map((_, index) => found[index ^ 1]!));
    } else throw new Error(`${String(key)} is a ${type}.`);
  }
  client.destroy();
  return commands.map((words) => words.map((word) => word.toString('base64')));
}

try {
  mkdirSync(out);
  await embedded();
  await onRedis();
  writeFileSync(join(out, 'machines.json'), `${JSON.stringify(snapshotsOfMachines())}\n`);
} finally {
  for (const run of undo) await run();
}
await once(process.stdout.end(`${readdirSync(out).join(' ')}\n`), 'finish').catch(() => {});
