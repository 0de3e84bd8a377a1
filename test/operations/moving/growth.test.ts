/** An embedded installation that grows into Redis and comes back, by the command and through real processes. */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import type { Test } from 'tap';
import {
  abort,
  answered,
  end,
  onProvider,
  refused,
  say,
  sayInVain,
  sessionOf,
  synthetic,
  transcriptOf,
  until,
} from '../../api/talk.ts';
import { openHouse, textOf, type House } from '../../api/house.ts';
import { temporaryFolder } from '../../folders.ts';
import { run } from '../../cli/support.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../../store/redis-server.ts';

const command = fileURLToPath(new URL('../../../src/install/start.mjs', import.meta.url));
const operatorToken = 'operator-token-of-the-tests';

interface Ran {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** A line of progress, which a command prints every five seconds. */
const progress = /^(?:checking|importing|exporting) +.*\n/gm;

/** Runs `parley` as a process in a folder, with its stdin if given. Its progress is left out. */
function parley(folder: string, args: string[], env: Record<string, string> = {}, input?: string): Promise<Ran> {
  const { PATH, HOME, TMPDIR } = process.env;
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [command, ...args],
      { cwd: folder, env: { PATH, HOME, TMPDIR, ...env }, maxBuffer: 1e8 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr: stderr.replace(progress, '') }),
    );
    child.stdin!.end(input);
  });
}

const once = (key: string) => ({ headers: { 'idempotency-key': key } });

/** The state made on the first server that the next ones are asked for. */
interface Past {
  readonly key: string;
  /** Milliseconds of the monotonic clock. */
  readonly indebtedAt: number;
  readonly keys: { readonly restricted: string; readonly revoked: string; readonly indebted: string };
  readonly assistants: { readonly open: any; readonly credited: any; readonly draft: any };
  readonly sessions: { readonly talk: any; readonly ended: any; readonly aborted: any; readonly flowing: any };
  readonly turns: { readonly talk: string; readonly aborted: string; readonly flowing: string };
  readonly seen: string;
  readonly transcripts: Readonly<Record<string, any[]>>;
  readonly usage: any;
}

async function past(t: Test, house: House): Promise<Past> {
  const open = await synthetic(house, 'tokens=5,unicode=1', { greeting: 'Hello 👋' });
  const endless = await synthetic(house, 'tokens=100000,delay_ms=1,unicode=1');
  const { assistant: credited } = await onProvider(t, house, (response) => answered(response, ['from', ' afar']));
  const draft = (await house.console(`/workspaces/${house.workspaceId}/assistants`, { body: { name: 'Draft' } })).json;
  const [restricted, revoked, indebted] = await Promise.all(
    [{ assistant_ids: [credited.id] }, {}, { limits: { requests: 2 } }].map((fields) => house.newKey(fields)),
  );
  await house.console(`/workspaces/${house.workspaceId}/keys/${revoked.id}/revoke`, { method: 'POST' });

  const talk = (
    await house.ask('/sessions', { body: { assistant_id: open.id, metadata: { plan: 'gold' } }, ...once('session') })
  ).json;
  const told = await say(house, talk.id, 'Hello', once('turn'));
  await told.rest();
  const ended = await house.session(credited.id);
  await (await say(house, ended.id)).rest();
  await end(house, ended.id);
  const aborted = await house.session(endless.id);
  const stopped = await say(house, aborted.id);
  await stopped.next();
  await abort(house, aborted.id, stopped.turnId);
  await stopped.rest();
  for (let count = 0; count < 5; count++) await house.ask('/assistants', { key: indebted.key });
  const indebtedAt = performance.now();

  const flowing = await house.session(endless.id);
  const stream = await say(house, flowing.id, 'And on');
  const seen = [];
  while (seen.length < 20) seen.push((await stream.next())!);
  const ids = [talk.id, ended.id, aborted.id];
  return {
    key: house.key,
    indebtedAt,
    keys: { restricted: restricted.key, revoked: revoked.key, indebted: indebted.key },
    assistants: { open, credited, draft },
    sessions: { talk, ended, aborted, flowing },
    turns: { talk: told.turnId, aborted: stopped.turnId, flowing: stream.turnId },
    seen: textOf(seen),
    transcripts: Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await transcriptOf(house, id)]))),
    usage: (await house.ask('/usage')).json.totals,
  };
}

