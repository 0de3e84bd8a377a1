/**
 * Builds the file system of the Dockerfile without a Docker engine: each stage is a layer over this machine's own root,
 * in which its steps run under `chroot`. So Node and the C library are this machine's, and all else is the image's.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Step {
  readonly word: string;
  readonly rest: string;
}

/** The instructions of the Dockerfile, in order. */
export const stepsOf = (text: string): Step[] =>
  text
    .replace(/\\\n/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => ({ word: line.split(' ')[0]!, rest: line.slice(line.indexOf(' ') + 1) }));

export const dockerfile = (): Step[] => stepsOf(readFileSync(join(root, 'Dockerfile'), 'utf8'));

/** Paths that reach a build: the exceptions in .dockerignore. */
export const context = (): string[] =>
  readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));

/** Assignments of an ENV instruction. */
export const assignments = (rest: string): [string, string][] =>
  rest
    .split(' ')
    .map((word): [string, string] => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]);

/** Reason for which no image can be built here, or false. */
export function whyNoImage(): string | false {
  const script =
    'mount -t tmpfs tmpfs /tmp && mkdir /tmp/u /tmp/w /tmp/m && mount -t overlay overlay -o lowerdir=/,upperdir=/tmp/u,workdir=/tmp/w /tmp/m';
  const able = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', '--', 'sh', '-c', script]).status === 0;
  return able ? false : 'a process may not mount here what a layer needs';
}

const enter = `
set -e
layer=$1 user=$2 place=$3; shift 3
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/files,workdir=$layer/work" "$layer/root"
mount --bind /dev "$layer/root/dev"
mount -t proc proc "$layer/root/proc"
exec chroot --userspec="$user" "$layer/root" /usr/bin/env -i -C "$place" "$@"`;

export class Stage {
  /** Files that the steps have made or changed. */
  readonly files: string;
  readonly #layer: string;
  readonly #env = new Map([['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']]);
  place = '/';
  user = '0:0';

  constructor(layer: string) {
    this.#layer = layer;
    this.files = join(layer, 'files');
    for (const name of ['files', 'work', 'root']) mkdirSync(join(layer, name), { recursive: true });
  }

  set(rest: string): void {
    for (const [name, value] of assignments(rest)) this.#env.set(name, value);
  }

  /** Copies `from` of the build's files or of another stage, and makes the folders on the way. */
  copy(from: string, to: string): void {
    const end = join(this.files, to.startsWith('/') ? to : join(this.place, to));
    const target = to.endsWith('/') ? join(end, basename(from)) : end;
    mkdirSync(dirname(target), { recursive: true });
    cpSync(from, target, { recursive: true, verbatimSymlinks: true });
  }

  /** Words of a program that runs in this stage as process 1 of its namespace. */
  words(words: readonly string[], env: Readonly<Record<string, string>> = {}): string[] {
    const variables = [...new Map([...this.#env, ...Object.entries(env)])].map(([name, value]) => `${name}=${value}`);
    const isolate = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, 'enter'];
    return [...isolate, this.#layer, this.user, this.place, ...variables, ...words];
  }

  run(words: readonly string[], env?: Readonly<Record<string, string>>): string {
    const { status, stdout, stderr } = spawnSync('unshare', this.words(words, env), { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}.\n${stdout}${stderr}`);
    return stdout;
  }

  start(words: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
    return spawn('unshare', this.words(words, env), { stdio: ['ignore', 'pipe', 'pipe'] });
  }
}

export interface Image {
  readonly stage: Stage;
  readonly command: readonly string[];
  readonly health: readonly string[];
  readonly volume: string;
}

/** A stage without the folders of the image, which this machine may have. */
function emptyStage(layer: string): Stage {
  const stage = new Stage(layer);
  stage.run(['rm', '-rf', '/app', '/data']);
  return stage;
}

/** Runs all steps. A step that the image does not need to be served, such as EXPOSE, is left to an engine. */
export function buildImage(folder: string): Image {
  const stages: Stage[] = [];
  let [entrypoint, command, health, volume]: [string[], string[], string[], string] = [[], [], [], ''];
  for (const { word, rest } of dockerfile()) {
    const stage = stages.at(-1)!;
    if (word === 'FROM') stages.push(emptyStage(join(folder, String(stages.length))));
    else if (word === 'WORKDIR') {
      stage.run(['mkdir', '-p', rest]);
      stage.place = rest;
    } else if (word === 'RUN') stage.run(['sh', '-c', rest], { HOME: '/root' });
    else if (word === 'ENV') stage.set(rest);
    else if (word === 'USER') stage.user = rest;
    else if (word === 'VOLUME') volume = rest;
    else if (word === 'ENTRYPOINT') entrypoint = JSON.parse(rest) as string[];
    else if (word === 'CMD') command = JSON.parse(rest) as string[];
    else if (word === 'HEALTHCHECK') health = healthOf(rest);
    else if (word === 'COPY') copy(stages, rest);
    else if (word !== 'EXPOSE' && word !== 'STOPSIGNAL') throw new Error(`${word} has no meaning here.`);
  }
  return { stage: stages.at(-1)!, command: [...entrypoint, ...command], health, volume };
}

/** The program of a HEALTHCHECK instruction. */
export const healthOf = (rest: string): string[] => JSON.parse(rest.slice(rest.indexOf('['))) as string[];

function copy(stages: readonly Stage[], rest: string): void {
  const words = rest.split(' ');
  const isFromStage = words[0]!.startsWith('--from=');
  const sources = words.slice(isFromStage ? 1 : 0, -1);
  for (const source of sources) {
    if (!isFromStage && !context().includes(source)) throw new Error(`.dockerignore leaves ${source} out.`);
    const from = isFromStage ? join(stages[0]!.files, source) : join(root, source);
    if (!existsSync(from)) throw new Error(`There is no ${source} to copy.`);
    stages.at(-1)!.copy(from, words.at(-1)!);
  }
}
