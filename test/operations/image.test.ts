/**
 * The container image: its Dockerfile as text in each run, and with `PARLEY_TEST_IMAGE=1` its file system, built by the
 * same steps without a Docker engine and run as its user and as process 1.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { freePort } from '../../bench/harness/process.ts';
import manifest from '../../package.json' with { type: 'json' };
import { houseAt } from '../api/house.ts';
import { begin, synthetic, until } from '../api/talk.ts';
import { signalWithin } from '../containers.ts';
import { temporaryFolder } from '../folders.ts';
import { startServer, type Server } from '../process.ts';
import { assignments, buildImage, context, dockerfile, healthOf, root, whyNoImage } from './image.ts';

const restsOf = (word: string): string[] =>
  dockerfile()
    .filter((step) => step.word === word)
    .map((step) => step.rest);

t.test('the image starts the server with the settings of `npm start`, as a user by number', async (t) => {
  const words = manifest.scripts.start.split(' ');
  const set = new Map(restsOf('ENV').flatMap(assignments));
  for (const [name, value] of words.filter((word) => /^[A-Z_]+=/.test(word)).flatMap(assignments))
    t.equal(set.get(name), value, name);
  const flags = words.filter((word) => word.startsWith('--'));
  const [entrypoint] = restsOf('ENTRYPOINT').map((rest) => JSON.parse(rest) as string[]);
  t.same(entrypoint, ['node', ...flags, '/app/dist/parley.mjs']);
  t.match(
    restsOf('RUN').find((rest) => rest.includes('serve')),
    flags.join(' '),
    'V8 keeps compiled code for the flags',
  );
  t.match(restsOf('USER'), [/^\d+:\d+$/]);
  t.same(restsOf('VOLUME'), ['/data']);
});

t.test(
  'all files that the Dockerfile copies are in the clone and in its context, and the base images have no host',
  async (t) => {
    for (const rest of restsOf('COPY').filter((each) => !each.startsWith('--from=')))
      for (const source of rest.split(' ').slice(0, -1)) {
        t.ok(context().includes(source), `${source} in .dockerignore`);
        t.ok(statSync(join(root, source), { throwIfNoEntry: false }), source);
      }
    const compose = readFileSync(join(root, 'compose.yaml'), 'utf8');
    const images = [...restsOf('FROM'), ...[...compose.matchAll(/image: (\S+)/g)].map(([, name]) => name!)];
    for (const image of images) t.match(image, /^[a-z]+(?::[\w.-]+)?(?: AS build)?$/);
  },
);

t.test('the health check passes while the server is ready, and fails when it is gone', async (t) => {
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' } });
  const [program, ...words] = healthOf(restsOf('HEALTHCHECK')[0]!);
  const check = (env: Readonly<Record<string, string>>): number | null =>
    spawnSync(program!, words, { env: { PATH: process.env['PATH'], ...env } }).status;
  const { port } = new URL(server.url);
  t.equal(check({ PORT: port }), 0);
  t.equal(check({ PORT: '1', PARLEY_MANAGEMENT_PORT: port }), 0, 'on the management port, if there is one');
  await server.stop();
  t.equal(check({ PORT: port }), 1);
});

const wanted = process.env['PARLEY_TEST_IMAGE'] === '1';
const whyNot = wanted ? whyNoImage() : 'PARLEY_TEST_IMAGE=1 builds the image, which takes a minute or two';

/** Bytes of the files in a folder. */
const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

/** Processes that a process has started and not waited for yet. */
const childrenOf = (pid: string): number[] =>
  (readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []).map(Number);

/** Processes that have ended and were not waited for, whose parent is `parent`. */
const zombiesOf = (parent: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return new RegExp(`^State:\\s+Z[^]*^PPid:\\s+${parent}$`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  });

t.test(
  'the image’s file system serves as process 1, drains at SIGTERM and ends with 0',
  { skip: whyNot },
  async (t) => {
    const { stage, command, health, volume } = buildImage(await temporaryFolder(t));
    const packages = join(stage.files, 'app/node_modules');
    const development = Object.keys(manifest.devDependencies).filter((name) =>
      statSync(join(packages, name), { throwIfNoEntry: false }),
    );
    t.same(
      development.filter((name) => !(name in manifest.dependencies)),
      [],
    );
    t.comment(`/app has ${Math.round(bytesIn(join(stage.files, 'app')) / 1e6)} MB`);
    t.equal(statSync(join(stage.files, volume)).uid, Number(stage.user.split(':')[0]));
    const port = String(await freePort());
    const operator = 'operator-token-of-the-tests';
    const env = { PORT: port, HOST: '127.0.0.1', PARLEY_SYNTHETIC: '1', PARLEY_OPERATOR_TOKEN: operator };
    const check = (): number | null =>
      spawnSync(health[0]!, health.slice(1), { env: { ...process.env, ...env } }).status;

    const begun = performance.now();
    const server = stage.start(command, env);
    t.teardown(() => server.kill('SIGKILL'));
    let printed = '';
    for (const stream of [server.stdout!, server.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const ended = once(server, 'close');
    const url = `http://127.0.0.1:${port}`;
    await until(async () => server.exitCode !== null || (await fetch(`${url}/readyz`).catch(() => null))?.ok);
    t.comment(`first answer after ${Math.round(performance.now() - begun)} ms`);
    if (server.exitCode !== null) return t.fail(printed);
    t.equal(check(), 0);
    t.notMatch(printed, /ak_/, 'no key in the log');
    const pid = String(childrenOf(String(server.pid))[0]);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    t.match(status, /^NSpid:\s+\d+\s+1$/m, 'process 1');
    t.match(status, new RegExp(`^Uid:\\s+${stage.user.split(':')[0]}\\b`, 'm'), 'the user of the image');
    t.comment(`${/VmRSS:\s+(.*)/.exec(status)![1]} resident`);

    const house = await houseAt({ url, operatorToken: operator, program: 'image' } as Server);
    const { id } = await house.assistant({ channels: { voice: true } });
    t.equal((await house.ask('/speech', { body: { assistant_id: id, text: 'Hello.' } })).status, 200);
    const children = childrenOf(pid);
    t.ok(children.length > 0, 'the voice has a process');
    for (const child of children) process.kill(child, 'SIGKILL');
    await until(async () => zombiesOf(pid).length === 0);
    const { stream } = await begin(house, (await synthetic(house, 'tokens=40,delay_ms=50')).id);
    await stream.next();
    signalWithin(server, 'SIGTERM');
    t.equal((await stream.rest()).at(-1)!.event, 'turn.completed');
    t.same(await ended, [0, null]);
    t.match(printed, /"msg":"ended"/);
  },
);