/** Checks that all is unchanged for callers with their old keys. */
async function stands(
  t: Test,
  house: House,
  { key, keys, assistants, sessions, turns, seen, transcripts, usage }: Past,
): Promise<void> {
  const as = { key };
  t.match(await sessionOf(house, sessions.talk.id), {
    status: 'open',
    metadata: { plan: 'gold' },
    created_at: sessions.talk.created_at,
  });
  for (const [id, transcript] of Object.entries(transcripts))
    t.same((await house.ask(`/sessions/${id}/transcript?limit=100`, as)).json.data, transcript);
  refused(t, await house.ask('/assistants', { key: keys.revoked }), 401, 'revoked_api_key');
  refused(
    t,
    await house.ask('/sessions', { key: keys.restricted, body: { assistant_id: assistants.open.id } }),
    403,
    'assistant_not_permitted',
  );
  t.equal((await house.ask(`/assistants/${assistants.credited.id}`, { key: keys.restricted })).status, 200);
  refused(
    t,
    await house.ask('/sessions', { ...as, body: { assistant_id: assistants.draft.id } }),
    409,
    'assistant_not_published',
  );
  refused(t, await sayInVain(house, sessions.ended.id, 'Still there?', as), 409, 'session_ended');

  const again = await house.ask('/sessions', {
    ...as,
    body: { assistant_id: assistants.open.id, metadata: { plan: 'gold' } },
    ...once('session'),
  });
  t.same([again.status, again.headers.get('idempotent-replayed'), again.json.id], [201, 'true', sessions.talk.id]);
  refused(
    t,
    await house.ask('/sessions', { ...as, body: { assistant_id: assistants.credited.id }, ...once('session') }),
    422,
    'invalid_request',
  );
  const replay = await say(house, sessions.talk.id, 'Hello', { ...as, headers: once('turn').headers });
  t.equal(replay.turnId, turns.talk, 'a retry joins the turn that there was');
  t.equal(textOf(await replay.rest()), transcripts[sessions.talk.id]!.at(-1).content);

  await until(async () => (await sessionOf(house, sessions.flowing.id)).active_turn_id === null);
  const [, partial] = await transcriptOf(house, sessions.flowing.id);
  t.match(partial, { status: 'partial', stop_reason: 'error', turn_id: turns.flowing });
  t.ok(partial.content.startsWith(seen), 'what a client has seen of a turn in flight is in the transcript');
  const totals = (await house.ask('/usage', as)).json.totals;
  t.same(
    [totals.sessions, totals.turns, totals.failed_turns],
    [usage.sessions, usage.turns + 1, usage.failed_turns + 1],
    'and it is counted, once',
  );

  const fresh = await house.ask('/sessions', { ...as, body: { assistant_id: assistants.credited.id } });
  t.equal(textOf(await (await say(house, fresh.json.id, 'Hi', as)).rest()), 'from afar', 'credentials open');
}

