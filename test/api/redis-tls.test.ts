/**
 * Redis over TLS (`rediss:`), end to end: conversations of several processes, the doctor, an export, and authorities
 * that are not trusted.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { temporaryFolder } from '../folders.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { secureRedis } from '../store/redis-tls.ts';
import { whyNoTls } from '../tls.ts';
import { openHouse, textOf, type StreamEvent } from './house.ts';
import { abort, begin, say, synthetic, transcriptOf, turnPath } from './talk.ts';

const skip = whyNoRedis() ?? whyNoTls() ?? false;
const settings = {
  PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
  PARLEY_OPERATOR_TOKEN: 'operator-token-of-the-tests',
};

const command = fileURLToPath(new URL('../../src/install/start.mjs', import.meta.url));

/** Runs `parley` to its end. An authority is named to a process as it starts. */
const parley = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: unknown; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const { PATH, HOME, TMPDIR } = process.env;
    execFile(process.execPath, [command, ...args], { env: { PATH, HOME, TMPDIR, ...env } }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });

const untrusted = (code: string): string =>
  `Redis shows a certificate that is not trusted here (${code}): name the file of its authority in NODE_EXTRA_CA_CERTS, and the host as the certificate has it.\n`;

t.test('the server works with Redis over TLS', { skip }, async (t) => {
  const redis = await secureRedis(t);
  const env = { ...settings, PARLEY_STORE: redis.url, NODE_EXTRA_CA_CERTS: redis.authority };

  await t.test('two processes share sessions, turns and notices', async (t) => {
    const [one, two] = await Promise.all([openHouse(t, { env }), openHouse(t, { env })]);
    const flowing = await synthetic(one, 'tokens=100000,delay_ms=5,unicode=1');
    const { id, stream } = await begin(one, flowing.id);
    const seen: StreamEvent[] = [];
    while (seen.length < 6) seen.push((await stream.next())!);
    const resumed = await two.stream(`${turnPath(id, stream.turnId)}/events?after=${seen.at(-1)!.id}`);
    t.match((await abort(two, id, stream.turnId)).json, { status: 'aborted' });
    const [, { content }] = (await transcriptOf(two, id)) as [unknown, { content: string }];
    t.equal(textOf(seen) + textOf(await resumed.rest()), content);
    const brief = await synthetic(two, 'tokens=3');
    const next = await begin(two, brief.id);
    t.equal((await next.stream.rest()).at(-1)!.event, 'turn.completed');
    await one.stop();
    const third = await openHouse(t, { env });
    t.equal((await (await say(third, next.id)).rest()).at(-1)!.event, 'turn.completed', 'after a restart');
    t.equal((await transcriptOf(third, next.id)).length, 4);
  });

  await t.test('doctor and export work over TLS', async (t) => {
    const examined = await parley(['doctor', '--json'], { ...env, PARLEY_VOICE_PROCESSES: '0' });
    const { checks } = JSON.parse(examined.stdout) as { checks: { id: string; status: string; found: string }[] };
    t.match(
      checks.find(({ id }) => id === 'reachable'),
      { status: 'ok', found: `127.0.0.1:${redis.port} answers` },
    );
    t.same(
      checks.filter(({ status }) => status === 'fail'),
      [],
    );
    const file = join(await temporaryFolder(t), 'parley.jsonl.gz');
    t.match(await parley(['export', '--out', file], env), { code: 0 });
    t.match(gunzipSync(await readFile(file)).toString(), /"type":"session"/);
  });

  await t.test(
    'an authority that is not trusted, or another host than the certificate names, is a wrong setting',
    async (t) => {
      const folder = await temporaryFolder(t);
      const strange = { ...env, NODE_EXTRA_CA_CERTS: redis.stranger };
      t.same(await parley(['serve', '--port', '0'], strange), {
        code: 2,
        stdout: '',
        stderr: `parley: PARLEY_STORE: ${untrusted('DEPTH_ZERO_SELF_SIGNED_CERT')}`,
      });
      t.same(
        await parley(['serve', '--port', '0'], { ...env, PARLEY_STORE: redis.url.replace('127.0.0.1', 'localhost') }),
        {
          code: 2,
          stdout: '',
          stderr: `parley: PARLEY_STORE: ${untrusted('ERR_TLS_CERT_ALTNAME_INVALID')}`,
        },
      );
      t.match(await parley(['export', '--out', join(folder, 'parley.jsonl.gz')], strange), {
        code: 1,
        stderr: untrusted('DEPTH_ZERO_SELF_SIGNED_CERT'),
      });
    },
  );
});

t.test('Redis Cluster over TLS', { skip }, async (t) => {
  const redis = await secureRedis(
    t,
    '--cluster-enabled',
    'yes',
    '--cluster-announce-ip',
    '127.0.0.1',
    '--tls-cluster',
    'yes',
  );
  await redis.server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await redis.server.replies('cluster_state:ok', 'CLUSTER', 'INFO');
  const env = {
    ...settings,
    PARLEY_STORE: redis.url.replace('rediss:', 'rediss-cluster:'),
    NODE_EXTRA_CA_CERTS: redis.authority,
  };
  const house = await openHouse(t, { env });
  const brief = await synthetic(house, 'tokens=3');
  t.equal((await (await begin(house, brief.id)).stream.rest()).at(-1)!.event, 'turn.completed');
  t.same(await parley(['serve', '--port', '0'], { ...env, NODE_EXTRA_CA_CERTS: redis.stranger }), {
    code: 2,
    stdout: '',
    stderr: `parley: PARLEY_STORE: ${untrusted('DEPTH_ZERO_SELF_SIGNED_CERT')}`,
  });
});
