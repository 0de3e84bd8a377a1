/**
 * Erasing a person (contract 22): a canary in every field that a person can fill, then the erasures, then a search of
 * every row, an export, the logs, the metrics and the live feed for them, before and after a restart.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient, RESP_TYPES } from 'redis';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { LmdbSnapshot } from '../../src/store/lmdb/snapshot.ts';
import { callOn } from '../api/caller.ts';
import { countingTool } from '../api/counting-tool.ts';
import { openHouse, type House } from '../api/house.ts';
import { onProvider, say, until } from '../api/talk.ts';
import { temporaryFolder } from '../folders.ts';
import { Visit } from '../pages/link/visits.ts';
import { data, delta, done, eventStream } from '../providers/model/provider.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { canary, canaryText, found } from './canaries.ts';

/** The texts that a person fills in, says, or causes to be stored. */
const names = [
  ...['message', 'reply', 'half a reply', 'visitor', 'metadata', 'key of a session', 'key of a message'],
  ...[
    'argument',
    'output',
    'result',
    'spoken',
    'conversation',
    'input',
    'user',
    'note of a response',
    'system',
    'comment',
  ],
] as const;
const text = Object.fromEntries(names.map((name) => [name, canaryText(`erased ${name}`)])) as Record<
  (typeof names)[number],
  string
>;
const canaries = names.map((name) => canary(name, text[name]));

const secret = 'a-secret-of-the-tests-that-is-long-enough';

/** A store that a server leaves, and how its rows are read. */
interface Place {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  /** The bytes of the rows; with `wanted` of the keys that it returns true for. */
  rows(wanted?: (key: string) => boolean): Promise<Buffer>;
  /** The bytes of its files after the remedy of docs/operating.md against bytes that remain. */
  filesAfterRemedy(): Promise<Buffer>;
}

const places: Readonly<Record<string, (t: Test) => Promise<Place>>> = {
  async lmdb(t) {
    const folder = await temporaryFolder(t);
    const place: Place = {
      env: { PARLEY_STORE: 'lmdb:./data' },
      folder,
      rows: (wanted) => rowsIn(join(folder, 'data'), wanted),
      async filesAfterRemedy() {
        await parley(place, 'export', '--out', 'parley.jsonl.gz');
        await parley(place, 'import', '--from', 'parley.jsonl.gz', '--store', 'lmdb:./new');
        return filesIn(join(folder, 'new'));
      },
    };
    return place;
  },
  async redis(t) {
    const redis = await RedisServer.start(...appendOnly, '--rdbcompression', 'no');
    t.teardown(() => redis.stop());
    return {
      env: { PARLEY_STORE: redis.url },
      folder: await temporaryFolder(t),
      rows: (wanted) => rowsOf(redis.url, wanted),
      async filesAfterRemedy() {
        const files = async () => filesIn((await redis.command('CONFIG', 'GET', 'dir')).split('\n')[1]!);
        t.not(found(await files(), canaries).length, 0, 'the append-only file has them before');
        await redis.command('BGREWRITEAOF');
        await until(async () => !/aof_rewrite_\w+:1/.test(await redis.command('INFO', 'persistence')));
        // Redis removes the earlier file in the background.
        return until(async () => {
          const bytes = await files();
          return found(bytes, canaries).length === 0 && bytes;
        });
      },
    };
  },
};