t.test('an installation in a folder goes on in Redis, and back', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const env = { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' };
  const first = await openHouse(t, { embedded: true, env: { ...env, PARLEY_STORE: 'lmdb:./data' } });
  const told = await past(t, first);

  const running = await parley(first.folder, ['export', '--out', 'running.jsonl.gz']);
  t.same([running.code, running.stdout], [0, ''], running.stderr);
  t.match(
    running.stderr,
    /^Exported \d+ rows: 1 workspace, 5 assistants, \d+ histories, \d+ releases, \d+ assistant versions, 1 credential, \d+ keys, 4 sessions, .*\n$/m,
    'while the server runs',
  );
  const packed = join(first.folder, 'running.jsonl.gz');
  t.equal((await stat(packed)).mode & 0o777, 0o600);
  const rows = gunzipSync(await readFile(packed))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.equal(
    rows.find(({ type, record }) => type === 'session' && record.id === told.sessions.flowing.id).record.machine.context
      .activeTurnId,
    told.turns.flowing,
  );
  t.ok(
    rows
      .find(
        ({ type, record }) =>
          type === 'message' && record.turnId === told.turns.flowing && record.status === 'streaming',
      )
      .record.content.startsWith(told.seen),
  );
  t.not(
    rows.find(({ type, record }) => type === 'turn' && record.id === told.turns.flowing).flight,
    null,
    'a turn in flight is in it as it was',
  );
  await first.kill('SIGKILL');
  const piped = await parley(first.folder, ['export']);
  t.equal(piped.code, 0, piped.stderr);
  const secret = (await readFile(join(first.folder, 'data', 'secret'), 'utf8')).trim();
  t.notOk(
    [secret, told.key, told.keys.indebted, 'canary-secret', operatorToken].some((each) => piped.stdout.includes(each)),
    'no secret leaves in the clear',
  );
  t.notMatch(piped.stderr, /not open/);

  const into = { PARLEY_STORE: server.url };
  const elsewhere = await temporaryFolder(t);
  const foreign = await run(['import'], { env: { ...into, PARLEY_SECRET: 'x'.repeat(32) }, input: piped.stdout });
  t.same(
    [foreign.code, foreign.stderr.split('.')[0]],
    [1, 'parley: The file was exported under another PARLEY_SECRET'],
  );
  const unset = await run(['import'], { env: into, input: piped.stdout });
  t.same([unset.code, unset.stderr.split(' ', 4).join(' ')], [2, 'parley: PARLEY_SECRET must be']);
  const shared = { ...into, PARLEY_SECRET: secret };
  const cut = await run(['import'], { env: shared, input: piped.stdout.slice(0, piped.stdout.length / 2) });
  t.equal(cut.code, 1);
  t.match(cut.stderr, /was cut short/);
  const done = await parley(elsewhere, ['import'], shared, piped.stdout);
  t.match([done.code, done.stderr], [0, /^Imported \d+ rows: 1 workspace, /m], 'nothing of half a file was written');

  const second = await openHouse(t, { folder: elsewhere, env: { ...env, ...shared } });
  // The debt is paid within a minute, which a slow machine may need for the move.
  const indebted = await second.ask('/assistants', { key: told.keys.indebted });
  if (performance.now() - told.indebtedAt < 30_000) refused(t, indebted, 429, 'rate_limited');
  await stands(t, second, told);
  const repeated = await run(['import'], { env: shared, input: piped.stdout });
  t.match([repeated.code, repeated.stderr], [0, /^The file was imported before: nothing has changed\./]);

  const file = join(elsewhere, 'redis.jsonl');
  const home = await run(['export', '--out', file], { env: shared });
  t.equal(home.code, 0, home.stderr);
  const folder = join(elsewhere, 'back');
  const back = { PARLEY_STORE: `lmdb:${folder}`, PARLEY_SECRET: secret };
  const returned = await run(['import', '--from', file], { env: back });
  t.match([returned.code, returned.stderr], [0, /^Imported /m]);
  t.equal(
    (await readFile(join(folder, 'secret'), 'utf8')).trim(),
    secret,
    'a server started on it opens what came along',
  );
  t.same([(await stat(folder)).mode & 0o777, (await stat(join(folder, 'secret'))).mode & 0o777], [0o700, 0o600]);
  const third = await openHouse(t, { folder: elsewhere, embedded: true, env: { ...env, ...back } });
  for (const [id, transcript] of Object.entries(told.transcripts))
    t.same((await third.ask(`/sessions/${id}/transcript?limit=100`, { key: told.key })).json.data, transcript);
  t.match(await sessionOf(third, told.sessions.flowing.id), { status: 'open', active_turn_id: null });
  const busy = await run(['import', '--from', file], { env: back });
  t.match([busy.code, busy.stderr], [1, /is in use by another process/]);
});

t.test('the command says what is wrong in one line', async (t) => {
  const folder = join(await temporaryFolder(t), 'data');
  const said = async (args: string[], env: Record<string, string> = {}) => {
    const { code, stderr } = await run(args, {
      env: { PARLEY_STORE: `lmdb:${folder}`, PARLEY_SECRET: 'x'.repeat(32), ...env },
      input: '',
    });
    return [code, stderr];
  };
  t.same(await said(['export']), [1, `parley: The folder ${folder} holds no store.\n`]);
  t.same(await said(['export', '--store', 'memory:']), [
    2,
    'parley: PARLEY_STORE is memory:, which ends with its process: there is nothing to move.\n',
  ]);
  t.same(await said(['import', '--from', 'none.jsonl']), [1, 'parley: The file none.jsonl cannot be read (ENOENT).\n']);
  t.same(await said(['import']), [1, 'parley: The file is empty.\n']);
  const [code, line] = await said(['export'], { PARLEY_SECRET: '' });
  t.equal(code, 2);
  t.match(line, /^parley: PARLEY_SECRET must be set .*no file "secret" in /);
  t.match(line, folder);
});
