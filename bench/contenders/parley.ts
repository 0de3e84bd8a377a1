/**
 * parley as it is built and run: authentication, budgets, sessions, transcripts, usage, metrics and logs are all on.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };
import { message, post, type Contender, type Instance, type Surroundings } from '../harness/contender.ts';
import { freePort, Process, untilReady } from '../harness/process.ts';
import { parleyFormat } from '../load/stream.ts';
import { modelName, type Shape } from '../text.ts';
import { startRedis, whyNoRedis } from './redis.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const buildProgram = join(root, 'src', 'install', 'build.mjs');
const bundle = join(root, 'dist', 'parley.mjs');
export const operatorToken = 'operator-token-of-the-benchmarks';
const secret = 'secret-of-the-benchmarks-32-characters';

/** The flags that `npm start` gives to Node, and the environment that it gives to the C library. */
const startWords = manifest.scripts.start.split(' ');
const nodeFlags = startWords.filter((word) => word.startsWith('--'));
const startEnvironment = Object.fromEntries(
  startWords.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=')),
);

/** The sessions that are opened at once while a measurement is prepared. */
const openedAbreast = 16;

/** Builds the product and its client if they are not, once. */
export const build = (): void => {
  const { status, stderr } = spawnSync(process.execPath, [buildProgram], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`parley does not build.\n${stderr}`);
};

/** A server of parley. */
export interface House extends Instance {
  readonly server: Process;
  readonly url: string;
  readonly key: string;
  readonly workspace: string;
  /** Opens the console's API. */
  console(method: string, path: string, body?: object): Promise<{ id: string; key?: string }>;
  assistant(shape: Shape): Promise<string>;
  /** Publishes an assistant of the provider's model of this name. */
  publish(model: string, fields?: object): Promise<string>;
  /** The requests of so many conversations with an assistant, as `conversations`. */
  talks(assistantId: string, count: number): Promise<string[]>;
}

export interface HouseOptions {
  readonly store: string;
  readonly surroundings: Pick<Surroundings, 'upstream' | 'profile'>;
  /** The key's requests a minute. */
  readonly requests?: number;
}

export interface Server {
  readonly server: Process;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts the server process alone and resolves when it answers. */
export async function startServer(store: string, { profile }: Pick<Surroundings, 'profile'>): Promise<Server> {
  const port = await freePort();
  const env = {
    ...startEnvironment,
    PORT: String(port),
    PARLEY_STORE: store,
    PARLEY_SECRET: secret,
    PARLEY_OPERATOR_TOKEN: operatorToken,
    PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
    PARLEY_LOG: 'info',
  };
  const server = new Process({
    place: 'server',
    program: process.execPath,
    args: [...nodeFlags, ...(profile === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]), bundle, 'serve'],
    env,
    cwd: tmpdir(),
    node: true,
  });
  await untilReady(port, '/readyz', server);
  // Only a process that ends by itself writes its profile.
  return { server, port, stop: () => server.stop(profile === null ? 'SIGKILL' : 'SIGTERM') };
}

const json = async (response: Response): Promise<any> => {
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
  return response.json();
};

export async function startHouse({ store, surroundings, requests = 1_000_000 }: HouseOptions): Promise<House> {
  const { server, port, stop } = await startServer(store, surroundings);
  const url = `http://127.0.0.1:${port}`;
  const console = (method: string, path: string, body?: object) =>
    fetch(`${url}/console/api${path}`, {
      method,
      headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    }).then(json);
  // A server answers before it has made the first workspace.
  let workspace: string | undefined;
  while (workspace === undefined) workspace = (await console('GET', '/workspaces')).data[0]?.id;
  const within = `/workspaces/${workspace}`;
  await console('PATCH', within, { turns_in_flight_max: 100_000 });
  const credential = await console('POST', `${within}/credentials`, {
    kind: 'model',
    provider: 'openai',
    base_url: `http://127.0.0.1:${surroundings.upstream}/v1`,
    api_key: 'sk-bench',
  });
  const { key } = await console('POST', `${within}/keys`, { name: 'bench', limits: { requests } });
  const assistants = new Map<string, Promise<string>>();
  const assistant = (shape: Shape): Promise<string> => {
    const name = modelName(shape);
    let found = assistants.get(name);
    if (found === undefined) assistants.set(name, (found = publish(name)));
    return found;
  };
  const publish = async (name: string, fields: object = {}): Promise<string> => {
    const made = await console('POST', `${within}/assistants`, {
      name,
      model: { provider: 'openai', name, credential_id: credential.id },
      ...fields,
    });
    await console('POST', `${within}/assistants/${made.id}/publish`);
    return made.id;
  };
  const authorization = `Bearer ${key}`;
  const open = async (assistantId: string): Promise<string> => {
    const body = JSON.stringify({ assistant_id: assistantId });
    const session = await fetch(`${url}/sessions`, { method: 'POST', headers: { authorization }, body }).then(json);
    return post(`/sessions/${session.id}/chat`, { message }, { authorization });
  };
  const talks = async (id: string, count: number): Promise<string[]> => {
    const opened: string[] = [];
    while (opened.length < count)
      opened.push(
        ...(await Promise.all(Array.from({ length: Math.min(openedAbreast, count - opened.length) }, () => open(id)))),
      );
    return opened;
  };
  const conversations = async (shape: Shape, count: number): Promise<string[]> => talks(await assistant(shape), count);
  return {
    server,
    url,
    key,
    workspace,
    processes: [server],
    ports: [port],
    format: parleyFormat,
    console,
    assistant,
    publish,
    talks,
    conversations,
    stop,
  };
}

/** Makes a folder for an embedded store, and returns it with the function that removes it. */
export async function storeFolder(): Promise<{ folder: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

export const parley: Contender = {
  name: 'parley',
  note: 'The whole product on the embedded store: every answer waits until its text is stored. Logs at level info go to /dev/null.',
  standing: 'always',
  async start(surroundings) {
    const { folder, remove } = await storeFolder();
    const house = await startHouse({ store: `lmdb:${folder}`, surroundings });
    return { ...house, stop: () => house.stop().then(remove) };
  },
};

export const parleyRedis: Contender = {
  name: 'parley, Redis',
  note: 'The whole product on a Redis with an append-only file flushed every second; the CPU time of Redis itself is not counted.',
  standing: 'always',
  absent: whyNoRedis,
  async start(surroundings) {
    const redis = await startRedis();
    const house = await startHouse({ store: redis.url, surroundings });
    return { ...house, beside: [redis.process], stop: () => house.stop().then(redis.stop) };
  },
};