const start = (t: Test, { env, folder }: Place): Promise<House> =>
  openHouse(t, {
    folder,
    env: { ...env, PARLEY_SECRET: secret, PARLEY_LOG: 'trace', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' },
  });

for (const [name, open] of Object.entries(places)) {
  t.test(name, { skip: (name === 'redis' && whyNoRedis()) || false }, async (t) => {
    const place = await open(t);
    const house = await start(t, place);
    const visitor = await fillIn(t, house);
    await testOn(t, house);
    const before = await place.rows();
    t.same(found(before, canaries).sort(), [...names].sort(), 'every text is stored');
    const feed = await watch(t, house);
    const { totals } = (await house.ask('/usage')).json;
    const logged = house.stdout().length + house.stderr().length;

    const path = `/workspaces/${house.workspaceId}`;
    const erase = (what: string) => house.console(`${path}/${what}`, { method: 'DELETE' });
    const receipt = await erase(`visitors/${visitor}`);
    t.match(receipt.json, { object: 'erasure', sessions: 2, messages: 8, turns: 3, feedback: 1, tests: 1 });
    t.equal(receipt.status, 200);
    let tests = 0;
    for (const { id } of (await house.console(`${path}/sessions?limit=100`)).json.data) {
      const { json } = await erase(`sessions/${id}`);
      t.match(json, { object: 'erasure', sessions: 1 });
      tests += json.tests;
    }
    t.equal(tests, 1, 'the test of a session without a visitor');
    t.match((await erase(`visitors/${visitor}`)).json, { sessions: 0, messages: 0, turns: 0 }, 'a repeat has zeros');

    t.same((await house.console(`${path}/sessions?limit=100`)).json.data, []);
    await lookFor(t, place, house, visitor);
    t.same(found(feed(), canaries), [], 'the live feed');
    const logs = house.stdout() + house.stderr();
    t.ok(logs.length > logged, 'the erasures are logged');
    t.same(found(Buffer.from(logs), canaries), [], 'the logs');
    t.same(/^.*"level":"(?:error|fatal)".*$/m.exec(logs)?.[0], undefined, 'no fault is logged');
    const { turns, sessions, tool_calls: calls } = (await house.ask('/usage')).json.totals;
    t.match({ sessions, calls }, { sessions: totals.sessions, calls: totals.tool_calls }, 'usage stays');
    t.ok(turns >= totals.turns, 'usage has the turns that were aborted');

    t.same(await house.stop(), { code: 0, signal: null });
    const again = await start(t, place);
    await lookFor(t, place, again, visitor);
    t.same(found(Buffer.from(again.stdout() + again.stderr()), canaries), [], 'the logs of the next process');
    await again.stop();
    t.same(found(await place.filesAfterRemedy(), canaries), [], 'the files, after what docs/operating.md says');
  });
}

/** Looks for the texts and the visitor's id in the rows, an export and the metrics. */
async function lookFor(t: Test, place: Place, house: House, visitor: string): Promise<void> {
  t.same(found(await place.rows(), canaries), [], 'the rows of the store');
  const rows = await place.rows((key) => !key.includes('audit'));
  t.notOk(rows.includes(visitor), 'no row but those of the audit has the id of the visitor');
  t.same(/ses_\w{26}/.exec(rows.toString('latin1'))?.[0], undefined, 'no such row has the id of a session');
  t.same(found(await parley(place, 'export'), canaries), [], 'an export');
  t.same(found(Buffer.from((await house.ask('/metrics')).text), canaries), [], 'the metrics');
}

/** Fills in every field; returns the id of the visitor. */
async function fillIn(t: Test, house: House): Promise<string> {
  const tool = await countingTool(t, house, { functions: [lookUp] });
  tool.answer = (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ is: text.output }));
  const client = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: { kind: 'client', name: 'Client', functions: [{ ...lookUp, name: 'ask_client' }] },
  });
  const { assistant } = await onProvider(t, house, answerOf, {
    tool_ids: [tool.id, client.json.id],
    greeting: 'Hello.',
    channels: { voice: true, link: true },
    link: { slug: 'erased', feedback: true },
    voice: { provider: 'synthetic', name: 'character_ms=5' },
  });
  const headers = { 'idempotency-key': text['key of a session'] };
  const fields = { visitor: { name: text.visitor }, metadata: { plan: text.metadata } };
  const chat = async (id: string, body: object, key = house.key, base = '') => {
    const stream = await house.stream(`${base}/sessions/${id}/chat`, {
      key,
      body,
      headers: { 'idempotency-key': `${text['key of a message']} ${id}` },
    });
    await stream.rest();
  };

  const session = (
    await house.ask('/sessions', { key: house.key, headers, body: { assistant_id: assistant.id, ...fields } })
  ).json;
  await chat(session.id, { message: `call look_up ${text.message}` });
  const waiting = await house.session(assistant.id);
  await (await say(house, waiting.id, 'call ask_client')).rest();
  const [pending] = (await house.ask(`/sessions/${waiting.id}`)).json.pending_tool_calls;
  await chat(waiting.id, { tool_results: [{ call_id: pending.call_id, output: text.result }] });

  const visit = await Visit.to(house, 'erased');
  const held = await visit.session(fields);
  await chat(held.id, { message: text.message }, visit.token, '/p/erased');
  await chat((await visit.session(fields)).id, { message: text.message }, visit.token, '/p/erased');
  const rated = await visit.stream(held, 'call look_up');
  await rated.rest();
  const feedback = await visit.ask(`/sessions/${held.id}/turns/${rated.turnId}/feedback`, {
    method: 'PUT',
    body: { rating: 'down', comment: text.comment },
  });
  t.equal(feedback.status, 200, 'feedback');

  const caller = await callOn(house, await house.session(assistant.id));
  caller.send({ type: 'message', text: text.spoken });
  await caller.until('turn.completed');

  const response = await house.ask('/v1/responses', {
    key: house.key,
    headers: { 'idempotency-key': 'a response' },
    body: { model: assistant.id, input: text.input, metadata: { a: text['note of a response'] }, user: text.user },
  });
  t.equal(response.status, 200, 'a response');
  const completion = await house.ask('/v1/chat/completions', {
    key: house.key,
    headers: { 'x-conversation-id': text.conversation },
    body: { model: assistant.id, messages: [{ role: 'user', content: `${text.input} ${text.system}` }] },
  });
  t.equal(completion.status, 200, 'a completion');

  // A turn that streams while it is erased.
  const streaming = await house.session(assistant.id);
  const stream = await say(house, streaming.id, 'hang');
  await until(async () => (await stream.next())?.event === 'message.delta');
  return visit.id;
}

/**
 * Makes a test of a session of the visitor and one of another session, runs each, and replays both: all of these have
 * texts of the sessions.
 */
async function testOn(t: Test, house: House): Promise<void> {
  const workspace = `/workspaces/${house.workspaceId}`;
  const sessions: any[] = (await house.console(`${workspace}/sessions?limit=100`)).json.data;
  const held = sessions.findLast((one) => one.channel === 'link');
  const own = sessions.find((one) => one.channel === 'api' && one.visitor.name === text.visitor);
  const path = `${workspace}/assistants/${held.assistant_id}`;
  const runs = [];
  for (const { id } of [held, own]) {
    const test = await house.console(`${path}/tests`, { body: { from_session: id } });
    t.equal(test.status, 201, test.text);
    runs.push({ version: 1, test_ids: [test.json.id] });
    t.equal((await house.console(`${workspace}/sessions/${id}/end`, { method: 'POST' })).status, 200);
  }
  for (const body of [...runs, { version: 'draft', replay: { sessions: 10 } }]) {
    const { status, json } = await house.console(`${path}/test-runs`, { body });
    t.equal(status, 202);
    const run = await until(async () => {
      const now = (await house.console(`${path}/test-runs/${json.id}`)).json;
      return !['queued', 'running'].includes(now.status) && now;
    });
    t.match(run, { status: 'passed', results: [{}] }, JSON.stringify(run));
  }
}

const lookUp = {
  name: 'look_up',
  description: 'Looks an order up.',
  parameters: { type: 'object', properties: { order: { type: 'string' } } },
};

/** Answers as the newest message says: with a call, with half a reply, or with a reply. */
function answerOf(response: ServerResponse, { body }: { readonly body: any }): void {
  const last = body.messages.at(-1);
  const wanted = last.role === 'user' ? /call (\w+)/.exec(last.content)?.[1] : undefined;
  response.writeHead(200, eventStream);
  if (last.content === 'hang') return void response.write(delta(text['half a reply']));
  if (wanted !== undefined && body.tools !== undefined) {
    const call = { name: wanted, arguments: JSON.stringify({ order: text.argument }) };
    response.write(
      data({ choices: [{ delta: { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: call }] } }] }),
    );
    return void response.end(delta('', 'tool_calls') + done);
  }
  response.end(delta(text.reply) + delta('', 'stop') + done);
}

/** Watches the live feed; returns all that it sends from now on, with the picture that it begins with. */
async function watch(t: Test, house: House): Promise<() => Buffer> {
  const socket = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect`, {
    headers: { authorization: `Bearer ${house.operatorToken}` },
  });
  t.teardown(() => socket.terminate());
  const pieces: Buffer[] = [];
  socket.on('message', (piece) => pieces.push(piece as Buffer));
  await once(socket, 'message');
  return () => Buffer.concat(pieces);
}

async function rowsIn(folder: string, wanted: (key: string) => boolean = () => true): Promise<Buffer> {
  const snapshot = new LmdbSnapshot(folder);
  await snapshot.open();
  try {
    return Buffer.concat(
      [...snapshot.range('', '~', false)]
        .filter(([key]) => wanted(key))
        .flatMap(([key, value]) => [Buffer.from(`${key} `), value]),
    );
  } finally {
    await snapshot.close();
  }
}

async function rowsOf(url: string, wanted: (key: string) => boolean = () => true): Promise<Buffer> {
  const client = createClient({ url }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await client.connect();
  const pieces: Buffer[] = [];
  for await (const keys of client.scanIterator({ COUNT: 1000 }))
    for (const key of keys.filter((each) => wanted(String(each))))
      pieces.push(key, (await client.sendCommand<Buffer | null>(['DUMP', key])) ?? Buffer.alloc(0));
  client.destroy();
  return Buffer.concat(pieces);
}

async function filesIn(folder: string): Promise<Buffer> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return Buffer.concat(await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name)))));
}

const command = fileURLToPath(new URL('../../src/install/start.mjs', import.meta.url));

/** Runs a command of parley; resolves with its output. */
function parley({ env, folder }: Place, ...args: string[]): Promise<Buffer> {
  const { PATH, HOME, TMPDIR } = process.env;
  const options = {
    cwd: folder,
    env: { PATH, HOME, TMPDIR, PARLEY_SECRET: secret, ...env },
    encoding: 'buffer',
    maxBuffer: 2 ** 28,
  } as const;
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [command, ...args], options, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(String(stderr))),
    );
  });
}
